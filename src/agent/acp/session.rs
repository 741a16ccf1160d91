//! Sends one prompt and watches until it is answered, stuck or stopped.
//!
//! Invariant: every wait has a limit, and everything observed becomes part of the turn,
//! however it ended. `fold` assembles the turn.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use agent_client_protocol::v1::schema::{
    CancelNotification, CloseSessionRequest, ContentBlock, PromptRequest, PromptResponse,
    TextContent, ToolKind,
};
use async_trait::async_trait;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

use super::channel::AgentChannel;
use super::convert::{ObservedCall, executed};
use super::modes::Known;
use super::session_state::SessionState;
use super::{answers, convert, modes};
use crate::agent::arguments::{is_empty, is_shell_echo, wanted};
use crate::agent::fault::explains_loss;
use crate::agent::records::SessionRecords;
use crate::agent::{
    AgentError, AgentKind, Closed, EndedCall, KnownCall, Session, SessionTools, TurnLimits,
    TurnPulse, observe,
};
use crate::model::{
    Activity, Asked, AuditEntry, CallStatus, Decided, EventKind, ExecutedCall, Fault, HookType,
    Prompt, SessionId, Turn, TurnEnd, Usage,
};

/// How often the limits are checked.
const LOOK: Duration = Duration::from_millis(500);
/// How often it is recorded that the agent is alive.
const ALIVE: Duration = Duration::from_secs(10);

/// A session of an agent that speaks ACP.
pub(super) struct AcpSession {
    pub(super) id: SessionId,
    pub(super) channel: AgentChannel,
    pub(super) kind: AgentKind,
    /// The session's tokens before this prompt; the agent's counter only grows.
    pub(super) counted: Usage,
    /// The CLI's own records of this session.
    pub(super) records: Option<SessionRecords>,
    /// The folder of the CLI's log.
    pub(super) logs: Option<PathBuf>,
    /// A cancelled prompt was not answered, so the agent may still be at work.
    pub(super) deaf: bool,
    pub(super) known: Known,
    /// Tools of the run's own server, which end with the session.
    pub(super) _tools: Option<SessionTools>,
}

/// The observations while a prompt is being answered.
#[derive(Default)]
pub(super) struct Gathered {
    /// Executed calls without a decision, and other reasons to stop the turn.
    pub(super) undecided: Vec<String>,
    /// The calls that ended, by index.
    pub(super) ended: HashMap<usize, ExecutedCall>,
    pub(super) usage: Option<Usage>,
    /// The error that ended the prompt, as data.
    pub(super) fault: Option<Fault>,
    /// The updates before the agent was last said to be alive, and when that was.
    told: Option<(u64, Instant)>,
    /// The agent said nothing at all for this many seconds.
    silent: Option<u64>,
}

