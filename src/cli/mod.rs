//! The command line: arguments in, exit codes out. One file a subcommand.
//!
//! Invariant: everything that is printed outside a run's reporters is printed here,
//! by `say` and `complain`, and a closed stream is no panic.

mod agent;
mod args;
mod ask;
mod assemble;
mod audit;
mod canary;
mod check;
mod classify;
mod confine;
mod context;
mod copilot;
mod demo;
mod doctor;
mod dry_run;
mod exit;
mod failure;
mod gc;
mod guardian;
mod hook;
mod hooks;
mod init;
mod json_error;
mod launch;
mod log;
mod loopback;
mod policy;
mod quota;
mod recipe;
mod redact;
mod retry;
mod run;
mod screen;
mod shell;
mod status;
mod tick;

use std::borrow::Cow;
use std::path::Path;
use std::process::ExitCode as ProcessExit;

use clap::{CommandFactory as _, Parser as _};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

use self::args::{Cli, Command};
use self::failure::{Failure, FailureKind};
use self::json_error::{JsonError, misunderstood};
use crate::engine::NextCommands;
use crate::guard::GUARD_THREAD;
use crate::report::harmless;
use crate::sys::shutdown::outlive_full_files;
pub use exit::{EXIT_CODES, ExitCode, document};

/// Parses, runs, and gives the exit code.
pub fn main() -> ProcessExit {
    let (directory, words) = args::leading_directory(std::env::args_os());
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(error) => {
            let error = args::with_tip(error, directory.as_deref(), &words);
            drop(error.print());
            if let Some(asked) = JsonError::by(&words).filter(|_| error.use_stderr()) {
                asked.answer(None, &misunderstood(&error));
            }
            return ProcessExit::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    listen_to_tracing();
    keep_the_guard_quiet();
    let directory = cli.directory.clone().or(directory);
    let (asked, task) = (JsonError::by(&words).filter(|_| !cli.tells_itself()), cli.task());
    match dispatch(directory.as_deref(), cli) {
        Ok(code) => ProcessExit::from(code),
        Err(failure) => {
            if let Some(asked) = asked {
                asked.answer(task.as_deref(), &failure);
            }
            complain(&failure.to_string());
            ProcessExit::from(failure.kind.code())
        }
    }
}

/// A panic of the guard's thread is caught there and becomes a refusal: it must not reach
/// standard error, which belongs to what a hook or a command has to say.
fn keep_the_guard_quiet() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some(GUARD_THREAD) {
            usual(panic);
        }
    }));
}

/// What the rooms trace goes to standard error where RALPH_COPILOT_LOG asks for it, as in
/// `RALPH_COPILOT_LOG=debug`.
fn listen_to_tracing() {
    let asked = std::env::var("RALPH_COPILOT_LOG").ok();
    let Some(Ok(targets)) = asked.map(|asked| asked.parse::<Targets>()) else { return };
    let lines = tracing_subscriber::fmt::layer().with_writer(|| RedactedLog).with_ansi(false);
    // A second subscriber is the only thing that can fail here, and there is none.
    let _first = tracing_subscriber::registry().with(lines).with(targets).try_init();
}

fn dispatch(directory: Option<&Path>, cli: Cli) -> Result<u8, Failure> {
    match cli.command {
        None => run::run_alone(directory, &cli.run),
        Some(Command::Run(args)) => run::run(directory, &args),
        Some(Command::Demo(args)) => demo::demo(directory, &args),
        Some(Command::Agent { script }) => agent::agent(directory, &script),
        Some(Command::Init(args)) => init::init(directory, &args),
        Some(Command::Check(args)) => check::check(directory, &args),
        Some(Command::Status(args)) => status::status(directory, &args),
        Some(Command::Log(args)) => log::log(directory, &args),
        Some(Command::Retry(args)) => retry::retry(directory, &args),
        Some(Command::Tick(args)) => tick::tick(directory, &args),
        Some(Command::Doctor(args)) => doctor::doctor(directory, &args),
        Some(Command::Redact(args)) => redact::redact(&args),
        Some(Command::Recipe(args)) => recipe::recipe(directory, &args),
        Some(Command::Guardian(args)) => guardian::guardian(args),
        Some(Command::Classify(args)) => classify::classify(&args),
        Some(Command::Confine(args)) => Ok(confine::run(&args)),
        Some(Command::Hook(args)) => Ok(hook::hook(directory, &args)),
        Some(Command::Hooks(command)) => hooks::hooks(directory, &command),
        Some(Command::Policy { command }) => policy::policy(directory, &command),
        Some(Command::Copilot(args)) => copilot::copilot(directory, &args),
        Some(Command::Completions { shell }) => Ok(shell::completions(shell)),
        Some(Command::Man) => shell::man(),
    }
}

