//! The events of a run as events of the plan that it carries out.
//!
//! Invariant: each sub-task ends once, unless the last proof opens it again; those that never ended
//! end with the run.

use serde::Serialize;

use crate::model::{
    CriterionKey, CriterionSummary, EventKind, Outcome, RunSummary, VerdictResult, Weight,
};

/// A sub-task and its criterion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedCriterion {
    /// Its id in the plan.
    pub id: String,
    /// What is to be done, as the plan says it.
    pub description: String,
    /// Its criterion.
    pub key: CriterionKey,
}

/// The final status of a sub-task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SubTaskStatus {
    /// It landed, proven or committed.
    Succeeded,
    /// It was begun, and did not get done.
    Failed,
    /// It was never begun.
    Skipped,
}

/// The end of a sub-task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SubTaskEnd {
    /// Its id in the plan.
    pub id: String,
    /// Its final status.
    pub status: SubTaskStatus,
    /// Why it failed or was skipped.
    pub reason: Option<String>,
    /// The findings against its last attempt.
    pub errors: Vec<String>,
}

/// An event of a plan, as `orchestrate --json` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum PlanEvent {
    /// A sub-task begins.
    TaskStart {
        /// Which.
        id: String,
        /// What is to be done.
        description: String,
    },
    /// It landed, or failed.
    TaskComplete {
        /// Which.
        id: String,
        /// Did it land?
        success: bool,
        /// What was wrong with its last attempt.
        errors: Vec<String>,
    },
    /// It will not be begun.
    TaskSkipped {
        /// Which.
        id: String,
        /// Why: which sub-task failed, or what ended the run.
        reason: String,
    },
    /// Every sub-task has ended.
    PlanComplete {
        /// How many succeeded, were skipped, and failed.
        summary: String,
        /// Each, in the plan's order.
        tasks: Vec<SubTaskEnd>,
    },
}

/// A sub-task on its way.
#[derive(Debug)]
struct Part {
    planned: PlannedCriterion,
    started: bool,
    /// It passed in the iteration that is not over yet.
    passed: bool,
    errors: Vec<String>,
    end: Option<(SubTaskStatus, Option<String>)>,
}

/// How far a plan has been carried out.
#[derive(Debug)]
pub struct PlanProgress {
    parts: Vec<Part>,
    /// The failure of the last turn.
    fault: Option<String>,
    ended: Option<(Outcome, RunSummary)>,
}

impl PlanProgress {
    /// Nothing has begun.
    pub fn new(planned: Vec<PlannedCriterion>) -> Self {
        let part = |planned| Part {
            planned,
            started: false,
            passed: false,
            errors: Vec::new(),
            end: None,
        };
        Self { parts: planned.into_iter().map(part).collect(), fault: None, ended: None }
    }

    /// Takes an event of the run. Returns the plan's events.
    pub fn on(&mut self, event: &EventKind) -> Vec<PlanEvent> {
        match event {
            EventKind::WorkerStarted { criterion, .. }
            | EventKind::IterationStarted { criterion, .. } => self.start(criterion),
            EventKind::VerdictReached { criterion, verdict, .. } => {
                if let Some(part) = self.part(criterion) {
                    part.passed = matches!(verdict.result, VerdictResult::Pass(_));
                    let wrong = verdict.findings.iter().filter(|it| it.weight != Weight::Said);
                    let wrong = wrong.filter(|_| !part.passed);
                    part.errors = wrong.map(|finding| finding.message.clone()).collect();
                }
                Vec::new()
            }
            EventKind::IterationEnded { .. } => {
                let landed = self.parts.iter_mut().filter(|part| part.passed);
                landed
                    .filter_map(|part| {
                        part.passed = false;
                        part.complete(SubTaskStatus::Succeeded, None)
                    })
                    .collect()
            }
            EventKind::TurnEnded { turn, .. } => {
                self.fault = turn.fault.as_ref().map(|fault| fault.message.clone());
                Vec::new()
            }
            EventKind::CriterionBlocked { criterion, .. } => {
                let fault = self.fault.take();
                if let (Some(part), Some(fault)) = (self.part(criterion), &fault) {
                    part.errors = vec![fault.clone()];
                }
                let spent = "it used up its attempts".to_owned();
                self.fail(criterion, fault.map_or(spent, |_| "its session failed".to_owned()))
            }
            EventKind::CriterionHeld { criterion, reason, .. } => {
                self.fail(criterion, format!("it is held for review: {reason}"))
            }
            EventKind::CriterionSkipped { criterion, because, .. } => {
                let because = self.named(because);
                let part = self.part(criterion);
                part.and_then(|part| part.skip(format!("{because} failed"))).into_iter().collect()
            }
            EventKind::CriterionReopened { criterion, reason } => {
                if let Some(part) = self.part(criterion) {
                    (part.end, part.started) = (None, false);
                    part.errors = vec![reason.clone()];
                }
                Vec::new()
            }
            EventKind::RunEnded { outcome, summary, .. } => {
                self.ended = Some((outcome.clone(), summary.clone()));
                Vec::new()
            }
            EventKind::RunStarted { .. }
            | EventKind::Notice { .. }
            | EventKind::BaselineChecked { .. }
            | EventKind::AgentStarted { .. }
            | EventKind::WorkerHandedIn { .. }
            | EventKind::PromptSent { .. }
            | EventKind::ToolDecided { .. }
            | EventKind::ToolFinished { .. }
            | EventKind::RecipeStarted { .. }
            | EventKind::RecipeProgress { .. }
            | EventKind::RecipeEnded { .. }
            | EventKind::StopChecked { .. }
            | EventKind::CheckFinished { .. }
            | EventKind::SignAdded { .. }
            | EventKind::TaskCheckFailed { .. }
            | EventKind::GatewayStarted { .. }
            | EventKind::ProviderBound { .. }
            | EventKind::ProviderLeft { .. }
            | EventKind::ToolsChanged { .. }
            | EventKind::ProviderCalled { .. }
            | EventKind::EventPushed { .. }
            | EventKind::EventsInjected { .. }
            | EventKind::Waiting { .. }
            | EventKind::Activity { .. } => Vec::new(),
        }
    }

