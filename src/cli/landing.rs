//! What `land` hears of its run: why work did not land.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::model::{
    CriterionKey, Event, EventKind, Outcome, ReportError, Reporter, TaskState, VerdictResult,
};

/// What a landing is heard of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Landing {
    heard: Arc<Mutex<Heard>>,
    silent: bool,
}

#[derive(Debug, Default)]
struct Heard {
    /// The number of the work at hand.
    work: Option<usize>,
    /// Why work is not proven; nothing where it is.
    judged: HashMap<usize, Option<String>>,
    /// Criteria that were proven, and are not any more.
    reopened: HashMap<CriterionKey, String>,
}

impl Landing {
    pub(super) fn new(silent: bool) -> Self {
        Self { silent, ..Self::default() }
    }

    /// A reporter in the place of the usual one, or beside it.
    pub(super) fn around(&self, usual: Box<dyn Reporter>) -> Box<dyn Reporter> {
        let usual = (!self.silent).then_some(usual);
        Box::new(Listener { landing: self.clone(), usual })
    }

    /// Why the work of this number on a criterion did not land; without one, why there was none.
    pub(super) fn why(
        &self,
        state: &TaskState,
        key: &CriterionKey,
        work: Option<usize>,
    ) -> Option<String> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let is_proven = state.find(key).is_some_and(|entry| entry.proof.is_some());
        match work.map(|work| heard.judged.get(&work)) {
            Some(None) if is_proven => Some("other work on it landed first".to_owned()),
            Some(None) => Some("it was not finished there".to_owned()),
            Some(Some(Some(why))) => Some(why.clone()),
            Some(Some(None)) | None if is_proven => None,
            Some(Some(None)) => heard.reopened.get(key).cloned(),
            None => Some("it was handed in before".to_owned()),
        }
    }
}

impl Heard {
    fn hear(&mut self, event: &EventKind) {
        match event {
            EventKind::IterationStarted { worker, .. } => self.work = *worker,
            EventKind::VerdictReached { verdict, .. } => {
                let is_pass = matches!(verdict.result, VerdictResult::Pass(_));
                let why = verdict.findings.first().map(|it| it.message.clone());
                let why = (!is_pass).then(|| why.unwrap_or_default());
                self.judged.extend(self.work.map(|work| (work, why)));
            }
            EventKind::CriterionReopened { criterion, reason } => {
                self.reopened.insert(criterion.clone(), reason.clone());
            }
            _ => {}
        }
    }
}

struct Listener {
    landing: Landing,
    usual: Option<Box<dyn Reporter>>,
}

impl Reporter for Listener {
    fn name(&self) -> &'static str {
        self.usual.as_ref().map_or("landing", |usual| usual.name())
    }

    fn on_event(&mut self, event: &Event) -> Result<(), ReportError> {
        self.landing.heard.lock().unwrap_or_else(PoisonError::into_inner).hear(&event.kind);
        // What landed is said at the end, and nothing was left out.
        let is_usual = |ended: &Outcome| !matches!(ended, Outcome::LimitReached { .. });
        match &event.kind {
            EventKind::RunEnded { outcome, .. } if !is_usual(outcome) => Ok(()),
            _ => self.usual.as_mut().map_or(Ok(()), |usual| usual.on_event(event)),
        }
    }

    fn flush(&mut self) -> Result<(), ReportError> {
        self.usual.as_mut().map_or(Ok(()), |usual| usual.flush())
    }
}
