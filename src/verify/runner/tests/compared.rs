//! A run compared with the one at the start.

use super::super::{at_least_as_many, still_failing};
use super::sample;
use crate::model::TestCount;

fn report(output: &[u8]) -> Vec<TestCount> {
    super::report(output).counts()
}

/// Red at the start, green later, and ended in the middle.
const RUNS: [(&str, &[u8], &[u8]); 6] = [
    ("cargo", sample!("cargo-red-all"), sample!("cargo-workspace-green")),
    ("nextest", sample!("nextest-red"), sample!("nextest-green")),
    ("go", sample!("go-red"), sample!("go-green")),
    ("node", sample!("node-red"), sample!("node-green")),
    ("mocha", sample!("mocha-red"), sample!("mocha-green")),
    ("ctest", sample!("ctest-red"), sample!("ctest-green")),
];

#[test]
fn what_failed_at_the_start_passes_by_name() {
    for (runner, start, green) in RUNS {
        let (start, green) = (report(start), report(green));
        assert!(at_least_as_many(&start, &green).is_ok(), "{runner}");
        assert_eq!(still_failing(&start, &green), 0, "{runner}");
        assert_eq!(still_failing(&start, &start), 1, "{runner}");
    }
}

#[test]
fn a_test_file_that_ends_its_process_loses_tests() {
    // Node counts the file itself as a test that passed.
    let (start, now) = (report(sample!("node-red")), report(sample!("node-exit-0")));
    assert_eq!(still_failing(&start, &now), 1);
    let error = at_least_as_many(&start, &now).expect_err("fewer tests ran");
    assert_eq!(error, "`node --test` ran 4 tests at the start, and 3 now");
}

#[test]
fn where_numbers_or_names_are_unknown_nothing_is_claimed() {
    let (red, quiet) = (report(sample!("pytest-red")), report(sample!("pytest-qq")));
    assert!(at_least_as_many(&red, &quiet).is_ok());
    assert_eq!(still_failing(&red, &report(sample!("pytest-green"))), 0);
    assert!(at_least_as_many(&report(b""), &report(b"")).is_ok());
}