/// What is typed to work on a task, where the user stands. A task with the name of a command
/// takes `run`.
fn start_command(directory: Option<&Path>, task: &str) -> String {
    let run = if is_command(task) { "run " } else { "" };
    format!("ralph-copilot {}{run}{}", in_directory(directory), quoted(task))
}

/// The commands that a run names at its end.
fn next_commands(directory: Option<&Path>, task: &str) -> NextCommands {
    let there = in_directory(directory);
    NextCommands {
        start: start_command(directory, task),
        retry: format!("ralph-copilot {there}retry {}", quoted(task)),
        review: format!("git {there}log --oneline"),
    }
}

/// `-C DIR ` if the user named a folder: git and this program both take it.
fn in_directory(directory: Option<&Path>) -> String {
    directory
        .map_or_else(String::new, |folder| format!("-C {} ", quoted(&folder.to_string_lossy())))
}

/// A word as a shell takes it.
fn quoted(word: &str) -> Cow<'_, str> {
    shlex::try_quote(word).unwrap_or(Cow::Borrowed(word))
}

/// Whether a word is the name of a command.
fn is_command(word: &str) -> bool {
    // Built, it has the parser's own `help` too.
    let mut cli = Cli::command();
    cli.build();
    cli.find_subcommand(word).is_some()
}

/// The command that a word is a misspelling of.
fn nearest_command(word: &str) -> Option<String> {
    let cli = Cli::command();
    let names = cli.get_subcommands().filter(|it| !it.is_hide_set()).map(clap::Command::get_name);
    let by_likeness = |one: &&str, other: &&str| {
        strsim::jaro_winkler(word, one).total_cmp(&strsim::jaro_winkler(word, other))
    };
    names.max_by(by_likeness).filter(|name| similar(word, name)).map(str::to_owned)
}

/// Is one word probably a misspelling of the other?
fn similar(one: &str, other: &str) -> bool {
    strsim::jaro_winkler(one, other) > 0.8
}

/// What is said where a command was typed that is the name of a task here, too.
fn task_of_that_name(directory: Option<&Path>, command: &str) -> Option<String> {
    let there = context::TaskContext::find(directory, command).is_ok();
    there.then(|| {
        let start = start_command(directory, command);
        format!("`{command}` is a command; the task of that name takes `run`: `{start}`")
    })
}

/// Prints to standard output; whoever closed it does not want to read it.
fn say(text: &str) {
    print(&mut std::io::stdout().lock(), &harmless(&launch::redactor().redact_str(text)));
}

/// Prints to standard error.
fn complain(text: &str) {
    print(&mut std::io::stderr().lock(), &harmless(&launch::redactor().redact_str(text)));
}

/// Prints a value as JSON.
fn say_json(value: &serde_json::Value) {
    let value = launch::redactor().redact_json(value);
    say_as_is(&serde_json::to_string_pretty(&value).unwrap_or_default());
}

/// Prints a value as one line of JSON.
fn say_line(value: &serde_json::Value) {
    say_as_is(&launch::redactor().redact_json(value).to_string());
}

/// Prints a text of ours that a program reads and that holds nothing of anybody else's.
fn say_as_is(text: &str) {
    print(&mut std::io::stdout().lock(), text);
}

fn print(out: &mut impl std::io::Write, text: &str) {
    drop(writeln!(out, "{text}"));
}

/// Standard error, as the log writes to it: one line at a time.
struct RedactedLog;

impl std::io::Write for RedactedLog {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        std::io::stderr().write_all(launch::redactor().redact_str(&text).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}

/// Standard input that gives no bytes.
fn unreadable(error: std::io::Error) -> Failure {
    Failure::new(FailureKind::Usage, format!("standard input cannot be read: {error}"))
        .hint("it takes a file or a pipe, as in `… < FILE`")
}

/// A runtime for the commands that wait for something.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(32)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(FailureKind::Internal, error))?;
    runtime.block_on(async { outlive_full_files() })?;
    Ok(runtime)
}
