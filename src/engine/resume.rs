//! What a run that died left in the working tree.
//!
//! Such leftovers are not the human's: they match the checkpoint in the dead run's
//! journal. They are kept under a ref and the tree goes back to the checkpoint, so that
//! the iteration is done again from the start. Where anything speaks against it (another
//! branch, a commit that is not ours, a file that was changed after the run had died, a
//! run that began beside the human's own changes) nothing is touched, and the ordinary
//! look at the repository says what is in the way.

use std::path::Path;
use std::time::{Duration, SystemTime};

use super::EngineError;
use crate::events::{Journal, Line, RunView, journals};
use crate::verify::{Fingerprints, Layout, Leftovers, Repo, leftovers};

/// A file changed this long after the dead run's last word is somebody else's.
const AFTER: Duration = Duration::from_secs(60);

/// What was found and put right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resumed {
    /// The iteration in which the run died; numbers go on after it.
    pub iteration: u32,
    /// The next free number of an attempt's ref.
    pub attempt_refs: u32,
    /// For the human.
    pub notice: String,
}

/// Looks for the leftovers of a run of this task that died, and puts them aside.
/// To be called with the lock held.
///
/// # Errors
/// If the journal or the repository cannot be read, or the leftovers cannot be kept; then
/// the tree is as it was.
pub fn resume(
    repo: &dyn Repo,
    layout: &Layout,
    runs: &Path,
    number: u32,
) -> Result<Option<Resumed>, EngineError> {
    let Some(view) = last(runs)? else { return Ok(None) };
    let ours = view.start.as_ref().is_some_and(|start| {
        start.task == layout.task()
            && Path::new(&start.folder) == layout.folder()
            && start.human == 0
    });
    let (true, None, Some(current)) = (ours, &view.end, &view.current) else { return Ok(None) };
    let Some((_, died)) = view.last_event else { return Ok(None) };
    let checkpoint = &current.checkpoint;
    match leftovers(repo, layout, checkpoint)? {
        Leftovers::Ours => {}
        Leftovers::Nothing | Leftovers::Foreign => return Ok(None),
    }
    let deadline = SystemTime::from(died) + AFTER;
    let later = repo.status()?.all().iter().any(|change| {
        let meta = std::fs::symlink_metadata(repo.root().join(&change.path));
        meta.and_then(|meta| meta.modified()).is_ok_and(|modified| modified > deadline)
    });
    if later {
        return Ok(None);
    }
    let nobodys = Fingerprints::default();
    let message = format!("{}iteration {} was cut off", layout.prefix(), current.iteration);
    let kept = repo.save_attempt(layout, number.max(1), &message, &nobodys)?;
    repo.back_to(checkpoint, &nobodys)?;
    Ok(Some(Resumed {
        iteration: view.last_iteration,
        attempt_refs: kept.number + 1,
        notice: format!(
            "the last run died in iteration {}: what it left is kept under {}, and the tree is back at {}",
            current.iteration,
            kept.name,
            checkpoint.head.short()
        ),
    }))
}

/// The newest run, folded.
fn last(runs: &Path) -> Result<Option<RunView>, EngineError> {
    let Some(path) = journals(runs)?.into_iter().next() else { return Ok(None) };
    let mut journal = Journal::open(&path)?;
    let mut view = RunView::default();
    while let Some(line) = journal.read_line()? {
        match line {
            Line::Event(event) => view.apply(&event),
            // A newer version ran here; what it did is not known.
            Line::Unknown { .. } => return Ok(None),
        }
    }
    Ok(Some(view))
}
