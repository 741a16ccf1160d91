//! Arguments of the commands that the program starts by itself.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Flags of `guardian`.
#[derive(Args, Debug)]
pub(crate) struct GuardianArgs {
    /// The run.
    #[arg(long)]
    pub(crate) run: String,
    /// The runner's process.
    #[arg(long)]
    pub(crate) runner: u32,
    /// The run's folder for temporary files, which is removed with it.
    #[arg(long)]
    pub(crate) scratch: PathBuf,
}

/// A part of a session's sandbox.
#[derive(Debug, Parser)]
pub(crate) struct SandboxArgs {
    #[command(subcommand)]
    pub(crate) part: SandboxPart,
}

/// The flags of `sandbox`, without the parser of all the other commands: a run starts dozens of
/// these processes, and building that parser takes longer than all else that most of them do.
pub(crate) fn of_sandbox(words: &[OsString]) -> Option<SandboxArgs> {
    words.get(1).filter(|word| *word == "sandbox")?;
    // Help and mistakes are left to the whole parser.
    SandboxArgs::try_parse_from(&words[1..]).ok()
}

#[derive(Subcommand, Debug)]
pub(crate) enum SandboxPart {
    /// Enter a sandbox and start a program there
    Enter {
        /// The sandbox to enter, as JSON
        plan: String,
        /// The command to start there, instead of a server
        #[arg(last = true)]
        command: Vec<OsString>,
    },
    /// Become a command in a sandbox, with other descriptors as its input and output
    Become {
        /// The descriptor of this program
        ours: i32,
        /// That of the command's input
        input: i32,
        /// That of its output
        output: i32,
        /// The command
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
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
