//! Test runners: which one a check starts, what it says about itself, and whether a green exit
//! status is the result of tests that ran.
//!
//! Invariant: pure but for `environment`, and in bounded memory. The scanner reads output as it
//! comes. A program that is not known is judged by its exit status. What does NOT live here: running a check.

mod command;
mod environment;
mod judge;
mod lines;
mod readers;
mod report;
mod scanner;

pub use command::{Invocation, Summary, invocations};
pub use environment::runner_environment;
pub use judge::{Judgment, at_least_as_many, judge_tests, still_failing};
pub use report::{TestNames, TestReport, TestRunner, TestTally};
pub use scanner::TestScanner;

#[cfg(test)]
mod tests;
