//! One prompt, watched until it is answered, stuck or stopped.

use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CancelNotification, CloseSessionRequest, ContentBlock, PromptRequest, PromptResponse,
    TextContent,
};
use agent_client_protocol::{
    Agent as AgentRole, is_connection_terminated, is_incoming_transport_closed,
};
use async_trait::async_trait;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

use super::copilot::SessionRecords;
use super::stderr::StderrTail;
use super::updates::{Call, Updates};
use super::{convert, copilot};
use crate::agent::{
    AgentError, AgentKind, Gate, Pulse, Session, TurnLimits, classify_text, observe,
};
use crate::model::{
    CallStatus, EventKind, ExecutedCall, Fault, FaultClass, Prompt, SessionId, Stuck, Turn,
    TurnEnd, Usage,
};

/// How often the clocks are looked at.
const LOOK: Duration = Duration::from_millis(500);
/// What is kept of the agent's words in a turn, in bytes.
const SAID: usize = 4000;

pub(super) struct AcpSession {
    pub(super) id: SessionId,
    pub(super) connection: ConnectionTo<AgentRole>,
    pub(super) updates: Arc<Updates>,
    pub(super) gate: Arc<Gate>,
    pub(super) kind: AgentKind,
    pub(super) stderr: StderrTail,
    /// Tokens of the session before this prompt: the agent's counter only grows.
    pub(super) counted: Usage,
    /// The CLI's own records of this session.
    pub(super) records: Option<SessionRecords>,
}

/// Why we stopped waiting for the answer.
enum Over {
    Answered(Box<Result<PromptResponse, agent_client_protocol::Error>>),
    Cancel(TurnEnd),
    /// The guard cannot be relied on.
    Alarm(String),
}

#[async_trait]
impl Session for AcpSession {
    fn id(&self) -> &SessionId {
        &self.id
    }

    async fn prompt(
        &mut self,
        prompt: &Prompt,
        limits: &TurnLimits,
        stop: &CancellationToken,
    ) -> Result<Turn, AgentError> {
        self.updates.begin(self.id.as_str());
        let started = Instant::now();
        let denied_before = self.gate.denied();
        let mut undecided = Vec::new();
        let request = PromptRequest::new(
            self.id.as_str().to_owned(),
            vec![ContentBlock::Text(TextContent::new(prompt.text.clone()))],
        );
        let answer = self.connection.send_request(request).block_task();
        tokio::pin!(answer);
        let mut clock = interval(LOOK);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let over = loop {
            tokio::select! {
                biased;
                answered = &mut answer => break Over::Answered(Box::new(answered)),
                () = stop.cancelled() => break Over::Cancel(TurnEnd::Interrupted),
                () = self.updates.changed() => {}
                _ = clock.tick() => {}
            }
            self.report_finished(&mut undecided)?;
            if let Some(alarm) = self.alarm(&undecided) {
                break Over::Alarm(alarm);
            }
            if let Some(stuck) = observe(&self.pulse(limits), limits) {
                break Over::Cancel(TurnEnd::Stuck(self.redacted(stuck)));
            }
        };
        let mut usage = None;
        let end = match over {
            Over::Answered(answered) => {
                let response = answered.map_err(|error| self.failed("session/prompt", &error))?;
                usage = response.usage.as_ref().map(convert::usage);
                convert::end(response.stop_reason)
            }
            Over::Cancel(why) => {
                self.cancel();
                if let Ok(Ok(response)) = timeout(limits.grace, &mut answer).await {
                    usage = response.usage.as_ref().map(convert::usage);
                }
                why
            }
            Over::Alarm(why) => {
                if !undecided.contains(&why) {
                    undecided.push(why);
                }
                self.cancel();
                drop(timeout(limits.grace, &mut answer).await);
                TurnEnd::Interrupted
            }
        };
        self.report_finished(&mut undecided)?;
        if let Some(alarm) = self.alarm(&undecided)
            && !undecided.contains(&alarm)
        {
            undecided.push(alarm);
        }
        let denied = self.gate.denied() - denied_before;
        let usage = usage.map(|now| {
            let turn = convert::since(now, self.counted);
            self.counted = now;
            turn
        });
        Ok(self.turn(end, denied, undecided, usage, started.elapsed()).await)
    }

