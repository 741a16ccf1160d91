//! What the last run of a working tree left behind: its processes, and what it did not
//! record.

use std::path::Path;
use std::time::Duration;

use crate::cli::context::TaskContext;
use crate::cli::failure::Failure;
use crate::engine::{ResumeContext, Resumed, resume};
use crate::events::journals;
use crate::model::{ExitCode, Reporter};
use crate::sys::process::{Sweep, sweep};
use crate::verify::{Identity, Layout};

/// How long what a run left behind may take to end.
pub(super) const LEFT_BEHIND: Duration = Duration::from_secs(5);

/// The name of the newest run.
pub(super) fn last_run(runs: &Path) -> Result<Option<String>, Failure> {
    let journals = journals(runs).map_err(|error| Failure::new(ExitCode::Write, error))?;
    let folder = journals.first().and_then(|journal| journal.parent()?.file_name());
    Ok(folder.and_then(|name| Some(name.to_str()?.to_owned())))
}

/// A run that was killed could not end its agent's tools, which have sessions of their
/// own: they would go on changing the tree. The lock is ours, so it is over for sure.
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

/// What the last run left behind is put in order before this one has a journal.
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
