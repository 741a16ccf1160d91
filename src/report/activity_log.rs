//! activity.log: one JSON object per operation, with the rule that decided it and its result.
//!
//! Invariant: appended only, when the state is about to be committed; every decision of
//! the guard is on some line, and two layers that were asked about one call share it.
//! The arguments come redacted. This is the readable account: the journal is the proof.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Value, json};

use super::buffered_file::BufferedFile;
use super::format;
use crate::model::{
    Answer, Asked, CallStatus, CheckResult, Decided, Event, EventKind, ExecutedCall, ReportError,
    Reporter, SessionId,
};
use crate::sys::append::Tail;
use crate::sys::clock::Clock;

/// One line.
#[derive(Debug, Serialize)]
struct Entry {
    timestamp: String,
    iteration: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<usize>,
    /// The tool's name; `check` for a verify command and `recipe` for a recipe that the
    /// runner ran, `stop_check` for its findings when the agent wanted to end its turn, `event`
    /// for an event of a provider that people are shown.
    operation: String,
    args: Value,
    approved: bool,
    result: Success,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    asked: Vec<Asked>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
    #[serde(skip)]
    state: State,
}

/// The events that may still be joined with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Approved, and its result was not seen yet.
    Approved,
    /// Denied; the agent may still tell of it as a failed call.
    Denied,
    /// Nothing more.
    Done,
}

/// The result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Success {
    Success,
    Failed,
}

/// Writes a line for each operation.
#[derive(Debug)]
pub struct ActivityLog {
    kept: BufferedFile,
    clock: Clock,
    /// Operations since the last flush, in the order in which they were decided.
    entries: Vec<Entry>,
    /// The iteration that began last.
    iteration: u32,
    /// The worker whose turn it was.
    worker: Option<usize>,
}

impl ActivityLog {
    /// Appends to this file, with times of this clock's zone.
    pub fn new(path: PathBuf, clock: Clock) -> Self {
        let kept = BufferedFile::new(path, Tail::Torn);
        Self { kept, clock, entries: Vec::new(), iteration: 0, worker: None }
    }

    /// Writes only lines that the file does not have yet, for the events of a run that died.
    #[must_use]
    pub fn only_missing(mut self) -> Self {
        self.kept.only_missing();
        self
    }

    fn timestamp(&self, time: DateTime<Utc>) -> String {
        self.clock.local(time).to_rfc3339_opts(chrono::SecondsFormat::Millis, false)
    }

    /// The first matching operation in this state: the same call, or, since one of the two layers
    /// knows no call ids, the same arguments.
    fn find(&mut self, state: State, call: Option<&str>, args: &Value) -> Option<&mut Entry> {
        let open = |entry: &&mut Entry| entry.state == state;
        let by_call = |entry: &&mut Entry| call.is_some() && entry.call.as_deref() == call;
        if self.entries.iter_mut().filter(open).any(|entry| by_call(&entry)) {
            return self.entries.iter_mut().filter(open).find(by_call);
        }
        self.entries
            .iter_mut()
            .filter(open)
            .find(|entry| (entry.call.is_none() || call.is_none()) && same(&entry.args, args))
    }

    fn decided(&mut self, new: Entry) {
        let known = self
            .find(State::Approved, new.call.as_deref(), &new.args)
            .filter(|known| known.session == new.session && known.asked != new.asked);
        match known {
            None => self.entries.push(new),
            Some(known) => {
                known.asked.extend(new.asked);
                known.call = known.call.take().or(new.call);
                if !new.approved {
                    known.approved = false;
                    known.rule = new.rule;
                    known.reason = new.reason;
                    known.note = None;
                    known.state = State::Denied;
                }
            }
        }
    }

    fn finished(
        &mut self,
        time: DateTime<Utc>,
        iteration: u32,
        decided: Decided,
        call: &ExecutedCall,
    ) {
        let timestamp = self.timestamp(time);
        let result = match (call.status, call.exit) {
            (CallStatus::Completed, None | Some(0)) => Success::Success,
            (CallStatus::Completed, Some(_)) => Success::Failed,
            (CallStatus::Pending | CallStatus::Failed | CallStatus::Denied, _) => Success::Failed,
        };
        if let Some(entry) = self.find(State::Approved, Some(&call.id), &call.input) {
            entry.result = result;
            entry.exit = call.exit;
            entry.call = Some(call.id.clone());
            entry.note = None;
            entry.state = State::Done;
            return;
        }
        // A denied call is reported twice: by the guard, and then by the agent.
        if result == Success::Failed
            && let Some(entry) = self.find(State::Denied, Some(&call.id), &call.input)
        {
            entry.call = Some(call.id.clone());
            entry.state = State::Done;
            return;
        }
        let (approved, note) = match decided {
            Decided::NotNeeded => (true, "reads need no approval"),
            Decided::NotAsked => (false, "it failed before approval was requested"),
            Decided::Unasked => (false, "it ran unasked, as `--unasked allow` permits"),
            Decided::Yes | Decided::Missing => (false, "the guard did not approve it"),
        };
        self.entries.push(Entry {
            timestamp,
            iteration,
            worker: self.worker,
            operation: call.kind.clone(),
            args: call.input.clone(),
            approved,
            result,
            rule: None,
            reason: None,
            asked: Vec::new(),
            session: None,
            call: Some(call.id.clone()),
            exit: call.exit,
            note: Some(note),
            state: State::Done,
        });
    }

