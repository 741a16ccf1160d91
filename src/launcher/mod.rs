//! Launches of the Copilot CLI from within other tools: what `AMPLIHACK_LAUNCHER_BINARY`
//! points to.
//!
//! Invariant: a launch never gets more permissions than its caller asked for, and staging
//! never overwrites a file of somebody else's. Starting the CLI and serving the guard are the command's work.

mod normalize;
mod staging;

pub use normalize::{Normalized, Opener, normalize};
pub use staging::{NOTE, Staged, StagingError, stage};
