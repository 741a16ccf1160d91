//! Launches of the Copilot CLI from within other tools: what `AMPLIHACK_LAUNCHER_BINARY`
//! points to.
//!
//! Invariant: a launch never gets more permissions than its caller asked for, and staging
//! never overwrites a file of somebody else's. Starting the CLI and serving the guard are the command's work.

mod copies;
mod normalize;

pub use copies::{COPIES_FILE, CopyError, CopyReport, copy_project_files};
pub use normalize::{Approver, Normalized, normalize};