/// Why the wait for the answer ended.
enum Over {
    Answered(Box<Result<PromptResponse, agent_client_protocol::Error>>),
    Cancel(TurnEnd),
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
        self.channel.gate.prompted(&self.id, &prompt.text);
        self.channel.gate.check_recorded()?;
        self.channel.updates.begin(self.id.as_str());
        let started = Instant::now();
        let denied_before = self.channel.gate.denied();
        let mut gathered = Gathered::default();
        let request = PromptRequest::new(
            self.id.as_str().to_owned(),
            vec![ContentBlock::Text(TextContent::new(prompt.text.clone()))],
        );
        let answer = self.channel.peer.send_request(request).block_task();
        tokio::pin!(answer);
        let mut clock = interval(LOOK);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let over = loop {
            let mut ticked = false;
            tokio::select! {
                biased;
                answered = &mut answer => break Over::Answered(Box::new(answered)),
                () = stop.cancelled() => break Over::Cancel(TurnEnd::Interrupted),
                () = self.channel.updates.changed() => {}
                _ = clock.tick() => ticked = true,
            }
            self.gather(&mut gathered)?;
            self.tell_alive(&mut gathered.told)?;
            if !gathered.undecided.is_empty() {
                break Over::Cancel(TurnEnd::Interrupted);
            }
            if gathered.fault.is_some() {
                break Over::Cancel(TurnEnd::Lost);
            }
            let pulse = self.pulse(limits);
            let silence = limits.silence(self.kind);
            if pulse.since_life >= silence && self.is_silent() {
                gathered.silent = Some(silence.as_secs());
                break Over::Cancel(TurnEnd::Lost);
            }
            if let Some(stuck) = observe(&pulse, limits) {
                break Over::Cancel(TurnEnd::Stuck(stuck));
            }
            if let Some(records) = self.records.as_mut().filter(|_| ticked && limits.usage()) {
                let now = records.tokens().await;
                if limits.used_up(now.since(self.counted)) {
                    gathered.usage = Some(now);
                    break Over::Cancel(TurnEnd::Interrupted);
                }
            }
        };
        let (answered, cancelled) = match over {
            Over::Answered(answered) => (Some(*answered), None),
            Over::Cancel(why) => {
                self.cancel();
                (timeout(limits.grace, &mut answer).await.ok(), Some(why))
            }
        };
        if let Some(seconds) = gathered.silent {
            gathered.fault = self.silence(seconds, answered.as_ref());
        }
        let end = match (answered, cancelled) {
            (Some(Ok(response)), why) => {
                gathered.usage = response.usage.as_ref().map(answers::usage).or(gathered.usage);
                why.unwrap_or_else(|| answers::end(response.stop_reason))
            }
            (Some(Err(error)), Some(why)) => {
                tracing::debug!(%error, "a cancelled prompt ended with an error");
                why
            }
            (Some(Err(error)), None) => {
                let error = self.channel.failed("session/prompt", &error).await;
                gathered.fault = error.fault();
                if error.is_final() { TurnEnd::Lost } else { TurnEnd::Other("error".to_owned()) }
            }
            (None, why) => {
                self.deaf = true;
                why.unwrap_or(TurnEnd::Lost)
            }
        };
        self.gather(&mut gathered)?;
        let spent = SessionRecords::spent(&mut self.records, limits).await;
        let end = if spent { TurnEnd::Interrupted } else { end };
        Ok(self.turn(end, gathered, denied_before, started).await)
    }

    async fn close(self: Box<Self>, limit: Duration) -> Closed {
        self.channel.gate.close(&self.id);
        if self.deaf {
            // The agent did not answer the cancellation, so do not wait again.
            self.channel.updates.forget(self.id.as_str());
            return Closed::Unanswered;
        }
        let request = CloseSessionRequest::new(self.id.as_str().to_owned());
        let answer = self.channel.peer.send_request(request).block_task();
        let closed = match timeout(limit, answer).await {
            Ok(Ok(_)) => Closed::Confirmed,
            Ok(Err(error)) => {
                // An agent that does not support the request has answered, too.
                tracing::debug!(%error, "session/close was refused");
                Closed::Confirmed
            }
            Err(_) => {
                tracing::warn!("session/close was not answered");
                Closed::Unanswered
            }
        };
        self.channel.updates.forget(self.id.as_str());
        closed
    }
}

impl AcpSession {
    /// Sends `session/cancel`, and denies every call from now on.
    fn cancel(&self) {
        self.channel.gate.rest();
        let cancel = CancelNotification::new(self.id.as_str().to_owned());
        if let Err(error) = self.channel.peer.send_notification(cancel) {
            tracing::debug!(%error, "session/cancel could not be sent");
        }
    }

    /// Has the agent given no sign that it works on the prompt, or told of a failed request last?
    fn is_silent(&self) -> bool {
        let read = |seen: &mut SessionState| (seen.answers, seen.told.is_some());
        let (answers, told) = self.channel.updates.with(self.id.as_str(), read);
        told || !answers && self.channel.gate.asked() == 0 && self.channel.gate.denied() == 0
    }

    /// The failure of an agent that waits without a word: what it said before, says when it is told
    /// to stop, or said on stderr, explains it, such as a rate limit.
    fn silence(
        &self,
        seconds: u64,
        answered: Option<&Result<PromptResponse, agent_client_protocol::Error>>,
    ) -> Option<Fault> {
        let stderr = self.channel.stderr.text();
        let silent = AgentError::Silent { operation: "session/prompt", seconds, stderr };
        let told = self.channel.updates.with(self.id.as_str(), |seen| seen.told.take());
        let said = answered.and_then(|answer| answer.as_ref().err()).map(answers::fault);
        let explains = |fault: &Fault| explains_loss(fault.class);
        told.filter(explains).or(said.filter(explains)).or_else(|| silent.fault())
    }

    /// Records the calls that ended, and collects calls that were not allowed and other reasons
    /// to stop the turn.
    fn gather(&self, gathered: &mut Gathered) -> Result<(), AgentError> {
        self.channel.gate.check_recorded()?;
        for (at, mut call) in self.channel.updates.take_ended(self.id.as_str()) {
            let known = self.channel.gate.known(&self.ended(&call));
            let mut decided = self.settle(&mut call);
            self.audit_result(&mut call, known);
            let call = executed(&call);
            match (decided, self.kind) {
                (Decided::Missing, AgentKind::Copilot) => {
                    let what = format!("{} ran without a decision: {}", call.kind, call.input);
                    gathered.undecided.push(what);
                }
                (Decided::Missing, AgentKind::Other) if self.channel.gate.allows_unasked() => {
                    decided = Decided::Unasked;
                }
                (Decided::Missing, AgentKind::Other) => {
                    let what: String = wanted(&call.input).chars().take(200).collect();
                    let what = format!("it ran {} `{what}`", call.kind);
                    // Even if the agent died of it: a new one would not ask, either.
                    gathered.fault = Some(modes::unasked(&what, self.known));
                }
                (
                    Decided::Yes | Decided::NotNeeded | Decided::NotAsked | Decided::Unasked,
                    AgentKind::Copilot | AgentKind::Other,
                ) => {}
            }
            gathered.ended.insert(at, call.clone());
            self.channel.gate.record(|iteration| EventKind::ToolFinished {
                iteration,
                decided,
                call,
            })?;
        }
        let alarm = self.alarm(&mut gathered.fault);
        gathered.undecided.extend(alarm.filter(|alarm| !gathered.undecided.contains(alarm)));
        Ok(())
    }

