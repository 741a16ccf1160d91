//! The summary of any runner: whether it says that no test ran.
//!
//! A runner without a reader of its own says so in one of a few forms: `1..0`, `0 passed | 0 failed`,
//! `Passed:    0`, `0 tests, 0 failures`, `DONE 0 tests in 0.1s`.

/// What the lines of an output say about tests that ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::verify::runner) struct AnySummary {
    /// A number of tests that passed, and whether one of these is not zero.
    passed: Option<bool>,
    /// A number of tests that were found or started, likewise.
    found: Option<bool>,
}

const PASSED: &[&str] = &["passed", "passing", "pass", "succeeded"];
const FOUND: &[&str] = &["tests", "test", "specs", "spec", "scenarios", "scenario", "examples"];
const LEFT_OUT: &[&str] = &["skipped", "ignored", "pending", "todo", "skip"];

impl AnySummary {
    pub(in crate::verify::runner) fn line(&mut self, line: &str) {
        let text = line.trim();
        if let Some(planned) = text.strip_prefix("1..") {
            let digits = planned.split(' ').next().unwrap_or("");
            if digits.parse::<u64>() == Ok(0) {
                say(&mut self.passed, false);
            }
            return;
        }
        if text.ends_with("[no tests to run]") || text.ends_with("[no test files]") {
            return say(&mut self.passed, false);
        }
        if text.starts_with("No tests found") || text.starts_with("No test files found") {
            return say(&mut self.passed, false);
        }
        if line.starts_with("ok  \t") {
            return say(&mut self.passed, true);
        }
        let tap = text.strip_prefix("not ok ").or_else(|| text.strip_prefix("ok "));
        if tap.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            let skipped = text.to_ascii_lowercase().contains("# skip");
            say(&mut self.passed, !skipped);
            return;
        }
        if let Some(passed) = number(text, PASSED) {
            say(&mut self.passed, passed > 0);
        } else if let Some(found) = number(text, FOUND) {
            let ran = found > number(text, LEFT_OUT).unwrap_or(0);
            say(&mut self.found, ran);
            // gotestsum counts the tests of the packages that `go test` called `ok`.
            if text.starts_with("DONE ") {
                self.passed = Some(ran);
            }
        }
    }

    /// Whether one says that a test passed, if any says how many did.
    pub(in crate::verify::runner) fn passed(&self) -> Option<bool> {
        self.passed
    }

    /// Whether a summary says that no test ran, and none that one did.
    pub(in crate::verify::runner) fn is_empty(&self) -> bool {
        match (self.passed, self.found) {
            (Some(passed), _) => !passed,
            (None, found) => found == Some(false),
        }
    }
}

fn say(said: &mut Option<bool>, some: bool) {
    *said = Some(some || *said == Some(true));
}

/// The number beside one of these words: `2 passed`, `Passed:  2`.
fn number(text: &str, words: &[&str]) -> Option<u64> {
    let mut tokens = text
        .split(|c: char| c.is_whitespace() || ",;|()".contains(c))
        .filter(|token| !token.is_empty())
        .peekable();
    let mut last: Option<u64> = None;
    while let Some(token) = tokens.next() {
        let (word, key) = token.strip_suffix(':').map_or((token, false), |word| (word, true));
        if words.iter().any(|it| it.eq_ignore_ascii_case(word)) {
            let mut next = || tokens.peek().and_then(|next| next.parse().ok());
            if let Some(number) = if key { next() } else { last } {
                return Some(number);
            }
        }
        last = token.parse().ok();
    }
    None
}
