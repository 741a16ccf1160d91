//! What can be typed, and what `--help` says about it.

use super::exit::IN_SHORT;
mod copilot;
mod filters;
mod hooks;
mod internal;
mod policy;
mod recipe;
mod run;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

pub(super) use self::copilot::CopilotArgs;
pub(super) use self::filters::{ClassifyArgs, RedactArgs};
pub(super) use self::hooks::{HookArgs, HooksCommand, StageArgs};
pub(super) use self::internal::{ConfineArgs, GuardianArgs, SandboxArgs, SandboxPart};
pub(super) use self::policy::{PolicyArgs, PolicyCommand};
pub(super) use self::recipe::{
    InstallRunnerArgs, ListArgs, RecipeArgs, RecipeCommand, RecipeDoctorArgs, RunRecipeArgs,
};
pub(super) use self::run::{RunArgs, SettingArgs};

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
        command: PolicyCommand,
    },
    /// Take secrets out of standard input (a filter)
    #[command(
        after_help = "Tokens of known services, private keys, and what stands behind names such as \
`password` become [REDACTED], and so do the values of this environment's own secret variables. \
Names, hosts and ordinary words stay; JSON stays JSON."
    )]
    Redact(RedactArgs),
    /// What class, action and wait an error text gets: a filter
    Classify(ClassifyArgs),
    /// A hook of the Copilot CLI: asks the running runner, or the project's own hooks
    Hook(HookArgs),
    /// Mount the hooks in a repository; never overwrites
    #[command(subcommand)]
    Hooks(HooksCommand),
    /// Run recipes of `recipe-runner-rs`
    Recipe(RecipeArgs),
    /// Start the Copilot CLI for a recipe or another tool, under the guard
    Copilot(CopilotArgs),
    /// Ends what is left of a run whose runner was killed (started by the runner)
    #[command(hide = true)]
    Guardian(GuardianArgs),
    /// Run a program that may write below some folders only (used by `--sandbox`)
    #[command(hide = true)]
    Confine(ConfineArgs),
    /// A part of a session's sandbox (started by the runner)
    #[command(hide = true)]
    Sandbox(SandboxArgs),
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
    use clap::CommandFactory as _;

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
