//! Where the agent's commands run.
//!
//! A shell call of the agent is replaced by a client ([`call()`]), which asks the runner
//! ([`Calls`]) for the real command. The runner hands the client's file descriptors to a server
//! inside the session's sandbox ([`Room`]), which starts the shell there. A [`Profile`] describes
//! the sandbox.
//!
//! Invariant: a command runs in its sandbox or not at all. Whether a command may run is not
//! decided here.

mod alone;
mod as_it_is;
mod bound;
mod call;
mod calls;
mod children;
mod enter;
mod full;
mod home;
mod home_tables;
mod landlock;
mod limits;
mod namespaces;
mod network;
mod outer;
mod own_path;
mod partial;
mod probe;
mod profile;
mod programs;
mod room;
mod rooms;
#[cfg(any(test, not(target_os = "linux")))]
mod seatbelt;
mod seccomp;
mod server;
mod shared;
mod wire;

pub use alone::CommandEnd;
pub use as_it_is::as_it_is;
pub use bound::bound_sockets;
pub use call::{CallError, call};
pub use calls::{Calls, socket};
pub use enter::{EMPTY, around, become_command, enter};
pub use full::{View, full, sockets_of};
pub use home::{Secrets, is_free, prepare, tools};
pub use home_tables::LOGINS;
pub use landlock::{LandlockError, can_limit};
pub use limits::LandlockRules;
pub use network::Network;
pub use outer::{AgentFolders, outer, whole};
pub use own_path::see_at;
pub use partial::{make_caches, partial};
pub use probe::probe;
pub use profile::{Bind, Overlay, Profile, Walls};
pub use programs::Programs;
pub use room::{Room, SandboxError};
pub use rooms::{RESTARTS, Rooms, StartOnline, StartOwn};
pub use server::serve;
pub use shared::separate;
