//! Evidence of real repositories, where the verdict on it is nowhere else seen: `judge/tests.rs` has
//! each fault on evidence made by hand, `tests/cli/verdicts` whole runs.

use super::test_repo::{TestRepo, TurnBegun};
use crate::model::{FindingKind, Oid, Proof, Verdict, VerdictResult, Weight};
use crate::verify::worked;

/// The kinds of what was found, without what is only said.
fn against(verdict: &Verdict) -> Vec<FindingKind> {
    let counts = verdict.findings.iter().filter(|it| it.weight != Weight::Said);
    counts.map(|it| it.kind).collect()
}

fn work_beside_the_human(scene: &TestRepo, readme: Option<&str>) {
    scene.write("src/lib.txt", "work\n");
    scene.tick_one();
    scene.git(&["add", "src", "tasks"]);
    scene.git(&["commit", "-qm", "ralph(demo): one"]);
    match readme {
        Some(text) => scene.write("README.md", text),
        None => scene.remove("README.md"),
    }
}

fn verdict_on(begun: &TurnBegun<'_>) -> (VerdictResult, Vec<FindingKind>) {
    let verdict = begun.verdict();
    let against = against(&verdict);
    (verdict.result, against)
}

#[test]
fn a_humans_unfinished_file_that_changed_is_the_agents_deed_unless_a_sandbox_seals_it() {
    let touched = (VerdictResult::Fail, vec![FindingKind::HumanWorkTouched]);
    for change in [Some("other\n"), Some("hello\n"), None] {
        let scene = TestRepo::new();
        scene.write("README.md", "the human's\n");
        let mut begun = scene.turn();
        work_beside_the_human(&scene, change);
        assert_eq!(verdict_on(&begun), touched, "{change:?}");
        // In a sandbox no command of the agent writes it, so the human did.
        begun.sealed = true;
        begun.writes = vec![scene.root.join("tasks/demo/TASK.md")];
        let fine = (VerdictResult::Pass(Proof::Commit), Vec::new());
        assert_eq!(verdict_on(&begun), fine, "{change:?}");
        // An edit of the agent's that the guard allowed.
        begun.writes.push(scene.root.join("README.md"));
        assert_eq!(verdict_on(&begun), touched, "{change:?}");
    }
}

#[test]
fn old_progress_in_another_form_is_what_it_was() {
    // A commit hook may format every file of Markdown.
    let scene = TestRepo::new();
    let old = scene.read("tasks/demo/progress.md");
    let begun = scene.turn();
    let words: Vec<&str> = old.split_whitespace().collect();
    scene.write("tasks/demo/progress.md", &format!("* {}\n", words.join("\n  ")));
    scene.honest_work();
    assert_eq!(verdict_on(&begun).1, Vec::new());
}

/// As a scaffold leaves one. To commit it commits a link only, whose configuration is new.
#[test]
fn a_repository_made_inside_is_a_failed_attempt() {
    for committed in [true, false] {
        for add in [&["init", "-q", "app"][..], &["worktree", "add", "-q", "-b", "side", "app"]] {
            let scene = TestRepo::new();
            let begun = scene.turn();
            scene.honest_work();
            scene.git(add);
            scene.write("app/x", "x");
            let who = ["-C", "app", "-c", "user.name=a", "-c", "user.email=a@b.c"];
            scene.git(&[&who[..], &["add", "x"]].concat());
            scene.git(&[&who[..], &["commit", "-qm", "x"]].concat());
            if committed {
                scene.git(&["add", "app"]);
                scene.git(&["commit", "-qm", "ralph(demo): app"]);
            }
            let verdict = begun.verdict();
            assert!(!verdict.tampered(), "{add:?} {committed}: {verdict:#?}");
            assert_eq!(verdict.result, VerdictResult::Fail, "{add:?} {committed}");
            let said =
                verdict.findings.iter().any(|it| it.message.contains("inside this one: app"));
            assert!(said, "{verdict:#?}");
            assert!(verdict.repairs.contains(&crate::model::Repair::BackToCheckpoint));
        }
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