    fn checked(&mut self, time: DateTime<Utc>, iteration: u32, check: &CheckResult) {
        let result = if check.passed() { Success::Success } else { Success::Failed };
        self.ran(time, iteration, "check", json!({ "command": check.command }), result);
    }

    /// Something that the runner itself ran.
    fn ran(
        &mut self,
        time: DateTime<Utc>,
        iteration: u32,
        operation: &str,
        args: Value,
        result: Success,
    ) {
        self.entries.push(Entry {
            timestamp: self.timestamp(time),
            iteration,
            worker: self.worker,
            operation: operation.to_owned(),
            args,
            approved: true,
            result,
            rule: None,
            reason: None,
            asked: Vec::new(),
            session: None,
            call: None,
            exit: None,
            note: None,
            state: State::Done,
        });
    }
}

/// Whether two layers mean the same arguments: they put different things beside a shell
/// line, and where the hook of Copilot's CLI is given a path and the new text, its
/// permission request shows a file's name and a diff.
fn same(one: &Value, other: &Value) -> bool {
    let told = |one: &str, other_key: &str, value: &Value, against: &Value| {
        value.get(one).is_some_and(Value::is_string) && value.get(one) == against.get(other_key)
    };
    one == other
        || told("command", "command", one, other)
        || told("path", "fileName", one, other)
        || told("fileName", "path", one, other)
}

impl Reporter for ActivityLog {
    fn name(&self) -> &'static str {
        "activity.log"
    }

    fn on_event(&mut self, event: &Event) -> Result<(), ReportError> {
        match &event.kind {
            EventKind::ToolDecided {
                iteration,
                session,
                call,
                tool,
                input,
                asked,
                answer,
                rule,
                reason,
            } => {
                let approved = match answer {
                    Answer::Allow => true,
                    Answer::Deny => false,
                };
                self.decided(Entry {
                    timestamp: self.timestamp(event.time),
                    iteration: *iteration,
                    worker: self.worker,
                    operation: tool.clone(),
                    args: input.clone(),
                    approved,
                    result: Success::Failed,
                    rule: Some(rule.clone()),
                    reason: Some(reason.clone()),
                    asked: vec![*asked],
                    session: Some(session.clone()),
                    call: call.clone(),
                    exit: None,
                    note: approved.then_some("no result was seen"),
                    state: if approved { State::Approved } else { State::Denied },
                });
            }
            EventKind::ToolFinished { iteration, decided, call } => {
                self.finished(event.time, *iteration, *decided, call);
            }
            EventKind::CheckFinished { iteration, check } => {
                self.checked(event.time, *iteration, check);
            }
            EventKind::RecipeEnded { iteration, recipe, error, .. } => {
                let result = if error.is_none() { Success::Success } else { Success::Failed };
                let args = json!({ "recipe": recipe });
                self.ran(event.time, *iteration, "recipe", args, result);
            }
            EventKind::StopChecked { iteration, session, findings, sent_back, .. } => {
                let found: Vec<&str> = findings.iter().map(|it| it.message.as_str()).collect();
                let result = if found.is_empty() { Success::Success } else { Success::Failed };
                let args = json!({ "sent_back": sent_back });
                self.ran(event.time, *iteration, "stop_check", args, result);
                if let Some(entry) = self.entries.last_mut() {
                    entry.reason = (!found.is_empty()).then(|| found.join(" "));
                    entry.session = Some(session.clone());
                }
            }
            EventKind::IterationStarted { iteration, worker, .. } => {
                (self.iteration, self.worker) = (*iteration, *worker);
            }
            EventKind::EventPushed { provider, stream, text, surfaced: true, .. } => {
                let text = format::sentence(text);
                let args = json!({ "provider": provider, "stream": stream, "text": text });
                self.ran(event.time, self.iteration, "event", args, Success::Success);
            }
            EventKind::EventPushed { surfaced: false, .. }
            | EventKind::RunStarted { .. }
            | EventKind::Notice { .. }
            | EventKind::BaselineChecked { .. }
            | EventKind::AgentStarted { .. }
            | EventKind::WorkerStarted { .. }
            | EventKind::WorkerHandedIn { .. }
            | EventKind::PromptSent { .. }
            | EventKind::RecipeStarted { .. }
            | EventKind::RecipeProgress { .. }
            | EventKind::TurnEnded { .. }
            | EventKind::VerdictReached { .. }
            | EventKind::SignAdded { .. }
            | EventKind::CriterionBlocked { .. }
            | EventKind::CriterionSkipped { .. }
            | EventKind::CriterionHeld { .. }
            | EventKind::CriterionReopened { .. }
            | EventKind::TaskCheckFailed { .. }
            | EventKind::GatewayStarted { .. }
            | EventKind::ProviderBound { .. }
            | EventKind::ProviderLeft { .. }
            | EventKind::ToolsChanged { .. }
            | EventKind::ProviderCalled { .. }
            | EventKind::EventsInjected { .. }
            | EventKind::IterationEnded { .. }
            | EventKind::Waiting { .. }
            | EventKind::Activity { .. }
            | EventKind::RunEnded { .. } => {}
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ReportError> {
        for entry in self.entries.drain(..) {
            let line = serde_json::to_string(&entry).map_err(|error| ReportError {
                target: "activity.log".to_owned(),
                source: error.into(),
            })?;
            self.kept.push(&line);
        }
        self.kept.write()
    }
}
