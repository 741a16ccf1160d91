//! Vitest: `      Tests  2 passed | 1 skipped (3)`.

use super::line::{LineReader, before, marked, without_duration};
use crate::verify::runner::report::TestTally;

pub(super) struct Vitest;

impl LineReader for Vitest {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        let text = line.trim_start();
        let spaces = line.len() - text.len();
        if let Some(version) = text.strip_prefix("RUN  v") {
            if version.starts_with(|c: char| c.is_ascii_digit()) {
                tally.banner = true;
                tally.started += 1;
            }
        } else if spaces >= 4
            && let Some(rest) = text.strip_prefix("Tests  ")
        {
            let of = |word| before(rest, word).unwrap_or(0);
            tally.ended += 1;
            tally.passed += of("passed");
            tally.failed += of("failed");
            tally.skipped += of("skipped") + of("todo");
        } else if text.starts_with("No test files found, exiting with code 0") {
            tally.ended += 1;
        } else if spaces <= 3 && tally.started > tally.ended && text.contains(" > ") {
            if let Some(name) = marked(line, &["✓"]) {
                tally.passed_names.add(without_time(name));
            } else if let Some(name) = marked(line, &["×"]) {
                tally.failed_names.add(without_time(name));
            }
        }
    }
}

/// `double > seven 4ms` without the duration, and without the file.
fn without_time(name: &str) -> &str {
    let name = without_duration(name);
    match name.rsplit_once(' ') {
        Some((before, last)) if last.ends_with("ms") => before,
        Some(_) | None => name,
    }
}
