//! The audit: every request, its answer and its result, in one file per day.
//!
//! Invariant: a line is on its way to the disk before `write` returns, is whole, also where
//! several processes write, and holds no secret: text is redacted whole and cut afterwards.
//! If a line cannot be written, nothing may run. Decisions do not live here, nor does the
//! definition of a secret: the redaction is passed in.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use chrono::SecondsFormat;
use serde::Serialize;
use serde_json::Value;

use super::emitter::refused;
use super::redacted;
use super::tamper_log::{TamperLog, Writers};
use crate::model::{
    Answer, Asked, AuditEntry, EventKind, HookType, ReadBack, Record, RecordError, Redact,
};
use crate::sys::FileMode;
use crate::sys::append::AppendFile;
use crate::sys::clock::Clock;

/// Longest text that is kept, in characters.
const KEPT: usize = 10_000;
/// The mark at the end of a text that was cut.
const TRUNCATED: &str = "\n[truncated]";
/// Longest input or output that keeps its structure, in bytes: above, it is one text.
const STRUCTURED: usize = 10 * KEPT;

/// Where the audit belongs: the folder that `COPILOT_AUDIT_LOG_DIR` names, relative to the
/// working directory, or `.ralph/audit/` in the repository.
pub fn audit_folder(root: &Path, named: Option<&OsStr>) -> PathBuf {
    match named.filter(|name| !name.is_empty()).map(Path::new) {
        Some(named) => std::path::absolute(named).unwrap_or_else(|_| named.to_owned()),
        None => root.join(".ralph/audit"),
    }
}

/// Writes the audit.
pub struct Audit {
    folder: PathBuf,
    clock: Clock,
    redact: Arc<dyn Redact>,
    /// The lines written so far, by file. Lines of one process keep their order.
    written: Mutex<BTreeMap<PathBuf, TamperLog>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    timestamp: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<Value>,
    hook_type: HookType,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elapsed_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Answer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<Asked>,
}

impl Audit {
    /// Opens the audit in this folder, creating it if needed. Today's file is opened at once, so
    /// that nothing begins that cannot be recorded.
    ///
    /// # Errors
    /// If the folder or today's file cannot be made or written.
    pub fn open(folder: &Path, clock: Clock, redact: Arc<dyn Redact>) -> Result<Self, RecordError> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|source| RecordError { path: folder.to_owned(), source })?;
        let audit = Self { folder: folder.to_owned(), clock, redact, written: Mutex::default() };
        audit.file().map(drop)?;
        Ok(audit)
    }

    /// Writes one line.
    ///
    /// # Errors
    /// If it cannot be written; then nothing may run.
    pub fn write(&self, entry: &AuditEntry) -> Result<(), RecordError> {
        let decision = entry.decision.as_ref();
        let text = |text: &str| self.shown(&text.into());
        let line = Line {
            timestamp: self.clock.now().to_rfc3339_opts(SecondsFormat::Millis, true),
            session_id: entry.session.as_ref().map(|session| text(session.as_str())),
            hook_type: entry.hook,
            tool_name: entry.tool.as_deref().map(text),
            input: entry.input.as_ref().map(|input| self.shown(input)),
            output: entry.output.as_ref().map(|output| self.shown(output)),
            // Three digits behind the point: a decision takes less than a millisecond.
            elapsed_ms: entry.elapsed.map(|elapsed| (elapsed.as_secs_f64() * 1e6).round() / 1e3),
            decision: decision.map(|decision| decision.answer),
            rule: decision.map(|decision| text(&decision.rule)),
            reason: decision.map(|decision| text(&decision.reason)),
            asked: decision.and_then(|decision| decision.asked),
        };
        let mut bytes = serde_json::to_vec(&line)
            .map_err(|error| RecordError { path: self.folder.clone(), source: error.into() })?;
        bytes.push(b'\n');
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = self.file()?;
        let path = file.path().to_owned();
        let seen = |file: &AppendFile| file.metadata().map_err(|error| refused(&path, error));
        let before = seen(&file)?;
        file.append(&bytes).map_err(|error| refused(&path, error))?;
        // Still under the file's lock: its end is the end of this line.
        let after = seen(&file)?;
        let ours = written.entry(path).or_insert_with(|| TamperLog::new(&before, Writers::Several));
        ours.wrote(&bytes, &before, &after);
        Ok(())
    }

    /// Returns the files in which lines written here were changed or removed. Lines that other
    /// processes append do not count.
    pub fn changed(&self, read_back: ReadBack) -> Vec<PathBuf> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = written.iter_mut().filter_map(|(path, ours)| {
            let changed = ours.is_changed(path, read_back);
            changed.then(|| path.clone())
        });
        changed.collect()
    }

    /// Today's file, held for one line: the next may belong to the next day.
    fn file(&self) -> Result<AppendFile, RecordError> {
        let path = self.path();
        AppendFile::shared(&path, FileMode::Owner).map_err(|error| refused(&path, error))
    }

    /// The days are those of UTC, as the times are.
    fn path(&self) -> PathBuf {
        self.folder.join(format!("audit-{}.jsonl", self.clock.now().date_naive()))
    }

    /// The value, redacted and cut.
    fn shown(&self, value: &Value) -> Value {
        let mut redacted = redacted::json(self.redact.as_ref(), value);
        cut(&mut redacted);
        let whole = redacted.to_string();
        if whole.len() <= STRUCTURED { redacted } else { truncated(&whole).unwrap_or(whole).into() }
    }
}

