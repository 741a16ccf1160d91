//! Test runners: which one a check starts, its reports, and whether a green exit status comes from
//! tests that ran.
//!
//! Invariant: pure except for `environment`, and in bounded memory. The scanner reads output as it
//! arrives. An unknown program is judged by its exit status. Not in this folder: running a check.

mod command;
mod environment;
mod judge;
mod lines;
mod readers;
mod report;
mod scanner;

pub use command::{Invocation, Summary, invocations};
pub use environment::runner_environment;
pub use judge::{Judgment, at_least_as_many, judge_tests, still_failing, worse};
pub use report::{TestNames, TestReport, TestRunner, TestTally};
pub use scanner::TestScanner;

#[cfg(test)]
mod tests;
