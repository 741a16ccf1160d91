//! libtest: `running 2 tests`, `test a ... ok`, `test result: ok. 2 passed; …`.

use super::line::{LineReader, before};
use crate::verify::runner::report::TestTally;

#[derive(Default)]
pub(super) struct Cargo {
    /// A binary with unit tests was announced and must print its number of tests.
    announced: bool,
    /// Binaries that said how many tests they run and did not end yet.
    open: Vec<u64>,
}

/// `running 3 tests`
pub(super) fn running(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("running ")?;
    rest.strip_suffix(" tests").or_else(|| rest.strip_suffix(" test"))?.parse().ok()
}

/// The name of a doctest holds its line, which moves: `src/lib.rs - mul (line 5)`.
fn without_line(name: &str) -> String {
    match name.split_once(" (line ").and_then(|(item, rest)| Some((item, rest.split_once(')')?))) {
        Some((item, (line, kind))) if line.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{item}{kind}")
        }
        Some(_) | None => name.to_owned(),
    }
}

/// `test tests::one ... ok`
pub(super) fn named(line: &str, tally: &mut TestTally) {
    let Some((name, result)) =
        line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... "))
    else {
        return;
    };
    if result == "ok" || result.starts_with("ok <") {
        tally.passed_names.add(&without_line(name));
    } else if result.starts_with("FAILED") {
        tally.failed_names.add(&without_line(name));
    }
}

impl LineReader for Cargo {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        if let Some(count) = running(line) {
            if !std::mem::take(&mut self.announced) {
                tally.started += 1;
            }
            // A flood of such lines is not a test run.
            if self.open.len() < 10_000 {
                self.open.push(count);
            }
        } else if let Some(result) = line.strip_prefix("test result: ") {
            let count = |word| before(&result.replace(';', ","), word).unwrap_or(0);
            let (passed, failed) = (count("passed"), count("failed"));
            let skipped = count("ignored");
            let sum = passed + failed + skipped + count("measured");
            // Only the result of a binary that began counts.
            if let Some(at) = self.open.iter().rposition(|open| *open == sum) {
                self.open.remove(at);
                tally.ended += 1;
                tally.passed += passed;
                tally.failed += failed;
                tally.skipped += skipped;
            }
        } else if line.starts_with("test ") {
            named(line, tally);
        } else if line.starts_with("     Running ") && line.ends_with(')') {
            tally.banner = true;
            self.announced = line.starts_with("     Running unittests ");
            tally.started += u64::from(self.announced);
        } else if line.starts_with("   Doc-tests ") {
            tally.banner = true;
            self.announced = false;
        }
    }
}
