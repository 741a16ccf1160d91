//! `dotnet test`: one line for each project, or a summary of all of them: in one line, or, by
//! Microsoft.Testing.Platform, below `Test run summary: Passed!`.

use super::line::{LineReader, after};
use crate::verify::runner::report::TestTally;

#[derive(Default)]
pub(super) struct Dotnet {
    /// The numbers follow, one in each line.
    total: bool,
}

impl LineReader for Dotnet {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        let text = line.trim();
        let of = |key| after(text, key).unwrap_or(0);
        if text.contains("!  - Failed:") && text.contains("Passed:") {
            // `Passed!  - Failed: 0, Passed: 34, Skipped: 0, Total: 34, …`
            tally.banner = true;
            tally.ended += 1;
            tally.passed += of(", Passed:");
            tally.failed += of("- Failed:");
            tally.skipped += of(", Skipped:");
        } else if text.starts_with("Test summary: total: ") {
            tally.banner = true;
            tally.ended += 1;
            tally.passed += of("succeeded:");
            tally.failed += of("failed:");
            tally.skipped += of("skipped:");
        } else if text.starts_with("Total tests: ") {
            self.total = true;
            tally.ended += 1;
        } else if line.starts_with("Test run summary: ") {
            self.total = true;
            tally.banner = true;
            tally.ended += 1;
        } else if self.total && line.starts_with("  ") {
            tally.passed += of("Passed:") + of("succeeded:");
            tally.failed += of("Failed:") + of("failed:");
            tally.skipped += of("Skipped:") + of("skipped:");
        } else {
            self.total = false;
            if text.starts_with("No test is available in ")
                || text.starts_with("No test matches the given testcase filter")
            {
                tally.banner = true;
                tally.ended += 1;
            }
        }
    }
}
