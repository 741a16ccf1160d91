//! Verify commands that end when a token is cancelled, and that people are told of when they begin.
//!
//! Invariant: a cancelled command is not evidence: its result is [`CheckStatus::NotRun`], and
//! the caller looks at the token before it judges.

use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::events::Emitter;
use crate::model::{Activity, CheckResult, CheckStatus, EventKind, Record as _};
use crate::verify::{CheckOptions, Checks, Purpose};

/// Runs commands until a token is cancelled.
pub(super) struct CancellableChecks {
    pub(super) checks: Arc<dyn Checks>,
    pub(super) token: CancellationToken,
    /// Why a cancelled command was not run, in a few words.
    pub(super) reason: &'static str,
    /// Where it is recorded that a command begins; none if `checks` does that.
    pub(super) events: Option<Arc<Emitter>>,
}

#[async_trait]
impl Checks for CancellableChecks {
    async fn run(&self, command: &str, options: &CheckOptions) -> CheckResult {
        let told = options.place_in.and_then(|place| activity(command.to_owned(), options, place));
        if let (Some(events), Some(activity)) = (&self.events, told) {
            // If the journal cannot be written, the result of the command cannot either.
            if let Err(error) = events.record(EventKind::Activity { worker: None, activity }) {
                tracing::warn!(%error, "cannot record that a command begins");
            }
        }
        tokio::select! {
            biased;
            // Dropping the other branch ends the command with all its children.
            () = self.token.cancelled() => CheckResult::new(command, CheckStatus::NotRun(self.reason.to_owned())),
            result = self.checks.run(command, options) => result,
        }
    }
}

/// What people are told of a command; nothing of a hold-out, which no journal may have.
fn activity(
    command: String,
    options: &CheckOptions,
    (number, of): (usize, usize),
) -> Option<Activity> {
    match options.purpose {
        Purpose::Check | Purpose::Preflight => {
            Some(Activity::Checking { command, cell: options.cell, number, of })
        }
        Purpose::FirstSetup | Purpose::Setup { .. } => Some(Activity::SettingUp { command }),
        Purpose::HoldOut => None,
    }
}
