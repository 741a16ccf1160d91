//! Failures of the CLI and its model: told apart, with the right exit code and the way
//! out, and nothing left behind.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ralph_copilot::model::{EventKind, Outcome, Stuck, TaskState, TurnEnd};
use serde_json::Value;

use super::copilot::{Followed, Scene, lives, processes_of};
use super::model::{Model, Step, bash, route, say};
use super::{ONE, focus, honest};

/// A model that refuses every request in the same way.
fn refusing(step: Step) -> Model {
    Model::start([route(focus("one"), std::iter::repeat_n(step, 20))])
}

/// The last line that `--json` printed: how the run ended.
fn last(stdout: &str) -> Value {
    serde_json::from_str(stdout.lines().last().expect("a line")).expect("JSON")
}

/// Runs against a model that fails; gives the run's last event.
#[track_caller]
fn run_against(step: Step, args: &[&str], code: i32) -> Option<Value> {
    let model = refusing(step);
    let scene = Scene::new(ONE)?.with(&model);
    let ended = scene.run(&[&["job", "--json"], args].concat()).expect(code);
    assert!(!model.requests().is_empty());
    assert!(scene.read("tasks/job/TASK.md").contains("- [ ] one\n"));
    let state: TaskState =
        serde_json::from_str(&scene.read("tasks/job/state.json")).expect("state");
    let attempts: u32 = state.criteria.iter().map(|entry| entry.attempts).sum();
    assert_eq!(attempts, 0, "a failure of the agent is no attempt");
    scene.assert_nothing_left();
    Some(last(&ended.stdout))
}

#[test]
fn a_login_that_is_missing_is_told_with_the_way_out() {
    let Some(scene) = Scene::new(ONE) else { return };
    let ended = scene.run(&["job"]).expect(5);
    assert!(ended.stdout.contains("copilot login"), "{}", ended.stdout);
    let journal = scene.journal();
    let Some(EventKind::RunEnded { outcome: Outcome::AgentUnusable { fault }, .. }) =
        journal.last().map(|event| &event.kind)
    else {
        panic!("{:?}", journal.last());
    };
    assert!(fault.message.contains("Authentication required"), "{fault:?}");
    scene.assert_nothing_left();
}

#[test]
fn a_rate_limit_beyond_the_patience_says_when_to_go_on() {
    let limit = Step::Status(429, vec![("retry-after", "3600")], "Rate limit reached for requests");
    let Some(end) = run_against(limit, &["--max-wait", "1s"], 6) else { return };
    // The time itself does not cross ACP: the CLI's own log tells it.
    assert_eq!((&end["outcome"], &end["estimated"]), (&"rate_limited".into(), &false.into()));
    let wait = seconds_until_resume(&end);
    assert!((3500..=3601).contains(&wait), "{wait}");
    assert!(end["message"].to_string().contains("429"), "{end}");
}

/// Seconds from the end of a run until it is to be started again.
fn seconds_until_resume(end: &Value) -> i64 {
    let time = |name: &str| -> chrono::DateTime<chrono::Utc> {
        end[name].as_str().expect("a time").parse().expect("RFC 3339")
    };
    (time("resume_at") - time("time")).num_seconds()
}

/// The CLI waits for about a minute by itself before it tells.
#[test]
fn a_rate_limit_of_which_nobody_knows_the_end_is_guessed() {
    let limit = Step::Status(429, vec![], "Rate limit reached for requests");
    let Some(end) = run_against(limit, &["--max-wait", "1s"], 6) else { return };
    assert_eq!((&end["outcome"], &end["estimated"]), (&"rate_limited".into(), &true.into()));
    let wait = seconds_until_resume(&end);
    assert!((29..=31).contains(&wait), "{wait}");
}

#[test]
fn a_server_that_fails_is_no_network_and_given_up_after_its_retries() {
    let fails = Step::Status(500, vec![], "boom");
    let Some(end) = run_against(fails, &["--max-wait", "1s"], 5) else { return };
    assert_eq!(end["fault"]["class"], "transient", "{end}");
}

