//! The one place where tool calls are decided during a run, whichever layer asks.
//!
//! Invariant: a decision is recorded before it is answered, and what cannot be
//! recorded is denied. The gate remembers what it allowed, so that an executed
//! call can be matched with its decision; how a call is judged lives in `guard`.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

use serde_json::Value;

use crate::guard::{Files, Policy, Redactor, decide};
use crate::hooks::ErrorReport;
use crate::model::{Asked, Decision, EventKind, Record, RecordError, ToolRequest};

/// Longest text of an argument that is kept in the journal, in bytes.
const KEPT: usize = 4096;

/// What the agent may do while one criterion is in focus.
#[derive(Clone, Debug)]
pub struct Focus {
    /// The iteration.
    pub iteration: u32,
    /// The guard's rules for it.
    pub policy: Arc<Policy>,
}

/// Decides tool calls and remembers them.
pub struct Gate {
    record: Arc<dyn Record>,
    redactor: Arc<Redactor>,
    files: Box<dyn Files + Send + Sync>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    focus: Option<Focus>,
    /// Allowed and not yet matched, by layer: session and canonical arguments → how often.
    by_hook: HashMap<(String, String), u32>,
    by_request: HashMap<(String, String), u32>,
    /// Decided by ACP's call id.
    by_call: HashMap<(String, String), bool>,
    greeted: HashSet<String>,
    reports: Vec<ErrorReport>,
    writes: Vec<PathBuf>,
    denied: u32,
    repeated: Option<(String, u32)>,
    last: Option<Instant>,
    broken: Option<RecordError>,
}

impl Gate {
    /// A gate with no focus yet: it denies everything.
    pub fn new(
        record: Arc<dyn Record>,
        redactor: Arc<Redactor>,
        files: Box<dyn Files + Send + Sync>,
    ) -> Self {
        Self { record, redactor, files, state: Mutex::default() }
    }

    /// Takes up the next criterion and forgets the turn before.
    pub fn focus(&self, focus: Focus) {
        let mut state = self.state();
        *state = State {
            focus: Some(focus),
            greeted: std::mem::take(&mut state.greeted),
            broken: state.broken.take(),
            ..State::default()
        };
    }

    /// The redaction that everything of this run goes through.
    pub fn redactor(&self) -> &Arc<Redactor> {
        &self.redactor
    }

