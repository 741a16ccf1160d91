//! What can be typed, and what `--help` says about it.

use std::ffi::{OsStr, OsString};
use std::num::NonZeroU32;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;

use super::classify::ClassifyArgs;
use super::exit::IN_SHORT;
use crate::config::{LayerSettings, Span, from_one};
use crate::model::{OnStuck, Sandbox, Via, WriteScope};

/// Works through a task's criteria with a coding agent, unattended, and believes
/// only what git and the checks show.
#[derive(Debug, Parser)]
#[command(
    name = "ralph-copilot",
    version,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = format!("Examples:
  ralph-copilot demo                     watch a whole run: no account, no network
  ralph-copilot init login-form          scaffold tasks/login-form/TASK.md
  ralph-copilot check login-form         what was understood of it
  ralph-copilot login-form               work on it until every criterion is proven
  ralph-copilot status login-form        where it stands

{IN_SHORT}")
)]
pub(crate) struct Cli {
    /// Work as if started in this folder.
    #[arg(short = 'C', long = "directory", value_name = "DIR", global = true)]
    pub(crate) directory: Option<PathBuf>,
    /// What to do; without one: `run`.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// The run, when no command is named.
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Takes `-C DIR` from before the command, where git and make have it too. The parser
/// takes flags there for those of a run, which go with no other command.
pub(crate) fn leading_directory(
    words: impl IntoIterator<Item = OsString>,
) -> (Option<PathBuf>, Vec<OsString>) {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let named = words.get(1).is_some_and(|word| word == "-C" || word == "--directory");
    if named && words.len() > 2 {
        let directory = words.remove(2);
        words.remove(1);
        return (Some(directory.into()), words);
    }
    let joined = words.get(1).and_then(|word| {
        let word = word.as_bytes();
        let long = word.strip_prefix(b"--directory=");
        long.or_else(|| word.strip_prefix(b"-C").filter(|joined| !joined.is_empty()))
    });
    let joined = joined.map(|path| PathBuf::from(OsStr::from_bytes(path)));
    if joined.is_some() {
        words.remove(1);
    }
    (joined, words)
}

impl Cli {
    /// The task of `check`, whose object names it whatever happens.
    pub(crate) fn task(&self) -> Option<String> {
        match &self.command {
            Some(Command::Check(args)) => Some(args.task.clone()),
            _ => None,
        }
    }

    /// Whether the command tells by itself, on its stream of events, why it cannot begin.
    pub(crate) fn tells_itself(&self) -> bool {
        matches!(self.command, None | Some(Command::Run(_) | Command::Demo(_)))
    }
}

/// Says what the parser cannot know: that the first word is no command, where it only sees
/// that two words do not go together, or that it is the name of a task, too.
pub(crate) fn with_tip(
    mut error: clap::Error,
    directory: Option<&Path>,
    words: &[OsString],
) -> clap::Error {
    let tip = |error: &mut clap::Error, tip: String| {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    };
    let first = words.get(1).and_then(|word| word.to_str()).filter(|word| !word.starts_with('-'));
    let Some(first) = first else { return error };
    if error.use_stderr()
        && super::is_command(first)
        && let Some(task) = super::task_of_that_name(directory, first)
    {
        tip(&mut error, task);
        return error;
    }
    if error.kind() != ErrorKind::ArgumentConflict || super::is_command(first) {
        return error;
    }
    let meant = super::nearest_command(first);
    let meant = meant.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
    Cli::command().error(ErrorKind::InvalidSubcommand, format!("unknown command `{first}`{meant}"))
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Work on a task (the default: `ralph-copilot <task>`)
    #[command(after_help = format!("A task with the name of a command takes `run`, as in \
`ralph-copilot run check`.\n\n{IN_SHORT}"))]
    Run(Box<RunArgs>),
    /// A real run in a temporary repository with the built-in scripted agent
    #[command(
        after_help = "Needs no account, no node and no network. The repository is kept, so that \
its commits, progress.md and activity.log can be read."
    )]
    Demo(DemoArgs),
    /// The built-in scripted ACP agent, on standard input and output
    #[command(
        after_help = "For `--agent 'ralph-copilot agent SCRIPT'`; the script's format is in \
docs/scripted-agent.md."
    )]
    Agent {
        /// The script: a YAML file.
        script: PathBuf,
    },
    /// Scaffold a task; never overwrites
    Init(InitArgs),
    /// Show what was understood of a task
    Check(TaskArgs),
    /// Where a task stands
    Status(TaskArgs),
    /// What happened in a run
    Log(LogArgs),
    /// Clear the attempts of blocked criteria, so that they are tried again
    Retry(RetryArgs),
    /// Tick a criterion by hand: changes one byte of TASK.md
    Tick(TickArgs),
    /// What is missing on this machine, and which layer each setting comes from
    Doctor(Box<DoctorArgs>),
    /// What the guard would decide about a call, and why
    Policy {
        /// What to do.
        #[command(subcommand)]
        command: super::policy::PolicyCommand,
    },
    /// Take secrets out of standard input (a filter)
    #[command(
        after_help = "Tokens of known services, private keys, and what stands behind names such as \
`password` become [REDACTED], and so do the values of this environment's own secret variables. \
Names, hosts and ordinary words stay; JSON stays JSON."
    )]
    Redact(super::redact::RedactArgs),
    /// What class, action and wait an error text gets: a filter
    Classify(ClassifyArgs),
    /// A hook of the Copilot CLI: asks the running runner, or the project's own hooks
    Hook(super::hook::HookArgs),
    /// Mount the hooks in a repository; never overwrites
    #[command(subcommand)]
    Hooks(super::hooks::HooksCommand),
    /// Run recipes of `recipe-runner-rs`
    Recipe(super::recipe::RecipeArgs),
    /// Start the Copilot CLI for a recipe or another tool, under the guard
    Copilot(super::copilot::CopilotArgs),
    /// Ends what is left of a run whose runner was killed (started by the runner)
    #[command(hide = true)]
    Guardian(super::guardian::GuardianArgs),
    /// Run a program that may write below some folders only (used by `--sandbox`)
    #[command(hide = true)]
    Confine(super::confine::ConfineArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page (roff)
    Man,
}

