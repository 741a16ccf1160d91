//! Arguments of the commands that the program starts by itself.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Flags of `guardian`.
#[derive(Args, Debug)]
pub(crate) struct GuardianArgs {
    /// The run.
    #[arg(long)]
    pub(crate) run: String,
    /// The runner's process.
    #[arg(long)]
    pub(crate) runner: u32,
    /// The run's own folder for temporary files, which nobody needs after it.
    #[arg(long)]
    pub(crate) scratch: PathBuf,
}

/// Runs a program that may write below some folders only.
#[derive(Args, Debug)]
pub(crate) struct ConfineArgs {
    /// A folder that it may write below
    #[arg(long, value_name = "FOLDER")]
    pub(crate) write: Vec<PathBuf>,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub(crate) command: Vec<OsString>,
}

/// A part of a session's sandbox.
#[derive(Args, Debug)]
pub(crate) struct SandboxArgs {
    #[command(subcommand)]
    pub(crate) part: SandboxPart,
}

#[derive(Subcommand, Debug)]
pub(crate) enum SandboxPart {
    /// Enter a sandbox and start a program there
    Enter {
        /// What to enter, as JSON
        plan: String,
    },
    /// Start calls inside a sandbox for the runner on standard input
    Serve,
    /// Run a decided command in the session's sandbox
    Call {
        /// Where the runner listens
        socket: PathBuf,
        /// The call
        id: String,
    },
}
