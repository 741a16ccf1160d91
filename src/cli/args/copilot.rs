//! Arguments of `copilot`.

use std::ffi::OsString;

use clap::Args;

/// Flags of `copilot`.
#[derive(Args, Debug)]
#[command(
    after_help = "Recipes and other tools start this instead of `copilot`. Prompts and system \
prompts are joined into one -p. Without permission flags, the launch may do everything that the \
guard allows; with --no-guard, everything.

Exit codes: those of the CLI; 125 the launch failed or was refused, 127 the CLI was not found, \
128+n ended by signal n. See ralph-copilot's docs/launcher.md."
)]
pub(crate) struct CopilotArgs {
    /// Print the arguments for the CLI as a JSON array, without running it
    #[arg(long)]
    pub(crate) print: bool,
    /// Launch without the guard; refused inside a run
    #[arg(long)]
    pub(crate) no_guard: bool,
    /// Do not copy agents, hooks, commands, and recipes from .claude/ to .github/
    #[arg(long)]
    pub(crate) no_stage: bool,
    /// Arguments for the Copilot CLI: everything after `--`, or from the first argument that is
    /// not one of the flags above
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    pub(crate) arguments: Vec<OsString>,
}
