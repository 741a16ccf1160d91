//! Accepted: honest work, however untidy.

use super::super::test_repo::{TestRepo, check};
use super::{accepted, refused, said, with_check};
use crate::model::{CheckResult, CheckStatus, FindingKind, Proof, Repair, TestCount};

#[test]
fn honest_work() {
    let scene = TestRepo::new();
    let mut begun = scene.turn();
    scene.honest_work();
    let verdict = accepted(&begun, Proof::Commit);
    assert_eq!((verdict.findings.as_slice(), verdict.repairs.as_slice()), (&[][..], &[][..]));
    with_check(&mut begun);
    let verdict = accepted(&begun, Proof::Check);
    assert_eq!((verdict.findings.as_slice(), verdict.repairs.as_slice()), (&[][..], &[][..]));
}

#[test]
fn the_progress_line_forgotten() {
    let scene = TestRepo::new();
    let begun = scene.turn();
    scene.write("src/lib.txt", "work\n");
    scene.tick_one();
    scene.commit_all("ralph(demo): one");
    let verdict = accepted(&begun, Proof::Commit);
    assert_eq!(verdict.repairs, [Repair::ProgressLine]);
    assert_eq!(said(&verdict), [FindingKind::NoProgressEntry]);
}

#[test]
fn a_progress_line_of_another_day_is_no_entry() {
    let scene = TestRepo::new();
    let begun = scene.turn();
    scene.write("src/lib.txt", "work\n");
    scene.tick_one();
    scene.append("tasks/demo/progress.md", "2026-01-16 did it\n");
    scene.commit_all("ralph(demo): one");
    assert_eq!(accepted(&begun, Proof::Commit).repairs, [Repair::ProgressLine]);
}

#[test]
fn the_state_commit_forgotten() {
    let scene = TestRepo::new();
    let mut begun = scene.turn();
    scene.write("src/lib.txt", "work\n");
    scene.commit_all("ralph(demo): one");
    scene.tick_one();
    begun.wrote_task();
    scene.append("tasks/demo/progress.md", "2026-01-17 did it\n");
    assert_eq!(accepted(&begun, Proof::Commit).repairs, [Repair::StateCommit]);
}

#[test]
fn work_in_several_commits() {
    let scene = TestRepo::new();
    let begun = scene.turn();
    for part in ["a", "b", "c"] {
        scene.write(&format!("src/{part}"), "work\n");
        scene.commit_all(&format!("ralph(demo): one - {part}"));
    }
    scene.honest_work();
    let evidence = begun.evidence();
    assert_eq!(evidence.commits.len(), 5);
    assert_eq!(evidence.commits[0].subject, "ralph(demo): one - a");
    accepted(&begun, Proof::Commit);
}

#[test]
fn a_check_that_was_green_with_a_real_commit() {
    let scene = TestRepo::new();
    let mut begun = scene.turn();
    with_check(&mut begun);
    begun.before[0].status = CheckStatus::Passed;
    scene.honest_work();
    let verdict = accepted(&begun, Proof::Commit);
    assert_eq!(said(&verdict), [FindingKind::GreenBefore]);
}

#[test]
fn a_check_that_was_green_without_a_commit_is_refused() {
    let scene = TestRepo::new();
    let mut begun = scene.turn();
    with_check(&mut begun);
    begun.before[0].status = CheckStatus::Passed;
    scene.tick_one();
    begun.wrote_task();
    refused(&begun, &[FindingKind::NoCommit]);
}

#[test]
fn a_tick_after_an_attempt_that_left_the_work() {
    let scene = TestRepo::new();
    scene.write("src/lib.txt", "work\n");
    scene.commit_all("ralph(demo): one");
    let mut begun = scene.turn();
    scene.tick_one();
    begun.wrote_task();
    refused(&begun, &[FindingKind::NoCommit]);
    begun.worked_before = true;
    accepted(&begun, Proof::Commit);
}

#[test]
fn what_was_red_before_is_said_and_not_blamed() {
    let scene = TestRepo::new();
    let mut begun = scene.turn();
    begun.before = vec![
        check("make", None, CheckStatus::Failed(2)),
        check("sh zero.sh", Some("zero"), CheckStatus::Failed(1)),
    ];
    begun.after = begun.before.clone();
    scene.honest_work();
    let verdict = accepted(&begun, Proof::Commit);
    assert_eq!(said(&verdict), [FindingKind::RedBefore, FindingKind::RedBefore]);
}

