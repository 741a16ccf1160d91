//! CTest: `1/3 Test #1: one ...   Passed`, `100% tests passed, 0 tests failed out of 2`; since 4.4
//! `100% tests passed out of 2`.

use super::line::{LineReader, after, before};
use crate::verify::runner::report::TestTally;

#[derive(Default)]
pub(super) struct Ctest {
    /// Tests that ended with their `SKIP_RETURN_CODE`: the summary counts them as passed.
    skipped: u64,
}

impl LineReader for Ctest {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        if line.starts_with("Test project /") {
            tally.banner = true;
            tally.started += 1;
        } else if line.starts_with("No tests were found!!!") || line.starts_with("Total Tests: ") {
            tally.ended += 1;
        } else if let Some((_, rest)) = line.split_once("% tests passed")
            && let Some(all) = after(rest, " out of ")
        {
            let failed = before(rest, "tests").unwrap_or(0);
            tally.ended += 1;
            tally.failed += failed;
            tally.passed += all.saturating_sub(failed + std::mem::take(&mut self.skipped));
        } else if let Some((_, test)) = line.split_once(" Test ")
            && let Some((name, result)) = test.split_once(": ").and_then(|(number, rest)| {
                number.trim_start().starts_with('#').then_some(())?;
                rest.split_once(' ')
            })
        {
            if result.contains("***Not Run") {
                tally.skipped += 1;
            } else if result.contains("***Skipped") {
                tally.skipped += 1;
                self.skipped += 1;
            } else if result.contains(" Passed ") {
                tally.passed_names.add(name);
            } else if result.contains("***") {
                tally.failed_names.add(name);
            }
        }
    }
}
