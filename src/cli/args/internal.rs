//! Arguments of the commands that the program starts by itself.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

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
