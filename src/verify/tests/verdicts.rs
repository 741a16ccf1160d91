//! Every line of what is refused and what is accepted, on real repositories: what the
//! agent did on disk, and the verdict on it.

use std::fs;

use super::scene::{Scene, TASK_MD, TurnBegun, check, key};
use crate::model::{CheckStatus, FindingKind, Mend, Proof, Verdict, VerdictResult, Weight};
use crate::verify::{CommitsAlone, worked};

/// The kinds of what was found, without what is only said.
fn against(verdict: &Verdict) -> Vec<FindingKind> {
    let counts = |weight| weight != Weight::Said;
    verdict.findings.iter().filter(|f| counts(f.weight)).map(|f| f.kind).collect()
}

fn said(verdict: &Verdict) -> Vec<FindingKind> {
    let said = |finding: &&crate::model::Finding| finding.weight == Weight::Said;
    verdict.findings.iter().filter(said).map(|f| f.kind).collect()
}

/// The turn is judged, and must fail for exactly these reasons.
fn refused(begun: &TurnBegun<'_>, kinds: &[FindingKind]) -> Verdict {
    let verdict = begun.verdict();
    assert_eq!(against(&verdict), kinds, "{verdict:#?}");
    assert_eq!(verdict.result, VerdictResult::Fail, "{verdict:#?}");
    verdict
}

fn accepted(begun: &TurnBegun<'_>, proof: Proof) -> Verdict {
    let verdict = begun.verdict();
    assert_eq!(verdict.result, VerdictResult::Pass(proof), "{verdict:#?}");
    verdict
}

/// The check of the criterion in focus, red before the work and green after it.
fn with_check(begun: &mut TurnBegun<'_>) {
    begun.verify = vec!["sh tests/check.sh".into()];
    begun.before = vec![check("sh tests/check.sh", Some("one"), CheckStatus::Failed(1))];
    begun.after = vec![check("sh tests/check.sh", Some("one"), CheckStatus::Passed)];
}

// Refused.

#[test]
fn says_done_and_does_nothing() {
    let scene = Scene::new();
    let begun = scene.turn();
    let verdict = refused(&begun, &[FindingKind::NotTicked, FindingKind::NoCommit]);
    assert_eq!(verdict.mends, [Mend::ProgressLine]);
    assert!(verdict.findings[0].message.contains("The box of \"one\" is still open"));
    assert!(verdict.findings[1].message.contains("git commit -m 'ralph(demo): …'"));
}

#[test]
fn ticks_the_box_without_work() {
    let scene = Scene::new();
    let mut begun = scene.turn();
    scene.tick_one();
    begun.wrote_task();
    let verdict = refused(&begun, &[FindingKind::NoCommit]);
    assert_eq!(
        verdict.mends,
        [Mend::RestoreTask { keep_tick: false }, Mend::ProgressLine, Mend::StateCommit]
    );
}

#[test]
fn ticks_the_box_in_a_commit_of_state_alone() {
    let scene = Scene::new();
    let begun = scene.turn();
    scene.tick_one();
    scene.append("tasks/demo/progress.md", "2026-01-17 all done\n");
    scene.commit_all("ralph(demo): one - done");
    let verdict = refused(&begun, &[FindingKind::EmptyCommit]);
    assert_eq!(verdict.mends, [Mend::RestoreTask { keep_tick: false }]);
}

#[test]
fn ticks_several_boxes() {
    let scene = Scene::new();
    let begun = scene.turn();
    scene.write("tasks/demo/TASK.md", &TASK_MD.replace("[ ]", "[x]"));
    scene.write("src/lib.txt", "work\n");
    scene.commit_all("ralph(demo): all at once");
    let verdict = refused(&begun, &[FindingKind::OthersTicked]);
    assert!(verdict.findings[0].message.contains("\"two\""));
}

#[test]
fn takes_a_tick_away() {
    let scene = Scene::new();
    let begun = scene.turn();
    scene.write("tasks/demo/TASK.md", "# Demo\n\n- [x] one\n- [ ] two\n- [ ] zero\n");
    scene.write("src/lib.txt", "work\n");
    scene.commit_all("ralph(demo): one");
    refused(&begun, &[FindingKind::Unticked]);
}

