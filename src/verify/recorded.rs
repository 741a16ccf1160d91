//! Every run of a check in a proof, for the journal.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

use super::checks::{CheckOptions, Checks, Purpose};
use crate::model::{CellRun, CheckResult};

/// Runs commands, and keeps how each went.
pub(super) struct Recorded<'c> {
    checks: &'c dyn Checks,
    ran: Mutex<Vec<(String, CellRun)>>,
}

impl<'c> Recorded<'c> {
    pub(super) fn new(checks: &'c dyn Checks) -> Self {
        Self { checks, ran: Mutex::default() }
    }

    /// Adds the runs of each check to its result, if there were several.
    pub(super) fn add_to(self, results: &mut [CheckResult]) {
        let ran = self.ran.into_inner().unwrap_or_else(PoisonError::into_inner);
        for result in results {
            let own = ran.iter().filter(|(command, _)| *command == result.command);
            let runs: Vec<CellRun> = own.map(|(_, run)| run.clone()).collect();
            if runs.len() > 1 {
                result.runs = runs;
            }
        }
    }
}

#[async_trait]
impl Checks for Recorded<'_> {
    async fn run(&self, command: &str, options: &CheckOptions) -> CheckResult {
        let result = self.checks.run(command, options).await;
        if options.purpose == Purpose::Check {
            let (cell, status, millis) = (options.cell, result.status.clone(), result.millis);
            let mut ran = self.ran.lock().unwrap_or_else(PoisonError::into_inner);
            ran.push((command.to_owned(), CellRun { cell, status, millis }));
        }
        result
    }
}