#[test]
fn a_red_check_must_not_get_worse() {
    let scene = TestRepo::new();
    let mut begun = scene.turn();
    let red = |failed: &[u64], passed: &[u64]| {
        let (failed, passed) = (failed.to_vec(), Some(passed.to_vec()));
        let runner = "cargo test".to_owned();
        let tests = vec![TestCount { runner, ran: 3, skipped: 0, failed, passed }];
        CheckResult { tests, ..check("cargo test", None, CheckStatus::Failed(101)) }
    };
    begun.before = vec![red(&[1], &[2, 3])];
    begun.after = vec![red(&[2], &[1, 3])];
    scene.honest_work();
    let verdict = refused(&begun, &[FindingKind::Regression]);
    let told = &verdict.findings[0].message;
    assert!(told.contains("but 1 test fails now that did not fail then."), "{told}");
    begun.after = vec![red(&[1], &[2, 3])];
    assert_eq!(said(&accepted(&begun, Proof::Commit)), [FindingKind::RedBefore]);
}

#[test]
fn artefacts_of_checks_are_not_blamed() {
    let scene = TestRepo::new();
    let mut begun = scene.turn();
    begun.artefacts = ["report/out.xml".into()].into();
    scene.honest_work();
    scene.write("report/out.xml", "x");
    accepted(&begun, Proof::Commit);
    scene.write("report/more.xml", "x");
    refused(&begun, &[FindingKind::Uncommitted]);
}

#[test]
fn a_humans_unfinished_files_elsewhere() {
    let scene = TestRepo::new();
    scene.write("README.md", "the human's\n");
    scene.write("notes.txt", "the human's\n");
    let begun = scene.turn();
    let work = |message: &str, also: &[&str]| {
        let mut add = vec!["add", "src", "tasks"];
        add.extend(also);
        scene.git(&add);
        scene.git(&["commit", "-qm", message]);
    };
    scene.write("src/lib.txt", "work\n");
    scene.tick_one();
    work("ralph(demo): one", &[]);
    accepted(&begun, Proof::Commit);

    // Committed with the work, even if it is taken out again.
    work("ralph(demo): more", &["notes.txt"]);
    let verdict = refused(&begun, &[FindingKind::HumanWorkTouched]);
    assert!(verdict.findings[0].message.contains("added notes.txt"));
    scene.git(&["rm", "-q", "--cached", "notes.txt"]);
    scene.git(&["commit", "-qm", "ralph(demo): oops"]);
    refused(&begun, &[FindingKind::HumanWorkTouched]);
}

/// In a sandbox no command of the agent writes it, so the human did.
#[test]
fn a_human_who_goes_on_with_an_unfinished_file_in_a_sandboxed_turn() {
    for change in [Some("more\n"), None] {
        let scene = TestRepo::new();
        scene.write("README.md", "the human's\n");
        let mut begun = scene.turn();
        begun.sealed = true;
        begun.wrote_task();
        scene.write("src/lib.txt", "work\n");
        scene.tick_one();
        scene.git(&["add", "src", "tasks"]);
        scene.git(&["commit", "-qm", "ralph(demo): one"]);
        match change {
            Some(text) => scene.write("README.md", text),
            None => scene.remove("README.md"),
        }
        accepted(&begun, Proof::Commit);
        // An edit of the agent's that the guard allowed.
        begun.writes.push(scene.root.join("README.md"));
        refused(&begun, &[FindingKind::HumanWorkTouched]);
    }
}

#[test]
fn a_humans_unfinished_file_changed_or_removed() {
    for change in [Some("other\n"), Some("hello\n"), None] {
        let scene = TestRepo::new();
        scene.write("README.md", "the human's\n");
        let begun = scene.turn();
        scene.write("src/lib.txt", "work\n");
        scene.tick_one();
        scene.git(&["add", "src", "tasks"]);
        scene.git(&["commit", "-qm", "ralph(demo): one"]);
        match change {
            Some(text) => scene.write("README.md", text),
            None => scene.remove("README.md"),
        }
        refused(&begun, &[FindingKind::HumanWorkTouched]);
    }
}