#[test]
fn rewords_or_removes_a_criterion() {
    for text in [
        "# Demo\n\n- [x] one\n- [ ] two, or nearly\n- [x] zero\n",
        "# Demo\n\n- [x] one\n- [x] zero\n",
        "# Demo\n\n- [x] one\n- [ ] two\n- [x] zero\n- [x] extra\n",
    ] {
        let scene = Scene::new();
        let begun = scene.turn();
        scene.write("tasks/demo/TASK.md", text);
        scene.write("src/lib.txt", "work\n");
        scene.commit_all("ralph(demo): one");
        refused(&begun, &[FindingKind::CriteriaChanged]);
    }
    // The focus itself reworded: then its box is not ticked either.
    let scene = Scene::new();
    let begun = scene.turn();
    scene.write("tasks/demo/TASK.md", "# Demo\n\n- [x] one, easier\n- [ ] two\n- [x] zero\n");
    scene.write("src/lib.txt", "work\n");
    scene.commit_all("ralph(demo): one");
    refused(&begun, &[FindingKind::NotTicked, FindingKind::CriteriaChanged]);
}

#[test]
fn changes_other_text_of_the_task_or_removes_it() {
    let scene = Scene::new();
    let begun = scene.turn();
    scene.write(
        "tasks/demo/TASK.md",
        &TASK_MD.replace("# Demo", "# Easier").replace("[ ] one", "[x] one"),
    );
    scene.write("src/lib.txt", "work\n");
    scene.commit_all("ralph(demo): one");
    refused(&begun, &[FindingKind::TaskTextChanged]);

    let scene = Scene::new();
    let begun = scene.turn();
    scene.write("src/lib.txt", "work\n");
    scene.remove("tasks/demo/TASK.md");
    scene.commit_all("ralph(demo): one");
    refused(&begun, &[FindingKind::TaskUnreadable]);
}

#[test]
fn an_empty_commit() {
    let scene = Scene::new();
    let mut begun = scene.turn();
    scene.tick_one();
    begun.wrote_task();
    scene.git(&["commit", "-q", "--allow-empty", "-m", "ralph(demo): one - done"]);
    refused(&begun, &[FindingKind::EmptyCommit]);
}

#[test]
fn a_merge_that_brings_other_work_is_no_work() {
    let scene = Scene::new();
    scene.git(&["checkout", "-qb", "side"]);
    scene.write("side.txt", "x");
    scene.commit_all("theirs");
    scene.git(&["checkout", "-q", "main"]);
    let mut begun = scene.turn();
    scene.git(&["merge", "-q", "--no-ff", "-m", "ralph(demo): one - merged", "side"]);
    scene.tick_one();
    begun.wrote_task();
    refused(&begun, &[FindingKind::WrongPrefix, FindingKind::EmptyCommit]);
}

#[test]
fn a_commit_with_another_tasks_prefix() {
    for subject in
        ["ralph(other): one", "one", "ralph(demo):one", "Ralph(demo): one", " ralph(demo)"]
    {
        let scene = Scene::new();
        let begun = scene.turn();
        scene.write("src/lib.txt", "work\n");
        scene.tick_one();
        scene.commit_all(subject);
        let verdict = refused(&begun, &[FindingKind::WrongPrefix]);
        assert!(verdict.findings[0].message.contains("`ralph(demo): `"), "{subject}");
    }
}

#[test]
fn one_foreign_commit_among_ours() {
    let scene = Scene::new();
    let begun = scene.turn();
    scene.honest_work();
    scene.git(&["commit", "-q", "--allow-empty", "-m", "by the way"]);
    refused(&begun, &[FindingKind::WrongPrefix]);
}

