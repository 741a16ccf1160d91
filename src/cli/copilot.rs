//! `copilot -- ARGS`: a nested launch of the Copilot CLI, normalized and under the guard.
//!
//! In a run the run's own guard decides, asked through its socket; elsewhere this process
//! serves the guard until the CLI ends. The CLI's exit status is passed on.

mod serve;

use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use self::serve::{Begun, OURS, guarded, plugin, plugin_arguments, plugin_folder};
use super::args::CopilotArgs;
use super::context::RepoContext;
use super::failure::Failure;
use super::launch;
use super::paths::{directory, temporary};
use super::print::{complain, say_as_is};
use crate::agent::AgentKind;
use crate::hooks::HookFileChange;
use crate::launcher::{self, Approver, CopyReport, Normalized, normalize};
use crate::model::ExitCode;
use crate::recipe::SOCKET_VARIABLE;
use crate::sys::depth::{DEPTH_VARIABLE, Depth};

/// The CLI was not found.
const NOT_FOUND: u8 = 127;

/// Launches the CLI and gives its exit status.
pub(super) fn copilot(named: Option<&Path>, args: &CopilotArgs) -> Result<u8, Failure> {
    let approver = if args.no_guard { Approver::Flags } else { Approver::Guard };
    let normalized = normalize(&args.arguments, approver);
    let socket = std::env::var_os(SOCKET_VARIABLE).filter(|path| !path.is_empty());
    let socket = socket.map(PathBuf::from);
    if args.print {
        let base = socket.as_deref().and_then(Path::parent).map(Path::to_owned);
        let plugin = plugin_folder(&base.unwrap_or_else(|| temporary().join("ralph-…")));
        let mut all = Vec::new();
        if approver == Approver::Guard {
            let change = launch::environment(AgentKind::Copilot, &plugin, &[])?;
            all.extend(plugin_arguments(&plugin).into_iter().chain(change.arguments));
        }
        all.extend(normalized.arguments);
        print(&all);
        return Ok(0);
    }
    match begin(named, args, socket, normalized) {
        Ok(code) => Ok(code),
        Err(failure) => {
            let code = if failure.code == ExitCode::Agent { NOT_FOUND } else { OURS };
            complain(&failure.to_string());
            Ok(code)
        }
    }
}

fn begin(
    named: Option<&Path>,
    args: &CopilotArgs,
    socket: Option<PathBuf>,
    normalized: Normalized,
) -> Result<u8, Failure> {
    let depth = Depth::current().map_err(|error| Failure::new(ExitCode::Usage, error))?;
    if args.no_guard && socket.is_some() {
        let why = "--no-guard is not allowed inside a run";
        return Err(Failure::new(ExitCode::Usage, why));
    }
    let begun = Begun {
        command: launch::find_copilot()?,
        cwd: directory(named)?,
        normalized,
        depth: depth.next(),
    };
    // In a run these folders are watched: a change there is tampering.
    if !args.no_stage && socket.is_none() {
        stage(named)?;
    }
    match socket {
        Some(socket) => under(begun, &socket),
        None if args.no_guard => {
            let mut command = Command::new(&begun.command.program);
            command.args(&begun.normalized.arguments);
            Err(replace(command, &begun))
        }
        None => serve::serve(RepoContext::find(named)?, begun),
    }
}

/// Becomes the CLI, guarded by the run that listens at `socket`.
fn under(begun: Begun, socket: &Path) -> Result<u8, Failure> {
    // A run that is over decides nothing any more: say so before anything begins.
    UnixStream::connect(socket).map_err(|error| {
        let message = format!("the run at {} does not answer: {error}", socket.display());
        Failure::new(ExitCode::Internal, message)
            .hint(format!("if {SOCKET_VARIABLE} is left over from an earlier run, unset it"))
    })?;
    let base = socket.parent().unwrap_or(Path::new("/")).join(format!("l{}", std::process::id()));
    let plugin = plugin(&base, socket, &begun.normalized)?;
    let command = guarded(&begun, &plugin, &temporary())?;
    Err(replace(command, &begun))
}

/// Becomes the command; comes back only if that fails.
fn replace(mut command: Command, begun: &Begun) -> Failure {
    let error = command.current_dir(&begun.cwd).env(DEPTH_VARIABLE, &begun.depth).exec();
    let program = begun.command.program.display();
    Failure::new(ExitCode::Internal, format!("cannot start {program}: {error}"))
}

fn print(arguments: &[OsString]) {
    let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
    say_as_is(&serde_json::json!(words).to_string());
}

/// Copies the project's agents, hooks, commands, and recipes to the CLI's folders, and makes git
/// ignore the new files there.
fn stage(named: Option<&Path>) -> Result<(), Failure> {
    // Outside a repository there is no project.
    let Ok(place) = RepoContext::find(named) else { return Ok(()) };
    if let Some(holder) = place.holder() {
        // It watches these folders and git's settings: a change there is tampering to it.
        complain(&format!("{holder} is working in this repository: nothing was staged"));
        return Ok(());
    }
    // Held until all is staged: no run may begin in between.
    let Some(mut excludes) = place.repo.lock_excludes()? else {
        complain(
            "a run is working in another worktree of this repository, which shares git's list of \
             ignored files: nothing was staged",
        );
        return Ok(());
    };
    let failed =
        |error: Box<dyn std::error::Error + Send + Sync>| Failure::new(ExitCode::Write, error);
    let CopyReport { mut created, mut updated, mut kept, left_out } =
        launcher::copy_project_files(place.root()).map_err(|error| failed(error.into()))?;
    for (path, staged) in super::hooks::stage_for_launch(place.root())? {
        match staged {
            HookFileChange::Created => created.push(path.into()),
            HookFileChange::Updated => updated.push(path.into()),
            HookFileChange::LeftAlone => kept.push(path.into()),
            HookFileChange::Unchanged => {}
        }
    }
    if !created.is_empty() {
        let ours = created.iter().map(PathBuf::as_path).chain([Path::new(launcher::COPIES_FILE)]);
        let patterns: Vec<String> = ours.filter_map(pattern).collect();
        excludes.add(&patterns.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    for (what, paths) in [
        ("staged for the Copilot CLI", created),
        ("updated", updated),
        ("left alone, because you wrote them", kept),
        ("left out, because another file has the same name", left_out),
    ] {
        if !paths.is_empty() {
            complain(&format!("{what}: {}", list(&paths)));
        }
    }
    Ok(())
}

/// The line of git's own list that means this file and no other; none for a name that no
/// line can hold.
fn pattern(path: &Path) -> Option<String> {
    let name = path.to_str().filter(|name| !name.contains(['\n', '\r']))?;
    let mut pattern = "/".to_owned();
    for letter in name.chars() {
        if matches!(letter, '\\' | '*' | '?' | '[' | ' ') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    Some(pattern)
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}
