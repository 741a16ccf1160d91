//! Arguments of `copilot`.

use std::ffi::OsString;

use clap::Args;

/// Flags of `copilot`.
#[derive(Args, Debug)]
#[command(
    after_help = "What recipes and other tools start instead of `copilot`. Prompts and system \
prompts become one -p; a launch that says nothing about permissions may do whatever the guard \
allows, and with --no-guard everything.

Exit codes: those of the CLI; 125 the launch failed or was refused, 127 the CLI was not found, \
128+n ended by signal n. `docs/launcher.md` tells the rules."
)]
pub(crate) struct CopilotArgs {
    /// Print the arguments that the CLI would get as a JSON array, and run nothing
    #[arg(long)]
    pub(crate) print: bool,
    /// Launch without the guard: permissions are as the arguments say; refused inside a run
    #[arg(long)]
    pub(crate) no_guard: bool,
    /// Leave out the copying of .claude/ agents, hooks, commands and recipes to .github/
    #[arg(long)]
    pub(crate) no_stage: bool,
    /// For the Copilot CLI: everything behind `--`, or from the first word that is no flag above
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    pub(crate) arguments: Vec<OsString>,
}