#[test]
fn work_left_uncommitted() {
    let scene = Scene::new();
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
fn a_check_that_passes_only_thanks_to_an_ignored_file() {
    let scene = Scene::new();
    let mut begun = scene.turn();
    with_check(&mut begun);
    scene.honest_work();
    begun.clean = vec![check("sh tests/check.sh", Some("one"), CheckStatus::Failed(1))];
    let verdict = refused(&begun, &[FindingKind::NotReproducible]);
    assert!(verdict.findings[0].message.contains("clean worktree of HEAD"));
}

#[test]
fn history_amended_or_reset() {
    for rewrite in [
        ["commit", "-q", "--amend", "-am", "ralph(demo): one"].as_slice(),
        &["reset", "-q", "--soft", "HEAD~1"],
    ] {
        let scene = Scene::new();
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
        assert_eq!(verdict.mends[0], Mend::BackToCheckpoint);
    }
}

#[test]
fn work_on_another_branch_or_on_none() {
    for leave in [["checkout", "-qb", "mine"].as_slice(), &["checkout", "-q", "--detach"]] {
        let scene = Scene::new();
        let begun = scene.turn();
        scene.git(leave);
        scene.honest_work();
        let verdict = refused(&begun, &[FindingKind::WrongBranch]);
        assert_eq!(verdict.mends[0], Mend::BackToCheckpoint);
    }
}

#[test]
fn a_criterion_that_passed_before_is_broken() {
    let scene = Scene::new();
    let mut begun = scene.turn();
    begun.before = vec![check("sh zero.sh", Some("zero"), CheckStatus::Passed)];
    begun.after = vec![check("sh zero.sh", Some("zero"), CheckStatus::Failed(1))];
    scene.honest_work();
    let verdict = refused(&begun, &[FindingKind::Regression]);
    assert!(verdict.findings[0].message.contains("\"zero\""));

    // Without a baseline, what was proven before must still hold.
    begun.before.clear();
    begun.proven = vec![key("zero")];
    refused(&begun, &[FindingKind::Regression]);
}

#[test]
fn a_protected_test_deleted_skipped_or_weakened() {
    for (name, text) in [
        ("tests/check.sh", None),
        ("tests/check.sh", Some("exit 0\n")),
        ("tests/other.py", Some("import pytest; pytest.skip()\n")),
        ("tests/conftest.py", Some("collect_ignore = ['other.py']\n")),
    ] {
        let scene = Scene::new();
        let mut begun = scene.turn();
        begun.protect = vec!["tests/**".into()];
        match text {
            Some(text) => scene.write(name, text),
            None => scene.remove(name),
        }
        scene.honest_work();
        let verdict = refused(&begun, &[FindingKind::ProtectedChanged]);
        assert!(verdict.findings[0].message.contains(name));
        assert!(verdict.mends.contains(&Mend::RestoreFile(name.into())));
    }
}

#[cfg(unix)]
#[test]
fn a_protected_script_made_a_link_or_not_executable() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new();
    let mut begun = scene.turn();
    with_check(&mut begun);
    scene.honest_work();
    let script = scene.root.join("tests/check.sh");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("mode");
    scene.git(&["commit", "-qam", "ralph(demo): mode"]);
    refused(&begun, &[FindingKind::ProtectedChanged]);
}

#[test]
fn a_script_that_a_verify_command_names_is_protected_by_default() {
    let scene = Scene::new();
    let mut begun = scene.turn();
    with_check(&mut begun);
    scene.write("tests/check.sh", "true\n");
    scene.honest_work();
    refused(&begun, &[FindingKind::ProtectedChanged]);
}

#[test]
fn a_second_attempt_does_not_profit_from_what_the_first_one_weakened() {
    let scene = Scene::new();
    let first = scene.turn().origin.clone();
    scene.write("tests/check.sh", "true\n");
    scene.commit_all("ralph(demo): weakened");
    let mut begun = scene.turn();
    begun.origin = first;
    with_check(&mut begun);
    scene.honest_work();
    refused(&begun, &[FindingKind::ProtectedChanged]);
}

