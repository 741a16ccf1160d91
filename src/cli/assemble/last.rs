//! Cleanup after the last run of a working tree: its processes and its unrecorded lines.

use std::path::Path;
use std::time::Duration;

use crate::cli::context::TaskContext;
use crate::cli::failure::Failure;
use crate::engine::{ResumeContext, Resumed, resume};
use crate::events::journals;
use crate::model::{ExitCode, Reporter};
use crate::sys::process::{Sweep, sweep};
use crate::verify::{Identity, Layout};

/// Time limit for ending the processes of the last run.
pub(super) const LEFT_BEHIND: Duration = Duration::from_secs(5);

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