    async fn close(self: Box<Self>, limit: Duration) {
        let request = CloseSessionRequest::new(self.id.as_str().to_owned());
        let closed = timeout(limit, self.connection.send_request(request).block_task()).await;
        match closed {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(%error, "session/close was refused"),
            Err(_) => tracing::warn!("session/close was not answered"),
        }
        self.updates.forget(self.id.as_str());
    }
}

impl AcpSession {
    fn cancel(&self) {
        let cancel = CancelNotification::new(self.id.as_str().to_owned());
        if let Err(error) = self.connection.send_notification(cancel) {
            tracing::debug!(%error, "session/cancel could not be sent");
        }
    }

    /// Records the calls that ended and finds those that nobody allowed.
    fn report_finished(&self, undecided: &mut Vec<String>) -> Result<(), AgentError> {
        if let Some(broken) = self.gate.take_broken() {
            return Err(broken.into());
        }
        for call in self.updates.take_finished(self.id.as_str()) {
            let must = match self.kind {
                AgentKind::Copilot => !convert::is_shell_echo(call.kind, &call.input),
                AgentKind::Other => convert::needs_decision(call.kind),
            };
            let ran = match (call.status, self.kind) {
                (CallStatus::Completed, _) => true,
                // Copilot's hook sees every call but those whose arguments were no JSON;
                // others may fail before they ask.
                (CallStatus::Failed, AgentKind::Copilot) => !convert::is_empty(&call.input),
                (CallStatus::Failed, AgentKind::Other) => false,
                (CallStatus::Pending | CallStatus::Denied, _) => false,
            };
            let asker = call.asker.as_deref().unwrap_or(self.id.as_str());
            let allowed = match self.kind {
                // The hook is asked last of all hooks: what it was shown is what runs.
                AgentKind::Copilot => self.gate.hook_allowed(asker, &call.input),
                AgentKind::Other => self.gate.request_allowed(asker, &call.id, &call.input),
            };
            let call = self.executed(&call);
            if must && ran && !allowed {
                undecided.push(format!("{} ran without a decision: {}", call.kind, call.input));
            }
            self.gate.record(|iteration| EventKind::ToolFinished { iteration, call })?;
        }
        Ok(())
    }

    /// Something that makes going on unsafe.
    fn alarm(&self, undecided: &[String]) -> Option<String> {
        if let Some(first) = undecided.first() {
            return Some(first.clone());
        }
        let (begun, widened) =
            self.updates.with(self.id.as_str(), |seen| (seen.begun, seen.widened.clone()));
        if let Some(mode) = widened {
            return Some(format!("the agent changed to mode `{mode}`, in which it does not ask"));
        }
        let unguarded =
            self.kind == AgentKind::Copilot && begun > 0 && !self.gate.in_force(self.id.as_str());
        unguarded.then(|| "the guard's hook did not report before the first tool call".to_owned())
    }

    fn pulse(&self, limits: &TurnLimits) -> Pulse {
        let asked = self.gate.last_life();
        let (calls, pending, failing, started, last) =
            self.updates.with(self.id.as_str(), |seen| {
                (seen.begun, seen.pending(), seen.failing.clone(), seen.started, seen.last)
            });
        let last = asked.map_or(last, |asked| asked.max(last));
        let repeated = failing
            .or_else(|| self.gate.denied_in_a_row().filter(|(_, times)| *times >= limits.repeats));
        let (failing, times) =
            repeated.map_or((None, 0), |(command, times)| (Some(command), times));
        Pulse {
            since_start: started.elapsed(),
            since_life: last.elapsed(),
            pending,
            calls,
            failing,
            times,
        }
    }