#[test]
fn guardrails_rewritten_by_whomever() {
    for text in ["# No signs\n", "# Signs\nby the agent\n"] {
        let scene = Scene::new();
        let begun = scene.turn();
        scene.write("tasks/demo/guardrails.md", text);
        scene.honest_work();
        let verdict = refused(&begun, &[FindingKind::StateRewritten]);
        assert!(verdict.mends.contains(&Mend::RestoreFile("tasks/demo/guardrails.md".into())));
    }
    // No commit and no call did it; but old signs are gone.
    let scene = Scene::new();
    let begun = scene.turn();
    scene.honest_work();
    scene.write("tasks/demo/guardrails.md", "");
    refused(&begun, &[FindingKind::StateRewritten]);
}

#[test]
fn old_progress_rewritten() {
    let scene = Scene::new();
    let begun = scene.turn();
    scene.write("tasks/demo/progress.md", "2026-01-17 all is well\n");
    scene.honest_work();
    let verdict = refused(&begun, &[FindingKind::StateRewritten]);
    assert!(verdict.mends.contains(&Mend::RestoreFile("tasks/demo/progress.md".into())));
    assert!(verdict.mends.contains(&Mend::ProgressLine));
}

#[test]
fn the_runners_records_rewritten() {
    for name in ["activity.log", "state.json", "cost.log"] {
        let scene = Scene::new();
        let begun = scene.turn();
        scene.write(&format!("tasks/demo/{name}"), "cleaned\n");
        scene.honest_work();
        let verdict = refused(&begun, &[FindingKind::RecordsTampered]);
        assert!(verdict.tampered());
        assert!(verdict.findings[0].message.contains(name));
    }
}

#[test]
fn a_tool_call_that_nobody_decided() {
    let scene = Scene::new();
    let mut begun = scene.turn();
    begun.undecided = vec!["bash: curl evil".into()];
    scene.honest_work();
    let verdict = refused(&begun, &[FindingKind::UndecidedCall]);
    assert!(verdict.tampered());
    assert!(verdict.findings[0].message.contains("bash: curl evil"));
}

#[test]
fn hooks_or_agent_settings_changed() {
    for name in
        [".github/hooks/x.json", ".claude/settings.json", ".mcp.json", ".git/hooks/pre-commit"]
    {
        let scene = Scene::new();
        let begun = scene.turn();
        scene.honest_work();
        scene.write(name, "{}");
        let verdict = begun.verdict();
        assert!(verdict.tampered(), "{name}: {verdict:#?}");
        assert_eq!(verdict.findings[0].kind, FindingKind::SettingsChanged);
        assert_eq!(verdict.result, VerdictResult::Fail);
    }
}

#[test]
fn its_own_check_is_red() {
    for status in [
        CheckStatus::Failed(1),
        CheckStatus::Signalled(9),
        CheckStatus::TimedOut(600),
        CheckStatus::NotRun("no shell".into()),
    ] {
        let scene = Scene::new();
        let mut begun = scene.turn();
        with_check(&mut begun);
        scene.honest_work();
        begun.after[0].status = status;
        begun.after[0].output = "line\nexpected work\n".into();
        let verdict = refused(&begun, &[FindingKind::CheckFailed]);
        assert!(verdict.findings[0].message.ends_with("\nline\nexpected work"));
    }
}

#[test]
fn the_tasks_check_turned_red() {
    let scene = Scene::new();
    let mut begun = scene.turn();
    begun.after = vec![check("make", None, CheckStatus::Failed(2))];
    scene.honest_work();
    // Nobody looked before: what is not known is no excuse.
    refused(&begun, &[FindingKind::CheckFailed]);
    begun.before = vec![check("make", None, CheckStatus::Passed)];
    refused(&begun, &[FindingKind::CheckFailed]);
}

#[test]
fn a_commit_alone_where_checks_are_required() {
    let scene = Scene::new();
    let mut begun = scene.turn();
    begun.commits_alone = CommitsAlone::Refused;
    scene.honest_work();
    refused(&begun, &[FindingKind::CheckRequired]);

    // A check that was green before the work is none.
    with_check(&mut begun);
    accepted(&begun, Proof::Check);
    begun.before[0].status = CheckStatus::Passed;
    let verdict = refused(&begun, &[FindingKind::CheckRequired]);
    assert_eq!(said(&verdict), [FindingKind::GreenBefore]);
    begun.before.clear();
    refused(&begun, &[FindingKind::CheckRequired]);
}

