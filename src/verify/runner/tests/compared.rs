//! A run compared with the one at the start.

use super::super::{at_least_as_many, still_failing, worse};
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

/// A module that the work adds: its test file is loaded for the first time.
#[test]
fn a_test_file_that_could_not_be_loaded_has_no_name_of_a_test() {
    let start = report(
        b"TAP version 13\n# Subtest: /repo/test/a.test.js\nnot ok 1 - /repo/test/a.test.js\n1..1\n# tests 1\n# pass 0\n# fail 1\n# cancelled 0\n# skipped 0\n# duration_ms 9\n",
    );
    let now = report(
        b"TAP version 13\n# Subtest: two\nok 1 - two\nok 2 - three\n1..2\n# tests 2\n# pass 2\n# fail 0\n# cancelled 0\n# skipped 0\n# duration_ms 9\n",
    );
    assert!(at_least_as_many(&start, &now).is_ok());
    assert_eq!(still_failing(&start, &now), 0);
}

/// A test fails in several parts, or beside a hook of its own, and passes once.
#[test]
fn a_test_that_failed_more_than_once_counts_once() {
    for (start, green) in [
        ("Ran 3 tests in 0.001s\n\nFAILED (errors=8)\n", "Ran 3 tests in 0.001s\n\nOK\n"),
        (
            "test_a (t.T.test_a) ... \n  test_a (t.T.test_a) (n=1) ... ERROR\n  test_a (t.T.test_a) [b] (n=2) ... FAIL\n\nRan 1 test in 0.001s\n\nFAILED (failures=1, errors=1)\n",
            "test_a (t.T.test_a) ... ok\n\nRan 1 test in 0.001s\n\nOK\n",
        ),
        (
            "===== test session starts =====\ncollecting ... collected 2 items\n\n===== 2 passed, 1 error in 0.01s =====\n",
            "===== test session starts =====\ncollecting ... collected 2 items\n\n===== 2 passed in 0.01s =====\n",
        ),
        (
            "===== test session starts =====\ncollected 5 items / 2 deselected / 3 selected\n\n===== 8 failed, 3 passed, 2 deselected in 0.01s =====\n",
            "===== test session starts =====\ncollected 5 items / 2 deselected / 3 selected\n\n===== 3 passed, 2 deselected in 0.01s =====\n",
        ),
        (
            "3 examples, 0 failures, 1 error occurred outside of examples\n",
            "3 examples, 0 failures\n",
        ),
        (
            "  box\n    ✔ opens\n    1) \"after each\" hook for \"opens\"\n\n  1 passing (3ms)\n  1 failing\n",
            "  box\n    ✔ opens\n\n  1 passing (3ms)\n",
        ),
    ] {
        let (start, green) = (report(start.as_bytes()), report(green.as_bytes()));
        assert_eq!(start[0].ran, green[0].ran, "{start:?}");
        assert_eq!(still_failing(&start, &green), 0, "{start:?}");
    }
    // No test ran, but there are some.
    let none = report(b"Ran 0 tests in 0.001s\n\nFAILED (errors=2)\n");
    assert_eq!(none[0].ran, 1);
}

/// What unittest prints for a module that the work adds, and for the surroundings of tests.
#[test]
fn a_pseudo_test_of_unittest_need_not_pass() {
    for failed in [
        "test_remove (unittest.loader._FailedTest.test_remove) ... ERROR",
        "tests.test_remove (unittest.loader._FailedTest) ... ERROR",
        "setUpClass (tests.test_remove.RemoveTest) ... ERROR",
        "setUpModule (tests.test_remove) ... ERROR",
    ] {
        let start = format!("{failed}\n\nRan 1 test in 0.000s\n\nFAILED (errors=1)\n");
        let start = report(start.as_bytes());
        let green = report(
            b"test_a (tests.test_remove.RemoveTest.test_a) ... ok\n\nRan 1 test in 0.000s\n\nOK\n",
        );
        assert_eq!(still_failing(&start, &green), 0, "{failed}");
        assert_eq!(at_least_as_many(&start, &green), Ok(()), "{failed}");
    }
}

