//! `--sandbox`: what an agent may write while the kernel confines it, and the process that
//! confines itself before it becomes the agent.
//!
//! Invariant: with `--sandbox` an agent runs confined or does not run; `best-effort` says
//! when it is not confined. Verify commands are the runner's and are not confined.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::args::ConfineArgs;
use super::failure::{Failure, FailureKind};
use super::print::complain;
use crate::agent::AgentCommand;
use crate::model::Sandbox;
use crate::sys::confine::{can_confine, confine};

/// The exit code where the program was not started, as shells have it.
const NOT_STARTED: u8 = 126;

/// Becomes the program; returns only if that fails.
pub(super) fn run(args: &ConfineArgs) -> u8 {
    if let Err(error) = confine(&args.write) {
        complain(&format!("error: {error}"));
        return NOT_STARTED;
    }
    let Some((program, rest)) = args.command.split_first() else { return NOT_STARTED };
    let error = Command::new(program).args(rest).exec();
    complain(&format!("error: cannot start {}: {error}", program.to_string_lossy()));
    NOT_STARTED
}

/// Fails if a sandbox is required and this system has none.
pub(super) fn check(sandbox: Sandbox) -> Result<(), Failure> {
    match (sandbox, can_confine()) {
        (Sandbox::Required, Err(error)) => Err(Failure::new(FailureKind::Agent, error)
            .hint("use --sandbox=best-effort to run unconfined where no sandbox is available")),
        (Sandbox::Required, Ok(())) | (Sandbox::BestEffort | Sandbox::Full | Sandbox::Off, _) => {
            Ok(())
        }
    }
}

/// The command that is started for the agent, and what people are told about it.
pub(super) fn confined(
    command: &AgentCommand,
    sandbox: Sandbox,
    writable: &[PathBuf],
) -> Result<(AgentCommand, Option<String>), Failure> {
    match sandbox {
        Sandbox::Off | Sandbox::Full => return Ok((command.clone(), None)),
        Sandbox::Required | Sandbox::BestEffort => {}
    }
    check(sandbox)?;
    if let Err(error) = can_confine() {
        return Ok((command.clone(), Some(format!("the agent is NOT confined: {error}"))));
    }
    let program =
        std::env::current_exe().map_err(|error| Failure::new(FailureKind::Internal, error))?;
    let mut args = vec!["confine".to_owned()];
    for folder in writable {
        args.extend(["--write".to_owned(), utf8(folder)?]);
    }
    args.extend(["--".to_owned(), utf8(&command.program)?]);
    args.extend(command.args.iter().cloned());
    let shown: Vec<_> = writable.iter().map(|folder| folder.display().to_string()).collect();
    let notice = format!("the agent is confined: it can write only below {}", shown.join(", "));
    Ok((AgentCommand { program, args, kind: command.kind }, Some(notice)))
}

fn utf8(path: &Path) -> Result<String, Failure> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Failure::new(
            FailureKind::Agent,
            format!("cannot confine {}: its path is not UTF-8", path.display()),
        )
    })
}

/// Folders of the agent's own that it may write to, made if they are not there: where the
/// CLI keeps its state, and caches.
pub(super) fn own_folders(copilot_home: Option<PathBuf>) -> Vec<PathBuf> {
    let variable =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = etcetera::home_dir().ok();
    let cache = variable("XDG_CACHE_HOME").or_else(|| home.map(|home| home.join(".cache")));
    let folders = [copilot_home, variable("COPILOT_CACHE_HOME"), cache];
    let mut found = Vec::new();
    for folder in folders.into_iter().flatten() {
        // One that cannot be made cannot be written to, and needs no rule.
        drop(std::fs::create_dir_all(&folder));
        if !found.contains(&folder) {
            found.push(folder);
        }
    }
    found
}
