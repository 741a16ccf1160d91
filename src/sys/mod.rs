//! The operating system: processes, files, locks, signals, time, the terminal.
//!
//! Invariant: this room knows nothing of tasks, criteria or agents; names of runs come in as
//! text. Callers decide how to handle an error.

pub mod append;
pub mod atomic;
pub mod clock;
pub mod contained;
pub mod crash;
pub mod depth;
pub mod env;
mod error;
mod file_mode;
mod folders;
pub mod guardian;
mod holder;
mod listeners;
pub mod lock;
pub mod process;
mod random;
mod remove;
pub mod shutdown;
pub mod tty;

pub use atomic::Durability;
pub use error::SysError;
pub use file_mode::FileMode;
pub use folders::visit;
pub use listeners::{listens_on_port, listens_on_socket};
pub use random::random_hex;
pub use remove::{open_folder, open_up, remove_any, remove_tree};
