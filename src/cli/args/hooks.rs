//! Arguments of `hook` and `hooks`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Arguments of `hook`.
#[derive(Args, Debug)]
#[command(after_help = "The input is the JSON that the Copilot CLI passes to its hooks:

  echo '{\"toolName\":\"bash\",\"toolArgs\":\"{\\\"command\\\":\\\"rm -rf /\\\"}\"}' | ralph-copilot hook preToolUse

preToolUse prints a denial, or nothing. postToolUse appends to logs/session-events.jsonl.
xpia asks xpia-defend.

Exit codes: 0 answered, 1 unknown hook, 2 denied because the answer could not be printed. See
ralph-copilot's docs/hooks.md.")]
pub(crate) struct HookArgs {
    /// The hook: preToolUse, postToolUse, or xpia; with --socket, any hook of the CLI
    #[arg(value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// The input [default: standard input]
    #[arg(value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) json: Option<String>,
    /// Ask the run that listens on this socket (passed by the guard's plugin)
    #[arg(long, value_name = "SOCKET")]
    pub(crate) socket: Option<PathBuf>,
    /// Answer in the format of copilot-adapter.sh, which passes this flag
    #[arg(long, hide = true)]
    pub(crate) adapter: bool,
}

/// The `hooks` commands.
#[derive(Debug, Subcommand)]
pub(crate) enum HooksCommand {
    /// Install the hooks in this repository, for this machine
    #[command(after_help = "Files that you wrote or edited are left alone and listed.
The XPIA hook is installed only if xpia-defend is found, because the hook denies every shell \
command without it.
AMPLIHACK_HOOK_ENGINE (python, rust, or auto) selects which amplihack hooks run.")]
    Install(StageArgs),
    /// Write the same files to a folder, for machines that have ralph-copilot on PATH
    Export(ExportArgs),
}

/// Flags of both commands.
#[derive(Args, Debug)]
pub(crate) struct StageArgs {
    /// Show the changes without making them
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Leave out the XPIA hook
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
