//! The command line and its `--help` texts.

use super::exit::in_short;
use crate::model::Sandbox;
mod ci;
mod copilot;
mod filters;
mod gateway;
mod hooks;
mod internal;
mod mcp;
mod plan;
mod policy;
mod recipe;
mod run;
mod words;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

pub(super) use self::ci::{CiArgs, CiCommand, CiProveArgs, CiPushArgs};
pub(super) use self::copilot::CopilotArgs;
pub(super) use self::filters::{ClassifyArgs, RedactArgs};
pub(super) use self::gateway::{CallToolArgs, GatewayCommand, ServeGatewayArgs};
pub(super) use self::hooks::{HookArgs, HooksCommand, StageArgs};
pub(super) use self::internal::{GuardianArgs, SandboxArgs, SandboxPart, of_sandbox};
pub(super) use self::mcp::{McpClient, McpCommand, McpInstallArgs, McpServeArgs, ToolSet};
pub(super) use self::plan::{OrchestrateArgs, PlanArgs};
pub(super) use self::policy::{PolicyArgs, PolicyCommand};
pub(super) use self::recipe::{
    InstallRunnerArgs, ListArgs, RecipeArgs, RecipeCommand, RecipeDoctorArgs, RunRecipeArgs,
};
pub(super) use self::run::{DetailArgs, PLAN_JOBS, RunArgs, SettingArgs};
pub(super) use self::words::{attached, leading_directory};

/// Runs a coding agent unattended until every criterion of a task is met, as git and your checks
/// show.
#[derive(Debug, Parser)]
#[command(
    name = "ralph-copilot",
    version,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = format!("Examples:
  ralph-copilot demo                     watch a complete run; needs no account or network
  ralph-copilot init login-form          create tasks/login-form/TASK.md
  ralph-copilot check login-form         validate the task and list its criteria
  ralph-copilot login-form               work until every criterion is met
  ralph-copilot status login-form        show its progress

{}", in_short())
)]
pub(crate) struct Cli {
    /// Run as if started in this folder.
    #[arg(short = 'C', long = "directory", value_name = "DIR", global = true)]
    pub(crate) directory: Option<PathBuf>,
    /// The command; without one, `run`.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// The run, when no command is named.
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

impl Cli {
    /// The task of `check`, which its JSON names even if the command fails.
    pub(crate) fn task(&self) -> Option<String> {
        match &self.command {
            Some(Command::Check(args)) => Some(args.task.clone()),
            _ => None,
        }
    }

    /// Whether the command reports in its own stream of events why it cannot start.
    pub(crate) fn tells_itself(&self) -> bool {
        matches!(self.command, None | Some(Command::Run(_) | Command::Demo(_)))
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Work on a task (the default: `ralph-copilot <task>`)
    #[command(after_help = format!("To work on a task that has the name of a command, use `run`, \
as in `ralph-copilot run check`.\n\n{}", in_short()))]
    Run(Box<RunArgs>),
    /// Watch a complete run in a temporary repository, with a scripted agent
    #[command(
        after_help = "Needs no account, Node.js, or network. The repository is kept, so that you \
can read its commits, progress.md, and activity.log."
    )]
    Demo(DemoArgs),
    /// Run the built-in scripted ACP agent on standard input and output
    #[command(
        after_help = "Use it as `--agent 'ralph-copilot agent SCRIPT'`. A script says what the agent \
does in a turn:

turns:
- match: greeting                  # only for criteria with this text
  times: 1                         # for so many prompts; the next turn that matches follows
  steps:
  - say: \"Done!\"
- match: greeting
  steps:
  - write: {path: greet.sh, text: \"echo hello\\n\"}
  - edit: {path: greet.sh, old: hello, new: \"Hello!\"}
  - run: sh greet.sh
  - tick: \"{criterion}\"
  - progress: \"{criterion}: done\"
  - commit: add the greeting

Other steps: think, plan, usage, sleep, read, together, and those that misbehave: hang, die, flood, \
line, raw, hex, deep, update, error, stop, spawn, ask_only. An unknown key is an error with its \
line. All keys are in ralph-copilot's docs/scripted-agent.md."
    )]
    Agent {
        /// The script: a YAML file.
        script: PathBuf,
    },
    /// Create a task from a template; never overwrites files
    #[command(after_help = "Creates three files below tasks/ in the root of the repository, \
wherever you are in it:

