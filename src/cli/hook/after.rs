//! `hook postToolUse` without a run: a line in the log.
//!
//! The call is already over: errors are printed on standard error, and have no other effect.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde_json::Value;
use tokio::process::Command;
use tokio::time::Instant;

use super::adapter::session_of;
use super::hook_context::HookContext;
use crate::cli::environment;
use crate::cli::print::complain;
use crate::hooks::{HookResult, SESSION_EVENTS, ScriptEnd, SessionEvent, read_result, run_script};
use crate::model::{AuditEntry, HookType};
use crate::sys::append::{AppendFile, Tail};
use crate::sys::clock::Clock;
use crate::sys::{FileMode, SysError};

/// The project's own script, which takes the line's values as arguments.
const LOG_EVENT: &str = "hooks/core/log-event.sh";

/// Answers `postToolUse`: adds a line to the log, or runs the project's own script. Nothing is
/// printed on standard output; an error is reported and changes nothing.
pub(super) async fn after(directory: Option<&Path>, input: &[u8], until: Instant) -> String {
    match HookContext::find(directory) {
        Ok(ground) => {
            if let Err(error) = log(&ground, input, until).await {
                complain(&error.to_string());
            }
            // In a run its own hook tells the runner, which audits it.
            if !ground.is_a_run_s()
                && let Err(error) = ground.audit(&report(input))
            {
                complain(&format!("the result cannot be audited: {error}"));
            }
        }
        Err(failure) => complain(&failure.to_string()),
    }
    String::new()
}

/// The part of a result that the audit keeps.
fn report(input: &[u8]) -> AuditEntry {
    let Ok(HookResult { call, output, .. }) = read_result(input) else {
        return AuditEntry::new(HookType::PostToolUse, None);
    };
    let session = session_of(&call);
    AuditEntry {
        tool: Some(call.tool),
        input: Some(call.input),
        output: Some(output),
        ..AuditEntry::new(HookType::PostToolUse, session)
    }
}

async fn log(ground: &HookContext, input: &[u8], until: Instant) -> Result<(), SysError> {
    let path = ground.base.join(SESSION_EVENTS);
    ground.ignore(&path);
    let event = SessionEvent::read(input, Clock::system().now());
    let own = ground.project.join(LOG_EVENT);
    if own.symlink_metadata().is_ok() && logged(ground, &own, &path, &event, until).await {
        return Ok(());
    }
    let refused = |source| SysError::File { operation: "write to", path: path.clone(), source };
    let folder = path.parent().unwrap_or(&ground.base);
    if folder.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
        return Err(refused(std::io::Error::other("its folder is a link")));
    }
    fs::create_dir_all(folder).map_err(refused)?;
    let mut file = AppendFile::open(&path, FileMode::Umask, Tail::Open)?;
    file.append(event.line().as_bytes())
}

/// Whether the project's own script has written its line, as JSON.
async fn logged(
    ground: &HookContext,
    own: &Path,
    log: &Path,
    event: &SessionEvent,
    until: Instant,
) -> bool {
    let before = fs::metadata(log).map_or(0, |found| found.len());
    let mut command = Command::new(own);
    command.args(event.arguments()).current_dir(&ground.base);
    command.env("CLAUDE_PROJECT_DIR", &ground.project);
    let limit = until.saturating_duration_since(Instant::now());
    let ran = run_script(command, b"", limit, &environment::run_name("hook")).await;
    if ran.end != ScriptEnd::Exited(0) {
        complain(&format!("{LOG_EVENT} {}: {}", ran.end.describe(), ran.complaint()));
    }
    let added = read_from(log, before).unwrap_or_default();
    let mut lines = added.split(|byte| *byte == b'\n');
    let is_ours = |line: &[u8]| {
        serde_json::from_slice::<Value>(line).is_ok_and(|line| line["agent"] == "copilot")
    };
    lines.any(is_ours)
}

/// A log grows for months, so earlier lines are not read.
fn read_from(path: &Path, at: u64) -> std::io::Result<Vec<u8>> {
    let mut file = fs::File::open(path)?;
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
