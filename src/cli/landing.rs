//! What the journal of a run that only lands says of the work.

use std::collections::HashMap;
use std::path::Path;

use super::failure::Failure;
use super::told::unreadable;
use crate::events::replay;
use crate::model::{CriterionKey, Event, EventKind, TaskState, VerdictResult};

/// What the journal of a landing says.
#[derive(Debug, Default)]
pub(super) struct LandingStory {
    /// Why work is not proven, by its number; nothing where it is.
    judged: HashMap<usize, Option<String>>,
    /// Criteria that were proven, and are not any more.
    reopened: HashMap<CriterionKey, String>,
}

impl LandingStory {
    pub(super) fn of(journal: &Path) -> Result<Self, Failure> {
        let (mut heard, mut work) = (Self::default(), None);
        let hear = |event: &Event| {
            if let EventKind::IterationStarted { worker, .. } = &event.kind {
                work = *worker;
            } else if let EventKind::VerdictReached { verdict, .. } = &event.kind {
                let is_pass = matches!(verdict.result, VerdictResult::Pass(_));
                let why = verdict.findings.first().map(|it| it.message.clone());
                let why = (!is_pass).then(|| why.unwrap_or_default());
                heard.judged.extend(work.map(|work| (work, why)));
            } else if let EventKind::CriterionReopened { criterion, reason } = &event.kind {
                heard.reopened.insert(criterion.clone(), reason.clone());
            }
        };
        replay(journal, hear).map_err(unreadable)?;
        Ok(heard)
    }

    /// Why the work of this number on a criterion did not land; without one, why there was none.
    pub(super) fn why(
        &self,
        state: &TaskState,
        key: &CriterionKey,
        work: Option<usize>,
    ) -> Option<String> {
        let is_proven = state.find(key).is_some_and(|entry| entry.proof.is_some());
        match work.map(|work| self.judged.get(&work)) {
            Some(None) if is_proven => Some("other work on it landed first".to_owned()),
            Some(None) => Some("it was not finished there".to_owned()),
            Some(Some(Some(why))) => Some(why.clone()),
            Some(Some(None)) | None if is_proven => None,
            Some(Some(None)) => self.reopened.get(key).cloned(),
            None => Some("it was handed in before".to_owned()),
        }
    }
}