  tasks/<task>/TASK.md         the criteria: write them before the first run
  tasks/<task>/guardrails.md   signs for the agent, which you and the runner add
  tasks/<task>/progress.md     what was done, by the agent and the runner

Each `- [ ]` in TASK.md is a criterion, and `- verify: COMMAND` below it is its check: a command \
that fails until the criterion is met, and runs in the root of the repository. `ralph-copilot check` \
points at lines that are still the template's. A file of the same name in .ralph/templates/ replaces \
a template.")]
    Init(InitArgs),
    /// Let a session of the agent divide a goal into the criteria of a new task
    #[command(after_help = "The session may only read. Its answer becomes tasks/<name>/TASK.md, \
with `id:`, `after:`, and a verify command for each criterion, and plan.json beside it; nothing is \
overwritten or committed. If it gives no usable plan, the goal is one criterion. See
ralph-copilot's docs/plans.md.")]
    Plan(Box<PlanArgs>),
    /// Plan a goal, or take a plan, and carry it out with several workers
    #[command(after_help = format!("As `plan`, then a run with --jobs 3 and --on-stuck skip, unless \
you set them. The same goal or plan again continues it. Checks that the agent planned are used only \
if you say so, at the terminal or with --accept-checks.

A plan is JSON: {{\"tasks\": [{{\"id\": \"t1\", \"description\": \"…\", \"verify\": \"…\"}}], \
\"dependencies\": {{\"t2\": [\"t1\"]}}}}. See ralph-copilot's docs/plans.md.

Exit codes: 0 every sub-task succeeded, 4 some failed or were skipped, 7 the plan is invalid; \
otherwise as a run.\n\n{}", in_short()))]
    Orchestrate(Box<OrchestrateArgs>),
    /// Validate TASK.md and list its criteria
    Check(TaskArgs),
    /// Attack the checks of a task before a run, without a model
    #[command(after_help = "Each check runs three times. Then scripted cheats are judged like an \
agent's work, in throw-away rooms: tick without work, create empty files, write the text that a \
check looks for, empty or remove tests, `exit 0`, special-case the argument. A check that accepts \
a cheat is weak. Your working tree is not changed. See ralph-copilot's docs/rehearse.md.

Exit codes: 0 strong, 1 weak or flaky, 7 a check cannot run or the task is invalid.")]
    Rehearse(RehearseArgs),
    /// Checks that the agent never sees
    #[command(subcommand)]
    Holdout(HoldoutCommand),
    /// Show the progress of a task and its newest run; without a name, of all tasks
    Status(StatusArgs),
    /// List the tasks, or the criteria of one that can start now, as a matrix for many machines
    List(ListTasksArgs),
    /// Land what other machines handed in with `run --only --bundle`
    #[command(after_help = "Each bundle is untrusted input: its work is merged onto the branch, \
proven here, and only then becomes part of the branch, as with --jobs. The order does not matter. \
Attempts that failed elsewhere count, and their work is kept. Afterwards it prints the criteria that \
can start now. See ralph-copilot's docs/parallel.md.

Exit codes: 0 everything landed, 4 something did not; otherwise as a run.")]
    Land(LandArgs),
    /// Print the events of a run
    Log(LogArgs),
    /// Show a run that was started elsewhere, as its own terminal does
    #[command(
        after_help = "Reads the journal, and changes nothing. Ends with the run; Ctrl-C ends \
only `watch`."
    )]
    Watch(WatchArgs),
    /// Report what a run did: outcome, criteria, changes since the last run, denials, and cost
    #[command(
        after_help = "Without a flag it is plain text. The HTML is one page that needs nothing \
else. The Markdown fits a pull request; in GitHub Actions it also goes to the step's summary. \
Criteria that wait for you come first. See ralph-copilot's docs/overnight.md."
    )]
    Report(ReportArgs),
    /// Show numbers over all runs of a task: attempts, failures, denials, time, and cost
    Stats(StatusArgs),
    /// Print the `gh pr create` line for a run's branch, with the report as its text
    Pr(PrArgs),
    /// Reset stuck, blocked, and held criteria, so that the next run works on them again
    Retry(RetryArgs),
    /// Take work that is held for review, with a commit that says who accepted it
    Accept(AcceptArgs),
    /// Prove a branch again on any clone, from its commits alone
    #[command(
        after_help = "Each tick between base and head is proven again in a proof room: red at \
the base, green at the commit that ticks it, green with tests and scripts as they were, and green \
at the head. Checks and rules come from the base. See ralph-copilot's docs/verify.md.

