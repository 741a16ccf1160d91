//! Takes a working tree for a run, and cleans up after the run before it.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::notices::Untold;
use super::plan::{excluded, note, revisions, settings};
use super::run_guards::{LEFT_BEHIND, at_once};
use crate::agent::AgentError;
use crate::cli::args::RunArgs;
use crate::cli::context::{RepoContext, TaskContext};
use crate::cli::failure::Failure;
use crate::cli::second_signal::SecondSignal;
use crate::cli::{audit, environment, screen};
use crate::engine::{LESSONS, ResumeContext, Resumed, resume};
use crate::events::{journals, run_id_after};
use crate::hooks::SESSION_EVENTS;
use crate::model::{ExitCode, Reporter, RunId};
use crate::recipe::RecipeError;
use crate::report::LiveLines;
use crate::sys::clock::Clock;
use crate::sys::depth::Depth;
use crate::sys::lock::TreeLock;
use crate::sys::process::{Sweep, sweep};
use crate::sys::shutdown::Shutdown;
use crate::verify::{ExcludesWatch, Identity, Layout};

/// A working tree that belongs to one run. Its fields are dropped in this order.
pub(super) struct Claim {
    pub(super) untold: Untold,
    pub(super) excludes: ExcludesWatch,
    pub(super) lock: TreeLock,
    pub(super) run: RunId,
    /// The folder of all runs.
    pub(super) runs: PathBuf,
    /// The folder of this run, not made yet.
    pub(super) folder: PathBuf,
    pub(super) stop: Shutdown,
    pub(super) second: Arc<SecondSignal>,
    pub(super) depth: Depth,
    /// Who commits, if git knows.
    pub(super) identity: Option<Identity>,
    pub(super) resumed: Resumed,
    /// The audit's folder, and its path in the repository if it lies there.
    pub(super) audited: PathBuf,
    pub(super) audited_here: Option<String>,
}

/// Takes the lock, ends the processes of the last run, and restores its unrecorded state.
pub(super) async fn claim(
    at: &TaskContext,
    args: &RunArgs,
    clock: Clock,
    live: Option<&LiveLines>,
) -> Result<Claim, Failure> {
    let runs = at.place.runs();
    let found = match at.usable() {
        // A run that was killed may have left half a TASK.md, or none: it is restored below.
        Err(_) if last_run(&runs)?.is_some() => at.load().or_else(|_| at.committed())?,
        found => found?,
    };
    // Settings that do not fit together are refused before anything is changed.
    let settings = settings(&at.place, args.settings.layer(), &found)?;
    if args.ask && settings.jobs > 1 {
        return Err(excluded(&settings, "--ask", "several agents would ask at once"));
    }
    let audited = audit::folder(at.place.root(), &at.place.cwd);
    let audited_here = audit::inside(&audited, at.place.root())?.map(str::to_owned);
    make_private(&runs)?;
    let last = last_run(&runs)?;
    let run = run_id_after(last.as_deref(), clock.now(), std::process::id());
    // From here on a signal ends the run in good order instead of killing this process.
    let stop = Shutdown::default();
    let run_of_signal = run.clone();
    let live = live.cloned();
    let second = Arc::<SecondSignal>::default();
    let duties = Arc::clone(&second);
    stop.listen(move |signal| at_once(&run_of_signal, live.as_ref(), &duties, signal))?;
    let lock = TreeLock::take(&at.place.lock(), run.as_str())?;
    at.place.repo.fetch_missing(&revisions(at), &note)?;
    // Only once the tree is ours: another run watches git's settings.
    let excludes = watch_excludes(&at.place, audited_here.as_deref())?;
    let mut untold = Untold::default();
    untold.add(end_the_last_run(&runs).await?);
    let depth = Depth::current().map_err(|error| Failure::from(RecipeError::from(error)))?;
    let identity = at.place.repo.identity(&environment::variable)?;
    let mut resumed = Resumed::default();
    let reporters = |layout: &Layout| screen::catching_up(at.place.root(), layout, clock);
    let ordered = put_in_order(at, &runs, identity.as_ref(), reporters, &mut resumed);
    untold.add(resumed.notices.drain(..));
    ordered?;
    let folder = runs.join(run.as_str());
    Ok(Claim {
        untold,
        excludes,
        lock,
        run,
        runs,
        folder,
        stop,
        second,
        depth,
        identity,
        resumed,
        audited,
        audited_here,
    })
}

/// Makes git ignore the runner's files in the repository, and keeps our other commands from
/// changing git's list of ignored files during the run.
fn watch_excludes(
    place: &RepoContext,
    audited_here: Option<&str>,
) -> Result<ExcludesWatch, Failure> {
    let audited_here = audited_here.map(|here| format!("/{here}/"));
    // Installed hooks log there, but leave git's list alone during a run.
    let logged = format!("/{SESSION_EVENTS}");
    let lessons = format!("/{LESSONS}");
    let own = [".ralph/runs/", ".ralph/audit/", &lessons, &logged];
    let patterns: Vec<&str> = own.into_iter().chain(audited_here.as_deref()).collect();
    Ok(place.repo.watch_excludes(&patterns)?)
}

/// Makes a folder that only this user can enter.
pub(super) fn make_private(folder: &Path) -> Result<(), Failure> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|source| {
        let error = AgentError::Prepare { path: folder.to_owned(), source };
        Failure::from(error)
            .hint("the journal is written below .ralph/runs/, so it must be writable")
    })
}

/// The name of the newest run.
pub(super) fn last_run(runs: &Path) -> Result<Option<String>, Failure> {
    let journals = journals(runs).map_err(|error| Failure::new(ExitCode::Write, error))?;
    let folder = journals.first().and_then(|journal| journal.parent()?.file_name());
    Ok(folder.and_then(|name| Some(name.to_str()?.to_owned())))
}

/// A killed run could not end its agent's tools, which have their own sessions and would continue
/// to change the tree. We hold the lock, so that run has certainly ended.
pub(super) async fn end_the_last_run(runs: &Path) -> Result<Option<String>, Failure> {
    let Some(name) = last_run(runs)? else { return Ok(None) };
    let Sweep { ended, left } = sweep(&name, LEFT_BEHIND).await;
    if !left.is_empty() {
        let message = format!("cannot end processes of run {name}: {left:?}");
        return Err(Failure::new(ExitCode::Locked, message));
    }
    let notice = || format!("ended leftover processes of run {name}: {ended:?}");
    Ok((!ended.is_empty()).then(notice))
}

/// Cleans up after the last run, before this one has a journal.
pub(super) fn put_in_order(
    at: &TaskContext,
    runs: &Path,
    identity: Option<&Identity>,
    reporters: impl Fn(&Layout) -> Vec<Box<dyn Reporter>>,
    resumed: &mut Resumed,
) -> Result<(), Failure> {
    let nobody = Identity::of_the_runner();
    let identity = identity.unwrap_or(&nobody);
    let aftermath = ResumeContext { repo: &at.place.repo, runs, identity, reporters: &reporters };
    resume(&aftermath, &at.layout, resumed).map_err(Failure::from)
}
