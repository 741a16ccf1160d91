//! Serves the guard for one launch that belongs to no run. Its guardian ends the CLI if this
//! process is killed.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, kill_process};
use tokio::process::Child;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::agent::{AgentCommand, AgentKind, Focus, Gate, Greeting, GuardServer};
use crate::cli::context::RepoContext;
use crate::cli::failure::Failure;
use crate::cli::paths::own_program;
use crate::cli::print::complain;
use crate::cli::runtime::runtime;
use crate::cli::{audit, environment, guardian, launch, policy};
use crate::config::{LayerSettings, resolve};
use crate::events::run_id;
use crate::guard::OsFiles;
use crate::hooks::{Plugin, PluginUse};
use crate::launcher::Normalized;
use crate::model::{ExitCode, RunId};
use crate::sys::clock::Clock;
use crate::sys::depth::DEPTH_VARIABLE;
use crate::sys::process::{CHILD_VARIABLE, RUN_VARIABLE, Sweep, kill_now, spawn_beside, sweep};
use crate::sys::shutdown::{is_ignored, next};

/// Time limit for ending the processes that the CLI left.
const LEFT_BEHIND: Duration = Duration::from_secs(2);

/// Runs the CLI under its own guard, and returns the CLI's exit status.
pub(super) fn serve(place: RepoContext, begun: Begun) -> Result<u8, Failure> {
    runtime()?.block_on(async {
        let launch_id = run_id(Clock::system().now(), std::process::id());
        let scratch = launch::scratch()?;
        let guardian = guardian::stand_by(&launch_id, scratch.path())?;
        let ended = guard(place, begun, &launch_id, scratch.path()).await;
        // Remove the folder while the guardian still runs.
        drop(scratch);
        guardian.dismiss().await;
        ended
    })
}

async fn guard(
    place: RepoContext,
    begun: Begun,
    launch_id: &RunId,
    scratch: &Path,
) -> Result<u8, Failure> {
    let clock = Clock::system();
    let tmp = scratch.join("tmp");
    let redactor = Arc::clone(environment::redactor());
    place.repo.exclude(&[".ralph/audit/"])?;
    let audited = audit::folder(place.root(), &place.cwd);
    let record = audit::alone(&audited, clock, &redactor)?;
    let gate = Arc::new(Gate::new(record, redactor, Box::new(OsFiles)));
    let settings = resolve(&place.layers(LayerSettings::default(), None)?);
    let mut policy = policy::without_task(&place, &settings)?;
    policy.tmp = Some(tmp.clone());
    gate.focus(Focus { iteration: 0, policy: Arc::new(policy) })?;
    let socket = launch::socket(scratch)?;
    let _server = GuardServer::start(
        &socket,
        Arc::clone(&gate),
        Greeting::Welcome,
        None,
        AgentKind::Copilot,
    )?;
    let plugin = plugin(scratch, &socket, &begun.normalized)?;
    let mut signals = Signals::listen()?;
    let mut command = guarded(&begun, &plugin, &tmp)?;
    command.current_dir(&begun.cwd).env(DEPTH_VARIABLE, &begun.depth);
    command.env(RUN_VARIABLE, launch_id.as_str());
    let mut child = spawn_beside(&mut command.into())?;
    let status = signals.pass_on_until_it_ends(&mut child).await;
    gate.rest();
    let Sweep { left, .. } = sweep(launch_id.as_str(), LEFT_BEHIND).await;
    if !left.is_empty() {
        kill_now(launch_id.as_str());
        complain(&format!("cannot end processes of the launch: {left:?}"));
    }
    let status = status.map_err(|error| Failure::new(ExitCode::Internal, error))?;
    // A CLI that failed, or was ended, may have had no time for a hook: its own status says it.
    if status.success() && begun.normalized.prompted && !gate.greeted() {
        complain("error: the guard was not active: no hook of the CLI reached it");
        return Ok(OURS);
    }
    Ok(code(status))
}

/// As a shell has it: 128 and the signal's number.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(OURS)
}

/// The signals that are for the CLI.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// None where it was ignored when we were started, as by `nohup`: then the CLI ignores it.
    hangup: Option<Signal>,
    quit: Signal,
}

impl Signals {
    fn listen() -> Result<Self, Failure> {
        let failed = |error| Failure::new(ExitCode::Internal, error);
        let hangup = (!is_ignored(SignalKind::hangup())).then(|| signal(SignalKind::hangup()));
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
            hangup: hangup.transpose().map_err(failed)?,
            quit: signal(SignalKind::quit()).map_err(failed)?,
        })
    }

    /// Forwards signals until the CLI ends. Signals from a terminal reach the CLI directly, since
    /// it is in our group.
    async fn pass_on_until_it_ends(&mut self, child: &mut Child) -> std::io::Result<ExitStatus> {
        let at_terminal = std::io::stdin().is_terminal();
        loop {
            let kind = tokio::select! {
                status = child.wait() => return status,
                _ = self.interrupt.recv() => SignalKind::interrupt(),
                _ = self.terminate.recv() => SignalKind::terminate(),
                () = next(self.hangup.as_mut()) => SignalKind::hangup(),
                _ = self.quit.recv() => SignalKind::quit(),
            };
            let typed = kind == SignalKind::interrupt() || kind == SignalKind::quit();
            if typed && at_terminal {
                continue;
            }
            let pid = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
            let signal = rustix::process::Signal::from_named_raw(kind.as_raw_value());
            if let (Some(pid), Some(signal)) = (pid, signal) {
                // It has just ended: its status comes next.
                let _gone = kill_process(pid, signal);
            }
        }
    }
}

/// A failure of ours, told apart from any of the CLI's; as `env` and `timeout` have it.
pub(super) const OURS: u8 = 125;

/// One launch that may begin.
pub(super) struct Begun {
    pub(super) command: AgentCommand,
    pub(super) cwd: PathBuf,
    pub(super) normalized: Normalized,
    pub(super) depth: String,
}

/// The CLI's command with the guard's plugin, and an environment without variables that would
/// weaken the guard.
pub(super) fn guarded(begun: &Begun, plugin: &Plugin, tmp: &Path) -> Result<Command, Failure> {
    let change = launch::environment(begun.command.kind, tmp, &[])?;
    let mut command = Command::new(&begun.command.program);
    command
        .args(plugin_arguments(plugin.folder()))
        .args(change.arguments)
        .args(&begun.normalized.arguments);
    // A run or a recipe uses these to find and end everything that it started.
    let marks = |name: &OsString| name == RUN_VARIABLE || name == CHILD_VARIABLE;
    for (name, value) in change.variables {
        match value {
            Some(value) => command.env(name, value),
            None if marks(&name) => continue,
            None => command.env_remove(name),
        };
    }
    Ok(command)
}

pub(super) fn plugin(
    base: &Path,
    socket: &Path,
    normalized: &Normalized,
) -> Result<Plugin, Failure> {
    let program = own_program()?;
    // With narrow flags of the caller the CLI's own answer counts: both must agree.
    let mounted = if normalized.narrowed { PluginUse::NarrowLaunch } else { PluginUse::Launch };
    let written = Plugin::write(&plugin_folder(base), &program, socket, mounted);
    written.map_err(|error| Failure::new(ExitCode::Write, error))
}

pub(super) fn plugin_folder(base: &Path) -> PathBuf {
    base.join("plugin")
}

pub(super) fn plugin_arguments(folder: &Path) -> [OsString; 2] {
    ["--plugin-dir".into(), folder.into()]
}
