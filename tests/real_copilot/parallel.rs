//! `--jobs` with the real CLI: one CLI per worker, each with its own turns, denials, and faults.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ralph_copilot::model::{
    Event, EventKind, FaultClass, FindingKind, Proof, TaskState, VerdictResult,
};

use super::copilot::Scene;
use super::model::{Model, Step, bash, route, say, tool_results};
use super::{findings, focus, has_tier, tick};

const NAMES: [&str; 3] = ["one", "two", "three"];
/// In this tier each worker sees its tree at the repository's own path, which the model names.
const RUN: [&str; 3] = ["job", "-j3", "--sandbox=full"];

/// How long a rate limit is waited for at least, in seconds.
const LIMITED: i64 = 30;

/// A task of three criteria, with this before it.
fn three(before: &str) -> String {
    let boxes = NAMES.map(|name| format!("- [ ] {name}\n  - verify: `sh check.sh {name}`\n"));
    format!("{before}# Three\n\n{}", boxes.concat())
}

/// Ends a turn: the tick, and a commit of everything.
fn commit(scene: &Scene, name: &str) -> [Step; 3] {
    [
        tick(scene, name),
        bash(&format!("git add -A && git commit -qm 'ralph(job): [{name}] - write it'")),
        say(format!("Done: {name}.")),
    ]
}

/// A turn whose first call is denied, up to its commit.
fn work(name: &str, more: &str) -> Vec<Step> {
    let write = format!("mkdir -p out && echo {name} > out/{name}.txt{more}");
    vec![bash("git push origin HEAD"), bash(&write)]
}

/// A repository with this task, where the sandbox is there.
fn scene(task: &str) -> Option<Scene> {
    has_tier("full").then(|| Scene::new(task))?
}

/// A line for somebody at the machine, before the next answer.
fn meanwhile(scene: &Scene, line: &'static str) -> Step {
    Step::Meanwhile(scene.repo(), line)
}

fn state(scene: &Scene) -> TaskState {
    serde_json::from_str(&scene.read("tasks/job/state.json")).expect("state")
}

/// All are proven, and no attempt was charged.
#[track_caller]
fn assert_all_proven(scene: &Scene) {
    let state = state(scene);
    let proofs: Vec<_> = state.criteria.iter().map(|it| (it.proof, it.attempts)).collect();
    assert_eq!(proofs, [(Some(Proof::Check), 0); 3]);
    for name in NAMES {
        assert_eq!(scene.read(&format!("out/{name}.txt")), format!("{name}\n"));
    }
    scene.assert_nothing_left();
}

/// The events of each iteration, with its criterion.
fn iterations(journal: &[Event]) -> Vec<(&str, Vec<&EventKind>)> {
    let mut all: Vec<(&str, Vec<&EventKind>)> = Vec::new();
    for event in journal {
        if let EventKind::IterationStarted { criterion, .. } = &event.kind {
            all.push((&criterion.text, Vec::new()));
        }
        if let Some((_, events)) = all.last_mut() {
            events.push(&event.kind);
        }
    }
    all
}