    /// How the run ended; none if it is still at work, or was cut off.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.ended.as_ref().map(|(outcome, _)| outcome)
    }

    /// Has every sub-task succeeded?
    pub fn all_succeeded(&self) -> bool {
        self.parts.iter().all(|part| part.is(SubTaskStatus::Succeeded))
    }

    /// Ends what has not ended, for this reason, and the plan.
    pub fn finish(&mut self, why: &str) -> Vec<PlanEvent> {
        let summary = self.ended.take().map(|(_, summary)| summary).unwrap_or_default();
        let end_of = |part: &Part| summary.criteria.iter().find(|it| it.key == part.planned.key);
        let mut events = Vec::new();
        for at in 0..self.parts.len() {
            if self.parts[at].end.is_some() {
                continue;
            }
            // An earlier run of the same plan may have ended it.
            let earlier = end_of(&self.parts[at]).cloned();
            let part = &mut self.parts[at];
            match earlier {
                Some(CriterionSummary { checked: true, proof: Some(_), .. }) => {
                    part.end = Some((SubTaskStatus::Succeeded, None));
                }
                Some(CriterionSummary { blocked: true, .. }) => {
                    let why = "it used up its attempts in an earlier run".to_owned();
                    events.extend(part.complete(SubTaskStatus::Failed, Some(why)));
                }
                Some(CriterionSummary { blocked_by: Some(why), .. }) => {
                    let why = format!("it is blocked ({why})");
                    events.extend(part.complete(SubTaskStatus::Failed, Some(why)));
                }
                Some(CriterionSummary { held: Some(_), .. }) => {
                    let why = "it is held for review since an earlier run".to_owned();
                    events.extend(part.complete(SubTaskStatus::Failed, Some(why)));
                }
                Some(CriterionSummary { skipped: true, reason: Some(reason), .. }) => {
                    events.extend(part.skip(reason));
                }
                Some(_) | None if part.started => {
                    events.extend(part.complete(SubTaskStatus::Failed, Some(why.to_owned())));
                }
                Some(_) | None => events.extend(part.skip(why.to_owned())),
            }
        }
        let ends = self.parts.iter().map(|part| {
            let (status, reason) = part.end.clone().unwrap_or((SubTaskStatus::Skipped, None));
            let (id, errors) = (part.planned.id.clone(), part.errors.clone());
            SubTaskEnd { id, status, reason, errors }
        });
        events.push(PlanEvent::PlanComplete { summary: self.summary(), tasks: ends.collect() });
        events
    }

    /// How many succeeded, were skipped, and failed.
    pub fn summary(&self) -> String {
        let count = |status| self.parts.iter().filter(|part| part.is(status)).count();
        format!(
            "{}/{} tasks succeeded, {} skipped, {} failed",
            count(SubTaskStatus::Succeeded),
            self.parts.len(),
            count(SubTaskStatus::Skipped),
            count(SubTaskStatus::Failed),
        )
    }

    fn part(&mut self, key: &CriterionKey) -> Option<&mut Part> {
        self.parts.iter_mut().find(|part| part.planned.key == *key)
    }

    /// The plan's name of a criterion, or its text if a human added it.
    fn named(&self, key: &CriterionKey) -> String {
        let known = self.parts.iter().find(|part| part.planned.key == *key);
        known.map_or_else(|| key.quoted(), |part| part.planned.id.clone())
    }

    fn start(&mut self, key: &CriterionKey) -> Vec<PlanEvent> {
        let Some(part) = self.part(key).filter(|part| !part.started && part.end.is_none()) else {
            return Vec::new();
        };
        part.started = true;
        let PlannedCriterion { id, description, .. } = part.planned.clone();
        vec![PlanEvent::TaskStart { id, description }]
    }

    fn fail(&mut self, key: &CriterionKey, why: String) -> Vec<PlanEvent> {
        let part = self.part(key);
        part.and_then(|part| part.complete(SubTaskStatus::Failed, Some(why))).into_iter().collect()
    }
}

impl Part {
    fn is(&self, status: SubTaskStatus) -> bool {
        self.end.as_ref().is_some_and(|(end, _)| *end == status)
    }

    fn complete(&mut self, status: SubTaskStatus, why: Option<String>) -> Option<PlanEvent> {
        if self.end.is_some() {
            return None;
        }
        if self.errors.is_empty() {
            self.errors.extend(why.clone());
        }
        self.end = Some((status, why));
        let (id, success) = (self.planned.id.clone(), status == SubTaskStatus::Succeeded);
        Some(PlanEvent::TaskComplete { id, success, errors: self.errors.clone() })
    }

    fn skip(&mut self, reason: String) -> Option<PlanEvent> {
        if self.end.is_some() {
            return None;
        }
        self.end = Some((SubTaskStatus::Skipped, Some(reason.clone())));
        Some(PlanEvent::TaskSkipped { id: self.planned.id.clone(), reason })
    }
}
