//! Neither: a human had a hand in it.

use super::super::test_repo::TestRepo;
use super::{against, with_check};
use crate::model::{FindingKind, Repair, VerdictResult, Weight};

#[test]
fn the_human_edited_the_task_meanwhile() {
    let scene = TestRepo::new();
    let begun = scene.turn();
    scene.write("src/lib.txt", "work\n");
    scene.commit_all("ralph(demo): one");
    scene.append("tasks/demo/TASK.md", "- [ ] three\n");
    let verdict = begun.verdict();
    assert_eq!(verdict.result, VerdictResult::Inconclusive);
    assert_eq!(verdict.findings[0].kind, FindingKind::TaskChangedByHuman);
    // The human's file is never put back.
    assert_eq!(verdict.repairs, [Repair::ProgressLine, Repair::StateCommit]);
}

#[test]
fn a_humans_edit_costs_no_attempt_even_where_nothing_was_done() {
    let scene = TestRepo::new();
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
    let scene = TestRepo::new();
    let begun = scene.turn();
    scene.write("src/lib.txt", "work\n");
    scene.commit_all("ralph(demo): one");
    scene.tick_one();
    let verdict = begun.verdict();
    assert_eq!(verdict.result, VerdictResult::Inconclusive);
    assert!(verdict.repairs.contains(&Repair::Untick));
}

#[test]
fn the_human_added_a_sign_meanwhile() {
    let scene = TestRepo::new();
    let begun = scene.turn();
    scene.honest_work();
    scene.append("tasks/demo/guardrails.md", "- Sign: mind the gap\n");
    let verdict = begun.verdict();
    assert_eq!(verdict.result, VerdictResult::Inconclusive, "{verdict:#?}");
    assert_eq!(verdict.repairs, [Repair::RestoreTask { keep_tick: false }, Repair::StateCommit]);
}

#[test]
fn tampering_outweighs_a_humans_edit() {
    let scene = TestRepo::new();
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
    let scene = TestRepo::new();
    let mut begun = scene.turn();
    with_check(&mut begun);
    scene.write("loose\nname", "x");
    scene.honest_work();
    scene.append("tasks/demo/guardrails.md", "- Sign\n");
    let evidence = begun.evidence();
    let json = serde_json::to_string(&evidence).expect("written");
    assert_eq!(serde_json::from_str::<crate::model::Evidence>(&json).expect("read"), evidence);
}