/// `one` and `two` change the same line; `three` meets a rate limit first. A human commits while
/// all three are at work.
#[test]
fn three_at_once_with_denials_a_conflict_a_rate_limit_and_a_human() {
    let Some(scene) = scene(&three("")) else { return };
    scene.commit("shared.txt", "start\n");
    let (limited, landed) = (
        "timeout 60 sh -c 'until test -e .git/limited; do sleep 0.05; done'",
        "timeout 60 sh -c 'until git log --format=%s | grep -q \"by worker\"; do sleep 0.05; done'",
    );
    let mut one = work("one", " && echo one > shared.txt");
    one.push(meanwhile(&scene, limited));
    one.extend(commit(&scene, "one"));
    let mut two = work("two", " && echo two > shared.txt");
    two.push(meanwhile(&scene, landed));
    two.extend(commit(&scene, "two"));
    // Taken again, it finds the other's line.
    two.push(bash("mkdir -p out && echo two > out/two.txt && echo two >> shared.txt"));
    two.extend(commit(&scene, "two"));
    // The CLI tells of such a header at once; the text says when it is really over.
    let limit = "Rate limit reached for requests, try again in 20 seconds";
    let mut three = vec![
        meanwhile(&scene, "touch .git/limited"),
        Step::Status(429, vec![("retry-after", "3600")], limit),
        meanwhile(
            &scene,
            "echo mine > human.txt; timeout 60 sh -c 'until git add human.txt && git commit -qm \"by the \
             human\"; do sleep 0.05; done'",
        ),
    ];
    three.extend(work("three", ""));
    three.extend(commit(&scene, "three"));
    let steps = [one, two, three];
    let model = Model::start(NAMES.into_iter().zip(steps).map(|(name, it)| route(focus(name), it)));
    let scene = scene.with(&model);
    scene.run(&RUN).expect(0);
    assert_all_proven(&scene);
    let journal = scene.journal();

    // At once.
    let begun = journal.iter().position(|it| matches!(it.kind, EventKind::IterationStarted { .. }));
    let before = journal.iter().take(begun.expect("an iteration"));
    let starts = before.filter(|it| matches!(it.kind, EventKind::WorkerStarted { .. }));
    assert_eq!(starts.count(), 3);

    // A denied call in each, of which the model was told.
    let iterations = iterations(&journal);
    let mut denied = BTreeMap::<&str, usize>::new();
    for (name, events) in &iterations {
        let turns = events.iter().map(|event| match event {
            EventKind::TurnEnded { turn, .. } => usize::from(turn.denied > 0),
            _ => 0,
        });
        *denied.entry(name).or_default() += turns.sum::<usize>();
    }
    assert_eq!(denied, NAMES.map(|name| (name, 1)).into());
    let told = model
        .requests()
        .iter()
        .filter(|request| {
            tool_results(request)
                .last()
                .is_some_and(|it| it.starts_with("Denied by preToolUse hook"))
        })
        .count();
    assert_eq!(told, 3);

    assert_conflict(&scene, &iterations);
    assert_limited(&journal, &iterations);
    let landings = scene.git(&["log", "--first-parent", "--format=%s"]);
    assert!(landings.contains("by the human"), "{landings}");
    assert_eq!(scene.read("human.txt"), "mine\n");
}

/// The second of two that change one line is taken again, and nothing of its first work landed.
#[track_caller]
fn assert_conflict(scene: &Scene, iterations: &[(&str, Vec<&EventKind>)]) {
    let verdicts: Vec<_> = iterations
        .iter()
        .filter(|(name, _)| *name == "two")
        .flat_map(|(_, events)| events)
        .filter_map(|event| match event {
            EventKind::VerdictReached { verdict, .. } => Some(verdict),
            _ => None,
        })
        .collect();
    assert_eq!(verdicts[0].result, VerdictResult::Inconclusive);
    assert_eq!(findings(verdicts[0])[0], FindingKind::Clash);
    assert_eq!(verdicts[1].result, VerdictResult::Pass(Proof::Check));
    assert_eq!(verdicts.len(), 2);
    let seen: Vec<String> = scene
        .git(&["log", "--first-parent", "--reverse", "--format=%H"])
        .lines()
        .filter_map(|commit| {
            let has = scene.git(&["ls-tree", "--name-only", commit, "shared.txt"]);
            (!has.is_empty()).then(|| scene.git(&["show", &format!("{commit}:shared.txt")]))
        })
        .collect();
    let mut different = seen.clone();
    different.dedup();
    assert_eq!(different, ["start", "one", "one\ntwo"], "{seen:?}");
    let kept = scene.git(&["for-each-ref", "--format=%(refname)", "refs/ralph/job/attempts"]);
    assert_eq!(scene.git(&["show", &format!("{kept}:shared.txt")]), "two");
}

