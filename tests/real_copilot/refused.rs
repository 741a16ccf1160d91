//! What is only claimed is refused, and what cannot be done ends with a sign. The agent is
//! not sent back when it wants to stop: the verdict alone is looked at.

use ralph_copilot::model::{EventKind, FindingKind, OnStuck, Outcome, TaskState, VerdictResult};

use super::copilot::Scene;
use super::model::{Model, Step, bash, call, route, say};
use super::{ONE, findings, focus, honest, tick, verdicts};

const TWO: &str = "# Demo\n\n- [ ] one\n  - verify: `sh check.sh one`\n- [ ] two\n  - verify: `sh check.sh two`\n";

/// Work that is committed, ticked, claimed, and wrong.
fn wrong(scene: &Scene) -> Vec<Step> {
    let path = scene.repo().join("one.txt");
    let text = serde_json::json!({ "path": path, "file_text": "not what was asked for\n" });
    vec![
        call("create", text),
        tick(scene, "one"),
        bash("git add -A && git commit -m 'ralph(job): [one] - write it'"),
        say("Done, the check passes."),
    ]
}

/// A second attempt at it.
fn wrong_again(scene: &Scene) -> Vec<Step> {
    vec![
        bash("echo 'still not' >> one.txt"),
        tick(scene, "one"),
        bash("git add -A && git commit -m 'ralph(job): [one] - write it again'"),
        say("Done now."),
    ]
}

/// The ref that keeps the attempts at a stuck criterion.
fn kept(scene: &Scene, wanted: OnStuck) -> String {
    let kept = scene.journal().into_iter().find_map(|event| match event.kind {
        EventKind::CriterionBlocked { then, kept, .. } if then == wanted => kept,
        _ => None,
    });
    kept.expect("the attempts are kept")
}

#[test]
fn a_tick_and_a_commit_without_work_are_not_believed() {
    let Some(scene) = Scene::new(ONE) else { return };
    let lie = vec![
        tick(&scene, "one"),
        bash("git add -A && git commit -m 'ralph(job): [one] - all done'"),
        say("Done! The check passes and everything is committed."),
    ];
    let model = Model::start([route(focus("one"), lie)]);
    let scene = scene.with(&model);
    scene.run(&["job", "--no-stop-check", "--max-iterations", "1"]).expect(3);

    assert!(scene.read("tasks/job/TASK.md").contains("- [ ] one\n"));
    assert!(scene.git(&["show", "HEAD:tasks/job/TASK.md"]).contains("- [ ] one\n"));
    let verdicts = verdicts(&scene.journal());
    assert_eq!(verdicts.len(), 1);
    assert_eq!(verdicts[0].result, VerdictResult::Fail);
    let kinds = findings(&verdicts[0]);
    for kind in [FindingKind::EmptyCommit, FindingKind::CheckFailed] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    scene.assert_nothing_left();
}

#[test]
fn what_was_wrong_is_told_in_the_next_prompt() {
    let Some(scene) = Scene::new(ONE) else { return };
    let mut steps = vec![tick(&scene, "one"), say("Done!")];
    steps.extend(honest(&scene, "one"));
    let model = Model::start([route(focus("one"), steps)]);
    let scene = scene.with(&model);
    scene.run(&["job", "--no-stop-check"]).expect(0);

    let requests = model.requests();
    let (first, second) = (requests[0].to_string(), requests[2].to_string());
    assert!(!first.contains("What was wrong with the last attempt"), "{first}");
    for text in ["What was wrong with the last attempt", "`sh check.sh one`", "no commit"] {
        assert!(second.contains(text), "{text} is not in {second}");
    }
    scene.assert_nothing_left();
}

#[test]
fn a_criterion_that_is_stuck_ends_the_run_with_a_sign() {
    let Some(scene) = Scene::new(ONE) else { return };
    let steps = [wrong(&scene), wrong_again(&scene)].concat();
    let model = Model::start([route(focus("one"), steps)]);
    let scene = scene.with(&model);
    let ended = scene.run(&["job", "--no-stop-check", "--stuck-threshold", "2"]).expect(4);

    let signs = scene.read("tasks/job/guardrails.md");
    assert_eq!(signs.matches("Criterion 'one' caused loop").count(), 1, "{signs}");
    assert!(ended.stdout.contains("ralph-copilot retry job"), "{}", ended.stdout);
    assert!(scene.read("tasks/job/TASK.md").contains("- [ ] one\n"));
    // Everything is kept for a human to look at, off the branch.
    assert!(!scene.has("one.txt"));
    let kept = kept(&scene, OnStuck::Stop);
    let text = scene.git(&["show", &format!("{kept}:one.txt")]);
    assert_eq!(text, "not what was asked for\nstill not");
    let state: TaskState =
        serde_json::from_str(&scene.read("tasks/job/state.json")).expect("state");
    assert_eq!((state.criteria[0].attempts, state.criteria[0].blocked), (2, true));
    scene.assert_nothing_left();
}

#[test]
fn a_stuck_criterion_that_is_skipped_leaves_the_branch_as_it_was() {
    let Some(scene) = Scene::new(TWO) else { return };
    let steps = [wrong(&scene), wrong_again(&scene)].concat();
    let model =
        Model::start([route(focus("one"), steps), route(focus("two"), honest(&scene, "two"))]);
    let scene = scene.with(&model);
    scene
        .run(&["job", "--no-stop-check", "--stuck-threshold", "2", "--on-stuck", "skip"])
        .expect(4);

    let log = scene.git(&["log", "--format=%s"]);
    assert!(!log.contains("[one]"), "{log}");
    assert!(!scene.has("one.txt"));
    assert_eq!(scene.read("out/two.txt"), "two\n");
    let task = scene.read("tasks/job/TASK.md");
    assert!(task.contains("- [ ] one\n") && task.contains("- [x] two\n"), "{task}");
    assert!(scene.read("tasks/job/guardrails.md").contains("Criterion 'one' caused loop"));

    let journal = scene.journal();
    let kept = kept(&scene, OnStuck::Skip);
    assert_eq!(
        scene.git(&["show", &format!("{kept}:one.txt")]),
        "not what was asked for\nstill not"
    );
    let Some(EventKind::RunEnded { outcome: Outcome::Stuck { reason }, .. }) =
        journal.last().map(|event| &event.kind)
    else {
        panic!("{:?}", journal.last());
    };
    assert!(reason.contains("one"), "{reason}");
    scene.assert_nothing_left();
}
