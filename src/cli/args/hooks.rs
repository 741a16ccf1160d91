//! Arguments of `hook` and `hooks`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Arguments of `hook`.
#[derive(Args, Debug)]
#[command(after_help = "The CLI's JSON comes on standard input, or as an argument:

  echo '{\"toolName\":\"bash\",\"toolArgs\":\"{\\\"command\\\":\\\"rm -rf /\\\"}\"}' | ralph-copilot hook preToolUse

preToolUse prints a denial, or nothing; postToolUse appends to logs/session-events.jsonl;
xpia asks xpia-defend. Exit codes: 0 answered, 1 no such hook, 2 denied and not even the
answer could be printed. `docs/hooks.md` tells more.")]
pub(crate) struct HookArgs {
    /// The hook: preToolUse, postToolUse or xpia; with --socket any hook of the CLI's
    #[arg(value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// The input [default: standard input]
    #[arg(value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) json: Option<String>,
    /// Ask the runner that listens here (the guard's plugin passes it)
    #[arg(long, value_name = "SOCKET")]
    pub(crate) socket: Option<PathBuf>,
    /// Answer as copilot-adapter.sh does, which passes it
    #[arg(long, hide = true)]
    pub(crate) adapter: bool,
}

/// The `hooks` commands.
#[derive(Debug, Subcommand)]
pub(crate) enum HooksCommand {
    /// Mount the hooks in this repository, for this machine
    #[command(after_help = "Files that you wrote or edited are left alone and listed.
The XPIA hook is mounted only if xpia-defend is found: without it, the hook denies every shell \
command.
AMPLIHACK_HOOK_ENGINE (python, rust or auto) chooses which amplihack hooks run.")]
    Install(StageArgs),
    /// Write the same files to any folder, for other machines, where ralph-copilot is found
    /// through PATH
    Export(ExportArgs),
}

/// Flags of both commands.
#[derive(Args, Debug)]
pub(crate) struct StageArgs {
    /// Show the changes without making them
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Leave the XPIA hook out
    #[arg(long)]
    pub(crate) without_xpia: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `export`.
#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// The folder [default: the current one]
    pub(crate) folder: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) stage: StageArgs,
}
