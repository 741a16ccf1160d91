//! The state of a run, folded from its events.
//!
//! Invariant: pure, at constant cost per event, and the only place that draws
//! conclusions from a journal: `status`, `log` and resume use the same view.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::model::{
    AgentIdentity, Answer, CheckResult, Checkpoint, ContextFill, Credits, CriterionKey, Event,
    EventKind, Outcome, Proof, RunId, RunSummary, SessionId, Totals, Turn, TurnEnd, Verdict,
    VerdictResult,
};
use crate::sys::lock::Holder;

/// The state of a run according to its journal.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunView {
    /// Its start; `None` before the first event.
    pub start: Option<RunStart>,
    /// The agent's name and version, as it reports them.
    pub agent: Option<AgentIdentity>,
    /// The agent's process, the last one where there were several.
    pub agent_pid: Option<u32>,
    /// The iteration in progress. In a run that died: the one it died in.
    pub current: Option<CurrentIteration>,
    /// Iterations that ended and count: one that a failure of the agent or the end of the
    /// run cut off costs none.
    pub iterations: u32,
    /// The number of the last iteration that began.
    pub last_iteration: u32,
    /// Criteria that were in focus, in the order of that.
    pub criteria: Vec<CriterionView>,
    /// Sums over the run.
    pub counters: Counters,
    /// The results of the verify commands before any work.
    #[serde(skip)]
    pub baseline: Vec<CheckResult>,
    /// The last verdict and the iteration it belongs to.
    pub last_verdict: Option<(u32, Verdict)>,
    /// The criterion that it belongs to.
    #[serde(skip)]
    pub judged: Option<CriterionKey>,
    /// The criterion that a check opened again after that verdict, and why.
    #[serde(skip)]
    pub reopened: Option<(CriterionKey, String)>,
    /// What the workers are at, by their numbers; with several jobs only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub at_work: Vec<WorkerView>,
    /// Work that workers handed in, and that waits to land.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub to_land: Vec<WorkerView>,
    /// The last notice.
    pub notice: Option<String>,
    /// The wait in progress.
    pub waiting: Option<Wait>,
    /// Its end.
    pub end: Option<RunEnd>,
    /// Whether workers worked, each in a tree of its own.
    #[serde(skip)]
    pub had_workers: bool,
    /// Whether the last turn of the iteration in progress ended by itself.
    #[serde(skip)]
    whole: bool,
    /// Where the repository stood before the last iteration that began.
    #[serde(skip)]
    pub checkpoint: Option<Checkpoint>,
    /// Number and time of the last event.
    pub last_event: Option<(u64, DateTime<Utc>)>,
    #[serde(skip)]
    places: HashMap<CriterionKey, usize>,
}

/// The start of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunStart {
    /// The run.
    pub run: RunId,
    /// When.
    pub at: DateTime<Utc>,
    /// The task's name.
    pub task: String,
    /// The task's folder, relative to the repository.
    pub folder: String,
    /// The agent's command.
    pub agent: String,
    /// The model that was asked for.
    pub model: Option<String>,
    /// The runner's version.
    pub version: String,
    /// The runner's process.
    pub pid: u32,
    /// Where the repository stood.
    pub checkpoint: Checkpoint,
    /// Criteria then.
    pub criteria: Totals,
    /// Iterations it may use.
    pub max_iterations: u32,
    /// Paths that the human had left uncommitted.
    pub human: usize,
    /// The settings on its command line.
    #[serde(skip)]
    pub flags: Vec<String>,
}

/// An iteration that has begun and not ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurrentIteration {
    /// Its number.
    pub iteration: u32,
    /// The criterion in focus.
    pub criterion: CriterionKey,
    /// The criterion's 1-based line in TASK.md.
    pub line: usize,
    /// Which attempt it is.
    pub attempt: u32,
    /// The worker whose turn it was; none if it was in the run's own tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<usize>,
    /// Where the repository stood before it.
    pub checkpoint: Checkpoint,
    /// When it began.
    pub since: DateTime<Utc>,
    /// The agent's session, the last one where there were several.
    pub session: Option<SessionId>,
    /// Sums over it.
    pub counters: Counters,
    /// Whether its verdict is known, although its state is not committed yet.
    pub judged: bool,
}

/// Sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Prompts that were sent.
    pub prompts: u32,
    /// Tool calls that ended.
    pub tool_calls: u64,
    /// Calls that the guard denied.
    pub denied: u64,
    /// Tokens, where the agent reported any.
    pub tokens: Option<u64>,
    /// How full the model's context was after the last turn, where the agent reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextFill>,
    /// Those of them that the provider had cached.
    pub cached: u64,
    /// AI credits, where the agent reported what they follow from.
    pub credits: Option<Credits>,
    /// Premium requests of iterations that ended.
    pub premium_requests: u32,
}

/// The work of this run on a criterion.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CriterionView {
    /// Which.
    #[serde(flatten)]
    pub key: CriterionKey,
    /// Its 1-based line in TASK.md, as the last iteration on it saw it; none for one that
    /// this run never had in focus.
    pub line: Option<usize>,
    /// Iterations on it.
    pub iterations: u32,
    /// Attempts that failed, those of earlier runs included.
    pub failed: u32,
    /// The proof of its pass.
    pub proof: Option<Proof>,
    /// Whether it used up its attempts.
    pub blocked: bool,
    /// The weightiest finding of its last verdict.
    pub finding: Option<String>,
}

/// An attempt of a worker.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkerView {
    /// The worker's number.
    pub worker: usize,
    /// The criterion.
    pub criterion: CriterionKey,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// When it began, or was handed in.
    pub since: DateTime<Utc>,
}

/// A wait.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wait {
    /// Until when.
    pub until: DateTime<Utc>,
    /// The reason.
    pub reason: String,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunEnd {
    /// When.
    pub at: DateTime<Utc>,
    /// Why.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The exit code.
    pub exit_code: u8,
    /// Where everything stood.
    pub summary: RunSummary,
}

/// The status of a run. The journal alone does not tell whether a run is still alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// It is working.
    Running,
    /// It is waiting.
    Waiting,
    /// It ended and recorded its outcome.
    Ended,
    /// Its process is gone without recording an outcome.
    Died,
}

