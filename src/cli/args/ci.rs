//! Arguments of `ci`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::run;
use crate::model::Sandbox;

/// The commands of `ci`.
#[derive(Debug, Subcommand)]
pub(crate) enum CiCommand {
    /// Write a task's new commits, kept attempts, and newest journal to a folder
    Bundle {
        #[command(flatten)]
        of: CiArgs,
    },
    /// Prove that folder's commits again, as untrusted input, on the base's own clone
    Prove(CiProveArgs),
    /// Push exactly the proven commit, and open or update a draft pull request
    Push(CiPushArgs),
}

/// What the steps of a workflow have in common.
#[derive(Args, Debug)]
pub(crate) struct CiArgs {
    /// The task
    pub(crate) task: String,
    /// The folder that one job hands to the next
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// The branch of the work [default: ralph/<task>]
    #[arg(long, value_name = "NAME")]
    pub(crate) branch: Option<String>,
    /// The branch that the work begins on
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub(crate) base: String,
    /// The largest bundle, in MB
    #[arg(long, value_name = "MB", default_value_t = 100)]
    pub(crate) max_size: u32,
}

/// Flags of `ci prove`.
#[derive(Args, Debug)]
pub(crate) struct CiProveArgs {
    #[command(flatten)]
    pub(crate) of: CiArgs,
    /// Write the text of the pull request to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) body: PathBuf,
    /// The GitHub event whose issue a new task must be made from
    #[arg(long, value_name = "FILE")]
    pub(crate) from_file: Option<PathBuf>,
    /// Refuse criteria that only a commit speaks for
    #[arg(long)]
    pub(crate) require_checks: bool,
    /// How checks are confined: auto, full, partial, off, or required [default: auto]
    #[arg(long, value_name = "TIER", value_parser = run::sandbox())]
    pub(crate) sandbox: Option<Sandbox>,
}

/// Flags of `ci push`.
#[derive(Args, Debug)]
pub(crate) struct CiPushArgs {
    #[command(flatten)]
    pub(crate) of: CiArgs,
    /// The commit that `ci prove` has proven
    #[arg(long, value_name = "COMMIT")]
    pub(crate) proven: String,
    /// The tip of the branch that it was proven from; empty for a new branch
    #[arg(long, value_name = "COMMIT")]
    pub(crate) known: String,
    /// The text of the pull request
    #[arg(long, value_name = "FILE")]
    pub(crate) body: PathBuf,
}
