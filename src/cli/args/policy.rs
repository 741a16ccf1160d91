//! Arguments of `policy`.

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, Subcommand};

use super::run::write_scope;
use crate::model::{Tier, WriteScope};

/// What can be done with the policy.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Say what the guard would decide, and why; nothing is run
    #[command(after_help = "A command of several words is taken as these words, a single one as \
a shell line:
  ralph-copilot policy check -- cargo test
  ralph-copilot policy check -- 'cargo test && git push'

--stdin reads one call a line and answers each with one line, in order:
  {\"tool_kind\":\"execute\",\"raw_input\":{\"command\":\"git push\"},\"cwd\":\".\"}
  {\"decision\":\"deny\",\"rule\":\"git.push\",\"reason\":\"…\",\"sandboxed\":false}

Exit codes: 0 allowed (with --stdin: every line was answered), 1 denied, 2 usage,
7 task or configuration invalid, 8 no repository. `docs/guard.md` tells the rules.")]
    Check(PolicyArgs),
}

/// Flags of `policy check`.
#[derive(Args, Debug)]
pub(crate) struct PolicyArgs {
    /// Decide as in a run of this task [default: no task; every task's folder is protected]
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
    /// Where the agent may write [default: workspace]
    #[arg(long, value_name = "WHERE",
        value_parser = PossibleValuesParser::new(["workspace", "task"]).map(write_scope))]
    pub(crate) write_scope: Option<WriteScope>,
    /// The sandbox to decide for [default: off]
    #[arg(long, value_name = "TIER",
        value_parser = PossibleValuesParser::new(["full", "partial", "off"]).map(tier))]
    pub(crate) sandbox: Option<Tier>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Read calls as JSON lines from standard input
    #[arg(long, conflicts_with = "command")]
    pub(crate) stdin: bool,
    /// The command
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "stdin")]
    pub(crate) command: Vec<String>,
}

#[expect(clippy::needless_pass_by_value, reason = "clap hands the value over")]
fn tier(name: String) -> Tier {
    match name.as_str() {
        "full" => Tier::Full,
        "partial" => Tier::Partial,
        _ => Tier::Off,
    }
}
