//! The in-turn check: tells the agent which findings would fail, before its turn ends.
//!
//! Invariant: the check only informs. It repairs nothing, counts nothing and passes nothing;
//! the verdict after the turn looks at everything again. The agent is sent back a limited
//! number of times, and only for findings that it can still fix.

use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::EngineError;
use super::cancellable_checks::CancellableChecks;
use super::evidence::worth_checking;
use super::iteration::{Completion, Iteration};
use super::ledger::Ledger;
use super::proof::ProofDepth;
use crate::model::{
    CheckStatus, EventKind, Finding, FindingKind, Record as _, SessionId, Turn, VerdictResult,
    Weight,
};

/// How often the agent is sent back to work in one iteration.
const SENT_BACK: u32 = 2;

impl Ledger {
    /// Looks at the work as the verdict will. Returns the prompt that sends the agent back to
    /// work, or `None` if the turn may end.
    pub(super) async fn check_before_stop(
        &mut self,
        iteration: &mut Iteration,
        session: &SessionId,
        over: &CancellationToken,
    ) -> Result<Option<String>, EngineError> {
        if !self.parts.stop_check || iteration.sent_back >= SENT_BACK || over.is_cancelled() {
            return Ok(None);
        }
        let began = Instant::now();
        let mut collected = self.collect_evidence(iteration, &Turn::default())?;
        iteration.spared_git = self.parts.gate.spared_git();
        self.take_over_git_settings(iteration, &mut collected.evidence)?;
        let mut verdict = self.judge(&collected.evidence);
        if worth_checking(&collected.evidence, Completion::Whole)
            && !verdict.findings.iter().any(cannot_be_fixed)
        {
            let checks = CancellableChecks {
                checks: Arc::clone(&self.parts.checks),
                token: over.clone(),
                reason: "the in-turn check ran out of time",
                events: None,
            };
            self.check_work(iteration, &mut collected, (&checks, ProofDepth::Quick)).await?;
            // A command that did not run to its end proves nothing, so all are left out.
            let results = &mut collected.evidence.checks;
            if results.iter().any(|check| matches!(check.status, CheckStatus::NotRun(_))) {
                results.clear();
            } else {
                verdict = self.judge(&collected.evidence);
            }
        }
        let fails = matches!(verdict.result, VerdictResult::Fail | VerdictResult::Held);
        let mut findings = verdict.findings;
        findings.retain(|finding| finding.weight <= Weight::Held);
        let sent_back = fails && !findings.iter().any(cannot_be_fixed) && !over.is_cancelled();
        let prompt =
            if sent_back { Some(self.stop_prompt_for(iteration, &findings)?.text) } else { None };
        iteration.sent_back += u32::from(sent_back);
        self.parts.events.record(EventKind::StopChecked {
            iteration: iteration.number,
            session: session.clone(),
            findings,
            sent_back,
            checks: collected.evidence.checks,
            millis: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        })?;
        Ok(prompt)
    }
}

/// A finding that decides the verdict, whatever else the agent does.
fn cannot_be_fixed(finding: &Finding) -> bool {
    finding.weight < Weight::Fails || finding.weight == Weight::Fails && !can_be_fixed(finding.kind)
}

/// Can an agent still fix this in the same turn, with its permissions?
fn can_be_fixed(kind: FindingKind) -> bool {
    match kind {
        FindingKind::NotTicked
        | FindingKind::NoCommit
        | FindingKind::EmptyCommit
        | FindingKind::Uncommitted
        | FindingKind::CheckFailed
        | FindingKind::RedBefore
        | FindingKind::HarnessNeeded
        | FindingKind::Unmoved
        | FindingKind::AroundChanged
        | FindingKind::Regression => true,
        // A forbidden change: the runner undoes it, and the turn has failed. History may only
        // grow, so that the agent cannot take back a commit either.
        FindingKind::OthersTicked
        | FindingKind::Clash
        | FindingKind::Unticked
        | FindingKind::CriteriaChanged
        | FindingKind::VerifyChanged
        | FindingKind::TaskTextChanged
        | FindingKind::TaskUnreadable
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
        // Only the human can change these.
        | FindingKind::TaskChangedByHuman
        | FindingKind::TaskTakenBack
        | FindingKind::CheckRequired
        | FindingKind::GreenBefore
        | FindingKind::Flaky
        | FindingKind::HarnessChanged
        | FindingKind::TestIsNew
        | FindingKind::CheckWrote
        | FindingKind::HoldOutFailed
        | FindingKind::Blocked
        // Not looked at here, or never a failure.
        | FindingKind::NotReproducible
        | FindingKind::TurnStuck
        | FindingKind::Denied
        | FindingKind::RecipeFailed
        | FindingKind::WrongPrefix
        | FindingKind::TaskReformatted
        | FindingKind::NoProgressEntry => false,
    }
}
