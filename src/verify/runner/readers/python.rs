//! pytest and unittest.

use super::line::{LineReader, add, after, before};
use crate::verify::runner::report::{TestNames, TestTally};

/// `=== 2 passed, 1 skipped in 0.01s ===`
#[derive(Default)]
pub(super) struct Pytest {
    /// pytest-sugar's results follow.
    sugar: bool,
    /// How many tests it found, if it says so.
    collected: Option<u64>,
    /// Tests that failed themselves, and one name for each subtest that failed, as listed.
    failed: TestNames,
    parts: TestNames,
}

impl LineReader for Pytest {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        if line.starts_with("=====") && line.contains(" test session starts ") {
            tally.banner = true;
            tally.started += 1;
            self.collected = None;
            return;
        }
        // `-v` prints `collecting ... ` before it.
        let found = line.strip_prefix("collecting ... ").unwrap_or(line);
        if found.starts_with("collected ") {
            self.collected = collected(found);
        }
        if line.ends_with("[100%]") {
            tally.ran_through = true;
        }
        if line.starts_with("Results (") && line.trim_end().ends_with("s):") {
            tally.ended += 1;
            self.sugar = true;
        } else if self.sugar {
            self.sugar = line.starts_with("   ") && self.count(line, tally, None);
        } else if summary(line) {
            tally.ended += 1;
            let collected = self.collected.take();
            self.count(line, tally, collected);
            *self = Self::default();
        }
        self.named(line, tally);
    }
}

impl Pytest {
    /// Adds the numbers of a line. A test whose teardown fails has two results, and each failed
    /// subtest is one more: no more tests ran than were found.
    fn count(&self, line: &str, tally: &mut TestTally, collected: Option<u64>) -> bool {
        let of = |words: &[&str]| words.iter().filter_map(|word| before(line, word)).sum::<u64>();
        let passed = of(&["passed", "xfailed", "xpassed"]);
        let failed = of(&["failed", "error", "errors"]);
        let skipped = of(&["skipped"]);
        let own = failed.saturating_sub(self.parts.total());
        let ran = (passed + own).min(collected.unwrap_or(u64::MAX));
        let only_parts = self.parts.hashes().difference(self.failed.hashes()).count() as u64;
        add(tally, ran, own + only_parts, 0);
        tally.skipped += skipped;
        passed + failed + skipped > 0
    }

    /// `tests/test_app.py::test_one PASSED  [ 33%]`, `FAILED tests/test_app.py::test_one - …`,
    /// `SUBFAILED[part](n=1) tests/test_app.py::test_one - …`
    fn named(&mut self, line: &str, tally: &mut TestTally) {
        if let Some((name, rest)) = line.split_once(" PASSED") {
            let rest = rest.trim();
            if name.contains("::") && (rest.is_empty() || rest.starts_with(['[', '('])) {
                tally.passed_names.add(name);
            }
        } else if let Some(rest) = line.strip_prefix("FAILED ")
            && rest.contains("::")
        {
            let name = rest.split(" - ").next().unwrap_or(rest);
            self.failed.add(name);
            tally.failed_names.add(name);
        } else if let Some(rest) = line.strip_prefix("SUBFAILED")
            && let Some(name) = whole_item(rest)
        {
            self.parts.add(name);
            tally.failed_names.add(name);
        }
    }
}

/// The test of a subtest: `[part](n=1) tests/test_app.py::test_one - …`.
fn whole_item(rest: &str) -> Option<&str> {
    let rest = rest.split(" - ").next()?;
    let start = rest[..rest.find("::")?].rfind(' ')?;
    Some(&rest[start + 1..])
}

/// Whether a line is the last one of a session: a list of numbers and a duration.
fn summary(line: &str) -> bool {
    let text = line.trim_matches(|c| c == '=' || c == ' ');
    let Some((numbers, time)) = text.rsplit_once(" in ") else { return false };
    let seconds = time.split_whitespace().next().unwrap_or("");
    let timed = seconds.strip_suffix('s').is_some_and(|number| number.parse::<f64>().is_ok());
    let words = |part: &str| {
        let mut words = part.split_whitespace();
        let first = words.next().unwrap_or("");
        let number = first.split('/').all(|number| number.parse::<u64>().is_ok());
        number && words.next().is_some()
    };
    timed && (numbers == "no tests ran" || numbers.split(", ").all(words))
}

/// `collected 5 items / 1 error / 2 deselected / 3 selected`: a file with an error is one item.
fn collected(line: &str) -> Option<u64> {
    let of = |words: [&str; 2]| words.iter().find_map(|word| before(line, word));
    let items = before(line, "selected").or_else(|| of(["items", "item"]))?;
    Some(items + of(["errors", "error"]).unwrap_or(0))
}

/// `Ran 3 tests in 0.000s`, a blank line, `OK (skipped=1)`
#[derive(Default)]
pub(super) struct Unittest {
    ran: Option<u64>,
}

impl LineReader for Unittest {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        if let Some(rest) = line.strip_prefix("Ran ")
            && (rest.contains(" tests in ") || rest.contains(" test in "))
        {
            self.ran = before(line, "tests").or_else(|| before(line, "test"));
        } else if line.starts_with("OK") || line.starts_with("FAILED (") || line == "NO TESTS RAN" {
            let Some(ran) = self.ran.take() else { return };
            let of = |key| after(line, key).unwrap_or(0);
            let failed = of("(failures=").max(of(" failures="))
                + of("errors=")
                + of("unexpected successes=");
            tally.ended += 1;
            add(tally, ran, failed, of("skipped="));
        } else if let Some(name) = line.strip_suffix(" ... ok") {
            if !name.starts_with("test ") {
                tally.passed_names.add(name);
            }
        } else if let Some(name) =
            line.strip_suffix(" ... FAIL").or_else(|| line.strip_suffix(" ... ERROR"))
            && !is_pseudo_test(name)
        {
            tally.failed_names.add(whole_test(name));
        }
    }
}

/// What unittest reports in place of tests: a module that cannot be loaded, and what surrounds the
/// tests of a class or a module.
fn is_pseudo_test(name: &str) -> bool {
    const AROUND: [&str; 4] =
        ["setUpClass (", "tearDownClass (", "setUpModule (", "tearDownModule ("];
    name.contains("(unittest.loader._FailedTest") || AROUND.iter().any(|it| name.starts_with(it))
}

/// The test of a subtest: `  test_sq (tests.T.test_sq) [msg] (n=4)`.
fn whole_test(name: &str) -> &str {
    name.find(") (").or_else(|| name.find(") [")).map_or(name, |end| &name[..=end])
}
