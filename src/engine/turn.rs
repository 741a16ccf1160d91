//! A turn while it lasts: the run's own end, and the check of the work when the agent
//! wants to stop.
//!
//! Invariant: the check only tells. It repairs nothing, counts nothing and passes nothing: the
//! verdict after the turn looks anew. Only what the agent can still put in order is sent
//! back, a bounded number of times; whatever the check cannot say in its time is left to
//! the verdict, and so is everything else.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::EngineError;
use super::evaluate::{Completion, worth_checking};
use super::iterate::Iteration;
use super::run::Run;
use crate::agent::{AgentError, Session, StopHook, TurnLimits};
use crate::model::{
    CheckResult, CheckStatus, EventKind, Finding, FindingKind, Prompt, Record as _, SessionId,
    Turn, VerdictResult, Weight,
};
use crate::verify::{CheckOptions, Checks, JudgeRules, judge};

/// How often the agent is sent back to work in one iteration.
const SENT_BACK: u32 = 2;
/// How long the verify commands may take there: below what the asking hook waits.
const LIMIT: Duration = Duration::from_secs(45);

impl Run {
    /// Prompts, answers the question whether the turn may end, and ends it when the run's
    /// time is up.
    pub(super) async fn prompt_and_watch(
        &mut self,
        session: &mut dyn Session,
        prompt: &Prompt,
        iteration: &mut Iteration,
    ) -> Result<Result<Turn, AgentError>, EngineError> {
        let stop = self.parts.stop.token().child_token();
        let used = self.spent.tokens.unwrap_or(0);
        let tokens = self.parts.limits.tokens.map(|limit| limit.saturating_sub(used));
        let limits = TurnLimits { tokens, ..self.parts.turn };
        let answer = session.prompt(prompt, &limits, &stop);
        tokio::pin!(answer);
        let end = up(self.deadline());
        tokio::pin!(end);
        loop {
            let StopHook { session, answer: waiting } = tokio::select! {
                biased;
                turn = &mut answer => return Ok(turn),
                () = &mut end, if !stop.is_cancelled() => {
                    stop.cancel();
                    continue;
                }
                Some(asked) = self.parts.stops.recv() => asked,
            };
            // The check ends with the turn, and tidies up after itself even then.
            let over = stop.child_token();
            let check = self.may_stop(iteration, &session, &over);
            tokio::pin!(check);
            let limit = tokio::time::sleep(LIMIT);
            tokio::pin!(limit);
            let mut turn = None;
            let told = loop {
                tokio::select! {
                    biased;
                    told = &mut check => break told?,
                    ended = &mut answer, if turn.is_none() => {
                        turn = Some(ended);
                        over.cancel();
                    }
                    () = &mut end, if !stop.is_cancelled() => stop.cancel(),
                    () = &mut limit, if !over.is_cancelled() => over.cancel(),
                }
            };
            if let Some(turn) = turn {
                return Ok(turn);
            }
            // Where nobody waits any more, the turn has ended by itself.
            drop(waiting.send(told));
        }
    }

    /// Looks at the work as the verdict will, and gives what the agent should put in order
    /// before its turn ends, if it can.
    async fn may_stop(
        &mut self,
        iteration: &mut Iteration,
        session: &SessionId,
        over: &CancellationToken,
    ) -> Result<Option<String>, EngineError> {
        if iteration.sent_back >= SENT_BACK || over.is_cancelled() {
            return Ok(None);
        }
        let began = Instant::now();
        let mut collected = self.look(iteration, &Turn::default())?;
        let rules = JudgeRules {
            layout: &self.parts.layout.clone(),
            commits_alone: self.parts.commits_alone,
        };
        let mut verdict = judge(&collected.evidence, &rules);
        let hopeless = |finding: &Finding| {
            finding.weight < Weight::Fails
                || finding.weight == Weight::Fails && !can_be_fixed(finding.kind)
        };
        if worth_checking(&collected.evidence, Completion::Whole)
            && !verdict.findings.iter().any(hopeless)
        {
            let checks = UntilOver { checks: Arc::clone(&self.parts.checks), over: over.clone() };
            self.check_work(iteration, &mut collected, &checks).await?;
            // A check that was not run to its end says nothing.
            let checks = &mut collected.evidence.checks;
            if checks.iter().any(|check| matches!(check.status, CheckStatus::NotRun(_))) {
                checks.clear();
            } else {
                verdict = judge(&collected.evidence, &rules);
            }
        }
        let fails = verdict.result == VerdictResult::Fail;
        let findings: Vec<Finding> = verdict
            .findings
            .into_iter()
            .filter(|finding| finding.weight <= Weight::Fails)
            .collect();
        let told = fails && !findings.iter().any(hopeless) && !over.is_cancelled();
        let text = if told { Some(self.stop_for(iteration, &findings)?.text) } else { None };
        iteration.sent_back += u32::from(told);
        self.parts.events.record(EventKind::StopChecked {
            iteration: iteration.number,
            session: session.clone(),
            findings,
            sent_back: told,
            checks: collected.evidence.checks,
            millis: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        })?;
        Ok(text)
    }
}

/// Returns when the run's time is up; never, where it has no limit.
async fn up(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Whether an agent can still put this in order, in the same turn and with what it may do.
fn can_be_fixed(kind: FindingKind) -> bool {
    match kind {
        FindingKind::NotTicked
        | FindingKind::NoCommit
        | FindingKind::EmptyCommit
        | FindingKind::Uncommitted
        | FindingKind::CheckFailed
        | FindingKind::RedBefore
        | FindingKind::Regression => true,
        // What was changed that must not be: the runner puts it back, and the turn has
        // failed. History only grows, so that a commit cannot be taken back either.
        FindingKind::OthersTicked
        | FindingKind::Unticked
        | FindingKind::CriteriaChanged
        | FindingKind::VerifyChanged
        | FindingKind::TaskTextChanged
        | FindingKind::TaskUnreadable
        | FindingKind::WrongPrefix
        | FindingKind::HistoryRewritten
        | FindingKind::OperationInProgress
        | FindingKind::SecretCommitted
        | FindingKind::WrongBranch
        | FindingKind::ProtectedChanged
        | FindingKind::HumanWorkTouched
        | FindingKind::StateRewritten
        | FindingKind::RecordsTampered
        | FindingKind::SettingsChanged
        | FindingKind::UndecidedCall
        // What nobody but the human can change.
        | FindingKind::TaskChangedByHuman
        | FindingKind::CheckRequired
        | FindingKind::GreenBefore
        // What is not looked at here, or never fails.
        | FindingKind::NotReproducible
        | FindingKind::TurnStuck
        | FindingKind::RecipeFailed
        | FindingKind::TestChanged
        | FindingKind::NoProgressEntry => false,
    }
}

/// Verify commands that end when the check's time is over.
struct UntilOver {
    checks: Arc<dyn Checks>,
    over: CancellationToken,
}

#[async_trait]
impl Checks for UntilOver {
    async fn run(&self, command: &str, options: &CheckOptions) -> CheckResult {
        tokio::select! {
            biased;
            // Dropping the other branch ends the command with all its children.
            () = self.over.cancelled() => CheckResult {
                command: command.to_owned(),
                criteria: Vec::new(),
                whole_task: false,
                status: CheckStatus::NotRun("the turn's time for it was over".to_owned()),
                millis: 0,
                output: String::new(),
            },
            result = self.checks.run(command, options) => result,
        }
    }
}
