//! What an agent that wants to stop too early is told in the same prompt: a prompt saved.

use ralph_copilot::model::{EventKind, FindingKind, Proof, VerdictResult};
use serde_json::{Value, json};

use super::copilot::Scene;
use super::model::{Model, Step, bash, route, say};
use super::{ONE, focus, honest, tick, verdicts, write};

/// Agents that forget something, and put it in order when they are told: what they do, and
/// what they are told.
fn forgetful(scene: &Scene) -> Vec<(Vec<Step>, Vec<FindingKind>)> {
    let commit = "git add -A && git commit -m 'ralph(job): [one] - write it'";
    let progress = "echo \"- $(date +%F) one is written\" >> tasks/job/progress.md";
    let work = || vec![bash("mkdir -p out"), write(scene, "one"), bash(progress)];
    let done = || say("Done: one.");
    let mut no_commit = work();
    no_commit.extend([tick(scene, "one"), done(), bash(commit), done()]);
    let mut no_tick = work();
    no_tick.extend([bash(commit), done(), tick(scene, "one"), bash(commit), done()]);
    let red = vec![
        bash("mkdir -p out && echo two > out/one.txt"),
        bash(progress),
        tick(scene, "one"),
        bash(commit),
        done(),
        bash("echo one > out/one.txt"),
        bash("git commit -a -m 'ralph(job): [one] - write it well'"),
        done(),
    ];
    vec![
        (
            no_commit,
            // The checks run on what is committed.
            vec![FindingKind::NoCommit, FindingKind::Uncommitted, FindingKind::CheckFailed],
        ),
        (no_tick, vec![FindingKind::NotTicked]),
        (red, vec![FindingKind::CheckFailed]),
    ]
}

#[test]
fn what_was_forgotten_is_put_in_order_in_the_same_prompt() {
    let Some(first) = Scene::new(ONE) else { return };
    let scripts = forgetful(&first).len();
    for number in 0..scripts {
        let Some(scene) = Scene::new(ONE) else { return };
        let (steps, expected) = forgetful(&scene).remove(number);
        let requests = steps.len();
        let model = Model::start([route(focus("one"), steps)]);
        let scene = scene.with(&model);
        let ended = scene.run(&["job"]).expect(0);

        let journal = scene.journal();
        let count = |name: &str| journal.iter().filter(|event| event.kind.name() == name).count();
        assert_eq!((count("prompt_sent"), count("turn_ended")), (1, 1), "one prompt for all of it");
        assert_eq!(model.requests().len(), requests);
        let told: Vec<_> = journal
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::StopChecked { findings, sent_back, .. } => {
                    let kinds: Vec<_> = findings.iter().map(|finding| finding.kind).collect();
                    Some((kinds, *sent_back))
                }
                _ => None,
            })
            .collect();
        assert_eq!(told, [(expected, true), (Vec::new(), false)]);
        let passed = verdicts(&journal).remove(0);
        assert_eq!(passed.result, VerdictResult::Pass(Proof::Check));
        assert!(ended.stdout.contains("sent back to the agent: "), "{}", ended.stdout);
        let log = scene.read("tasks/job/activity.log");
        let stops: Vec<Value> = log
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .filter(|line: &Value| line["operation"] == "stop_check")
            .collect();
        assert_eq!(stops.len(), 2, "{log}");
        assert_eq!(
            (&stops[0]["result"], &stops[1]["result"]),
            (&json!("failed"), &json!("success"))
        );
        assert_eq!(stops[0]["args"], json!({ "sent_back": true }));
        scene.assert_nothing_left();
    }
}

#[test]
fn without_the_check_each_costs_another_prompt() {
    let Some(first) = Scene::new(ONE) else { return };
    for number in 0..forgetful(&first).len() {
        let Some(scene) = Scene::new(ONE) else { return };
        let (mut steps, _) = forgetful(&scene).remove(number);
        // A second iteration begins where the verdict put the first one's claims back.
        steps.extend(honest(&scene, "one"));
        let model = Model::start([route(focus("one"), steps)]);
        let scene = scene.with(&model);
        scene.run(&["job", "--no-stop-check", "--max-iterations", "2"]);
        let journal = scene.journal();
        let count = |name: &str| journal.iter().filter(|event| event.kind.name() == name).count();
        assert_eq!((count("prompt_sent"), count("stop_checked")), (2, 0));
        assert_eq!(verdicts(&journal)[0].result, VerdictResult::Fail);
    }
}
