//! Output comes in chunks, with anything in it, and without end.

use super::super::{Judgment, TestRunner, TestScanner, judge_tests};
use super::{report, sample};

#[test]
fn chunks_may_end_anywhere() {
    for output in [
        sample!("cargo-colors").as_slice(),
        sample!("mocha-min"),
        sample!("vitest-colors"),
        sample!("nextest-colors"),
    ] {
        let whole = report(output);
        for size in [1, 2, 3, 7, 64] {
            let mut scanner = TestScanner::default();
            output.chunks(size).for_each(|chunk| scanner.feed(chunk));
            assert_eq!(scanner.finish(), whole, "in chunks of {size}");
        }
    }
}

#[test]
fn carriage_returns_and_bytes_that_are_no_text_do_not_hide_a_summary() {
    let plain = sample!("cargo-workspace-green");
    let mut windows = Vec::new();
    for byte in plain {
        if *byte == b'\n' {
            windows.push(b'\r');
        }
        windows.push(*byte);
    }
    assert_eq!(report(&windows), report(plain));
    let noise = [b"\xff\xfe\x00 50%\r 100%\r".as_slice(), plain, b"\xc3"].concat();
    assert_eq!(report(&noise), report(plain));
}

#[test]
fn memory_is_bounded() {
    let mut scanner = TestScanner::default();
    let line = vec![b'x'; 1 << 20];
    for _ in 0..8 {
        scanner.feed(&line);
    }
    for _ in 0..200_000 {
        scanner.feed(b"\nrunning 7 tests");
    }
    scanner.feed(b"\nrunning 1 test\ntest a ... ok\n\n");
    scanner.feed(b"test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n");
    let report = scanner.finish();
    assert!(report.of(TestRunner::Cargo).is_some_and(|tally| tally.started > 200_000));
    assert!(matches!(judge_tests("cargo test", true, &report), Judgment::Incomplete { .. }));
}

#[test]
fn the_counts_are_the_runners_own() {
    let counts = |output: &[u8], runner| {
        let report = report(output);
        let tally = report.of(runner).expect("the runner printed something");
        (tally.passed, tally.failed, tally.skipped)
    };
    assert_eq!(counts(sample!("cargo-workspace-green"), TestRunner::Cargo), (5, 0, 3));
    assert_eq!(counts(sample!("unittest-red"), TestRunner::Unittest), (1, 1, 1));
    // The parts of one test fail by themselves.
    let parts = "Ran 3 tests in 0.003s\n\nFAILED (errors=4, skipped=1)\n";
    assert_eq!(counts(parts.as_bytes(), TestRunner::Unittest), (0, 2, 1));
    assert_eq!(counts(sample!("go-red"), TestRunner::Go), (2, 1, 1));
    assert_eq!(counts(sample!("rspec-red"), TestRunner::Rspec), (1, 1, 1));
    assert_eq!(counts(sample!("minitest-red"), TestRunner::Minitest), (1, 1, 1));
    assert_eq!(counts(sample!("phpunit-red"), TestRunner::Phpunit), (1, 1, 1));
    assert_eq!(counts(sample!("dotnet-platform-red"), TestRunner::Dotnet), (1, 1, 1));
}