/// Cuts every text in a value.
fn cut(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(short) = truncated(text) {
                *text = short;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(cut),
        Value::Object(fields) => fields.values_mut().for_each(cut),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The beginning of a text that is too long.
fn truncated(text: &str) -> Option<String> {
    let (end, _) = text.char_indices().nth(KEPT)?;
    Some(format!("{}{TRUNCATED}", &text[..end]))
}

/// Records events in the journal and entries in the audit.
pub struct WithAudit {
    events: Arc<dyn Record>,
    audit: Audit,
}

impl WithAudit {
    /// Records events with `events`, and entries of the audit here.
    pub fn new(events: Arc<dyn Record>, audit: Audit) -> Self {
        Self { events, audit }
    }
}

impl Record for WithAudit {
    fn record(&self, kind: EventKind) -> Result<(), RecordError> {
        self.events.record(kind)
    }

    fn audit(&self, entry: &AuditEntry) -> Result<(), RecordError> {
        self.audit.write(entry)
    }

    fn changed(&self, read_back: ReadBack) -> Vec<PathBuf> {
        let mut changed = self.events.changed(read_back);
        changed.extend(self.audit.changed(read_back));
        changed
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::model::{AuditDecision, SessionId};

    /// A redaction that knows one word, in texts and behind nothing else.
    fn redact() -> Arc<dyn Redact> {
        Arc::new(|text: &str| text.replace("hunter2", "[REDACTED]"))
    }

    fn audit(folder: &Path, at: &str) -> Audit {
        let clock = Clock::anchored(at.parse().expect("time"));
        Audit::open(folder, clock, redact()).expect("audit")
    }

    fn lines(path: &Path) -> Vec<Value> {
        let text = std::fs::read_to_string(path).expect("a file of the audit");
        assert!(text.is_empty() || text.ends_with('\n'));
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    fn prompt(text: impl Into<Value>) -> AuditEntry {
        AuditEntry { input: Some(text.into()), ..AuditEntry::new(HookType::Prompt, None) }
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_has_the_documented_names_and_no_secret() {
        let folder = tempfile::tempdir().expect("folder");
        let audit = audit(folder.path(), "2026-11-21T14:03:00.5Z");
        audit
            .write(&AuditEntry {
                tool: Some("bash".to_owned()),
                input: Some(json!({"command": "echo hunter2", "depth": 2})),
                output: Some("hunter2".into()),
                elapsed: Some(Duration::from_nanos(1_234_567)),
                decision: Some(AuditDecision {
                    answer: Answer::Deny,
                    rule: "git.push".to_owned(),
                    reason: "hunter2 is not for you".to_owned(),
                    asked: Some(Asked::Hook),
                }),
                ..AuditEntry::new(HookType::PreToolUse, Some(SessionId::new("s")))
            })
            .expect("written");
        let path = folder.path().join("audit-2026-11-21.jsonl");
        let text = std::fs::read_to_string(path).expect("file");
        insta::assert_snapshot!(text, @r#"{"timestamp":"2026-11-21T14:03:00.500Z","sessionId":"s","hookType":"pre_tool_use","toolName":"bash","input":{"command":"echo [REDACTED]","depth":2},"output":"[REDACTED]","elapsedMs":1.235,"decision":"deny","rule":"git.push","reason":"[REDACTED] is not for you","asked":"hook"}"#);
    }

    #[tokio::test(start_paused = true)]
    async fn a_text_is_cut_after_its_redaction_and_says_so() {
        let folder = tempfile::tempdir().expect("folder");
        let audit = audit(folder.path(), "2026-11-21T14:03:00Z");
        let secret_at_the_cut = format!("{}hunter2", "ü".repeat(KEPT - 3));
        for input in [
            json!("ü".repeat(KEPT)),
            json!(secret_at_the_cut),
            json!({ "file_text": "x".repeat(KEPT + 1), "path": "a" }),
            json!(vec!["1234567890"; STRUCTURED / 10]),
        ] {
            audit.write(&prompt(input)).expect("written");
        }
        let lines = lines(&folder.path().join("audit-2026-11-21.jsonl"));
        let input = |at: usize| &lines[at]["input"];
        assert_eq!(input(0), &json!("ü".repeat(KEPT)), "what fits is whole");
        assert_eq!(input(1), &json!(format!("{}[RE\n[truncated]", "ü".repeat(KEPT - 3))));
        assert_eq!(input(2)["file_text"], format!("{}\n[truncated]", "x".repeat(KEPT)));
        assert_eq!(input(2)["path"], "a", "the rest keeps its structure");
        let text = input(3).as_str().expect("too much of it is one text");
        assert_eq!(text.chars().count(), KEPT + TRUNCATED.len());
        assert!(text.starts_with(r#"["1234567890","#) && text.ends_with(TRUNCATED), "{text}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_over_midnight_goes_on_in_the_next_day_s_file() {
        let folder = tempfile::tempdir().expect("folder");
        let audit = audit(folder.path(), "2026-11-21T23:59:59Z");
        audit.write(&prompt("before")).expect("written");
        tokio::time::advance(Duration::from_secs(2)).await;
        audit.write(&prompt("after")).expect("written");
        for (day, text) in [("2026-11-21", "before"), ("2026-11-22", "after")] {
            let lines = lines(&folder.path().join(format!("audit-{day}.jsonl")));
            assert_eq!(lines.len(), 1);
            assert_eq!(lines[0]["input"], text);
            assert!(lines[0]["timestamp"].as_str().expect("time").starts_with(day));
        }
    }

    #[test]
    fn several_writers_leave_whole_lines() {
        const WRITERS: usize = 6;
        const EACH: usize = 40;
        let folder = tempfile::tempdir().expect("folder");
        // An audit each, as in processes of their own: nothing but the file is shared.
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let folder = folder.path();
                scope.spawn(move || {
                    let clock = Clock::system();
                    let audit = Audit::open(folder, clock, redact()).expect("audit");
                    for _ in 0..EACH {
                        audit.write(&prompt(format!("{writer}").repeat(9_000))).expect("written");
                    }
                });
            }
        });
        let mut found = 0;
        for file in std::fs::read_dir(folder.path()).expect("folder") {
            for line in lines(&file.expect("file").path()) {
                let text = line["input"].as_str().expect("text").to_owned();
                assert!(text.bytes().all(|byte| byte == text.as_bytes()[0]));
                found += 1;
            }
        }
        assert_eq!(found, WRITERS * EACH);
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_crash_tore_does_not_spoil_the_next_line() {
        let folder = tempfile::tempdir().expect("folder");
        let audit = audit(folder.path(), "2026-11-21T14:03:00Z");
        audit.write(&prompt("one")).expect("written");
        let path = folder.path().join("audit-2026-11-21.jsonl");
        let mut torn = std::fs::read(&path).expect("file");
        torn.extend_from_slice(b"{\"timestamp\":\"20");
        std::fs::write(&path, torn).expect("torn");
        audit.write(&prompt("two")).expect("written");
        let inputs: Vec<_> = lines(&path).iter().map(|line| line["input"].clone()).collect();
        assert_eq!(inputs, ["one", "two"]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_audit_that_cannot_be_written_is_an_error_at_once_and_later() {
        let folder = tempfile::tempdir().expect("folder");
        let file = folder.path().join("file");
        std::fs::write(&file, "").expect("file");
        let error = Audit::open(&file, Clock::system(), redact()).err().expect("no folder");
        assert_eq!(error.path, file);

        let audit = audit(&folder.path().join("audit"), "2026-11-21T14:03:00Z");
        std::fs::remove_dir_all(folder.path().join("audit")).expect("removed");
        let error = audit.write(&prompt("x")).expect_err("the folder is gone");
        assert_eq!(error.source.kind(), std::io::ErrorKind::NotFound);
        assert!(error.path.ends_with("audit/audit-2026-11-21.jsonl"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_link_at_the_file_s_place_is_not_followed() {
        let folder = tempfile::tempdir().expect("folder");
        let elsewhere = folder.path().join("elsewhere");
        std::fs::write(&elsewhere, "").expect("file");
        let place = folder.path().join("audit-2026-11-21.jsonl");
        std::os::unix::fs::symlink(&elsewhere, &place).expect("link");
        let clock = Clock::anchored("2026-11-21T14:03:00Z".parse().expect("time"));
        assert!(Audit::open(folder.path(), clock, redact()).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn what_cannot_be_redacted_is_not_shown() {
        let folder = tempfile::tempdir().expect("folder");
        let clock = Clock::anchored("2026-11-21T14:03:00Z".parse().expect("time"));
        let fails = |_: &str| -> String { std::panic::panic_any("a redaction that fails") };
        let audit = Audit::open(folder.path(), clock, Arc::new(fails)).expect("audit");
        audit.write(&prompt("hunter2")).expect("written");
        let lines = lines(&folder.path().join("audit-2026-11-21.jsonl"));
        assert_eq!(lines[0]["input"], "[REDACTED]");
    }

    #[test]
    fn the_folder_is_the_repository_s_own_unless_one_is_named() {
        let root = Path::new("/w/repo");
        for (named, expected) in [
            (None, "/w/repo/.ralph/audit"),
            (Some(""), "/w/repo/.ralph/audit"),
            (Some("/var/log/audit"), "/var/log/audit"),
        ] {
            assert_eq!(audit_folder(root, named.map(OsStr::new)), Path::new(expected));
        }
    }
}