    fn redacted(&self, stuck: Stuck) -> Stuck {
        match stuck {
            Stuck::Repeating { command, times } => Stuck::Repeating {
                command: self.gate.redactor().redact_str(&command).into_owned(),
                times,
            },
            Stuck::Idle(_) | Stuck::TooLong(_) | Stuck::TooManyCalls(_) => stuck,
        }
    }

    fn executed(&self, call: &Call) -> ExecutedCall {
        let redactor = self.gate.redactor();
        ExecutedCall {
            id: call.id.clone(),
            kind: convert::kind(call.kind),
            title: redactor.redact_str(&call.title).into_owned(),
            input: crate::agent::gate::bounded(&redactor.redact_json(&call.input)),
            status: call.status,
            exit: call.exit,
        }
    }

    async fn turn(
        &mut self,
        end: TurnEnd,
        denied: u32,
        undecided: Vec<String>,
        usage: Option<Usage>,
        took: Duration,
    ) -> Turn {
        let session = self.id.as_str().to_owned();
        let (calls, updates, unknown, said, errors, cut) = self.updates.with(&session, |seen| {
            (
                std::mem::take(&mut seen.calls),
                seen.updates,
                std::mem::take(&mut seen.unknown),
                std::mem::take(&mut seen.said),
                std::mem::take(&mut seen.errors),
                seen.cut.take(),
            )
        });
        let end = match (end, cut) {
            (TurnEnd::EndTurn | TurnEnd::Lost, Some(reason)) => TurnEnd::CutByDenial { reason },
            (end, _) => end,
        };
        let fault = match &end {
            TurnEnd::EndTurn | TurnEnd::Lost | TurnEnd::Other(_) => self.fault(&errors).await,
            TurnEnd::CutByDenial { .. } | TurnEnd::Stuck(_) | TurnEnd::Interrupted => None,
        };
        let redactor = self.gate.redactor();
        let keep = said.ceil_char_boundary(said.len().saturating_sub(SAID));
        Turn {
            end,
            calls: calls.iter().map(|call| self.executed(call)).collect(),
            denied,
            undecided,
            updates,
            unknown: unknown.into_iter().collect(),
            usage,
            said: redactor.redact_str(&said[keep..]).into_owned(),
            fault,
            millis: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// What really went wrong: the CLI's records first, then its hook reports, then
    /// its words.
    async fn fault(&mut self, errors: &[String]) -> Option<Fault> {
        let recorded = match &mut self.records {
            Some(records) => records.last_error().await,
            None => None,
        };
        let reported = || {
            let reports = self.gate.reports(self.id.as_str());
            reports.into_iter().rfind(|report| report.context == "model_call")
        };
        let (class, message) = if let Some(error) = recorded {
            let class = copilot::class_of(&error);
            (class, error.message)
        } else if let Some(error) = errors.last() {
            // Words alone are believed only as the last thing the CLI said.
            let message = reported().map_or_else(|| error.clone(), |report| report.message);
            (classify_text(error).or_else(|| classify_text(&message)), message)
        } else {
            return None;
        };
        let message = self.gate.redactor().redact_str(&message).into_owned();
        let message = message.chars().take(1000).collect();
        Some(Fault { class: class.unwrap_or(FaultClass::Other), message })
    }

    pub(super) fn failed(
        &self,
        operation: &'static str,
        error: &agent_client_protocol::Error,
    ) -> AgentError {
        failed(operation, error, &self.updates, &self.stderr)
    }
}

/// An error of the SDK: the connection's end, or the agent's own answer.
pub(super) fn failed(
    operation: &'static str,
    error: &agent_client_protocol::Error,
    updates: &Updates,
    stderr: &StderrTail,
) -> AgentError {
    let broken = updates.broken();
    if broken.is_some() || is_incoming_transport_closed(error) || is_connection_terminated(error) {
        let class = if broken.is_some() { FaultClass::Protocol } else { FaultClass::Died };
        let why = broken.unwrap_or_else(|| "its process ended".to_owned());
        return AgentError::Lost { operation, why, stderr: stderr.text(), class };
    }
    AgentError::Refused { operation, fault: convert::fault(error) }
}
