//! Resuming after a run that died, before the next one begins.
//!
//! Invariant: everything is on disk and committed before the next run has a journal, and each
//! step can be interrupted and repeated. An iteration counts as done once its state is
//! committed; the leftovers of an unfinished one are saved under a ref, and the tree goes back
//! to its checkpoint, so that the iteration starts again.

use super::EngineError;
use super::claimed_start::derive_start;
use super::dead_run::ResumeContext;
use super::derive_again::derive_again;
use super::past_runs::{Resumed, cut_torn_record, has_events, last_iteration};
use super::state;
use super::unjudged::open_unjudged;
use crate::events::journals;
use crate::sys::atomic;
use crate::verify::Layout;

/// Cleans up after the last run, whichever task it worked on, and adds its repairs to `resumed`,
/// even on failure. Call it with the lock held.
///
/// # Errors
/// If a journal or the repository cannot be read, or the leftovers cannot be saved; the tree is
/// then unchanged.
pub fn resume(
    here: &ResumeContext<'_>,
    layout: &Layout,
    resumed: &mut Resumed,
) -> Result<(), EngineError> {
    let notices = &mut resumed.notices;
    atomic::clear(&here.repo.root().join(layout.folder()))?;
    let mut journals = journals(here.runs)?;
    if let Some(newest) = journals.first() {
        notices.extend(cut_torn_record(newest)?);
    }
    journals.retain(|journal| has_events(journal));
    if let Some(journal) = journals.first() {
        notices.extend(here.unlock(journal)?);
    }
    notices.extend(state::repair(here.repo, layout, here.runs)?);
    if let Some(journal) = journals.first() {
        here.resume_dead_run(journal, layout, resumed)?;
    }
    open_unjudged(here.repo, layout, resumed)?;
    derive_start(here.repo, layout, &journals, resumed)?;
    derive_again(here.repo, layout, &journals, resumed)?;
    resumed.iteration = last_iteration(&journals, layout)?;
    Ok(())
}
