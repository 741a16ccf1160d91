//! Recorded output of real runners, and what is concluded from it.
//!
//! Each sample is the whole output, both streams, of one command in a small project: its code
//! ends the process with 0, returns a wrong value, or is right. Only the samples of .NET were not
//! recorded: they are put together from published output.

mod commands;
mod compared;
mod judged;
mod recorded;
mod streaming;

use super::{TestReport, TestScanner};

/// The recorded output of a name in `tests/recordings/single`.
macro_rules! sample {
    ($name:literal) => {
        include_bytes!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/recordings/single/",
            $name,
            ".txt"
        ))
    };
}
use sample;

fn report(output: &[u8]) -> TestReport {
    let mut scanner = TestScanner::default();
    scanner.feed(output);
    scanner.finish()
}
