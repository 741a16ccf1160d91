//! Whether a green exit status is the result of tests that ran.

use super::command::{Invocation, Summary, invocations};
use super::report::{TestReport, TestRunner, TestTally};
use crate::model::TestCount;

/// The value of a check's exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgment {
    /// The check failed.
    Red,
    /// No runner is known, so its exit status decides.
    ExitStatus,
    /// Each runner printed its summary, and tests ran.
    Green,
    /// The command keeps a runner from printing its summary, so its exit status decides.
    Silenced {
        /// The option or the redirection.
        why: String,
    },
    /// Exit 0, but no test ran.
    NothingRan {
        /// The output that replaces the summary.
        why: String,
    },
    /// Exit 0, but a runner ended before its summary, or the summary counts failed tests.
    Incomplete {
        /// The missing part.
        why: String,
    },
}

/// Judges a check by its command, its exit status, and what its runners reported.
pub fn judge_tests(command: &str, exit_ok: bool, report: &TestReport) -> Judgment {
    if !exit_ok {
        return Judgment::Red;
    }
    let invocations = invocations(command);
    let mut best = Judgment::ExitStatus;
    for runner in TestRunner::ALL {
        let own: Vec<&Invocation> = invocations.iter().filter(|it| it.runner == runner).collect();
        let required = own.iter().filter(|it| it.summary == Summary::Required).count();
        let tally = report.of(runner);
        let judged = if required > 0 {
            let lenient = own.iter().any(|it| it.lenient);
            // Another one of the same runner may list tests, or print in its own way.
            let mixed = own.len() > required;
            let filtered = own.iter().any(|it| it.filtered);
            let tally = tally.cloned().unwrap_or_default();
            let tally = if filtered { tally.without_files() } else { tally };
            one(runner, required, lenient, mixed, &tally)
        } else if own.is_empty() {
            tally.map_or(Judgment::ExitStatus, |tally| unasked(runner, tally))
        } else {
            let silenced = own.iter().find_map(|it| match &it.summary {
                Summary::Silenced(why) => Some(why.clone()),
                Summary::Required | Summary::NotRequired => None,
            });
            silenced.map_or(Judgment::ExitStatus, |why| Judgment::Silenced { why })
        };
        match judged {
            Judgment::NothingRan { .. } | Judgment::Incomplete { .. } => return judged,
            Judgment::Silenced { .. } => best = judged,
            Judgment::Green if best == Judgment::ExitStatus => best = judged,
            Judgment::Green | Judgment::Red | Judgment::ExitStatus => {}
        }
    }
    if best == Judgment::ExitStatus && invocations.is_empty() && report.says_that_none_ran() {
        return Judgment::NothingRan { why: "its summary says that no test ran".to_owned() };
    }
    best
}

/// A runner whose summary is asked for.
fn one(
    runner: TestRunner,
    required: usize,
    lenient: bool,
    mixed: bool,
    tally: &TestTally,
) -> Judgment {
    let name = runner.name();
    let no_summary = || Judgment::Incomplete { why: format!("`{name}` printed no summary") };
    if runner == TestRunner::Gradle {
        return gradle(tally, lenient);
    }
    if tally.ended == 0 && tally.ran_through {
        return Judgment::Silenced { why: format!("`{name}` prints no summary as configured") };
    }
    if tally.ended == 0 && tally.started == 0 && runner == TestRunner::Go && tally.banner {
        return Judgment::NothingRan { why: format!("`{name}` found no test files") };
    }
    if tally.ended == 0 {
        return no_summary();
    }
    if tally.open() > 0 && !mixed {
        return Judgment::Incomplete { why: open(runner, tally) };
    }
    if tally.ended < required as u64 {
        return no_summary();
    }
    if tally.failed > 0 && !lenient {
        let failed = tests(tally.failed);
        return Judgment::Incomplete { why: format!("`{name}` reports {failed} failed") };
    }
    if lenient && tally.ran() == 0 {
        return Judgment::Silenced { why: format!("`{name}` may run no test") };
    }
    match (tally.ran(), tally.skipped) {
        (0, 0) => Judgment::NothingRan { why: format!("`{name}` ran no test") },
        (0, 1) => Judgment::NothingRan { why: format!("`{name}` skipped its only test") },
        (0, skipped) => {
            Judgment::NothingRan { why: format!("`{name}` skipped all {skipped} tests") }
        }
        (_, _) => Judgment::Green,
    }
}

