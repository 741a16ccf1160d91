//! The result of a verify command that the runner ran.

use serde::{Deserialize, Serialize};

use super::{Criterion, CriterionKey};

/// One verify command, run once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    /// The command as written.
    pub command: String,
    /// The criteria it belongs to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<CriterionKey>,
    /// It is also a command of the whole task (`verify` in the front matter).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole_task: bool,
    /// How it went.
    pub status: CheckStatus,
    /// Milliseconds it took.
    pub millis: u64,
    /// The counts of its test runners, one entry per runner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<TestCount>,
    /// Every run of it in this proof, if there was more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<CellRun>,
    /// The end of its output, both streams, and the line before it that says why it failed;
    /// redacted and bounded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

/// One of several runs of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellRun {
    /// What it found.
    pub cell: Cell,
    /// How it went.
    pub status: CheckStatus,
    /// Milliseconds it took.
    pub millis: u64,
}

/// The trees that a command runs on in a proof.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cell {
    /// The work.
    #[default]
    Work,
    /// The work with the tests of the start.
    PutBack,
    /// A script of the check ends with a failure.
    EndMark,
    /// The product of the start with the tests of the work.
    OldProduct,
    /// The tests expect something else.
    OtherExpectation,
}

impl CheckResult {
    /// Of a command alone, as it ended.
    pub fn new(command: impl Into<String>, status: CheckStatus) -> Self {
        Self {
            command: command.into(),
            criteria: Vec::new(),
            whole_task: false,
            status,
            millis: 0,
            tests: Vec::new(),
            runs: Vec::new(),
            output: String::new(),
        }
    }

    /// Whether the command succeeded.
    pub fn passed(&self) -> bool {
        self.status == CheckStatus::Passed
    }

    /// Adds another run of the same command to the list.
    pub fn add_run(&mut self, other: &Self) {
        let alone = |it: &Self| {
            vec![CellRun { cell: Cell::Work, status: it.status.clone(), millis: it.millis }]
        };
        if self.runs.is_empty() {
            self.runs = alone(self);
        }
        self.runs.extend(if other.runs.is_empty() { alone(other) } else { other.runs.clone() });
    }
}

/// Does a criterion have its own verify commands, and did all of them pass in these results?
pub fn all_passed(criterion: &Criterion, results: &[CheckResult]) -> bool {
    let passed = |command: &str| results.iter().any(|it| it.command == command && it.passed());
    let own = &criterion.verify;
    !own.is_empty() && own.iter().all(|verify| passed(&verify.command))
}

/// The way in which a verify command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// Exit code 0.
    Passed,
    /// Any other exit code.
    Failed(i32),
    /// Ended by a signal.
    Signalled(i32),
    /// Longer than its limit, in seconds; it was ended with all its children.
    TimedOut(u64),
    /// It could not be started.
    NotRun(String),
    /// Exit code 0, but no test ran, and why.
    NothingRan(String),
    /// Exit code 0, but a test runner ended before its summary, and where.
    Incomplete(String),
}

impl CheckStatus {
    /// How it ended in a few words, as in `failed (exit 1)`.
    pub fn how(&self) -> String {
        match self {
            Self::Passed => "exit 0".to_owned(),
            Self::Failed(code) => format!("exit {code}"),
            Self::Signalled(signal) => format!("signal {signal}"),
            Self::TimedOut(seconds) => format!("longer than {seconds} s"),
            Self::NotRun(why) => format!("did not start: {why}"),
            Self::NothingRan(why) | Self::Incomplete(why) => format!("exit 0, but {why}"),
        }
    }
}

/// The count of one test runner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCount {
    /// The runner, as in `cargo test`.
    pub runner: String,
    /// Tests that ran.
    pub ran: u64,
    /// Tests that were skipped.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped: u64,
    /// Hashes of the names of tests that failed, sorted, where names are printed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<u64>,
    /// Hashes of the names of tests that passed, sorted, if each of them is printed.
    #[serde(skip)]
    pub passed: Option<Vec<u64>>,
}

impl TestCount {
    /// Names of failed tests that are kept.
    pub const MOST_FAILED: usize = 200;
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_check_is_said_in_a_few_words() {
        let why = || "it ran no test".to_owned();
        for (status, how) in [
            (CheckStatus::Passed, "exit 0"),
            (CheckStatus::Failed(2), "exit 2"),
            (CheckStatus::Signalled(9), "signal 9"),
            (CheckStatus::TimedOut(600), "longer than 600 s"),
            (CheckStatus::NotRun("no sh".to_owned()), "did not start: no sh"),
            (CheckStatus::NothingRan(why()), "exit 0, but it ran no test"),
            (CheckStatus::Incomplete(why()), "exit 0, but it ran no test"),
        ] {
            assert_eq!(status.how(), how);
        }
    }
}
