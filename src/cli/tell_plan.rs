//! The events of a run, told as those of the plan that it carries out.

use std::sync::{Arc, Mutex, PoisonError};

use super::print::say_line;
use crate::model::{Event, ReportError, Reporter};
use crate::plan::{PlanEvent, PlanProgress};

/// How far the plan is, and whether its events are printed.
#[derive(Clone, Debug)]
pub(crate) struct TellPlan {
    progress: Arc<Mutex<PlanProgress>>,
    pub(crate) json: bool,
}

impl TellPlan {
    pub(crate) fn new(progress: PlanProgress, json: bool) -> Self {
        Self { progress: Arc::new(Mutex::new(progress)), json }
    }

    /// Reads or changes how far the plan is.
    pub(crate) fn with<T>(&self, what: impl FnOnce(&mut PlanProgress) -> T) -> T {
        what(&mut self.progress.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A reporter in the place of the usual one, or beside it.
    pub(crate) fn around(&self, usual: Box<dyn Reporter>) -> Box<dyn Reporter> {
        let usual = (!self.json).then_some(usual);
        Box::new(PlanReporter { plan: self.clone(), usual })
    }

    /// Prints events, if they are printed.
    pub(crate) fn print(&self, events: &[PlanEvent]) {
        for event in events.iter().filter(|_| self.json) {
            say_line(&serde_json::to_value(event).unwrap_or_default());
        }
    }
}

struct PlanReporter {
    plan: TellPlan,
    usual: Option<Box<dyn Reporter>>,
}

impl Reporter for PlanReporter {
    fn name(&self) -> &'static str {
        self.usual.as_ref().map_or("plan", |usual| usual.name())
    }

    fn on_event(&mut self, event: &Event) -> Result<(), ReportError> {
        let events = self.plan.with(|progress| progress.on(&event.kind));
        self.plan.print(&events);
        // Where nobody reads, the plan goes on.
        if self.usual.as_mut().is_some_and(|usual| usual.on_event(event).is_err()) {
            self.usual = None;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ReportError> {
        self.usual.as_mut().map_or(Ok(()), |usual| usual.flush())
    }
}
