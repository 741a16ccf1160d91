//! The reports of a check's runners.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::readers::AnySummary;
use crate::model::TestCount;

/// A test runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TestRunner {
    /// `cargo test`
    Cargo,
    /// `cargo nextest`
    Nextest,
    /// `pytest`
    Pytest,
    /// `python -m unittest`
    Unittest,
    /// `go test`
    Go,
    /// Jest
    Jest,
    /// Vitest
    Vitest,
    /// Mocha
    Mocha,
    /// `node --test`
    Node,
    /// Maven's Surefire and Failsafe
    Maven,
    /// Gradle
    Gradle,
    /// CTest
    Ctest,
    /// `RSpec`
    Rspec,
    /// Minitest and test-unit
    Minitest,
    /// `PHPUnit`
    Phpunit,
    /// `dotnet test`
    Dotnet,
}

impl TestRunner {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::Cargo,
        Self::Nextest,
        Self::Pytest,
        Self::Unittest,
        Self::Go,
        Self::Jest,
        Self::Vitest,
        Self::Mocha,
        Self::Node,
        Self::Maven,
        Self::Gradle,
        Self::Ctest,
        Self::Rspec,
        Self::Minitest,
        Self::Phpunit,
        Self::Dotnet,
    ];

    /// Its name, as people type it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cargo => "cargo test",
            Self::Nextest => "cargo nextest",
            Self::Pytest => "pytest",
            Self::Unittest => "unittest",
            Self::Go => "go test",
            Self::Jest => "jest",
            Self::Vitest => "vitest",
            Self::Mocha => "mocha",
            Self::Node => "node --test",
            Self::Maven => "mvn",
            Self::Gradle => "gradle",
            Self::Ctest => "ctest",
            Self::Rspec => "rspec",
            Self::Minitest => "minitest",
            Self::Phpunit => "phpunit",
            Self::Dotnet => "dotnet test",
        }
    }

    /// The endings of its tests' files.
    pub fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Cargo | Self::Nextest => &["rs"],
            Self::Pytest | Self::Unittest => &["py"],
            Self::Go => &["go"],
            Self::Jest | Self::Vitest | Self::Mocha | Self::Node => {
                &["js", "cjs", "mjs", "jsx", "ts", "cts", "mts", "tsx"]
            }
            Self::Maven | Self::Gradle => &["java", "kt", "groovy", "scala"],
            // It runs programs of all kinds.
            Self::Ctest => &[],
            Self::Rspec | Self::Minitest => &["rb"],
            Self::Phpunit => &["php"],
            Self::Dotnet => &["cs", "fs"],
        }
    }

    /// The parts of a run that end separately, if it has such parts.
    pub(super) fn parts(self) -> Option<&'static str> {
        let parts =
            [(Self::Cargo, "test binaries"), (Self::Go, "packages"), (Self::Nextest, "tests")];
        parts.iter().find(|(runner, _)| *runner == self).map(|(_, parts)| *parts)
    }
}

/// Names of tests, as hashes and in bounded memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestNames {
    hashes: BTreeSet<u64>,
    total: u64,
}

impl TestNames {
    /// More names than this are counted but not kept.
    const MOST: usize = 50_000;

    pub(super) fn add(&mut self, name: &str) {
        self.total += 1;
        if self.hashes.len() < Self::MOST {
            let mut hasher = DefaultHasher::new();
            name.trim().hash(&mut hasher);
            self.hashes.insert(hasher.finish());
        }
    }

    /// How many names were printed, repeated ones included.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The hashes of the names.
    pub fn hashes(&self) -> &BTreeSet<u64> {
        &self.hashes
    }

    fn complete(&self) -> bool {
        self.hashes.len() < Self::MOST
    }
}

/// The report of one runner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestTally {
    /// It announced itself with a line that no other program prints.
    pub banner: bool,
    /// Suites (test binaries, packages, sessions) that began, where the runner says so.
    pub started: u64,
    /// Suites that ended with their summary.
    pub ended: u64,
    /// Suites that ended without the line that must follow, or with numbers that do not agree.
    pub broken: u64,
    /// All tests went through, although no summary was printed.
    pub ran_through: bool,
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed, errors included.
    pub failed: u64,
    /// Tests that were skipped, ignored, or only planned.
    pub skipped: u64,
    /// Files among those that passed: no test of theirs ran, or they have none.
    pub files: u64,
    /// TestNames of tests that passed, where they are printed.
    pub passed_names: TestNames,
    /// TestNames of tests that failed, where they are printed.
    pub failed_names: TestNames,
    /// Tests that pass leave no trace, so nothing can be counted.
    pub only_failures: bool,
}

impl TestTally {
    /// Tests that ran.
    pub fn ran(&self) -> u64 {
        self.passed.saturating_add(self.failed)
    }

    /// Without the files that passed: with a pattern of names, a file whose tests do not match it
    /// passes, too.
    pub(super) fn without_files(mut self) -> Self {
        self.passed = self.passed.saturating_sub(std::mem::take(&mut self.files));
        self
    }

    fn count(&self, runner: TestRunner) -> TestCount {
        let names = &self.passed_names;
        let complete =
            names.complete() && names.total() + self.files >= self.passed && !self.only_failures;
        TestCount {
            runner: runner.name().to_owned(),
            ran: if self.only_failures { 0 } else { self.ran() },
            skipped: self.skipped,
            failed: self
                .failed_names
                .hashes()
                .iter()
                .take(TestCount::MOST_FAILED)
                .copied()
                .collect(),
            passed: complete.then(|| names.hashes().iter().copied().collect()),
        }
    }

    /// Whether a suite began and did not end.
    pub(super) fn open(&self) -> u64 {
        self.started.saturating_sub(self.ended).max(self.broken)
    }
}

/// The reports of all runners of one check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestReport {
    tallies: BTreeMap<TestRunner, TestTally>,
    summary: AnySummary,
}

impl TestReport {
    pub(super) fn new(
        tallies: impl IntoIterator<Item = (TestRunner, TestTally)>,
        summary: AnySummary,
    ) -> Self {
        let nothing = TestTally::default();
        let tallies = tallies.into_iter().filter(|(_, tally)| *tally != nothing).collect();
        Self { tallies, summary }
    }

    /// Whether a summary says in so many words that no test ran, and none says that one did: a
    /// script prints many a number.
    pub(super) fn says_that_none_ran(&self) -> bool {
        // The first prints no numbers, and the others also where nobody asks for tests.
        let no_numbers = [TestRunner::Go, TestRunner::Maven, TestRunner::Gradle];
        let mut tallies = self.tallies.iter();
        let none = |(runner, it): (&TestRunner, &TestTally)| {
            !no_numbers.contains(runner) && it.ended > 0 && it.ran() == 0
        };
        match self.summary.passed() {
            Some(passed) => !passed,
            None => tallies.any(none),
        }
    }

    /// The report of a runner, if it printed anything.
    pub fn of(&self, runner: TestRunner) -> Option<&TestTally> {
        self.tallies.get(&runner)
    }

    /// The numbers of the runners that printed their summary.
    pub fn counts(&self) -> Vec<TestCount> {
        let ended = self.tallies.iter().filter(|(_, tally)| tally.ended > 0);
        ended.map(|(runner, tally)| tally.count(*runner)).collect()
    }
}
