//! Verify commands that end when a token is cancelled.
//!
//! Invariant: a cancelled command is not evidence: its result is [`CheckStatus::NotRun`], and
//! the caller looks at the token before it judges.

use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::model::{CheckResult, CheckStatus};
use crate::verify::{CheckOptions, Checks};

/// Runs commands until a token is cancelled.
pub(super) struct CancellableChecks {
    pub(super) checks: Arc<dyn Checks>,
    pub(super) token: CancellationToken,
    /// Why a cancelled command was not run, in a few words.
    pub(super) reason: &'static str,
}

#[async_trait]
impl Checks for CancellableChecks {
    async fn run(&self, command: &str, options: &CheckOptions) -> CheckResult {
        tokio::select! {
                    biased;
                    // Dropping the other branch ends the command with all its children.
                    () = self.token.cancelled() => CheckResult {
        runs: Vec::new(),
                        command: command.to_owned(),
                        criteria: Vec::new(),
                        whole_task: false,
                        status: CheckStatus::NotRun(self.reason.to_owned()),
                        millis: 0,
                        tests: Vec::new(),
                        output: String::new(),
                    },
                    result = self.checks.run(command, options) => result,
                }
    }
}
