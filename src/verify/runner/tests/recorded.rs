//! The newest release of each runner and the one before it, as `tests/recordings/record` stored
//! them.

use std::collections::BTreeSet;
use std::path::Path;

use super::super::report::TestNames;
use super::super::{TestRunner, at_least_as_many, judge_tests, still_failing};
use super::judged::Want::{self, ExitStatus, Green, Incomplete, NothingRan};
use super::judged::kind;
use super::report;
use crate::verify::runner::TestReport;

/// The output of one command, and its exit status.
fn recorded(folder: &str, name: &str) -> (TestReport, bool) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let path = root.join(folder).join(format!("{name}.txt"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("{}", path.display()));
    let (output, status) = text.trim_end().rsplit_once("exit ").expect("an exit status");
    (report(output.as_bytes()), status == "0")
}

fn names(all: &[&str]) -> BTreeSet<u64> {
    let mut names = TestNames::default();
    all.iter().for_each(|name| names.add(name));
    names.hashes().clone()
}

/// A run: its name, the numbers of tests that passed, failed and were skipped, and their names
/// where the runner prints them.
type Run = (&'static str, (u64, u64, u64), &'static [&'static str], &'static [&'static str]);

fn all(runner: TestRunner, folders: &[&str], runs: &[Run]) {
    for folder in folders {
        for (name, counts, passed, failed) in runs {
            let (report, _) = recorded(folder, name);
            let tally = report.of(runner).unwrap_or_else(|| panic!("{folder} {name}"));
            assert_eq!((tally.passed, tally.failed, tally.skipped), *counts, "{folder} {name}");
            assert_eq!(*tally.passed_names.hashes(), names(passed), "{folder} {name}");
            assert_eq!(*tally.failed_names.hashes(), names(failed), "{folder} {name}");
        }
    }
}

fn judged(folders: &[&str], runs: &[(&str, &str, Want)]) {
    for folder in folders {
        for (name, command, want) in runs {
            let (report, _) = recorded(folder, name);
            let judgment = judge_tests(command, true, &report);
            assert_eq!(kind(&judgment), Some(*want), "{folder} {name}: {judgment:?} {report:#?}");
        }
    }
}

/// The tests that failed pass by name, and none is missing.
fn turn_green(folders: &[&str], runs: &[(&str, &str)]) {
    for folder in folders {
        for (red, green) in runs {
            let [(red_report, red_ok), (green_report, green_ok)] =
                [recorded(folder, red), recorded(folder, green)];
            assert!(!red_ok && green_ok, "{folder} {red} {green}");
            let (start, now) = (red_report.counts(), green_report.counts());
            assert_eq!(at_least_as_many(&start, &now), Ok(()), "{folder} {red} {green}");
            assert_eq!(still_failing(&start, &now), 0, "{folder} {red} {green}");
        }
    }
}

const NODE: &[&str] = &["node-20.20.2", "node-24.21.0", "node-26.10.0"];

#[test]
fn node() {
    for reporter in ["spec", "tap"] {
        let run = |name: &str| -> &'static str { format!("{reporter}-{name}").leak() };
        all(
            TestRunner::Node,
            NODE,
            &[
                (run("red"), (1, 1, 1), &["one"], &["seven"]),
                (run("green"), (2, 0, 1), &["one", "seven"], &[]),
                (run("skipped"), (0, 0, 1), &[], &[]),
                (run("ended"), (3, 0, 1), &["one", "seven"], &[]),
                (run("unloaded"), (2, 1, 1), &["one", "seven"], &[]),
            ],
        );
        judged(
            NODE,
            &[
                (run("red"), "node --test || true", Incomplete),
                (run("green"), "node --test", Green),
                (run("none"), "node --test --test-name-pattern=absent t/a.test.mjs", NothingRan),
                (run("none"), "node --test --test-name-pattern absent t/a.test.mjs", NothingRan),
                (run("skipped"), "node --test", NothingRan),
            ],
        );
        turn_green(NODE, &[(run("red"), run("green"))]);
    }
}

const CTEST: &[&str] = &["ctest-4.3.4", "ctest-4.4.5"];

#[test]
fn ctest() {
    all(
        TestRunner::Ctest,
        CTEST,
        &[
            ("red", (1, 1, 2), &["one"], &["seven"]),
            ("green", (2, 0, 2), &["one", "seven"], &[]),
            ("none", (0, 0, 0), &[], &[]),
            ("skipped", (0, 0, 1), &[], &[]),
            ("off", (0, 0, 1), &[], &[]),
        ],
    );
    judged(
        CTEST,
        &[
            ("red", "ctest --test-dir build || true", Incomplete),
            ("green", "ctest --test-dir build", Green),
            ("none", "ctest --test-dir build -R absent", NothingRan),
            ("skipped", "ctest --test-dir build -R later", NothingRan),
            ("off", "ctest --test-dir build -R off", NothingRan),
        ],
    );
    turn_green(CTEST, &[("red", "green")]);
}

const PYTEST: &[&str] = &["pytest-8.4.2", "pytest-9.2.0"];

#[test]
fn pytest() {
    const PARTS: &[&str] = &["test_parts.py::Parts::test_parts"];
    const WHOLE: &[&str] =
        &["test_parts.py::Parts::test_parts", "test_parts.py::Parts::test_whole"];
    all(
        TestRunner::Pytest,
        PYTEST,
        &[
            ("red", (1, 1, 1), &[], &["test_app.py::test_seven"]),
            ("verbose-red", (1, 1, 1), &["test_app.py::test_one"], &["test_app.py::test_seven"]),
            ("green", (2, 0, 1), &[], &[]),
            ("none", (0, 0, 0), &[], &[]),
            ("skipped", (0, 0, 1), &[], &[]),
            ("parts-red", (1, 1, 0), &[], PARTS),
            ("parts-q-red", (1, 1, 0), &[], PARTS),
            ("parts-n2-red", (1, 1, 0), &[], PARTS),
            ("parts-q-n2-red", (1, 1, 0), &[], PARTS),
            ("parts-green", (2, 0, 0), &[], &[]),
            ("parts-q-green", (2, 0, 0), &[], &[]),
            ("parts-n2-green", (2, 0, 0), &[], &[]),
            ("parts-q-n2-green", (2, 0, 0), &[], &[]),
            ("parts-v-green", (2, 0, 0), WHOLE, &[]),
        ],
    );
    all(
        TestRunner::Pytest,
        &["pytest-9.2.0"],
        &[
            ("fixture-q-red", (1, 1, 0), &[], &["test_fixture.py::test_parts"]),
            ("fixture-q-green", (2, 0, 0), &[], &[]),
        ],
    );
    judged(
        PYTEST,
        &[
            ("red", "pytest || true", Incomplete),
            ("parts-q-red", "pytest -q || true", Incomplete),
            ("green", "pytest", Green),
            ("parts-q-n2-green", "pytest -q -n 2", Green),
            ("none", "pytest -k absent || exit 0", NothingRan),
            ("skipped", "pytest -k later", NothingRan),
        ],
    );
    let parts = ["", "-q", "-v", "-n2", "-q-n2"].map(|options| -> (&str, &str) {
        (format!("parts{options}-red").leak(), format!("parts{options}-green").leak())
    });
    turn_green(PYTEST, &parts);
    turn_green(PYTEST, &[("red", "green")]);
    turn_green(&["pytest-9.2.0"], &[("fixture-q-red", "fixture-q-green")]);
}

#[test]
fn runners_of_javascript() {
    const MOCHA: &[&str] = &["mocha-11.8.0", "mocha-12.0.3"];
    const JEST: &[&str] = &["jest-29.7.0", "jest-30.5.2"];
    const VITEST: &[&str] = &["vitest-4.1.12", "vitest-5.1.2"];
    all(
        TestRunner::Mocha,
        MOCHA,
        &[
            ("red", (1, 1, 1), &["one"], &["seven"]),
            ("green", (2, 0, 1), &["one", "seven"], &[]),
            ("skipped", (0, 0, 1), &[], &[]),
        ],
    );
    all(
        TestRunner::Jest,
        JEST,
        &[
            ("verbose-red", (1, 1, 1), &["one"], &["seven"]),
            ("green", (2, 0, 1), &["one", "seven"], &[]),
            ("none", (0, 0, 3), &[], &[]),
            ("skipped", (0, 0, 1), &[], &[]),
        ],
    );
    all(
        TestRunner::Vitest,
        VITEST,
        &[
            ("red", (1, 1, 1), &[], &[]),
            ("green", (2, 0, 1), &[], &[]),
            ("verbose", (2, 0, 1), &["a.test.js > one", "a.test.js > seven"], &[]),
            ("none", (0, 0, 3), &[], &[]),
            ("skipped", (0, 0, 1), &[], &[]),
        ],
    );
    for (folders, command) in [(MOCHA, "npx mocha"), (JEST, "npx jest"), (VITEST, "npx vitest run")]
    {
        let lax = format!("{command} || true");
        judged(
            folders,
            &[
                ("red", &lax, Incomplete),
                ("green", command, Green),
                ("none", command, NothingRan),
                ("skipped", command, NothingRan),
            ],
        );
        turn_green(folders, &[("red", "green")]);
    }
}

#[test]
fn nextest() {
    const NEXTEST: &[&str] = &["nextest-0.9.143", "nextest-0.9.148"];
    const NAMES: &[&str] = &["app tests::one", "app tests::seven"];
    all(
        TestRunner::Nextest,
        NEXTEST,
        &[
            ("red", (1, 1, 1), &NAMES[..1], &NAMES[1..]),
            ("green", (2, 0, 1), NAMES, &[]),
            ("none", (0, 0, 3), &[], &[]),
            ("skipped", (0, 0, 3), &[], &[]),
        ],
    );
    judged(
        NEXTEST,
        &[
            ("red", "cargo nextest run || true", Incomplete),
            ("green", "cargo nextest run", Green),
            ("none", "cargo nextest run --no-tests=warn absent", NothingRan),
            ("skipped", "cargo nextest run later || true", NothingRan),
        ],
    );
    turn_green(NEXTEST, &[("red", "green")]);
}

#[test]
fn a_runner_without_a_reader_proves_nothing_if_it_says_that_no_test_ran() {
    judged(
        &["others"],
        &[
            ("bats-none", "bats -f absent a.bats", NothingRan),
            ("bats-pretty-none", "timeout 9 bats -p -f absent a.bats", NothingRan),
            ("bats-skipped", "bash -c 'bats -f later a.bats'", NothingRan),
            ("bats-green", "bats a.bats", ExitStatus),
            ("bats-pretty-green", "bats -p a.bats", ExitStatus),
            ("deno-none", "deno test --filter absent a_test.ts", NothingRan),
            ("deno-skipped", "deno test --filter later a_test.ts", NothingRan),
            ("deno-green", "deno test a_test.ts", ExitStatus),
            ("uvu-none", "npx uvu t absent", NothingRan),
            ("uvu-skipped", "npx uvu t", NothingRan),
            ("uvu-green", "npx uvu t", ExitStatus),
            ("tox-none", "tox -- -k absent test_a", NothingRan),
            ("tox-green", "tox -- test_a", Green),
            ("bun-skipped", "bun test -t later", NothingRan),
            ("bun-green", "bun test", ExitStatus),
            // What a script or a recipe starts is read in the same way.
            ("uvu-none", "make test", NothingRan),
            ("uvu-skipped", "node t/a.mjs", NothingRan),
            ("uvu-green", "npm test", ExitStatus),
            ("bats-none", "npm test", NothingRan),
            ("bats-skipped", "sh run.sh", NothingRan),
            ("bats-green", "./run.sh", ExitStatus),
            ("deno-none", "make -C a check", NothingRan),
            ("tox-none", "sh run.sh", NothingRan),
        ],
    );
}

#[test]
fn gotestsum() {
    for format in ["pkgname", "testname", "standard-verbose"] {
        let run = |name: &str| -> &'static str { format!("{format}-{name}").leak() };
        for command in ["gotestsum -- -run X ./...", "make test"] {
            judged(
                &["gotestsum-1.8.2"],
                &[(run("none"), command, NothingRan), (run("skipped"), command, NothingRan)],
            );
        }
        let green = if format == "standard-verbose" { Green } else { ExitStatus };
        judged(&["gotestsum-1.8.2"], &[(run("green"), "gotestsum ./...", green)]);
    }
}