Exit codes: 0 every tick is proven, committed, or allowed, 4 not proven, 7 the clone lacks what the checks need, 8 no base or \
a shallow clone, 10 forged."
    )]
    Verify(VerifyArgs),
    /// Tick a criterion by hand; changes one byte of TASK.md
    Tick(TickArgs),
    /// Check this machine and repository, and show where each setting comes from
    Doctor(Box<DoctorArgs>),
    /// Test the guard's policy
    Policy {
        /// The command.
        #[command(subcommand)]
        command: PolicyCommand,
    },
    /// Copy standard input to standard output, and redact secrets
    #[command(
        after_help = "Replaces tokens of known services, private keys, values after names such as \
`password`, and the values of secret environment variables with [REDACTED]. Names, hosts, and \
ordinary words stay. Valid JSON stays valid."
    )]
    Redact(RedactArgs),
    /// Classify an error on standard input, and print what a run would do about it
    Classify(ClassifyArgs),
    /// Answer a hook of the Copilot CLI
    Hook(HookArgs),
    /// Install the Copilot CLI hooks; never overwrites your files
    #[command(subcommand)]
    Hooks(HooksCommand),
    /// Run recipes with `recipe-runner-rs`
    Recipe(RecipeArgs),
    /// Start the Copilot CLI under the guard, for recipes and other tools
    Copilot(CopilotArgs),
    /// End what a killed run left behind (started by the runner)
    #[command(hide = true)]
    Guardian(GuardianArgs),
    /// Run a part of a session's sandbox (started by the runner)
    #[command(hide = true)]
    Sandbox(SandboxArgs),
    /// Offer the loop, code tasks, and memory as MCP tools
    #[command(subcommand)]
    Mcp(McpCommand),
    /// Connect your programs as tool providers
    #[command(subcommand)]
    Gateway(GatewayCommand),
    /// Run one code task of an MCP client (started by `mcp serve`)
    #[command(hide = true)]
    CodeTask,
    /// The steps of the workflow that `init --ci` writes
    #[command(subcommand)]
    Ci(CiCommand),
    /// Print a completion script for a shell
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page (roff)
    Man,
}

/// Flags of `demo`.
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Create the repository in this new or empty folder [default: a temporary folder]
    pub(crate) folder: Option<PathBuf>,
    /// Print the events as JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `init`.
#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// The name of the task [with an issue, default: the first words of its title]
    #[arg(required_unless_present_any = ["instructions", "from_issue", "from_file", "ci"])]
    pub(crate) task: Option<String>,
    /// Take the criteria from the task list of this GitHub issue (needs `gh`)
    #[arg(long, value_name = "N", conflicts_with = "from_file")]
    pub(crate) from_issue: Option<u64>,
    /// The same from a file (`-`: standard input): the JSON of `gh issue view`, or a GitHub event
    #[arg(long, value_name = "FILE")]
    pub(crate) from_file: Option<PathBuf>,
    /// Also create .github/copilot-instructions.md, which every Copilot session in this
    /// repository reads
    #[arg(long)]
    pub(crate) instructions: bool,
    /// Write .github/workflows/ralph.yml, which works on the task each night and on issues with the
    /// label `ralph`
    #[arg(long, conflicts_with_all = ["task", "from_issue", "from_file"])]
    pub(crate) ci: bool,
    /// The task of the nights [default: the only one]
    #[arg(long = "task", value_name = "NAME", requires = "ci")]
    pub(crate) nightly: Option<String>,
    /// The action that installs this program: OWNER/REPOSITORY@COMMIT [default: that of this
    /// release]
    #[arg(long, value_name = "ACTION", requires = "ci")]
    pub(crate) action: Option<String>,
    /// Write .github/workflows/ralph-fleet.yml instead, which works on each criterion of the task on
    /// a machine of its own, on so many at once [default: 5]
    #[arg(long, value_name = "N", requires = "ci", num_args = 0..=1, require_equals = true,
        default_missing_value = "5", value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) fleet: Option<u8>,
    /// Overwrite the workflow without a question
    #[arg(long, requires = "ci")]
    pub(crate) yes: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Commands about hold-out checks.
#[derive(Debug, Subcommand)]
pub(crate) enum HoldoutCommand {
    /// Create the list of a task's hold-out checks; never overwrites a file
    Init(HoldoutInitArgs),
}

/// Flags of `holdout init`.
#[derive(Args, Debug)]
pub(crate) struct HoldoutInitArgs {
    /// The task
    pub(crate) task: String,
    /// The folder, outside of the repository [default: `holdout` in your configuration]
    #[arg(long, value_name = "DIR")]
    pub(crate) holdout: Option<PathBuf>,
}

