//! cargo-nextest: `Summary [ 0.2s] 4 tests run: 3 passed, 1 failed, 3 skipped`.

use super::cargo::running;
use super::line::{LineReader, before};
use crate::verify::runner::report::TestTally;

#[derive(Default)]
pub(super) struct Nextest {
    /// The output of a test is shown: it began and has no result yet.
    open: bool,
}

/// `(1/4) a::seven seven` without the place.
fn name(rest: &str) -> Option<&str> {
    let (_, name) = rest.split_once("] ")?;
    let name = name.trim_start();
    match name.strip_prefix('(').and_then(|place| place.split_once(") ")) {
        Some((_, name)) => Some(name),
        None => Some(name),
    }
}

impl LineReader for Nextest {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        let text = line.trim_start();
        if text.starts_with("Starting ") && text.contains(" tests across ") {
            tally.banner = true;
            tally.started += 1;
        } else if let Some(rest) = text.strip_prefix("Summary [") {
            self.close(tally);
            tally.ended += 1;
            tally.passed += before(rest, "passed").unwrap_or(0);
            let failed = ["failed", "timed"].map(|word| before(rest, word).unwrap_or(0));
            tally.failed += failed.iter().sum::<u64>();
            tally.skipped += before(rest, "skipped").unwrap_or(0);
        } else if let Some(rest) = text.strip_prefix("PASS [") {
            self.close(tally);
            tally.passed_names.add(name(rest).unwrap_or(rest));
        } else if let Some(rest) = text.strip_prefix("FAIL [") {
            self.close(tally);
            tally.failed_names.add(name(rest).unwrap_or(rest));
        } else if tally.banner && running(text) == Some(1) {
            self.close(tally);
            self.open = true;
        } else if text.starts_with("test result: ") {
            self.open = false;
        }
    }
}

impl Nextest {
    /// A test process that ended in the middle counts as passed for nextest.
    fn close(&mut self, tally: &mut TestTally) {
        tally.broken += u64::from(std::mem::take(&mut self.open));
    }
}