#[test]
fn a_doctest_keeps_its_name_if_its_line_moves() {
    let run = |line: &str, how: &str, result: &str, passed: u64| {
        let failed = 1 - passed;
        let text = format!(
            "   Doc-tests calc\n\nrunning 1 test\ntest src/lib.rs - mul (line {line}){how} ... \
             {result}\n\ntest result: {result}. {passed} passed; {failed} failed; 0 ignored; 0 \
             measured; 0 filtered out; finished in 0.1s\n"
        );
        report(text.as_bytes())
    };
    for how in ["", " - compile", " - compile fail"] {
        let (start, green) = (run("5", how, "FAILED", 0), run("11", how, "ok", 1));
        assert_eq!(start[0].failed.len(), 1);
        assert_eq!(still_failing(&start, &green), 0, "{how}");
    }
    let (start, other) = (run("5", "", "FAILED", 0), run("11", " - compile", "ok", 1));
    assert_eq!(still_failing(&start, &other), 1);
}

/// `make test` whose recipe is `go test ./...`: only what fails is shown.
#[test]
fn go_without_v_counts_nothing() {
    let start = report(
        b"--- FAIL: TestAdd (0.00s)\n    a_test.go:7: 1\nFAIL\nFAIL\texample.org/a\t0.002s\nFAIL\n",
    );
    let green = report(b"ok  \texample.org/a\t0.002s\n");
    assert_eq!(at_least_as_many(&start, &green), Ok(()));
    assert_eq!(still_failing(&start, &green), 0);
    assert_eq!(worse(&start, &start), None);
}

#[test]
fn where_numbers_or_names_are_unknown_nothing_is_claimed() {
    let (red, quiet) = (report(sample!("pytest-red")), report(sample!("pytest-qq")));
    assert!(at_least_as_many(&red, &quiet).is_ok());
    assert_eq!(still_failing(&red, &report(sample!("pytest-green"))), 0);
    assert!(at_least_as_many(&report(b""), &report(b"")).is_ok());
}

#[test]
fn a_red_run_is_worse_if_other_tests_fail() {
    for (runner, red, _) in RUNS {
        let red = report(red);
        assert_eq!(worse(&red, &red), None, "{runner}");
        let mut before = red.clone();
        let failed = std::mem::take(&mut before[0].failed);
        let count = before[0].passed.as_mut().map(|passed| {
            passed.extend(&failed);
            passed.sort_unstable();
            failed.len()
        });
        let told = worse(&before, &red).map(|told| told.ends_with("now that did not fail then"));
        assert_eq!(told, count.map(|_| true), "{runner}: it passed before");
        assert_eq!(worse(&red, &before), None, "{runner}: it passes now");
    }
}

#[test]
fn a_runner_whose_tests_are_gone_is_worse() {
    let red = report(sample!("cargo-red-all"));
    let told = worse(&red, &[]).expect("no test ran");
    assert!(told.starts_with("`cargo test` ran "), "{told}");
    assert!(told.ends_with(" then, and prints no summary now"), "{told}");
    // None passed: a build that fails is no worse.
    let only = TestCount { ran: 1, failed: vec![7], ..red[0].clone() };
    assert_eq!(worse(&[only], &[]), None);
}

#[test]
fn without_the_names_of_tests_that_passed_other_failures_count_if_all_ran() {
    let count = |ran, failed: &[u64]| {
        let runner = "pytest".to_owned();
        vec![TestCount { runner, ran, failed: failed.to_vec(), ..TestCount::default() }]
    };
    let one = Some("1 test fails now that did not fail then".to_owned());
    assert_eq!(worse(&count(4, &[1]), &count(4, &[2])), one);
    assert_eq!(worse(&count(4, &[1, 3]), &count(5, &[2])), one);
    assert_eq!(worse(&count(4, &[1]), &count(5, &[2])), None, "it may have been hidden");
    assert_eq!(worse(&count(4, &[]), &count(4, &[2])), None, "no name is known");
    assert_eq!(worse(&count(4, &[1, 2]), &count(4, &[2])), None);
}