/// Flags of `status` and `stats`.
#[derive(Args, Debug)]
pub(crate) struct StatusArgs {
    /// The task [default: all]
    pub(crate) task: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `list`.
#[derive(Args, Debug)]
pub(crate) struct ListTasksArgs {
    /// List the criteria of this task that can start now: open, not stuck or held, and after proven
    /// ones
    #[arg(long, value_name = "TASK")]
    pub(crate) ready: Option<String>,
    /// Print JSON; with --ready, a matrix of at most 256 criteria for GitHub Actions
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `land`.
#[derive(Args, Debug)]
pub(crate) struct LandArgs {
    /// The bundles
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The task; bundles of other tasks are refused [default: that of the bundles]
    #[arg(long)]
    pub(crate) task: Option<String>,
    /// How checks are confined: auto, full, partial, off, or required [default: auto]
    #[arg(long, value_name = "TIER", value_parser = run::sandbox())]
    pub(crate) sandbox: Option<Sandbox>,
    /// Print JSON, with the criteria that can start now as a matrix
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `check`.
#[derive(Args, Debug)]
pub(crate) struct TaskArgs {
    /// The task
    pub(crate) task: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `log`.
#[derive(Args, Debug)]
pub(crate) struct LogArgs {
    /// A task, for its newest run, or the name of a run, as `status` shows it [default: the
    /// newest run of any task]
    #[arg(value_name = "TASK|RUN")]
    pub(crate) of: Option<String>,
    /// Keep printing events until the run ends
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Print only what tool providers pushed to this stream
    #[arg(long, value_name = "NAME")]
    pub(crate) stream: Option<String>,
    /// Print the events as JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `watch`.
#[derive(Args, Debug)]
pub(crate) struct WatchArgs {
    /// A task, for its newest run, or the name of a run [default: the newest run of any task]
    #[arg(value_name = "TASK|RUN")]
    pub(crate) of: Option<String>,
    #[command(flatten)]
    pub(crate) detail: DetailArgs,
    /// End with the exit code of the run
    #[arg(long)]
    pub(crate) exit_status: bool,
}

/// Flags of `report`.
#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    /// A task, for its newest run, or the name of a run [default: the newest run of any task]
    #[arg(value_name = "TASK|RUN")]
    pub(crate) of: Option<String>,
    /// Write one HTML page to this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["md", "json"])]
    pub(crate) html: Option<PathBuf>,
    /// Print Markdown
    #[arg(long, conflicts_with = "json")]
    pub(crate) md: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `pr`.
#[derive(Args, Debug)]
pub(crate) struct PrArgs {
    /// A task, for its last run, or the name of a run [default: the last run of any task]
    #[arg(value_name = "TASK|RUN")]
    pub(crate) task: Option<String>,
}

/// Flags of `retry`.
#[derive(Args, Debug)]
pub(crate) struct RetryArgs {
    /// The task
    pub(crate) task: String,
    /// The criterion: its line in TASK.md, or its text [default: all without held work]
    pub(crate) criterion: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `accept`.
#[derive(Args, Debug)]
pub(crate) struct AcceptArgs {
    /// The task
    pub(crate) task: String,
    /// The criterion: its line in TASK.md, or its text
    pub(crate) criterion: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `rehearse`.
#[derive(Args, Debug)]
pub(crate) struct RehearseArgs {
    /// The task
    pub(crate) task: String,
    /// How checks are confined: auto, full, partial, off, or required [default: auto]
    #[arg(long, value_name = "TIER", value_parser = run::sandbox())]
    pub(crate) sandbox: Option<Sandbox>,
    /// Also run the hold-out checks in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) holdout: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `verify`.
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// The task
    pub(crate) task: String,
    /// Where the branch begins: the last commit that it has in common with this one [default:
    /// origin/HEAD]
    #[arg(long, value_name = "REF")]
    pub(crate) base: Option<String>,
    /// The end of the branch [default: HEAD]
    #[arg(long, value_name = "REF")]
    pub(crate) head: Option<String>,
    /// Take criteria that a human accepted or ticked, and the branch's own TASK.md: an agent can
    /// imitate such commits
    #[arg(long)]
    pub(crate) allow_accepted: bool,
    /// Refuse criteria that only a commit speaks for
    #[arg(long)]
    pub(crate) require_checks: bool,
    /// How checks are confined: auto, full, partial, off, or required [default: auto]
    #[arg(long, value_name = "TIER", value_parser = run::sandbox())]
    pub(crate) sandbox: Option<Sandbox>,
    /// Also run the hold-out checks in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) holdout: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `tick`.
#[derive(Args, Debug)]
pub(crate) struct TickArgs {
    /// The task
    pub(crate) task: String,
    /// The criterion's line in TASK.md, as `check` shows it, or its text
    pub(crate) criterion: String,
    /// Remove the tick instead
    #[arg(long)]
    pub(crate) off: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `doctor`.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Also check this task and its settings
    pub(crate) task: Option<String>,
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
    /// Also let the Copilot CLI try a call that must be denied, with a local test model
    #[arg(long)]
    pub(crate) deep: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_parser_is_sound() {
        Cli::command().debug_assert();
    }
}
