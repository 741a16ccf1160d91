//! Mocha: `  2 passing (3ms)`, `  1 pending`, `  1 failing`.

use super::line::{LineReader, before, marked, without_duration};
use crate::verify::runner::report::TestTally;

#[derive(Default)]
pub(super) struct Mocha {
    /// The numbers are printed.
    over: bool,
    /// Hooks that failed: each counts beside the test that it belongs to.
    hooks: u64,
}

impl LineReader for Mocha {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        let Some(text) = line.strip_prefix("  ") else { return };
        let text = text.trim();
        let timed = text.split_once(" passing (").is_some_and(|(_, time)| {
            time.ends_with(')') && time.starts_with(|c: char| c.is_ascii_digit())
        });
        if let Some(passed) = before(text, "passing").filter(|_| timed) {
            self.over = true;
            tally.ended += 1;
            tally.passed += passed;
        } else if self.over && text.ends_with(" pending") {
            tally.skipped += before(text, "pending").unwrap_or(0);
        } else if self.over && text.ends_with(" failing") {
            tally.failed += before(text, "failing").unwrap_or(0);
            tally.passed = tally.passed.saturating_sub(std::mem::take(&mut self.hooks));
        } else if !self.over {
            if let Some(name) = marked(line, &["✔", "✓"]) {
                tally.passed_names.add(without_duration(name));
            } else if let Some((number, name)) = text.split_once(") ")
                && number.parse::<u64>().is_ok()
            {
                if is_hook(name) {
                    self.hooks += 1;
                } else {
                    tally.failed_names.add(without_duration(name));
                }
            }
        }
    }
}

/// `"after each" hook for "adds"`
fn is_hook(name: &str) -> bool {
    ["\"before ", "\"after "].iter().any(|when| name.starts_with(when)) && name.contains(" hook")
}
