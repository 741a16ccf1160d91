//! `PHPUnit`: `OK (1 test, 1 assertion)`, or `Tests: 3, Assertions: 2, Failures: 1.`

use super::line::{LineReader, add, after, before};
use crate::verify::runner::report::TestTally;

#[derive(Default)]
pub(super) struct Phpunit {
    /// A number in brackets is a failed test's: `1) AppTest::testSeven`.
    failing: bool,
}

impl LineReader for Phpunit {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        if line.starts_with("PHPUnit ") && line.contains(" by Sebastian Bergmann") {
            tally.banner = true;
            tally.started += 1;
        } else if line.starts_with("OK (") && line.contains(" assertion") {
            tally.ended += 1;
            tally.passed += before(line, "tests").or_else(|| before(line, "test")).unwrap_or(0);
        } else if line.starts_with("Tests: ") && line.contains("Assertions: ") {
            let of = |key| after(line, key).unwrap_or(0);
            let failed = of(" Failures:") + of(" Errors:");
            let skipped = of(" Skipped:") + of(" Incomplete:");
            tally.ended += 1;
            add(tally, of("Tests:"), failed, skipped);
        } else if line.starts_with("No tests executed!") || line.starts_with("Available test") {
            tally.ended += 1;
        } else if line.starts_with("There w") {
            self.failing = line.contains(" failure") || line.contains(" error");
        } else if self.failing
            && let Some((number, name)) = line.split_once(") ")
            && number.parse::<u64>().is_ok()
            && name.contains("::")
        {
            tally.failed_names.add(name);
        }
    }
}