#[test]
fn tokens_end_the_run_between_turns_and_within_one() {
    let Some(scene) = Scene::new(&format!("{ONE}- [ ] two\n")) else { return };
    let model = Model::start([route(focus("one"), honest(&scene, "one"))]);
    let scene = scene.with(&model);
    let ended = scene.run(&["job", "--max-tokens", "200", "--json"]).expect(3);
    assert_eq!(last(&ended.stdout)["limit"], "tokens");
    scene.assert_nothing_left();

    let Some(waiting) = Waiting::new() else { return };
    let model = Model::start([route(focus("one"), [bash("sh wait.sh"), say("Done.")])]);
    let waiting = waiting.with(&model);
    let ended = waiting.scene.run(&["job", "--max-tokens", "50", "--json"]).expect(3);
    assert_eq!(last(&ended.stdout)["limit"], "tokens", "the tool would never have ended");
    assert_eq!(waiting.process(), None, "the tool lives on");
    waiting.scene.assert_nothing_left();
}

#[test]
fn a_model_that_is_not_there_is_named() {
    let Some(end) = run_against(Step::Status(404, vec![], "no such model"), &[], 5) else { return };
    assert_eq!(end["fault"]["class"], "model_unavailable", "{end}");
}

#[test]
fn where_it_may_a_run_goes_on_with_the_next_model() {
    let Some(mut scene) = Scene::new(ONE) else { return };
    scene.set("RALPH_COPILOT_FALLBACK", "true");
    let mut steps = vec![Step::Status(404, vec![], "no such model")];
    steps.extend(honest(&scene, "one"));
    let model = Model::start([route(focus("one"), steps)]);
    let scene = scene.with(&model);
    scene.run(&["job", "--model", "no-such-model"]).expect(0);

    let asked: Vec<_> =
        model.requests().iter().map(|request| request["model"].to_string()).collect();
    assert_eq!(asked[0], "\"no-such-model\"");
    assert!(asked[1..].iter().all(|model| model == "\"claude-sonnet-4.5\""), "{asked:?}");
    scene.assert_nothing_left();
}

#[test]
fn a_key_that_is_refused_is_named() {
    let Some(end) = run_against(Step::Status(401, vec![], "bad key"), &[], 5) else { return };
    assert_eq!(end["fault"]["class"], "auth", "{end}");
}

#[test]
fn a_network_that_stays_away_longer_than_the_patience_is_named() {
    let Some(end) = run_against(Step::Garbage("not json"), &["--max-wait", "1s"], 5) else {
        return;
    };
    assert_eq!(end["fault"]["class"], "network", "{end}");
}

#[test]
fn a_network_that_comes_back_is_worked_on() {
    let Some(scene) = Scene::new(ONE) else { return };
    // The CLI asks six times by itself before it gives up.
    let mut steps = vec![Step::Drop("I begin to"); 6];
    steps.extend(honest(&scene, "one"));
    let model = Model::start([route(focus("one"), steps)]);
    let scene = scene.with(&model);
    scene.run(&["job"]).expect(0);

    let journal = scene.journal();
    let count = |name: &str| journal.iter().filter(|event| event.kind.name() == name).count();
    assert_eq!((count("waiting"), count("agent_started")), (1, 1), "waited, with the same agent");
    let state: TaskState =
        serde_json::from_str(&scene.read("tasks/job/state.json")).expect("state");
    assert_eq!(state.criteria[0].attempts, 0, "a failure of the network is no attempt");
    scene.assert_nothing_left();
}

#[test]
fn a_turn_without_an_end_is_cancelled_and_counts_as_an_attempt() {
    let model = refusing(Step::Hang);
    let Some(scene) = Scene::new(ONE).map(|scene| scene.with(&model)) else { return };
    scene.run(&["job", "--turn-timeout", "2s", "--stuck-threshold", "1"]).expect(4);
    let ends = scene.journal().into_iter().find_map(|event| match event.kind {
        EventKind::TurnEnded { turn, .. } => Some(turn.end),
        _ => None,
    });
    assert_eq!(ends, Some(TurnEnd::Stuck(Stuck::TooLong(2))));
    scene.assert_nothing_left();
}

/// A task whose agent may run a script that waits for ever.
const WAITS: &str =
    "---\nallow: [\"sh wait.sh\"]\n---\n# Demo\n\n- [ ] one\n  - verify: `sh check.sh one`\n";

/// A scene in which `sh wait.sh` waits for ever.
struct Waiting {
    scene: Scene,
    /// What the script becomes: no other process has this command line.
    sleeps: String,
}

