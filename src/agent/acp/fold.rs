//! Assembles the [`Turn`] of a prompt from everything that was observed.
//!
//! Invariant: the fault comes from the most reliable source available: the CLI's records,
//! then its hooks' reports, and its text only if nothing contradicts it.

use tokio::time::Instant;

use super::convert::executed;
use super::session::{AcpSession, Gathered};
use super::session_state::SessionState;
use crate::agent::fault::explains_loss;
use crate::agent::records::{self, Last};
use crate::agent::{AgentKind, LastWords, ReportedFault, classify_message, reset_in};
use crate::model::{AuditEntry, ExecutedCall, Fault, FaultClass, HookType, Turn, TurnEnd, Usage};

impl AcpSession {
    pub(super) async fn turn(
        &mut self,
        end: TurnEnd,
        gathered: Gathered,
        denied_before: u32,
        started: Instant,
    ) -> Turn {
        // With its ids: a late update of a call finds nothing.
        let take = |seen: &mut SessionState| std::mem::replace(seen, SessionState::new());
        let SessionState { log, updates, unknown, context, said, words, cut, .. } =
            self.channel.updates.with(self.id.as_str(), take);
        let calls = log.calls;
        let Gathered { undecided, mut ended, usage, fault, .. } = gathered;
        let end = match (end, cut) {
            (TurnEnd::EndTurn, Some(reason)) => TurnEnd::CutByDenial { reason },
            (TurnEnd::Lost, Some(reason)) if fault.is_none() => TurnEnd::CutByDenial { reason },
            (end, _) => end,
        };
        let fault = match (&end, fault) {
            (_, Some(fault)) => Some(fault),
            (TurnEnd::EndTurn | TurnEnd::Lost | TurnEnd::Other(_), None) => {
                match self.fault(&words, !calls.is_empty()).await {
                    Some(fault) if end == TurnEnd::Lost && !explains_loss(fault.class) => {
                        Some(Fault { class: FaultClass::Died, ..fault })
                    }
                    fault => fault,
                }
            }
            (TurnEnd::CutByDenial { .. } | TurnEnd::Stuck(_) | TurnEnd::Interrupted, None) => None,
        };
        if let (Some(fault), AgentKind::Other) = (&fault, self.kind) {
            // The Copilot CLI reports its errors through a hook.
            self.channel.gate.audit(&AuditEntry {
                output: Some(fault.message.as_str().into()),
                ..AuditEntry::new(HookType::Error, Some(self.id.clone()))
            });
        }
        let calls = calls.iter().enumerate();
        let calls = calls.map(|(at, call)| ended.remove(&at).unwrap_or_else(|| executed(call)));
        let calls: Vec<ExecutedCall> = calls.collect();
        let recorded = match &mut self.records {
            Some(records) => Some(records.tokens().await).filter(|now| now.total > 0),
            None => None,
        };
        // An agent that did not report its usage has still spent tokens.
        let usage = usage.or(recorded).map(|now| {
            let now = Usage { credits: recorded.and_then(|all| all.credits), ..now };
            let turn = now.since(self.counted);
            self.counted = now;
            turn
        });
        Turn {
            end,
            calls,
            denied: self.channel.gate.denied().saturating_sub(denied_before),
            undecided,
            updates,
            unknown: unknown.into_iter().collect(),
            usage,
            context,
            said,
            fault,
            millis: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// The failure behind the turn, if there was one.
    async fn fault(&mut self, words: &LastWords, acted: bool) -> Option<Fault> {
        let last = match &mut self.records {
            Some(records) => records.last().await,
            None => Last::Nothing,
        };
        let reports = self.channel.gate.reports(self.id.as_str());
        let report = reports.into_iter().rfind(|report| report.context == "model_call");
        let fault = match (last, words.error(), report) {
            (Last::Error(fault), _, _) => fault,
            (_, Some(error), Some(report)) => {
                let class = classify_message(&error).or_else(|| classify_message(&report.message));
                let fault = Fault::new(class.unwrap_or(FaultClass::Fatal), report.message);
                Fault { reset: reset_in(&error), ..fault }
            }
            // The CLI reported nothing, so this text is the model's own.
            (Last::Model, _, _) => {
                words.classify(acted).filter(ReportedFault::is_plain_limit)?.fault
            }
            // A model may begin any sentence like a failure, so only a whole report counts.
            (Last::Nothing, _, _) => words.classify(acted)?.fault,
        };
        let reset = match (&fault.reset, fault.class, &self.logs) {
            // Over ACP a rate limit does not say when it ends; the CLI's log does.
            (None, FaultClass::RateLimit, Some(logs)) => records::reset_in_logs(logs).await,
            (reset, _, _) => *reset,
        };
        Some(Fault { reset, ..fault })
    }
}
