//! What changes where a check has to fail.

use globset::GlobSet;

use super::super::{HarnessCheck, HarnessQuestion, KnownStart, Table, TreeEdit, mutants, put_back};
use super::tree::Planted;

/// The files that change for a check.
fn changed_for(files: &[(&str, &str)], check: &str, endings: &[&str]) -> Vec<String> {
    let (tree, none) = (Planted::of(files), GlobSet::empty());
    let question = HarnessQuestion {
        start: &tree,
        now: &tree,
        checks: &[HarnessCheck { command: check, missing_at_start: false }],
        setup: &[],
        table: &Table::new(&[]).expect("the table"),
        may_change: &none,
        protect: &none,
    };
    let known = KnownStart::of(&question);
    let found = mutants(&question, &known, &put_back(&question, &known), (check, endings, &[]));
    let tests = found.tests.iter().map(|file| file.edit(file.code.with(&file.code.assertions())));
    let changed = |edit: TreeEdit| {
        let path = edit.path().to_string_lossy().into_owned();
        let new = tree.after(std::slice::from_ref(&edit)).text(&path);
        assert_ne!(new, tree.text(&path), "{path}");
        path
    };
    found.data.iter().cloned().chain(tests).map(changed).collect()
}

#[test]
fn what_a_check_compares_and_runs_changes() {
    let files = [
        ("report.sh", "echo nothing\n"),
        ("sq.sh", "echo 0\n"),
        ("data.txt", "b 2\n"),
        ("tests/report.txt", "a 1\n"),
        ("tests/run.sh", "[ \"$(sh sq.sh 3)\" = 9 ] || exit 1\n"),
        ("tests/run.js", "const assert = require('assert');\nassert.equal(sq(2), 4);\n"),
        ("tests/test_app.py", "def test_sq():\n    assert sq(2) == 4\n"),
        ("src/lib.rs", "fn a() {}\n#[cfg(test)]\nmod tests { #[test] fn b() { assert!(a()); } }\n"),
    ];
    for (check, endings, expected) in [
        ("sh report.sh | diff - tests/report.txt", &[][..], &["tests/report.txt"][..]),
        ("sh tests/run.sh", &[], &["tests/run.sh"]),
        ("node tests/run.js | grep -q ok", &[], &["tests/run.js"]),
        ("python3 -m pytest -q", &["py"], &["tests/test_app.py"]),
        ("cargo test", &["rs"], &["src/lib.rs"]),
        // Nothing is run that asserts.
        ("grep -c assert tests/test_app.py", &[], &[]),
        ("python3 -m compileall -q tests/test_app.py", &[], &[]),
        ("ruff check tests/test_app.py", &[], &[]),
        ("cargo clippy --all-targets", &[], &[]),
        ("sh report.sh", &[], &[]),
    ] {
        assert_eq!(changed_for(&files, check, endings), expected, "{check}");
    }
}

#[test]
fn a_test_that_is_not_understood_keeps_all_as_they_are() {
    let known = ("tests/test_a.py", "def test_a():\n    assert sq(2) == 4\n");
    let unknown = ("tests/test_b.py", "def test_b():\n    main()\n");
    let changed = changed_for(&[known], "pytest", &["py"]);
    assert_eq!(changed, ["tests/test_a.py"]);
    assert!(changed_for(&[known, unknown], "pytest", &["py"]).is_empty());
}