/// Flags of a run; each is also a key of `.ralph/config.toml` and, in capitals
/// with `RALPH_COPILOT_` before it, a variable.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RunArgs {
    /// The task: a folder with TASK.md, or its name below tasks/ or .ralph/active/
    #[arg(required = true)]
    pub(crate) task: Option<String>,
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
    /// Print the events as JSON lines
    #[arg(long)]
    pub(crate) json: bool,
    /// Ask at the terminal for what the policy leaves to a human; without an answer in 15
    /// seconds it is denied
    #[arg(long, help_heading = "Guard")]
    pub(crate) ask: bool,
    /// Check everything, show the first prompt and what would be done, start no agent
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Flags that override settings.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SettingArgs {
    /// Stop after this many iterations [default: 20]
    #[arg(long, value_name = "N", help_heading = "Limits", value_parser = from_one)]
    max_iterations: Option<NonZeroU32>,
    /// Stop after this much time, as `30m` or `8h`
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    max_duration: Option<Span>,
    /// Stop after this many premium requests
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_premium_requests: Option<u32>,
    /// Stop after this many tokens, as far as the agent reports them
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_tokens: Option<u64>,
    /// Wait at most this long in a row for rate limits, network and server to pass
    /// [default: 2h]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    max_wait: Option<Span>,
    /// Attempts on a criterion before it counts as stuck [default: 3]
    #[arg(long, value_name = "N", help_heading = "Limits", value_parser = from_one)]
    stuck_threshold: Option<NonZeroU32>,
    /// What to do with a stuck criterion: stop the run, or put it aside and go on
    /// [default: stop]
    #[arg(long, value_name = "WHAT", help_heading = "Limits",
        value_parser = PossibleValuesParser::new(["stop", "skip"]).map(on_stuck))]
    on_stuck: Option<OnStuck>,
    /// A turn without any sign of life for this long is stuck [default: 15m]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    idle_timeout: Option<Span>,
    /// A turn may not take longer than this [default: 2h]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    turn_timeout: Option<Span>,
    /// One verify command may not take longer than this [default: 10m]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    verify_timeout: Option<Span>,
    /// The model to ask for [default: claude-sonnet-4.5, or the provider's own]
    #[arg(long, value_name = "MODEL", help_heading = "Agent")]
    model: Option<String>,
    /// Any command that speaks ACP on its standard streams [default: copilot --acp]
    #[arg(long, value_name = "COMMAND", help_heading = "Agent")]
    agent: Option<String>,
    /// How Copilot is driven: `acp`, or `cli` for one `copilot -p` per iteration, where ACP
    /// does not come up [default: acp]
    #[arg(long, value_name = "HOW", help_heading = "Agent",
        value_parser = PossibleValuesParser::new(["acp", "cli"]).map(via))]
    via: Option<Via>,
    /// Make or take this branch first, without touching the tree
    #[arg(long, value_name = "NAME", help_heading = "Repository")]
    branch: Option<String>,
    /// Go on although files are uncommitted; they are never committed, reset or lost
    #[arg(long, help_heading = "Repository")]
    allow_dirty: bool,
    /// Refuse criteria that only a commit proves
    #[arg(long, help_heading = "Verdict")]
    require_checks: bool,
    /// Do not run the verify commands before the work
    #[arg(long, help_heading = "Verdict")]
    no_baseline: bool,
    /// Do not check the work when the agent wants to end its turn
    #[arg(long, help_heading = "Verdict")]
    no_stop_check: bool,
    /// Where the agent may write [default: workspace]
    #[arg(long, value_name = "WHERE", help_heading = "Guard",
        value_parser = PossibleValuesParser::new(["workspace", "task"]).map(write_scope))]
    write_scope: Option<WriteScope>,
    /// Let the operating system confine what the agent writes (Linux)
    #[arg(long, value_name = "MODE", help_heading = "Guard", num_args = 0..=1,
        require_equals = true, default_missing_value = "required",
        value_parser = PossibleValuesParser::new(["off", "required", "best-effort"]).map(sandbox))]
    sandbox: Option<Sandbox>,
    /// Allow a command on top of the built-in list, as in `npm run lint`; repeatable
    #[arg(long, value_name = "COMMAND", help_heading = "Guard")]
    allow: Vec<String>,
    /// A glob that the agent must not change; repeatable
    #[arg(long, value_name = "GLOB", help_heading = "Guard")]
    protect: Vec<String>,
}