#[test]
fn a_check_that_was_not_run_is_not_green() {
    let scene = Scene::new();
    let mut begun = scene.turn();
    with_check(&mut begun);
    begun.after.clear();
    scene.honest_work();
    let verdict = refused(&begun, &[FindingKind::CheckFailed]);
    assert!(verdict.findings[0].message.contains("was not run"));
    begun.before = vec![check("make", None, CheckStatus::Passed)];
    refused(&begun, &[FindingKind::CheckFailed]);
    // Those of other criteria may be left out.
    begun.before = vec![check("sh zero.sh", Some("zero"), CheckStatus::Passed)];
    accepted(&begun, Proof::Commit);
}

#[test]
fn work_is_remembered_for_a_later_attempt_unless_history_was_rewritten() {
    let scene = Scene::new();
    let begun = scene.turn();
    assert!(!worked(&begun.evidence()));
    scene.write("src/lib.txt", "work\n");
    scene.commit_all("ralph(demo): one");
    assert!(worked(&begun.evidence()));
    scene.git(&["checkout", "-qb", "elsewhere"]);
    assert!(!worked(&begun.evidence()));
}

// Accepted.

#[test]
fn honest_work() {
    let scene = Scene::new();
    let mut begun = scene.turn();
    scene.honest_work();
    let verdict = accepted(&begun, Proof::Commit);
    assert_eq!((verdict.findings.as_slice(), verdict.mends.as_slice()), (&[][..], &[][..]));
    with_check(&mut begun);
    let verdict = accepted(&begun, Proof::Check);
    assert_eq!((verdict.findings.as_slice(), verdict.mends.as_slice()), (&[][..], &[][..]));
}

#[test]
fn the_progress_line_forgotten() {
    let scene = Scene::new();
    let begun = scene.turn();
    scene.write("src/lib.txt", "work\n");
    scene.tick_one();
    scene.commit_all("ralph(demo): one");
    let verdict = accepted(&begun, Proof::Commit);
    assert_eq!(verdict.mends, [Mend::ProgressLine]);
    assert_eq!(said(&verdict), [FindingKind::NoProgressEntry]);
}

#[test]
fn a_progress_line_of_another_day_is_no_entry() {
    let scene = Scene::new();
    let begun = scene.turn();
    scene.write("src/lib.txt", "work\n");
    scene.tick_one();
    scene.append("tasks/demo/progress.md", "2026-01-16 did it\n");
    scene.commit_all("ralph(demo): one");
    assert_eq!(accepted(&begun, Proof::Commit).mends, [Mend::ProgressLine]);
}

#[test]
fn the_state_commit_forgotten() {
    let scene = Scene::new();
    let mut begun = scene.turn();
    scene.write("src/lib.txt", "work\n");
    scene.commit_all("ralph(demo): one");
    scene.tick_one();
    begun.wrote_task();
    scene.append("tasks/demo/progress.md", "2026-01-17 did it\n");
    assert_eq!(accepted(&begun, Proof::Commit).mends, [Mend::StateCommit]);
}

#[test]
fn work_in_several_commits() {
    let scene = Scene::new();
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
    let scene = Scene::new();
    let mut begun = scene.turn();
    with_check(&mut begun);
    begun.before[0].status = CheckStatus::Passed;
    scene.honest_work();
    let verdict = accepted(&begun, Proof::Commit);
    assert_eq!(said(&verdict), [FindingKind::GreenBefore]);
}

#[test]
fn a_check_that_was_green_without_a_commit_is_refused() {
    let scene = Scene::new();
    let mut begun = scene.turn();
    with_check(&mut begun);
    begun.before[0].status = CheckStatus::Passed;
    scene.tick_one();
    begun.wrote_task();
    refused(&begun, &[FindingKind::NoCommit]);
}

