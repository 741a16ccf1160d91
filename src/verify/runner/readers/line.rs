//! Parsing of a line, shared by several runners.

use crate::verify::runner::report::TestTally;

/// Reads one runner's lines.
pub(in crate::verify::runner) trait LineReader: Send {
    /// A line without colors.
    fn line(&mut self, line: &str, tally: &mut TestTally);

    /// The output is over.
    fn end(&mut self, _tally: &mut TestTally) {}
}

/// Adds the tests that a summary says it ran. One that failed in several parts, such as subtests or
/// its teardown, is one test; a failure outside of all tests counts as one, too.
pub(super) fn add(tally: &mut TestTally, ran: u64, failed: u64, skipped: u64) {
    let failed = failed.min(ran.saturating_sub(skipped).max(1));
    tally.failed += failed;
    tally.skipped += skipped;
    tally.passed += ran.saturating_sub(failed).saturating_sub(skipped);
}

/// The number before a word: `2 passed, 1 failed`.
pub(super) fn before(text: &str, word: &str) -> Option<u64> {
    let mut last = None;
    for token in text.split(|c: char| c.is_whitespace() || ",|()".contains(c)) {
        if token == word && last.is_some() {
            return last;
        }
        if !token.is_empty() {
            last = token.parse().ok();
        }
    }
    None
}

/// The number after a key: `Failures: 1`, `skipped=1`.
pub(super) fn after(text: &str, key: &str) -> Option<u64> {
    let (_, rest) = text.split_once(key)?;
    let rest = rest.trim_start();
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

/// A line without the mark that it begins with.
pub(super) fn marked<'l>(line: &'l str, marks: &[&str]) -> Option<&'l str> {
    let line = line.trim();
    marks.iter().find_map(|mark| line.strip_prefix(mark)?.strip_prefix(' '))
}

/// A name without a duration in brackets at its end: `adds (2 ms)`.
pub(super) fn without_duration(name: &str) -> &str {
    let name = name.trim();
    match name.rsplit_once(" (") {
        Some((before, last)) if last.starts_with(|c: char| c.is_ascii_digit()) => before,
        Some(_) | None => name,
    }
}