    /// Takes an event down in the current iteration.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn record(&self, event: impl FnOnce(u32) -> EventKind) -> Result<(), RecordError> {
        let iteration = self.state().focus.as_ref().map_or(0, |focus| focus.iteration);
        self.record.record(event(iteration))
    }

    /// Decides a call, records the decision, and only then returns it.
    pub fn decide(&self, request: &ToolRequest) -> Decision {
        let focus = self.state().focus.clone();
        let Some(focus) = focus else {
            return Decision::deny("run.no-focus", "Nothing ran: no criterion is being worked on.");
        };
        let judged =
            catch_unwind(AssertUnwindSafe(|| decide(request, &focus.policy, self.files.as_ref())));
        let decision = judged.unwrap_or_else(|_| {
            Decision::deny("guard.fault", "Nothing ran: the guard failed on this call.")
        });
        let event = EventKind::ToolDecided {
            iteration: focus.iteration,
            session: request.session.clone(),
            call: request.call.clone(),
            tool: self.redactor.redact_str(&request.tool).into_owned(),
            input: bounded(&self.redactor.redact_json(&request.input)),
            asked: request.asked,
            answer: decision.answer,
            rule: decision.rule.clone(),
            reason: self.redactor.redact_str(&decision.reason).into_owned(),
        };
        if let Err(error) = self.record.record(event) {
            self.state().broken = Some(error);
            return Decision::deny(
                "run.unrecorded",
                "Nothing ran: the decision cannot be recorded.",
            );
        }
        self.remember(request, &decision);
        decision
    }

    fn remember(&self, request: &ToolRequest, decision: &Decision) {
        let session = request.session.as_str().to_owned();
        let arguments = canonical(&request.input);
        let mut state = self.state();
        state.last = Some(Instant::now());
        if let Some(call) = &request.call {
            state.by_call.insert((session.clone(), call.clone()), decision.allowed());
        }
        if decision.allowed() {
            let layer = match request.asked {
                Asked::Hook => &mut state.by_hook,
                Asked::Permission => &mut state.by_request,
            };
            *layer.entry((session, arguments)).or_default() += 1;
            state.writes.extend(decision.writes.iter().cloned());
            state.repeated = None;
        } else {
            state.denied += 1;
            let times = match state.repeated.take() {
                Some((before, times)) if before == arguments => times + 1,
                Some(_) | None => 1,
            };
            state.repeated = Some((arguments, times));
        }
    }

    /// Whether the hook was asked about just this call and allowed it; each answer counts
    /// for one call. A call whose arguments another hook has rewritten is not just this one.
    pub fn hook_allowed(&self, session: &str, input: &Value) -> bool {
        take_one(&mut self.state().by_hook, &(session.to_owned(), canonical(input)))
    }

    /// Whether a call was allowed in answer to a permission request; each answer counts
    /// for one call. Agents show different arguments there, so the call's id tells too.
    pub fn request_allowed(&self, session: &str, call: &str, input: &Value) -> bool {
        let mut state = self.state();
        let by_call = state.by_call.remove(&(session.to_owned(), call.to_owned()));
        let same = take_one(&mut state.by_request, &(session.to_owned(), canonical(input)));
        same || by_call.unwrap_or(false)
    }

    /// A hook of this session reached us: the guard is in force there.
    pub fn greet(&self, session: &str) {
        self.state().greeted.insert(session.to_owned());
    }

    /// Whether a hook of this session has reached us.
    pub fn in_force(&self, session: &str) -> bool {
        self.state().greeted.contains(session)
    }

    /// The CLI reported an error of its own.
    pub fn report(&self, report: ErrorReport) {
        let mut state = self.state();
        state.last = Some(Instant::now());
        if state.reports.len() < 100 {
            state.reports.push(report);
        }
    }

    /// What the CLI reported in this session since the focus was set.
    pub fn reports(&self, session: &str) -> Vec<ErrorReport> {
        self.state().reports.iter().filter(|report| report.session == session).cloned().collect()
    }

    /// Calls denied since the focus was set.
    pub fn denied(&self) -> u32 {
        self.state().denied
    }

    /// The arguments denied last and how often in a row, if the last answer was a denial.
    pub fn denied_in_a_row(&self) -> Option<(String, u32)> {
        self.state().repeated.clone()
    }

    /// When the last decision or report came in.
    pub fn last_life(&self) -> Option<Instant> {
        self.state().last
    }

    /// Paths that allowed calls write, since the focus was set.
    pub fn writes(&self) -> Vec<PathBuf> {
        self.state().writes.clone()
    }

    /// The error that made recording impossible, once.
    pub fn take_broken(&self) -> Option<RecordError> {
        self.state().broken.take()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Uses up one answer, if there is one left.
fn take_one(left: &mut HashMap<(String, String), u32>, key: &(String, String)) -> bool {
    match left.get_mut(key) {
        Some(times) if *times > 0 => {
            *times -= 1;
            true
        }
        Some(_) | None => false,
    }
}

/// Arguments in one spelling: keys sorted at every level.
fn canonical(value: &Value) -> String {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    sorted.to_string()
}

/// Long strings cut, with the cut visible, so that one call cannot fill the journal.
pub(super) fn bounded(value: &Value) -> Value {
    match value {
        Value::String(text) if text.len() > KEPT => {
            let end = text.floor_char_boundary(KEPT);
            Value::String(format!("{}[… {} bytes left out …]", &text[..end], text.len() - end))
        }
        Value::Array(items) => Value::Array(items.iter().take(100).map(bounded).collect()),
        Value::Object(fields) => Value::Object(
            fields.iter().map(|(name, field)| (name.clone(), bounded(field))).collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
