//! Launches of the Copilot CLI from within other tools: the program for
//! `AMPLIHACK_LAUNCHER_BINARY`.
//!
//! Invariant: a launch never gets more permissions than its caller asked for, and staging never
//! overwrites another's file. The command starts the CLI and serves the guard.

mod copies;
mod normalize;

pub use copies::{COPIES_FILE, CopyError, CopyReport, copy_project_files};
pub use normalize::{Approver, Normalized, normalize};