impl SettingArgs {
    /// Names an agent that speaks ACP, as `--agent` and `--via` would.
    pub(crate) fn name_agent(&mut self, command: String) {
        self.agent = Some(command);
        self.via = Some(Via::Acp);
    }

    /// The layer that these flags make.
    pub(crate) fn layer(&self) -> LayerSettings {
        let set = |flag: bool| flag.then_some(true);
        LayerSettings {
            max_iterations: self.max_iterations,
            max_duration: self.max_duration,
            max_premium_requests: self.max_premium_requests,
            max_tokens: self.max_tokens,
            max_wait: self.max_wait,
            stuck_threshold: self.stuck_threshold,
            on_stuck: self.on_stuck,
            model: self.model.clone(),
            agent: self.agent.clone(),
            via: self.via,
            branch: self.branch.clone(),
            allow_dirty: set(self.allow_dirty),
            require_checks: set(self.require_checks),
            baseline: self.no_baseline.then_some(false),
            stop_check: self.no_stop_check.then_some(false),
            write_scope: self.write_scope,
            sandbox: self.sandbox,
            verify_timeout: self.verify_timeout,
            idle_timeout: self.idle_timeout,
            turn_timeout: self.turn_timeout,
            protect: self.protect.clone(),
            allow: self.allow.clone(),
            ..LayerSettings::default()
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "clap hands the value over")]
fn on_stuck(word: String) -> OnStuck {
    if word == "skip" { OnStuck::Skip } else { OnStuck::Stop }
}

#[expect(clippy::needless_pass_by_value, reason = "clap hands the value over")]
pub(super) fn write_scope(word: String) -> WriteScope {
    if word == "task" { WriteScope::Task } else { WriteScope::Workspace }
}

#[expect(clippy::needless_pass_by_value, reason = "clap hands the value over")]
fn via(word: String) -> Via {
    if word == "cli" { Via::Cli } else { Via::Acp }
}

#[expect(clippy::needless_pass_by_value, reason = "clap hands the value over")]
fn sandbox(word: String) -> Sandbox {
    match word.as_str() {
        "required" => Sandbox::Required,
        "best-effort" => Sandbox::BestEffort,
        _ => Sandbox::Off,
    }
}

/// Flags of `demo`.
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Make the repository here (an empty or new folder) [default: a temporary folder]
    pub(crate) folder: Option<PathBuf>,
    /// Print the events as JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `init`.
#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// The task's name
    #[arg(required_unless_present = "instructions")]
    pub(crate) task: Option<String>,
    /// Also write .github/copilot-instructions.md, which every Copilot session in this
    /// repository follows
    #[arg(long)]
    pub(crate) instructions: bool,
    /// Print the created and kept files as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of the commands that look at a task.
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
    /// A task, for its newest run; or a run's name, as `status` shows it [default: the newest
    /// run of any task]
    #[arg(value_name = "TASK|RUN")]
    pub(crate) of: Option<String>,
    /// Keep printing events until the run ends
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Print the events as JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `retry`.
#[derive(Args, Debug)]
pub(crate) struct RetryArgs {
    /// The task
    pub(crate) task: String,
    /// A criterion: its line in TASK.md, or its text [default: all of them]
    pub(crate) criterion: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `tick`.
#[derive(Args, Debug)]
pub(crate) struct TickArgs {
    /// The task
    pub(crate) task: String,
    /// The criterion's 1-based line in TASK.md, as `check` shows it
    pub(crate) line: usize,
    /// Take the tick away instead
    #[arg(long)]
    pub(crate) off: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `doctor`.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Look at the settings of this task too
    pub(crate) task: Option<String>,
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
    /// Let the agent try a call that must be denied, for a model on loopback
    #[arg(long)]
    pub(crate) deep: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(words: &[&str]) -> (Option<PathBuf>, Vec<OsString>) {
        leading_directory(words.iter().map(OsString::from))
    }

    #[test]
    fn the_directory_may_stand_before_the_command() {
        for words in [
            &["r", "-C", "d", "check", "t"][..],
            &["r", "--directory", "d", "check", "t"],
            &["r", "--directory=d", "check", "t"],
            &["r", "-Cd", "check", "t"],
        ] {
            let (directory, rest) = split(words);
            assert_eq!(directory, Some(PathBuf::from("d")), "{words:?}");
            assert_eq!(rest, ["r", "check", "t"], "{words:?}");
        }
        assert_eq!(split(&["r", "check", "-C", "d"]).0, None);
        assert_eq!(split(&["r", "-C"]).1, ["r", "-C"]);
    }

    #[test]
    fn the_parser_is_sound() {
        Cli::command().debug_assert();
    }
}
