//! Checks of a command that proves something; while one runs, a terminal shows it.

use std::time::Duration;

use async_trait::async_trait;
use indicatif::{ProgressBar, ProgressStyle};

use super::print::shown;
use crate::model::CheckResult;
use crate::verify::{CheckOptions, Checks};

/// Checks whose commands are shown on standard error if it is a terminal.
pub(super) struct ShownChecks<'c> {
    checks: &'c dyn Checks,
    line: ProgressBar,
}

impl<'c> ShownChecks<'c> {
    pub(super) fn new(checks: &'c dyn Checks) -> Self {
        let line = ProgressBar::new_spinner();
        match ProgressStyle::with_template("{spinner} {elapsed}, run {pos}: {wide_msg}") {
            Ok(style) => line.set_style(style),
            Err(error) => tracing::debug!(%error, "the usual style is used"),
        }
        Self { checks, line }
    }
}

impl Drop for ShownChecks<'_> {
    fn drop(&mut self) {
        self.line.finish_and_clear();
    }
}

#[async_trait]
impl Checks for ShownChecks<'_> {
    async fn run(&self, command: &str, options: &CheckOptions) -> CheckResult {
        self.line.set_message(shown(command));
        self.line.inc(1);
        self.line.enable_steady_tick(Duration::from_millis(250));
        self.checks.run(command, options).await
    }
}
