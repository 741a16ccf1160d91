//! The command line: arguments in, exit codes out. One file a subcommand.
//!
//! Invariant: everything that is printed outside a run's reporters is printed here,
//! by `say` and `complain`, and a closed stream does not panic.

mod accept;
mod agent;
mod agent_folders;
mod args;
mod ask;
mod assemble;
mod audit;
mod canary;
mod check;
mod ci;
mod classify;
mod code_task;
mod command_names;
mod context;
mod copilot;
mod crew;
mod demo;
mod doctor;
mod dry_run;
mod environment;
mod exit;
mod failure;
mod gateway;
mod gc;
mod guardian;
mod hand_over;
mod harness;
mod holdout;
mod hook;
mod hooks;
mod inert;
mod init;
mod issue;
mod json_error;
mod keep_awake;
mod land;
mod launch;
mod list;
mod log;
mod loopback;
mod mcp;
mod models;
mod named_criterion;
mod on_end;
mod openings;
mod orchestrate;
mod paths;
mod placeholders;
mod plan;
mod planned_task;
mod planner;
mod policy;
mod pr;
mod print;
mod proving;
mod quota;
mod recipe;
mod redact;
mod rehearse;
mod report;
mod retry;
mod room_checks;
mod run;
mod run_gateway;
mod run_tools;
mod runtime;
mod sandbox;
mod screen;
mod second_signal;
mod secret_files;
mod shell;
mod shown_checks;
mod signing;
mod standing;
mod stats;
mod status;
mod tell_plan;
mod tick;
mod tier;
mod told;
mod usage;
mod verify_branch;
mod view;
mod walls;
mod watch;
mod words_of_run;
mod worker;

use std::path::Path;
use std::process::ExitCode as ProcessExit;

use clap::Parser as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

use self::args::{Cli, Command, HoldoutCommand};
use self::failure::Failure;
use self::json_error::{JsonError, misunderstood};
use self::print::{RedactedLog, annotate, complain};
pub use exit::document;

/// Parses, runs, and gives the exit code.
pub fn main() -> ProcessExit {
    let (directory, words) = args::leading_directory(std::env::args_os());
    let words = args::attached(words);
    if let Some(args) = args::of_sandbox(&words) {
        listen_to_tracing();
        return ProcessExit::from(sandbox::run(&args));
    }
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(error) => {
            let error = usage::with_tip(error, directory.as_deref(), &words);
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
            annotate("error", None, &failure.to_string());
            ProcessExit::from(failure.code.number())
        }
    }
}

/// A panic of the guard's thread is caught there and becomes a refusal: it must not reach standard
/// error, which is for messages of hooks and commands.
fn keep_the_guard_quiet() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some(crate::shell::THREAD) {
            usual(panic);
        }
    }));
}

/// Traces of the rooms go to standard error if RALPH_COPILOT_LOG asks for it, as in
/// `RALPH_COPILOT_LOG=debug`.
fn listen_to_tracing() {
    let asked = std::env::var("RALPH_COPILOT_LOG").ok();
    let Some(Ok(targets)) = asked.map(|asked| asked.parse::<Targets>()) else { return };
    let lines = tracing_subscriber::fmt::layer().with_writer(|| RedactedLog).with_ansi(false);
    // This can fail only for a second subscriber, and there is only one.
    let _first = tracing_subscriber::registry().with(lines).with(targets).try_init();
}

fn dispatch(directory: Option<&Path>, cli: Cli) -> Result<u8, Failure> {
    match cli.command {
        None => run::run(directory, &cli.run),
        Some(Command::Run(args)) => run::run(directory, &args),
        Some(Command::Demo(args)) => demo::demo(directory, &args),
        Some(Command::Agent { script }) => agent::agent(directory, &script),
        Some(Command::Init(args)) => init::init(directory, &args),
        Some(Command::Plan(args)) => plan::plan(directory, &args),
        Some(Command::Orchestrate(args)) => orchestrate::orchestrate(directory, &args),
        Some(Command::Check(args)) => check::check(directory, &args),
        Some(Command::Status(args)) => status::status(directory, &args),
        Some(Command::Watch(args)) => watch::watch(directory, &args),
        Some(Command::Land(args)) => land::land(directory, &args),
        Some(Command::List(args)) => list::list(directory, &args),
        Some(Command::Log(args)) => log::log(directory, &args),
        Some(Command::Report(args)) => report::report(directory, &args),
        Some(Command::Stats(args)) => stats::stats(directory, &args),
        Some(Command::Pr(args)) => pr::pr(directory, &args),
        Some(Command::Accept(args)) => accept::accept(directory, &args),
        Some(Command::Retry(args)) => retry::retry(directory, &args),
        Some(Command::Holdout(HoldoutCommand::Init(args))) => holdout::init(directory, &args),
        Some(Command::Rehearse(args)) => rehearse::rehearse(directory, &args),
        Some(Command::Verify(args)) => verify_branch::verify(directory, &args),
        Some(Command::Tick(args)) => tick::tick(directory, &args),
        Some(Command::Doctor(args)) => doctor::doctor(directory, &args),
        Some(Command::Redact(args)) => redact::redact(&args),
        Some(Command::Gateway(command)) => gateway::gateway(directory, &command),
        Some(Command::Recipe(args)) => recipe::recipe(directory, &args),
        Some(Command::Guardian(args)) => guardian::guardian(args),
        Some(Command::Classify(args)) => classify::classify(&args),
        Some(Command::Sandbox(args)) => Ok(sandbox::run(&args)),
        Some(Command::Hook(args)) => Ok(hook::hook(directory, &args)),
        Some(Command::Hooks(command)) => hooks::hooks(directory, &command),
        Some(Command::Policy { command }) => policy::policy(directory, &command),
        Some(Command::Copilot(args)) => copilot::copilot(directory, &args),
        Some(Command::CodeTask) => code_task::code_task(directory),
        Some(Command::Mcp(command)) => mcp::mcp(directory, &command),
        Some(Command::Ci(command)) => ci::ci(directory, &command),
        Some(Command::Completions { shell }) => Ok(shell::completions(shell)),
        Some(Command::Man) => shell::man(),
    }
}