impl RunView {
    /// Takes the next event.
    pub fn apply(&mut self, event: &Event) {
        self.last_event = Some((event.seq, event.time));
        if !is_beside(&event.kind) {
            self.waiting = None;
        }
        match &event.kind {
            EventKind::RunStarted { .. } => self.start = run_start(event),
            EventKind::Notice { message } => self.notice = Some(message.clone()),
            EventKind::AgentStarted { agent, pid } => {
                self.agent.clone_from(agent);
                self.agent_pid = Some(*pid);
            }
            EventKind::WorkerStarted { worker, criterion, attempt, .. } => {
                self.had_workers = true;
                self.worker_starts(*worker, criterion, *attempt, event.time);
            }
            EventKind::WorkerHandedIn { worker, criterion } => {
                self.worker_hands_in(*worker, criterion, event.time);
            }
            EventKind::IterationStarted { .. } => self.begin_iteration(event),
            EventKind::PromptSent { session, .. } => {
                if let Some(current) = &mut self.current {
                    current.session = Some(session.clone());
                }
                self.count(|counters| counters.prompts += 1);
            }
            EventKind::ToolDecided { answer, .. } => match answer {
                Answer::Allow => {}
                Answer::Deny => self.count(|counters| counters.denied += 1),
            },
            EventKind::ToolFinished { .. } => self.calls_finished(1),
            EventKind::TurnEnded { turn, .. } => {
                self.whole = whole(turn);
                self.count(|counters| counters.context = turn.context.or(counters.context));
                if let Some(usage) = turn.usage {
                    self.count(|counters| {
                        let before = counters.tokens.unwrap_or(0);
                        counters.tokens = Some(before.saturating_add(usage.total));
                        counters.cached = counters.cached.saturating_add(usage.cached);
                        counters.credits = Credits::add(counters.credits, usage.credits);
                    });
                }
            }
            EventKind::VerdictReached { iteration, criterion, verdict, .. } => {
                self.judged(*iteration, criterion, verdict)
            }
            EventKind::CriterionBlocked { criterion, .. } => {
                self.criterion(criterion).blocked = true;
            }
            EventKind::CriterionHeld { criterion, reason, .. }
            | EventKind::CriterionReopened { criterion, reason } => {
                if let EventKind::CriterionReopened { .. } = &event.kind {
                    self.reopened = Some((criterion.clone(), reason.clone()));
                }
                let known = self.criterion(criterion);
                known.proof = None;
                known.finding = Some(reason.clone());
            }
            EventKind::IterationEnded { premium_requests, .. } => {
                self.counters.premium_requests += premium_requests;
                self.iterations += u32::from(self.whole);
                self.current = None;
            }
            EventKind::Waiting { until, reason, .. } => {
                self.waiting = Some(Wait { until: *until, reason: reason.clone() });
            }
            EventKind::RunEnded { outcome, exit_code, summary } => {
                self.nobody_works();
                // The run's own count is authoritative.
                self.iterations = summary.iterations;
                self.end = Some(RunEnd {
                    at: event.time,
                    outcome: outcome.clone(),
                    exit_code: *exit_code,
                    summary: summary.clone(),
                });
            }
            EventKind::BaselineChecked { checks } => self.baseline.clone_from(checks),
            EventKind::RecipeStarted { .. }
            | EventKind::RecipeProgress { .. }
            | EventKind::RecipeEnded { .. }
            | EventKind::StopChecked { .. }
            | EventKind::CheckFinished { .. }
            | EventKind::SignAdded { .. }
            | EventKind::GatewayStarted { .. }
            | EventKind::ProviderBound { .. }
            | EventKind::ProviderLeft { .. }
            | EventKind::ToolsChanged { .. }
            | EventKind::ProviderCalled { .. }
            | EventKind::EventPushed { .. }
            | EventKind::EventsInjected { .. }
            | EventKind::CriterionSkipped { .. }
            | EventKind::Activity { .. }
            | EventKind::TaskCheckFailed { .. } => {}
        }
    }

    fn worker_starts(
        &mut self,
        worker: usize,
        key: &CriterionKey,
        attempt: u32,
        since: DateTime<Utc>,
    ) {
        self.at_work.retain(|it| it.worker != worker);
        self.at_work.push(WorkerView { worker, criterion: key.clone(), attempt, since });
        self.at_work.sort_by_key(|it| it.worker);
    }

    fn worker_hands_in(&mut self, worker: usize, key: &CriterionKey, since: DateTime<Utc>) {
        let mut found = self.at_work.extract_if(.., |it| it.criterion == *key);
        // Work that is put off is at its landing.
        let attempt = found.next().map(|it| it.attempt);
        let attempt = attempt.or(self.current.as_ref().map(|it| it.attempt)).unwrap_or(1);
        self.to_land.push(WorkerView { worker, criterion: key.clone(), attempt, since });
    }

    fn begin_iteration(&mut self, event: &Event) {
        let EventKind::IterationStarted {
            iteration,
            criterion,
            line,
            attempt,
            checkpoint,
            worker,
            turn_millis: _,
        } = &event.kind
        else {
            return;
        };
        self.at_work.retain(|it| it.criterion != *criterion);
        self.to_land.retain(|it| it.criterion != *criterion);
        self.last_iteration = *iteration;
        self.whole = false;
        self.checkpoint = Some(checkpoint.clone());
        let known = self.criterion(criterion);
        known.line = Some(*line);
        known.iterations += 1;
        known.failed = attempt.saturating_sub(1);
        self.current = Some(CurrentIteration {
            iteration: *iteration,
            criterion: criterion.clone(),
            line: *line,
            attempt: *attempt,
            worker: *worker,
            checkpoint: checkpoint.clone(),
            since: event.began(),
            session: None,
            counters: Counters::default(),
            judged: false,
        });
    }