/// Gradle prints no numbers, and names the tasks that had nothing to do.
fn gradle(tally: &TestTally, lenient: bool) -> Judgment {
    if tally.ended == 0 {
        return Judgment::Incomplete { why: "`gradle` did not print BUILD SUCCESSFUL".to_owned() };
    }
    if tally.skipped > 0 && !tally.ran_through && !lenient {
        return Judgment::NothingRan { why: "`gradle` had no tests to run".to_owned() };
    }
    Judgment::Silenced { why: "`gradle` does not print the number of tests".to_owned() }
}

/// A runner that a script started. Its own words are believed where no other program prints them.
fn unasked(runner: TestRunner, tally: &TestTally) -> Judgment {
    let never_ended = tally.ended == 0 && tally.started > 0 && !tally.ran_through;
    // Each binary, package, and shown test has its own end.
    let open = if runner.parts().is_some() { tally.open() > 0 } else { never_ended };
    if tally.banner && open {
        return Judgment::Incomplete { why: self::open(runner, tally) };
    }
    if tally.ended > 0 && tally.ran() > 0 { Judgment::Green } else { Judgment::ExitStatus }
}

fn open(runner: TestRunner, tally: &TestTally) -> String {
    let (name, open) = (runner.name(), tally.open());
    let all = tally.started.max(tally.ended + open);
    if runner == TestRunner::Nextest || (all <= 1 && runner != TestRunner::Go) {
        return format!("`{name}` ended before its summary");
    }
    let what = runner.parts().unwrap_or("runs");
    format!("{open} of {all} {what} of `{name}` ended before the summary")
}

fn tests(count: u64) -> String {
    if count == 1 { "1 test".to_owned() } else { format!("{count} tests") }
}

/// Compares a run with the one at the start: as many tests must run as then. The error says which
/// runner ran fewer. A runner without a count in either run has nothing to compare.
///
/// # Errors
/// If a runner ran fewer tests.
pub fn at_least_as_many(start: &[TestCount], now: &[TestCount]) -> Result<(), String> {
    for before in start {
        let Some(after) = now.iter().find(|it| it.runner == before.runner) else {
            // These print their summary whatever their options are.
            let always = [TestRunner::Minitest, TestRunner::Unittest, TestRunner::Rspec];
            if before.ran > 0 && always.iter().any(|runner| runner.name() == before.runner) {
                return Err(format!("`{}` printed no summary", before.runner));
            }
            continue;
        };
        if after.ran < before.ran {
            let (name, ran) = (&before.runner, tests(before.ran));
            return Err(format!("`{name}` ran {ran} at the start, and {} now", after.ran));
        }
    }
    Ok(())
}

/// How many tests failed at the start and did not pass by name now. Where a runner does not name
/// each test that passed, or named none that failed, nothing is known: 0.
pub fn still_failing(start: &[TestCount], now: &[TestCount]) -> usize {
    let missing = |before: &TestCount| {
        let after = now.iter().find(|it| it.runner == before.runner)?;
        let passed = after.passed.as_ref()?;
        let failed = before.failed.iter();
        Some(failed.filter(|name| passed.binary_search(name).is_err()).count())
    };
    start.iter().filter_map(missing).sum()
}

/// How a red run is worse than the red one at the start, if it is: tests fail by name that did not
/// fail then, or a runner whose tests passed then prints no summary.
pub fn worse(start: &[TestCount], now: &[TestCount]) -> Option<String> {
    let reason = |before: &TestCount| {
        let name = &before.runner;
        let Some(after) = now.iter().find(|it| it.runner == *name) else {
            let some_passed = before.ran > before.failed.len() as u64;
            let (ran, none) = (tests(before.ran), "prints no summary now");
            return some_passed.then(|| format!("`{name}` ran {ran} then, and {none}"));
        };
        let failed = after.failed.iter();
        match failed.filter(|name| passed_then(before, after, **name)).count() {
            0 => None,
            1 => Some("1 test fails now that did not fail then".to_owned()),
            more => Some(format!("{more} tests fail now that did not fail then")),
        }
    };
    start.iter().find_map(reason)
}

/// Whether a test that fails now passed at the start, or was not there.
fn passed_then(before: &TestCount, after: &TestCount, name: u64) -> bool {
    let failed = before.failed.binary_search(&name).is_ok();
    // A runner that ends with the first failure hides the rest.
    let all_ran = before.failed.len() > 1 || before.ran >= after.ran;
    let unnamed =
        || all_ran && !before.failed.is_empty() && before.failed.len() < TestCount::MOST_FAILED;
    match &before.passed {
        Some(passed) => !failed && passed.binary_search(&name).is_ok(),
        None => !failed && unnamed(),
    }
}