#[test]
fn a_tick_after_an_attempt_that_left_the_work() {
    let scene = Scene::new();
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
    let scene = Scene::new();
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
fn other_tests_changed_or_removed_are_said() {
    let scene = Scene::new();
    let begun = scene.turn();
    scene.remove("tests/other.py");
    scene.write("tests/new.py", "assert True\n");
    scene.honest_work();
    let verdict = accepted(&begun, Proof::Commit);
    assert_eq!(said(&verdict), [FindingKind::TestChanged]);
    assert!(verdict.findings[0].message.contains("removed tests/other.py"));
    assert!(!verdict.findings[0].message.contains("new.py"));
}

#[test]
fn artefacts_of_checks_are_not_blamed() {
    let scene = Scene::new();
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
    let scene = Scene::new();
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

#[test]
fn a_humans_unfinished_file_changed_or_removed() {
    for change in [Some("other\n"), Some("hello\n"), None] {
        let scene = Scene::new();
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

// Inconclusive.

#[test]
fn the_human_edited_the_task_meanwhile() {
    let scene = Scene::new();
    let begun = scene.turn();
    scene.write("src/lib.txt", "work\n");
    scene.commit_all("ralph(demo): one");
    scene.append("tasks/demo/TASK.md", "- [ ] three\n");
    let verdict = begun.verdict();
    assert_eq!(verdict.result, VerdictResult::Inconclusive);
    assert_eq!(verdict.findings[0].kind, FindingKind::TaskChangedByHuman);
    // The human's file is never put back.
    assert_eq!(verdict.mends, [Mend::ProgressLine, Mend::StateCommit]);
}

#[test]
fn a_humans_edit_costs_no_attempt_even_where_nothing_was_done() {
    let scene = Scene::new();
    let begun = scene.turn();
    scene.append("tasks/demo/TASK.md", "- [ ] three\n");
    let verdict = begun.verdict();
    assert_eq!(
        against(&verdict),
        [FindingKind::NoCommit, FindingKind::TaskChangedByHuman],
        "{verdict:#?}"
    );
    assert_eq!(verdict.result, VerdictResult::Inconclusive);
}

#[test]
fn a_tick_by_nobody_that_was_watched_proves_nothing() {
    let scene = Scene::new();
    let begun = scene.turn();
    scene.write("src/lib.txt", "work\n");
    scene.commit_all("ralph(demo): one");
    scene.tick_one();
    let verdict = begun.verdict();
    assert_eq!(verdict.result, VerdictResult::Inconclusive);
    assert!(verdict.mends.contains(&Mend::Untick));
}

#[test]
fn the_human_added_a_sign_meanwhile() {
    let scene = Scene::new();
    let begun = scene.turn();
    scene.honest_work();
    scene.append("tasks/demo/guardrails.md", "- Sign: mind the gap\n");
    let verdict = begun.verdict();
    assert_eq!(verdict.result, VerdictResult::Inconclusive, "{verdict:#?}");
    assert_eq!(verdict.mends, [Mend::RestoreTask { keep_tick: false }, Mend::StateCommit]);
}

#[test]
fn tampering_outweighs_a_humans_edit() {
    let scene = Scene::new();
    let mut begun = scene.turn();
    begun.undecided = vec!["bash".into()];
    scene.append("tasks/demo/TASK.md", "- [ ] three\n");
    let verdict = begun.verdict();
    assert_eq!(verdict.result, VerdictResult::Fail);
    assert!(verdict.tampered());
    assert_eq!(verdict.findings[0].weight, Weight::Tampering);
}

#[test]
fn evidence_goes_through_json_and_back() {
    let scene = Scene::new();
    let mut begun = scene.turn();
    with_check(&mut begun);
    scene.write("loose\nname", "x");
    scene.honest_work();
    scene.append("tasks/demo/guardrails.md", "- Sign\n");
    let evidence = begun.evidence();
    let json = serde_json::to_string(&evidence).expect("written");
    assert_eq!(serde_json::from_str::<crate::model::Evidence>(&json).expect("read"), evidence);
}
