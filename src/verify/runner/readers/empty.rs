//! The summary of any runner: whether it says that no test ran.
//!
//! A runner without a reader of its own says so in one of a few forms: `1..0`, `0 passed | 0 failed`,
//! `Passed:    0`, `DONE 0 tests in 0.1s`.

/// What the lines of an output say about tests that ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::verify::runner) struct AnySummary {
    /// A number of tests that passed, and whether one of these is not zero.
    passed: Option<bool>,
}

const PASSED: &[&str] = &["passed", "passing", "pass", "succeeded"];

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
        let none = ["No tests found", "No test files found", "0 tests, 0 fail", "0 specs, 0 fail"];
        if text.ends_with("[no tests to run]")
            || text.ends_with("[no test files]")
            || none.iter().any(|it| text.starts_with(it))
        {
            return say(&mut self.passed, false);
        }
        if line.starts_with("ok  \t") {
            return say(&mut self.passed, true);
        }
        let tap = text.strip_prefix("not ok ").or_else(|| text.strip_prefix("ok "));
        if tap.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            let skipped = text.to_ascii_lowercase().contains("# skip");
            say(&mut self.passed, !skipped);
        } else if let Some(passed) = number(text, PASSED) {
            say(&mut self.passed, passed > 0);
        } else if let Some(done) = text.strip_prefix("DONE ").and_then(|it| number(it, &["tests"]))
        {
            // gotestsum counts the tests of the packages that `go test` called `ok`.
            self.passed = Some(done > number(text, &["skipped"]).unwrap_or(0));
        }
    }

    /// Whether one says that a test passed, if any says how many did.
    pub(in crate::verify::runner) fn passed(&self) -> Option<bool> {
        self.passed
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