    /// Records that the agent is alive, if it sent something since that was last recorded.
    fn tell_alive(&self, told: &mut Option<(u64, Instant)>) -> Result<(), AgentError> {
        let read = |seen: &mut SessionState| (seen.updates, seen.context, seen.started);
        let (updates, context, started) = self.channel.updates.with(self.id.as_str(), read);
        let (before, at) = told.unwrap_or((0, started));
        if updates == before || at.elapsed() < ALIVE {
            return Ok(());
        }
        *told = Some((updates, Instant::now()));
        let activity = Activity::Alive { context };
        self.channel.gate.record(|_| EventKind::Activity { worker: None, activity })?;
        Ok(())
    }

    /// Matches a call that ended with its decision.
    fn settle(&self, call: &mut ObservedCall) -> Decided {
        if call.status == CallStatus::Denied {
            self.channel.gate.settle_denied(&self.ended(call));
            return Decided::Yes;
        }
        let must = match self.kind {
            AgentKind::Copilot => {
                !(call.details.kind == ToolKind::Read && is_shell_echo(&call.input))
            }
            AgentKind::Other => convert::needs_decision(call),
        };
        // Copilot's hook sees every call except those whose arguments were not JSON. With other
        // agents a call may fail before they ask.
        let undecided = match (must, call.status, self.kind) {
            (_, CallStatus::Failed, AgentKind::Copilot) if is_empty(&call.input) => {
                Decided::NotAsked
            }
            (true, CallStatus::Failed, AgentKind::Other) => Decided::NotAsked,
            (true, ..) => Decided::Missing,
            (false, ..) => Decided::NotNeeded,
        };
        let standing = self.channel.gate.standing(&self.ended(call));
        call.settle(standing, undecided)
    }

    fn ended<'c>(&'c self, call: &'c ObservedCall) -> EndedCall<'c> {
        let vouched_by = match self.kind {
            AgentKind::Copilot => Asked::Hook,
            AgentKind::Other => Asked::Permission,
        };
        call.ended(self.id.as_str(), vouched_by)
    }

    /// Audits the result of a call that ran, unless a hook already reported it. The CLI ends a
    /// call only after its hook.
    fn audit_result(&self, call: &mut ObservedCall, known: Option<KnownCall>) {
        let reported = known.as_ref().is_some_and(|known| known.reported);
        if reported || call.status == CallStatus::Denied {
            return;
        }
        let (tool, took) = match known {
            Some(known) => (known.tool, Some(known.took)),
            None => (convert::kind(call.details.kind), None),
        };
        self.channel.gate.audit(&AuditEntry {
            tool: Some(tool),
            input: Some(call.input.clone()),
            output: call.output.take(),
            elapsed: took,
            ..AuditEntry::new(HookType::PostToolUse, Some(self.id.clone()))
        });
    }

    /// A reason to stop the turn, other than an undecided call; or the fault of an agent that
    /// changed to a mode in which it does not ask.
    fn alarm(&self, fault: &mut Option<Fault>) -> Option<String> {
        let gate = &self.channel.gate;
        if let Some(alarm) = self.channel.updates.stray().or_else(|| gate.alarm()) {
            return Some(alarm);
        }
        let session = self.id.as_str();
        let read =
            |seen: &mut SessionState| (seen.log.begun, seen.widened.clone(), seen.log.overrun());
        let (begun, widened, overrun) = self.channel.updates.with(session, read);
        match (widened, self.kind) {
            (Some(widened), AgentKind::Copilot) => {
                return Some(format!(
                    "the agent changed to {widened}, in which it asks for no permission"
                ));
            }
            (Some(widened), AgentKind::Other) if !gate.allows_unasked() => {
                let what = format!("it changed to {widened}");
                fault.get_or_insert_with(|| modes::unasked(&what, self.known));
            }
            (Some(_), AgentKind::Other) | (None, _) => {}
        }
        let unguarded = self.kind == AgentKind::Copilot && begun > 0 && !gate.in_force(session);
        let late = || "the guard's hook did not report before the first tool call".to_owned();
        overrun.or_else(|| unguarded.then(late))
    }

    fn pulse(&self, limits: &TurnLimits) -> TurnPulse {
        let of = (&*self.channel.gate, limits);
        let read = |seen: &mut SessionState| seen.log.pulse(of, seen.started, seen.last);
        self.channel.updates.with(self.id.as_str(), read)
    }
}
