//! Where the agent's commands run.
//!
//! A shell call of the agent is replaced by a client ([`call()`]), which asks the runner
//! ([`Calls`]) for the real command. The runner hands the client's file descriptors to a server
//! inside the session's sandbox ([`Room`]), which starts the shell there. What the sandbox shows
//! is a [`Profile`].
//!
//! Invariant: a command runs in its sandbox or not at all. Whether a command may run is not
//! decided here.

mod call;
mod calls;
mod enter;
mod full;
mod home;
mod landlock;
mod outer;
mod partial;
mod probe;
mod profile;
mod room;
mod server;
mod wire;

pub use call::{CallError, call};
pub use calls::{Calls, socket};
pub use enter::{around, enter};
pub use full::{View, full, sockets_of};
pub use home::{Secrets, prepare, tools};
pub use landlock::{LandlockError, Limits, has_landlock};
pub use outer::{AgentFolders, outer, whole};
pub use partial::partial;
pub use probe::probe;
pub use profile::{Bind, Network, Overlay, Profile, Walls};
pub use room::{Programs, Room, SandboxError};
pub use server::serve;
