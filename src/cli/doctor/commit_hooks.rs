//! The project's commit hooks, tried as a run tries them.

use super::finding::DoctorFinding;
use crate::cli::context::{RepoContext, TaskContext};
use crate::cli::failure::Failure;
use crate::cli::proving::{Ignored, proving};
use crate::cli::runtime::runtime;
use crate::cli::{assemble, environment, launch};
use crate::config::Settings;
use crate::engine::{first_tick, in_the_hooks_form};
use crate::task::{TASK_FILE, TaskFolder};
use crate::verify::{Checks, Identity, Layout, Preflight, RefusedCommit, TriedCommit};

/// The hooks that refuse the commits of a run. Without a task, one with a made-up name is tried.
pub(super) fn findings(
    place: &RepoContext,
    at: Option<&TaskContext>,
    settings: &Settings,
) -> Vec<DoctorFinding> {
    // A failure is that of another finding.
    let refused = refused(place, at, settings).unwrap_or_default();
    let task = at.and_then(|at| Some((at.usable().ok()?, &at.layout)));
    let form = task.and_then(|(task, layout)| in_the_hooks_form(&task, layout, &refused));
    let note = |it: &RefusedCommit| {
        let hint = match form.is_some() && it.made().is_some() {
            true => {
                "a run commits TASK.md in the hook's form before its first turn, if the hook accepts that"
            }
            false => it.hint(),
        };
        DoctorFinding::note("hooks", it.what(), hint)
    };
    refused.iter().map(note).collect()
}

fn refused(
    place: &RepoContext,
    at: Option<&TaskContext>,
    settings: &Settings,
) -> Result<Vec<RefusedCommit>, Failure> {
    let Some(hooks) = place.repo.commit_hooks()? else { return Ok(Vec::new()) };
    let task = at.and_then(|at| at.usable().ok());
    let made_up;
    let at = match at {
        Some(at) => at,
        None => {
            let (dir, name) = (place.root().join("tasks"), "task".to_owned());
            let folder = TaskFolder { task_file: dir.join(TASK_FILE), dir, name };
            let place = RepoContext::find(Some(place.root()))?;
            made_up = TaskContext { place, folder, layout: Layout::new("task", "tasks") };
            &made_up
        }
    };
    let repo = &at.place.repo;
    let preflight = Preflight::of_commit(repo.checkpoint()?.head, repo.ignored()?);
    let mut proving = proving(at, settings, &preflight, Ignored::OfTheTree)?;
    let identity = repo.identity(&environment::variable)?.unwrap_or_else(Identity::of_the_runner);
    proving.options.env = launch::owned(identity.environment());
    let message = assemble::prefixed(&at.layout, settings).state_message();
    let staged = task.map(|task| first_tick(&task, &at.layout)).unwrap_or_default();
    let parent = &preflight.checkpoint.head;
    let tried = TriedCommit { parent, staged: &staged, message: &message };
    let to_run = (&proving.checks as &dyn Checks, &proving.options);
    Ok(runtime()?.block_on(proving.rooms.try_hooks(&hooks, tried, to_run))?)
}