    /// Forgets the workers: they end with their run.
    pub fn nobody_works(&mut self) {
        self.at_work.clear();
        self.to_land.clear();
    }

    /// The status of the run, given the current holder of the working tree's lock.
    pub fn status(&self, holder: Option<&Holder>) -> RunStatus {
        let alive = match (&self.start, holder) {
            (Some(start), Some(holder)) => holder.run == start.run.as_str(),
            (_, _) => false,
        };
        match (&self.end, alive, &self.waiting) {
            (Some(_), _, _) => RunStatus::Ended,
            (None, false, _) => RunStatus::Died,
            (None, true, Some(_)) => RunStatus::Waiting,
            (None, true, None) => RunStatus::Running,
        }
    }

    fn judged(&mut self, iteration: u32, criterion: &CriterionKey, verdict: &Verdict) {
        self.last_verdict = Some((iteration, verdict.clone()));
        self.judged = Some(criterion.clone());
        self.reopened = None;
        if let Some(current) = &mut self.current {
            current.judged = true;
        }
        let known = self.criterion(criterion);
        known.finding = verdict.findings.first().map(|finding| finding.message.clone());
        match verdict.result {
            VerdictResult::Pass(proof) => known.proof = Some(proof),
            VerdictResult::Fail => known.failed += 1,
            VerdictResult::Held | VerdictResult::Blocked | VerdictResult::Inconclusive => {}
        }
    }

    /// Counts calls that ended.
    pub(super) fn calls_finished(&mut self, calls: u64) {
        self.count(|counters| counters.tool_calls += calls);
    }

    fn count(&mut self, add: impl Fn(&mut Counters)) {
        add(&mut self.counters);
        if let Some(current) = &mut self.current {
            add(&mut current.counters);
        }
    }

    fn criterion(&mut self, key: &CriterionKey) -> &mut CriterionView {
        let place = *self.places.entry(key.clone()).or_insert_with(|| {
            self.criteria.push(CriterionView { key: key.clone(), ..CriterionView::default() });
            self.criteria.len() - 1
        });
        &mut self.criteria[place]
    }
}

/// Can this happen while the run waits? Any other event ends the wait.
fn is_beside(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::Notice { .. }
            | EventKind::Activity { .. }
            | EventKind::GatewayStarted { .. }
            | EventKind::ProviderBound { .. }
            | EventKind::ProviderLeft { .. }
            | EventKind::ToolsChanged { .. }
            | EventKind::ProviderCalled { .. }
            | EventKind::EventPushed { .. }
    )
}

/// The start of a run, from its first event.
fn run_start(event: &Event) -> Option<RunStart> {
    let EventKind::RunStarted {
        task,
        folder,
        agent,
        model,
        sandbox: _,
        version,
        pid,
        checkpoint,
        start: _,
        criteria,
        max_iterations,
        max_seconds: _,
        human,
        flags,
    } = &event.kind
    else {
        return None;
    };
    Some(RunStart {
        run: event.run.clone(),
        at: event.time,
        task: task.clone(),
        folder: folder.clone(),
        agent: agent.clone(),
        model: model.clone(),
        version: version.clone(),
        pid: *pid,
        checkpoint: checkpoint.clone(),
        criteria: *criteria,
        max_iterations: *max_iterations,
        human: *human,
        flags: flags.clone(),
    })
}

/// Whether a turn ended by itself. A fault that is skipped does not cut a turn off.
fn whole(turn: &Turn) -> bool {
    match &turn.fault {
        Some(fault) => fault.class.is_skipped(),
        None => !matches!(turn.end, TurnEnd::Lost | TurnEnd::Interrupted),
    }
}
