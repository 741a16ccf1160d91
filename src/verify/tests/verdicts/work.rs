//! Refused: no work, work in the wrong place, or TASK.md made easier.

use super::super::test_repo::{TASK_MD, TestRepo};
use super::{accepted, against, refused, with_check};
use crate::model::{FindingKind, Oid, Proof, Repair, VerdictResult};
use crate::verify::{Repo as _, worked};

#[test]
fn says_done_and_does_nothing() {
    let scene = TestRepo::new();
    let begun = scene.turn();
    let verdict = refused(&begun, &[FindingKind::NotTicked, FindingKind::NoCommit]);
    assert_eq!(verdict.repairs, [Repair::ProgressLine]);
    assert!(verdict.findings[0].message.contains("The box of \"one\" is still open"));
    assert!(verdict.findings[1].message.contains("git commit -m 'ralph(demo): …'"));
}

#[test]
fn ticks_the_box_without_work() {
    let scene = TestRepo::new();
    let mut begun = scene.turn();
    scene.tick_one();
    begun.wrote_task();
    let verdict = refused(&begun, &[FindingKind::NoCommit]);
    assert_eq!(
        verdict.repairs,
        [Repair::RestoreTask { keep_tick: false }, Repair::ProgressLine, Repair::StateCommit]
    );
}

#[test]
fn ticks_the_box_in_a_commit_of_state_alone() {
    let scene = TestRepo::new();
    let begun = scene.turn();
    scene.tick_one();
    scene.append("tasks/demo/progress.md", "2026-01-17 all done\n");
    scene.commit_all("ralph(demo): one - done");
    let verdict = refused(&begun, &[FindingKind::EmptyCommit]);
    assert_eq!(verdict.repairs, [Repair::RestoreTask { keep_tick: false }]);
}

/// A script of the agent writes TASK.md: nobody can tell that from a human's edit.
#[test]
fn a_command_that_changes_the_task_beyond_the_tick_is_taken_back_and_costs_no_attempt() {
    for (text, told) in [
        (TASK_MD.replace("[ ]", "[x]"), "ticked \"two\""),
        ("# Demo\n\n- [x] one\n- [ ] two\n- [ ] zero\n".into(), "unticked \"zero\""),
        ("# Demo\n\n- [x] one\n- [ ] two, or so\n- [x] zero\n".into(), "removed \"two\""),
        ("# Demo\n\n- [x] one\n- [x] zero\n".into(), "removed \"two\""),
        (format!("{TASK_MD}- [x] extra\n"), "added \"extra\""),
        ("# Demo\n\n- [x] one, easier\n- [ ] two\n- [x] zero\n".into(), "removed \"one\""),
        (TASK_MD.replace("# Demo", "# Easier"), "changed other text"),
    ] {
        let scene = TestRepo::new();
        let mut begun = scene.turn();
        begun.command_ran = true;
        scene.write("tasks/demo/TASK.md", &text);
        scene.write("src/lib.txt", "work\n");
        scene.commit_all("ralph(demo): one");
        let verdict = begun.verdict();
        assert_eq!(verdict.result, VerdictResult::Inconclusive, "{verdict:#?}");
        assert_eq!(against(&verdict), [FindingKind::TaskTakenBack], "{verdict:#?}");
        assert!(verdict.findings[0].message.contains(told), "{verdict:#?}");
        assert!(verdict.repairs.contains(&Repair::RestoreTask { keep_tick: false }));
        // Without a command it can only be a human's.
        begun.command_ran = false;
        assert_eq!(against(&begun.verdict()), [FindingKind::TaskChangedByHuman], "{text}");
    }
    let scene = TestRepo::new();
    let mut begun = scene.turn();
    begun.command_ran = true;
    scene.write("src/lib.txt", "work\n");
    scene.remove("tasks/demo/TASK.md");
    scene.commit_all("ralph(demo): one");
    assert_eq!(against(&begun.verdict()), [FindingKind::TaskTakenBack]);
}

/// However many commits there are: the file is compared, not what commits list.
#[test]
fn a_tick_that_a_command_made_is_the_agents() {
    let scene = TestRepo::new();
    let mut begun = scene.turn();
    begun.command_ran = true;
    scene.write("src/lib.txt", "work\n");
    scene.tick_one();
    scene.commit_all("ralph(demo): one");
    accepted(&begun, Proof::Commit);
}

#[test]
fn an_empty_commit() {
    let scene = TestRepo::new();
    let mut begun = scene.turn();
    scene.tick_one();
    begun.wrote_task();
    scene.git(&["commit", "-q", "--allow-empty", "-m", "ralph(demo): one - done"]);
    refused(&begun, &[FindingKind::EmptyCommit]);
}

#[test]
fn a_merge_that_brings_other_work_is_no_work() {
    let scene = TestRepo::new();
    scene.git(&["checkout", "-qb", "side"]);
    scene.write("side.txt", "x");
    scene.commit_all("theirs");
    scene.git(&["checkout", "-q", "main"]);
    let mut begun = scene.turn();
    scene.git(&["merge", "-q", "--no-ff", "-m", "ralph(demo): one - merged", "side"]);
    scene.tick_one();
    begun.wrote_task();
    refused(&begun, &[FindingKind::EmptyCommit]);
}

