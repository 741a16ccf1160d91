//! Verify commands that end with the run.
//!
//! Invariant: a command that was ended because the run ends is no evidence: whoever asks
//! for results looks at the stop signal before they are judged.

use std::sync::Arc;

use async_trait::async_trait;

use crate::model::{CheckResult, CheckStatus};
use crate::sys::shutdown::Shutdown;
use crate::verify::{CheckOptions, Checks};

/// Runs commands until the run is ended from outside.
pub(super) struct UntilStopped {
    pub(super) checks: Arc<dyn Checks>,
    pub(super) stop: Shutdown,
}

#[async_trait]
impl Checks for UntilStopped {
    async fn run(&self, command: &str, options: &CheckOptions) -> CheckResult {
        tokio::select! {
            biased;
            // Dropping the other branch ends the command with all its children.
            () = self.stop.token().cancelled() => CheckResult {
                command: command.to_owned(),
                criteria: Vec::new(),
                whole_task: false,
                status: CheckStatus::NotRun("the run was ended".to_owned()),
                millis: 0,
                output: String::new(),
            },
            result = self.checks.run(command, options) => result,
        }
    }
}
