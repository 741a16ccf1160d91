//! Jest: `Tests:       1 failed, 2 skipped, 3 passed, 6 total`.

use super::line::{LineReader, before, marked, without_duration};
use crate::verify::runner::report::TestTally;

pub(super) struct Jest;

impl LineReader for Jest {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        if let Some(rest) = line.strip_prefix("Tests: ") {
            if before(rest, "total").is_none() {
                return;
            }
            let of = |word| before(rest, word).unwrap_or(0);
            tally.banner = true;
            tally.ended += 1;
            tally.passed += of("passed");
            tally.failed += of("failed");
            tally.skipped += of("skipped") + of("todo") + of("pending");
        } else if let Some(rest) = line.strip_prefix("Test Suites: ") {
            // A file that cannot be loaded is not a failed test.
            tally.broken += before(rest, "failed").unwrap_or(0);
        } else if line.starts_with("No tests found") && !line.ends_with("code 1") {
            tally.ended += 1;
        } else if line.starts_with("  ") {
            if let Some(name) = marked(line, &["✓", "√"]) {
                tally.passed_names.add(without_duration(name));
            } else if let Some(name) = marked(line, &["✕", "×"]) {
                tally.failed_names.add(without_duration(name));
            }
        }
    }
}
