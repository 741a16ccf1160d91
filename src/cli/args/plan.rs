//! Arguments of `plan` and `orchestrate`.

use std::path::PathBuf;

use clap::Args;

use super::run::SettingArgs;

/// Flags of `plan`.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// The goal, in your words
    pub(crate) goal: String,
    /// The name of the task [default: the first words of the goal]
    #[arg(long, value_name = "TASK", conflicts_with = "parse")]
    pub(crate) name: Option<String>,
    /// Read a model's answer from this file (`-`: standard input), start no agent, and write
    /// nothing
    #[arg(long, value_name = "FILE")]
    pub(crate) parse: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
}

/// Flags of `orchestrate`.
#[derive(Args, Debug)]
pub(crate) struct OrchestrateArgs {
    /// The goal, in your words: a session of the agent plans it
    #[arg(required_unless_present = "plan")]
    pub(crate) goal: Option<String>,
    /// Carry out the plan in this JSON file (`-`: standard input)
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    /// The name of the task [default: the first words of the goal, or the name of the plan's file]
    #[arg(long, value_name = "TASK")]
    pub(crate) name: Option<String>,
    /// Use the verify commands that the agent planned, without asking
    #[arg(long)]
    pub(crate) accept_checks: bool,
    /// Show the plan's waves, and carry out nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the plan's events as JSON lines, or with --dry-run the plan
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
}