/// The rate limit costs no iteration, and nothing begins until it is over.
#[track_caller]
fn assert_limited(journal: &[Event], iterations: &[(&str, Vec<&EventKind>)]) {
    let limited: Vec<_> = iterations.iter().filter(|(name, _)| *name == "three").collect();
    assert_eq!(limited.len(), 1, "it costs no iteration");
    let faults = limited[0].1.iter().filter_map(|event| match event {
        EventKind::TurnEnded { turn, .. } => Some(turn.fault.as_ref().map(|fault| fault.class)),
        _ => None,
    });
    assert_eq!(faults.collect::<Vec<_>>(), [Some(FaultClass::RateLimit), None]);
    let waits = journal.iter().filter_map(|event| match event.kind {
        EventKind::Waiting { until, .. } => Some((event.time, until)),
        _ => None,
    });
    let waits: Vec<_> = waits.collect();
    let [(told, until)] = waits[..] else { panic!("{waits:?}") };
    assert!((until - told).num_seconds() >= LIMITED - 5, "told at its begin: {waits:?}");
    let starts = journal.iter().filter_map(|event| match &event.kind {
        EventKind::WorkerStarted { criterion, .. } => Some((criterion.text.as_str(), event.time)),
        _ => None,
    });
    let starts: Vec<_> = starts.collect();
    assert_eq!((starts.len(), starts[3].0), (4, "two"));
    assert!(starts[3].1 >= until, "{starts:?} before {until}");
}

/// The number of processes with this command line.
fn running(line: &str) -> usize {
    let found = Command::new("pgrep").args(["-xf", line]).output().expect("pgrep");
    String::from_utf8_lossy(&found.stdout).lines().count()
}

/// `one` is handed in, and its check runs; the other two are in the middle of a call.
#[test]
fn a_signal_keeps_what_was_handed_in_and_begun_and_the_same_command_finishes() {
    let Some(scene) = scene(&three("---\nallow: [\"sh wait.sh\"]\n---\n")) else { return };
    let sleeps = format!("sleep 100000.{}9", std::process::id());
    scene.write("wait.sh", &format!("exec {sleeps}\n"));
    scene.write("check.sh", "test ! -e slow || sh wait.sh\ngrep -qx \"$1\" \"out/$1.txt\"\n");
    scene.git(&["add", "-A"]);
    scene.git(&["commit", "-qm", "more"]);
    let routes = NAMES.map(|name| {
        let first = match name {
            "one" => {
                let all_run = "timeout 60 sh -c 'until test -e .git/all; do sleep 0.05; done'";
                let mut steps = work(name, " && touch slow");
                steps.push(meanwhile(&scene, all_run));
                steps.extend(commit(&scene, name));
                steps
            }
            _ => vec![bash(&format!("echo half > half-{name}.txt")), bash("sh wait.sh")],
        };
        let again = work(name, "").into_iter().chain(commit(&scene, name));
        route(focus(name), first.into_iter().chain(again))
    });
    let model = Model::start(routes);
    let scene = scene.with(&model);
    // Its own check of the work would wait, too.
    let mut run = scene.follow(&[&RUN[..], &["--no-stop-check"]].concat());
    let pid = run.pid().to_string();
    let began = Instant::now();
    let wait_for = |count: usize| {
        while running(&sleeps) < count {
            assert!(began.elapsed() < Duration::from_secs(60), "{count} never ran");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    wait_for(2);
    std::fs::write(scene.repo().join(".git/all"), "").expect("write");
    run.until(|event| matches!(event.kind, EventKind::IterationStarted { .. }).then_some(()));
    wait_for(3);
    let sent = Instant::now();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
    run.end().expect(143);
    assert!(sent.elapsed() < Duration::from_secs(15), "{:?}", sent.elapsed());
    assert_eq!(running(&sleeps), 0);
    scene.assert_nothing_left();
    let refs = scene.git(&["for-each-ref", "--format=%(refname)", "refs/ralph/job/attempts"]);
    let names = refs.lines().map(|kept| scene.git(&["ls-tree", "-r", "--name-only", kept]));
    let names = names.collect::<Vec<_>>().join("\n");
    for path in ["out/one.txt", "half-two.txt", "half-three.txt"] {
        assert_eq!(names.lines().filter(|it| *it == path).count(), 1, "{path}: {names}");
        assert!(!Path::new(&scene.repo().join(path)).exists(), "{path} has landed");
    }

    scene.run(&RUN).expect(0);
    assert_all_proven(&scene);
    assert!(!scene.has("slow") && !scene.has("half-two.txt"));
}