impl Waiting {
    fn new() -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let scene = Scene::new(WAITS)?;
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let sleeps = format!("sleep 100000.{}{number}", std::process::id());
        scene.commit("wait.sh", &format!("exec {sleeps}\n"));
        Some(Self { scene, sleeps })
    }

    /// Lets the CLI talk to this model.
    fn with(self, model: &Model) -> Self {
        Self { scene: self.scene.with(model), ..self }
    }

    fn process(&self) -> Option<String> {
        let found = Command::new("pgrep").args(["-xf", &self.sleeps]).output().expect("pgrep");
        String::from_utf8_lossy(&found.stdout).lines().next().map(str::to_owned)
    }

    /// Waits until the script runs; gives its process id, which in a sandbox it does not know.
    #[track_caller]
    fn until_it_runs(&self) -> String {
        let began = Instant::now();
        loop {
            if let Some(pid) = self.process() {
                return pid;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "it never ran");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Waits until a run's agent is started; gives the run's name.
fn run_with_an_agent(run: &mut Followed) -> String {
    run.until(|event| match event.kind {
        EventKind::AgentStarted { .. } => Some(event.run.to_string()),
        _ => None,
    })
}

fn signal(name: &str, pid: &str) {
    let line = format!("kill {name} {pid}");
    let sent = Command::new("sh").args(["-c", &line]).status().expect("sh");
    assert!(sent.success());
}

#[test]
fn a_cli_that_is_killed_in_a_turn_is_started_again_and_leaves_no_orphan() {
    let Some(waiting) = Waiting::new() else { return };
    let scene = &waiting.scene;
    let mut steps = vec![bash("sh wait.sh")];
    steps.extend(honest(scene, "one"));
    let model = Model::start([route(focus("one"), steps)]);
    let waiting = waiting.with(&model);
    let mut run = waiting.scene.follow(&["job"]);
    let agent = |event: &ralph_copilot::model::Event| match event.kind {
        EventKind::AgentStarted { pid, .. } => Some(pid),
        _ => None,
    };
    let first = run.until(agent);
    let shell = waiting.until_it_runs();
    signal("-KILL", &first.to_string());
    let second = run.until(agent);
    assert_ne!(first, second);
    assert!(!lives(&shell), "the dead agent's tool lives on");
    run.end().expect(0);

    let state: TaskState =
        serde_json::from_str(&waiting.scene.read("tasks/job/state.json")).expect("state");
    assert_eq!(state.criteria[0].attempts, 0);
    assert_eq!(waiting.scene.read("out/one.txt"), "one\n");
    waiting.scene.assert_nothing_left();
}

#[test]
fn an_interrupted_run_ends_its_agent_and_all_its_tools() {
    let Some(waiting) = Waiting::new() else { return };
    let model = Model::start([route(focus("one"), [bash("sh wait.sh"), say("Done.")])]);
    let waiting = waiting.with(&model);
    let mut run = waiting.scene.follow(&["job"]);
    let name = run_with_an_agent(&mut run);
    let shell = waiting.until_it_runs();
    assert!(!processes_of(&name).is_empty(), "processes carry the run's name");
    signal("-TERM", &run.pid().to_string());
    run.end().expect(143);
    assert!(!lives(&shell), "the tool lives on");
    assert!(waiting.scene.read("tasks/job/TASK.md").contains("- [ ] one\n"));
    waiting.scene.assert_nothing_left();
}

#[test]
fn what_a_killed_run_left_is_ended_and_its_task_taken_up_by_the_next() {
    let Some(waiting) = Waiting::new() else { return };
    let mut steps = vec![bash("echo half > half.txt"), bash("sh wait.sh")];
    steps.extend(honest(&waiting.scene, "one"));
    let model = Model::start([route(focus("one"), steps)]);
    let waiting = waiting.with(&model);
    let mut run = waiting.scene.follow(&["job"]);
    let name = run_with_an_agent(&mut run);
    let shell = waiting.until_it_runs();
    signal("-KILL", &run.pid().to_string());
    let killed = Instant::now();
    assert_eq!(run.end().code, None, "it ended by the signal");
    // The CLI gives its shell a process session of its own, where no kernel ends it; nobody
    // who is no parent is told of its end, so it is looked for, and the limit is the promise.
    while lives(&shell) || !processes_of(&name).is_empty() {
        assert!(killed.elapsed() < Duration::from_secs(3), "the killed run's tool lives on");
        std::thread::sleep(Duration::from_millis(5));
    }

    waiting.scene.run(&["job"]).expect(0);
    assert!(!waiting.scene.has("half.txt"), "what was left is put aside");
    assert_eq!(waiting.scene.git(&["show", "refs/ralph/job/attempts/1:half.txt"]), "half");
    assert_eq!(waiting.scene.read("out/one.txt"), "one\n");
    waiting.scene.assert_no_process_left();
    assert_eq!(waiting.scene.git(&["status", "--porcelain"]), "");
}
