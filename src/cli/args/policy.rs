//! Arguments of `policy`.

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, Subcommand};

use super::run::word;
use crate::model::{Tier, WriteScope};

/// The `policy` commands.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Show what the guard would decide about a command, without running it
    #[command(
        after_help = "A single argument is a shell command line; several arguments are the words of \
one command:
  ralph-copilot policy check -- cargo test
  ralph-copilot policy check -- 'cargo test && git push'

--stdin reads one call per line, and answers each with one line:
  {\"tool_kind\":\"execute\",\"raw_input\":{\"command\":\"git push\"},\"cwd\":\".\"}
  {\"decision\":\"deny\",\"rule\":\"git.push\",\"reason\":\"…\",\"sandboxed\":false}

Exit codes: 0 allowed (with --stdin: every line was answered), 1 denied, 2 usage,
7 task or configuration invalid, 8 no repository. See ralph-copilot's docs/guard.md for the rules."
    )]
    Check(PolicyArgs),
}

/// Flags of `policy check`.
#[derive(Args, Debug, Default)]
pub(crate) struct PolicyArgs {
    /// Decide as in a run of this task [default: none, so the folders of all tasks are
    /// protected]
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
    /// Where the agent may write [default: workspace]
    #[arg(long, value_name = "WHERE",
        value_parser = word::<WriteScope>())]
    pub(crate) write_scope: Option<WriteScope>,
    /// The tier to decide for [default: the one that a run would have]
    #[arg(long, value_name = "TIER",
        value_parser = PossibleValuesParser::new(["full", "partial", "off"])
            .try_map(|word| word.parse::<Tier>()))]
    pub(crate) sandbox: Option<Tier>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Read calls as JSON lines from standard input
    #[arg(long, conflicts_with = "command")]
    pub(crate) stdin: bool,
    /// The command
    #[arg(trailing_var_arg = true, value_name = "COMMAND", required_unless_present = "stdin")]
    pub(crate) command: Vec<String>,
}