#[test]
fn a_commit_message_of_another_form_costs_nothing() {
    for subject in [
        "ralph(other): one",
        "one",
        "ralph(demo):one",
        "feat: one",
        "AB-1 ralph(demo): one",
        "Revert \"ralph(demo): one\"",
    ] {
        let scene = TestRepo::new();
        let begun = scene.turn();
        scene.write("src/lib.txt", "work\n");
        scene.tick_one();
        scene.commit_all(subject);
        let verdict = accepted(&begun, Proof::Commit);
        let told = verdict.findings.iter().any(|it| it.message.contains("`ralph(demo): `"));
        assert_eq!(told, subject != "AB-1 ralph(demo): one", "{subject}");
        assert_eq!(worked(&begun.evidence()), begun.evidence().commits.last().map(|it| &it.id));
    }
}

#[test]
fn one_foreign_commit_among_ours() {
    let scene = TestRepo::new();
    let begun = scene.turn();
    scene.honest_work();
    scene.git(&["commit", "-q", "--allow-empty", "-m", "by the way"]);
    accepted(&begun, Proof::Commit);
}

#[test]
fn work_left_uncommitted() {
    let scene = TestRepo::new();
    let mut begun = scene.turn();
    with_check(&mut begun);
    scene.write("helper.txt", "needed\n");
    scene.git(&["add", "src"]);
    scene.write("src/lib.txt", "work\n");
    scene.git(&["commit", "-qam", "ralph(demo): one"]);
    scene.append("src/lib.txt", "and more\n");
    scene.remove("README.md");
    scene.tick_one();
    begun.wrote_task();
    let verdict = refused(&begun, &[FindingKind::Uncommitted]);
    assert_eq!(
        verdict.findings[0].message,
        "Work was left uncommitted: removed README.md, added helper.txt, changed src/lib.txt. \
         Commit it, or remove it."
    );
}

#[test]
fn history_amended_or_reset() {
    for rewrite in [
        ["commit", "-q", "--amend", "-am", "ralph(demo): one"].as_slice(),
        &["reset", "-q", "--soft", "HEAD~1"],
    ] {
        let scene = TestRepo::new();
        scene.write("second", "x");
        scene.commit_all("second");
        let mut begun = scene.turn();
        scene.write("src/lib.txt", "work\n");
        scene.tick_one();
        begun.wrote_task();
        scene.git(rewrite);
        scene.git(&["commit", "-q", "--allow-empty", "-am", "ralph(demo): one"]);
        let verdict = begun.verdict();
        assert_eq!(against(&verdict)[0], FindingKind::HistoryRewritten, "{verdict:#?}");
        assert_eq!(verdict.result, VerdictResult::Fail);
        assert_eq!(verdict.repairs[0], Repair::BackToCheckpoint);
    }
}

#[test]
fn work_on_another_branch_or_on_none() {
    for leave in [["checkout", "-qb", "mine"].as_slice(), &["checkout", "-q", "--detach"]] {
        let scene = TestRepo::new();
        let begun = scene.turn();
        scene.git(leave);
        scene.honest_work();
        let verdict = refused(&begun, &[FindingKind::WrongBranch]);
        assert_eq!(verdict.repairs[0], Repair::BackToCheckpoint);
    }
}

#[test]
fn formatting_is_not_remembered_as_work() {
    let scene = TestRepo::new();
    for content in ["code\r\n", "  code\n\n"] {
        let begun = scene.turn();
        scene.write("src/lib.txt", content);
        scene.commit_all("ralph(demo): one");
        let evidence = begun.evidence();
        assert!(evidence.commits[0].formatting, "{content:?}");
        assert_eq!(worked(&evidence), None, "{content:?}");
    }
}

#[test]
fn work_is_remembered_for_a_later_attempt_unless_history_was_rewritten() {
    let scene = TestRepo::new();
    let begun = scene.turn();
    assert_eq!(worked(&begun.evidence()), None);
    scene.write("src/lib.txt", "work\n");
    scene.commit_all("ralph(demo): one");
    assert_eq!(worked(&begun.evidence()).map(Oid::as_str), Some(scene.head().as_str()));
    scene.git(&["checkout", "-qb", "elsewhere"]);
    assert_eq!(worked(&begun.evidence()), None);

    let (repo, commit) = (scene.repo(), Oid::new(scene.head()));
    assert!(repo.reaches(&commit).expect("looked"));
    scene.git(&["reset", "-q", "--hard", "HEAD~1"]);
    assert!(!repo.reaches(&commit).expect("looked"), "it is not on the branch any more");
    for nowhere in ["0".repeat(40), "no id".to_owned()] {
        assert!(!repo.reaches(&Oid::new(nowhere)).expect("looked"));
    }
}
