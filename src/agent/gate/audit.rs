//! Audit entries other than decisions: sessions, prompts, results, and errors.

use serde_json::json;
use tokio::time::Instant;

use super::{Gate, REPORTS};
use crate::hooks::{ErrorReport, HookCall, HookResult, replace_result};
use crate::model::{AuditEntry, HookType, SessionId};

impl Gate {
    /// Records that a session was opened.
    pub fn opened(&self, session: &SessionId) {
        self.audit(&AuditEntry::new(HookType::SessionStart, Some(session.clone())));
    }

    /// Records a prompt before it is sent.
    pub fn prompted(&self, session: &SessionId, words: &str) {
        self.audit(&AuditEntry {
            input: Some(words.into()),
            ..AuditEntry::new(HookType::Prompt, Some(session.clone()))
        });
    }

    /// Denies everything in this session from now on, and records how its last prompt ended.
    pub fn close(&self, session: &SessionId) {
        let reason = {
            let mut state = self.state();
            state.sessions.close(session.as_str());
            state.ended.remove(session.as_str())
        };
        self.audit(&AuditEntry {
            output: reason.map(|reason| json!({ "reason": reason })),
            ..AuditEntry::new(HookType::SessionEnd, Some(session.clone()))
        });
    }

    /// Records an error that the CLI reported.
    pub fn report(&self, report: ErrorReport) {
        self.audit(&AuditEntry {
            output: Some(json!({ "context": report.context, "message": report.message })),
            ..AuditEntry::new(HookType::Error, Some(SessionId::new(report.session.clone())))
        });
        let mut state = self.state();
        state.last = Some(Instant::now());
        if state.reports.len() == REPORTS {
            state.reports.pop_front();
        }
        state.reports.push_back(report);
    }

    /// Records the result of an allowed call, as its hook reports it.
    pub fn record_result(&self, result: &HookResult) {
        let HookCall { session, tool, .. } = &result.call;
        let offered = self.offered_tool(tool);
        let input = &self.result_as_decided(result);
        let took = {
            let mut state = self.state();
            state.last = Some(Instant::now());
            match &offered {
                Some(tool) => state.decisions.note_offered_result(&tool.name, input),
                None => state.decisions.note_result(session, input),
            }
        };
        if offered.is_some() && took.is_none() {
            // The server that ran it has recorded it.
            return;
        }
        self.audit(&AuditEntry {
            tool: Some(offered.map_or_else(
                || self.shown_name(tool).into_owned(),
                |offered| self.shown_name(&offered.name).into_owned(),
            )),
            input: Some(input.clone()),
            output: Some(result.output.clone()),
            elapsed: took,
            ..AuditEntry::new(HookType::PostToolUse, Some(SessionId::new(session.clone())))
        });
    }

    /// The answer to a result that shows secrets of the workspace's files or of this machine, or
    /// of a command that met a wall of its sandbox: the same result without them, and with a line
    /// that names the wall.
    pub fn shown_result(&self, result: &HookResult) -> Option<String> {
        let (text, kind) = (result.output.as_str()?, result.kind.as_deref()?);
        let mut shown = self.redactor.without_known_values(text);
        if let Some(line) = self.wall(&result.call.tool, text) {
            shown = format!("{}\n{line}", shown.trim_end()).into();
        }
        (shown != text).then(|| replace_result(kind, &shown))
    }

    /// Notes how a prompt ended, as the CLI reports it.
    pub fn prompt_over(&self, session: String, reason: String) {
        let mut state = self.state();
        state.last = Some(Instant::now());
        state.ended.insert(session, reason);
    }

    /// Writes an audit entry. If that fails, every call is denied from now on, and the session
    /// that watches the turn ends the run.
    pub fn audit(&self, entry: &AuditEntry) {
        if let Err(error) = self.record.audit(entry) {
            let mut state = self.state();
            state.broken.get_or_insert(error);
            state.resting = true;
        }
    }
}
