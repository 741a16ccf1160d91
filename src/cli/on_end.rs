//! `--on-end`: runs a command of the user's after a run.
//!
//! Invariant: the command never changes the result, and is ended after 60 seconds. A repository's
//! configuration cannot set it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::context::RepoContext;
use super::environment::redactor;
use super::failure::Failure;
use super::print::complain;
use super::report::night;
use crate::events::JOURNAL_FILE;
use crate::model::ExitCode;
use crate::report::{Night, markdown};

/// How long the command may take.
const LIMIT: Duration = Duration::from_secs(60);
/// The report in the run's folder.
const REPORT: &str = "report.md";

/// Writes the report into the run's folder.
pub(super) fn write_report(run: &Path, night: &Night) -> Result<PathBuf, Failure> {
    let report = run.join(REPORT);
    let page = redactor().redact_str(&markdown(night)).into_owned();
    std::fs::write(&report, page).map_err(|error| Failure::cannot_write(&report, &error))?;
    Ok(report)
}

/// Runs the command, with the report beside the journal and its JSON on standard input. What it
/// prints goes to standard error.
pub(super) async fn tell(command: &str, root: &Path, run: &Path, code: u8) {
    let told = async {
        let place = RepoContext::find(Some(root)).map_err(|failure| failure.reason())?;
        let night = night(&place, Some(root), &run.join(JOURNAL_FILE));
        let night = night.map_err(|failure| failure.reason())?;
        let failed = |error: io::Error| error.to_string();
        let report = write_report(run, &night).map_err(|failure| failure.reason())?;
        let row = ExitCode::TABLE.iter().find(|(number, ..)| *number == code);
        let value = serde_json::to_value(&night).unwrap_or_default();
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(root).kill_on_drop(true);
        shell.env("RALPH_COPILOT_OUTCOME", row.map_or("", |(_, name, ..)| name));
        shell.env("RALPH_COPILOT_EXIT_CODE", code.to_string());
        shell.env("RALPH_COPILOT_TASK", &night.task).env("RALPH_COPILOT_REPORT", &report);
        shell.stdin(Stdio::piped()).stdout(io::stderr());
        let mut child = shell.spawn().map_err(failed)?;
        let stdin = child.stdin.take();
        let ended = tokio::time::timeout(LIMIT, async {
            if let Some(mut stdin) = stdin {
                let text = redactor().redact_json(&value).to_string();
                // A command need not read it.
                let _closed = stdin.write_all(text.as_bytes()).await;
            }
            child.wait().await
        });
        match ended.await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => Err(format!("it ended with {status}")),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("it took longer than {} s", LIMIT.as_secs())),
        }
    };
    let told: Result<(), String> = told.await;
    if let Err(why) = told {
        complain(&format!("note: --on-end: {why}: {command}"));
    }
}
