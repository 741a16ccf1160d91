//! The command line: arguments in, exit codes out.

mod args;
mod exit;
mod failure;

pub use exit::{EXIT_CODES, ExitCode, document};
