//! `ci`: the steps of the workflow that `init --ci` writes.
//!
//! Invariant: the job that works is not trusted by the others. What it hands over is a bundle, which
//! is read as untrusted input, and a journal, which is only shown.

mod bundle;
mod handed_over;
mod prove;
mod push;
mod workflow;

use std::path::Path;

use super::args::CiCommand;
use super::failure::Failure;
pub(super) use push::is_refused;
pub(super) use workflow::workflow;

/// Runs a step.
pub(super) fn ci(directory: Option<&Path>, command: &CiCommand) -> Result<u8, Failure> {
    match command {
        CiCommand::Bundle { of } => bundle::bundle(directory, of),
        CiCommand::Prove(args) => prove::prove(directory, args),
        CiCommand::Push(args) => push::push(args),
    }
}
