//! All output of commands, except for a run's reporters.
//!
//! Invariant: a closed stream is not an error, and no secret of the environment is printed. In
//! GitHub Actions, no text of others is a command to its runner.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::OnceLock;

use super::environment::{redactor, variable};
use super::failure::Failure;
use crate::model::Checkpoint;
use crate::report::harmless;

/// Prints to standard output; ignores a closed stream.
pub(super) fn say(text: &str) {
    print(&mut io::stdout().lock(), &unarmed(&shown(text)));
}

/// Prints to standard error.
pub(super) fn complain(text: &str) {
    print(&mut io::stderr().lock(), &unarmed(&shown(text)));
}

/// A text as it may be shown: without secrets, and without what controls a terminal.
pub(super) fn shown(text: &str) -> String {
    harmless(&redactor().redact_str(text))
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

/// Prints JSON, or a text of ours that holds nothing of anybody else's.
pub(super) fn say_as_is(text: &str) {
    print(&mut io::stdout().lock(), &unarmed(text));
}

fn print(out: &mut impl Write, text: &str) {
    drop(writeln!(out, "{text}"));
}

/// Adds an annotation of this kind to the run of a workflow, in GitHub Actions, by standard error.
/// `at` is a file, from the root, and a line.
pub(super) fn annotate(kind: &str, at: Option<(&str, usize)>, text: &str) {
    if !in_actions() {
        return;
    }
    let data = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let at = at.map(|(file, line)| {
        let file = data(file).replace(':', "%3A").replace(',', "%2C");
        format!(" file={file},line={line}")
    });
    let text = data(&harmless(&redactor().redact_str(text))).replace("##[", "# #[");
    print(&mut io::stderr().lock(), &format!("::{kind}{}::{text}", at.unwrap_or_default()));
}

/// Is this a step of a workflow? Then its runner reads everything that is printed.
fn in_actions() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| variable("GITHUB_ACTIONS").is_some_and(|value| value == "true"))
}

/// The text without commands of a workflow: `::` where a line begins, and `##[` anywhere. JSON
/// keeps its meaning.
fn unarmed(text: &str) -> String {
    if !in_actions() {
        return text.to_owned();
    }
    let is_json = text.starts_with(['{', '[']);
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let begin = line.find(|it: char| !it.is_whitespace() && it != '\u{feff}');
        let (blank, rest) = line.split_at(begin.unwrap_or(line.len()));
        let rest = match rest.strip_prefix("::") {
            Some(rest) => format!(": :{rest}"),
            None => rest.to_owned(),
        };
        let broken = if is_json { r"#\u0023[" } else { "# #[" };
        lines.push(format!("{blank}{}", rest.replace("##[", broken)));
    }
    lines.join("\n")
}

/// A stream of whole lines, without commands of a workflow.
pub(super) struct Unarmed<W: Write> {
    out: W,
    line: Vec<u8>,
}

impl<W: Write> Unarmed<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, line: Vec::new() }
    }
}

impl<W: Write> Write for Unarmed<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(text);
        if let Some(end) = self.line.iter().rposition(|byte| *byte == b'\n') {
            let rest = self.line.split_off(end + 1);
            let lines = std::mem::replace(&mut self.line, rest);
            self.out.write_all(unarmed(&String::from_utf8_lossy(&lines)).as_bytes())?;
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Standard error, as the log writes to it: one line at a time.
pub(super) struct RedactedLog;

impl Write for RedactedLog {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        io::stderr().write_all(unarmed(&redactor().redact_str(&text)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// A checkpoint as people read it, as in `main at 1a2b3c4d`.
pub(super) fn checkpoint_for_people(checkpoint: &Checkpoint) -> String {
    let branch = checkpoint.branch.strip_prefix("refs/heads/").unwrap_or(&checkpoint.branch);
    format!("{branch} at {}", checkpoint.head.short())
}

/// Adds to a file that GitHub Actions names.
pub(super) fn to_file(name: &str, text: &str) -> Result<(), Failure> {
    let Some(path) = variable(name).filter(|path| !path.is_empty()) else { return Ok(()) };
    let path = PathBuf::from(path);
    let opened = OpenOptions::new().append(true).create(true).open(&path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::cannot_write(&path, &error))
}
