//! All output of commands, except for a run's reporters.
//!
//! Invariant: a closed stream is not an error, and no secret of the environment is printed.

use super::environment::redactor;
use crate::model::Checkpoint;
use crate::report::harmless;

/// Prints to standard output; ignores a closed stream.
pub(super) fn say(text: &str) {
    print(&mut std::io::stdout().lock(), &harmless(&redactor().redact_str(text)));
}

/// Prints to standard error.
pub(super) fn complain(text: &str) {
    print(&mut std::io::stderr().lock(), &harmless(&redactor().redact_str(text)));
}

/// Prints a value as JSON.
pub(super) fn say_json(value: &serde_json::Value) {
    let value = redactor().redact_json(value);
    say_as_is(&serde_json::to_string_pretty(&value).unwrap_or_default());
}

/// Prints a value as one line of JSON.
pub(super) fn say_line(value: &serde_json::Value) {
    say_lines(std::slice::from_ref(value));
}

/// Prints each value as one line of JSON. No other line gets between them.
pub(super) fn say_lines(values: &[serde_json::Value]) {
    let lines = values.iter().map(|value| redactor().redact_json(value).to_string());
    say_as_is(&lines.collect::<Vec<_>>().join("\n"));
}

/// Prints a text of ours that a program reads and that holds nothing of anybody else's.
pub(super) fn say_as_is(text: &str) {
    print(&mut std::io::stdout().lock(), text);
}

fn print(out: &mut impl std::io::Write, text: &str) {
    drop(writeln!(out, "{text}"));
}

/// Standard error, as the log writes to it: one line at a time.
pub(super) struct RedactedLog;

impl std::io::Write for RedactedLog {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        std::io::stderr().write_all(redactor().redact_str(&text).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}

/// A checkpoint as people read it, as in `main at 1a2b3c4d`.
pub(super) fn checkpoint_for_people(checkpoint: &Checkpoint) -> String {
    let branch = checkpoint.branch.strip_prefix("refs/heads/").unwrap_or(&checkpoint.branch);
    format!("{branch} at {}", checkpoint.head.short())
}
