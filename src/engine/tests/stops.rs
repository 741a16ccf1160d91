//! What the agent is told when it wants to end its turn.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;

use super::format::only;
use super::test_run::{TASK, TestRun};
use super::work_tree::{Act, act, honest};
use crate::engine::{InjectedEvent, Providers};
use crate::model::{Limit, Outcome, RecordError};

const ONE: &str = "# Demo\n\n- [ ] one\n  - verify: `exists one.txt`\n";

const TOLD: [&str; 6] = ["prompt", "stop", "turn", "check", "verdict", "run"];

#[tokio::test(start_paused = true)]
async fn what_would_fail_is_put_in_order_in_the_same_prompt() {
    let mut scene = TestRun::asking(
        ONE,
        vec![
            act(|place| {
                place.tick("one");
                place.commit("ralph(demo): one");
                place.write("other.txt", "work\n");
            }),
            act(|place| {
                place.write("one.txt", "work\n");
                place.commit("ralph(demo): one, really");
            }),
        ],
    );
    assert_eq!(scene.run().await, Ok(Outcome::Proven));
    insta::assert_snapshot!(only(&scene.told(), &TOLD).join("\n"), @"
    run_started
    prompt
    stop: sent back, 1 checks, EmptyCommit Uncommitted CheckFailed
    stop: left, 1 checks
    turn: EndTurn
    check: exists one.txt Passed
    verdict: Pass(Check) NoProgressEntry
    check: exists one.txt Passed
    run ended 0: Proven, 1 ticked
    ");
    let told = &scene.script().prompts[1];
    assert!(!told.trim_start().starts_with('/'));
    assert!(told.contains("Work was left uncommitted") && told.contains("contain no work"));
    assert!(told.ends_with("Focus on: one\n"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_sent_back_twice_at_most() {
    let idle = || act(|_| {});
    let mut scene = TestRun::asking(ONE, vec![idle(), idle(), idle()]);
    scene.limits().iterations = 1;
    let outcome = scene.run().await;
    assert_eq!(outcome, Ok(Outcome::LimitReached { limit: Limit::Iterations }));
    let stops = only(&scene.told(), &["stop", "prompt"]);
    assert_eq!(
        stops,
        [
            "prompt",
            "stop: sent back, 0 checks, NotTicked NoCommit",
            "stop: sent back, 0 checks, NotTicked NoCommit"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn bookkeeping_and_what_cannot_be_mended_are_left_to_the_verdict() {
    let mut scene = TestRun::asking(
        TASK,
        vec![
            // There is no line in progress.md.
            act(|place| {
                place.write("one.txt", "work\n");
                place.tick("one");
                place.commit("ralph(demo): one");
            }),
            // A commit whose message is of another form.
            act(|place| {
                place.write("two.txt", "work\n");
                place.tick("two");
                place.commit("two");
            }),
        ],
    );
    scene.limits().iterations = 2;
    scene.run().await.expect("an outcome");
    insta::assert_snapshot!(only(&scene.told(), &["stop", "verdict"]).join("\n"), @"
    stop: left, 1 checks
    verdict: Pass(Check) NoProgressEntry
    stop: left, 1 checks
    verdict: Pass(Commit) NoProgressEntry WrongPrefix
    ");
}

/// Honest work whose check, asked for the first time, never ends.
fn with_a_slow_check() -> TestRun {
    TestRun::asking("# Demo\n\n- [ ] one\n  - verify: `slow one.txt`\n", vec![honest("one")])
}

/// What a check leaves behind is its own in the verdict, too, however it ended.
#[tokio::test(start_paused = true)]
async fn a_check_that_takes_too_long_is_left_to_the_verdict() {
    let mut scene = with_a_slow_check();
    assert_eq!(scene.run().await, Ok(Outcome::Proven));
    insta::assert_snapshot!(only(&scene.told(), &["stop", "check", "verdict"]).join("\n"), @"
    stop: left, 0 checks, CheckFailed
    check: slow one.txt Passed
    verdict: Pass(Check)
    check: slow one.txt Passed
    ");
}

#[tokio::test(start_paused = true)]
async fn a_check_ends_with_the_run_s_time() {
    let mut scene = with_a_slow_check();
    scene.limits().duration = Some(std::time::Duration::from_secs(10));
    let outcome = scene.run().await;
    assert!(scene.told().contains("  10 stop: left"), "{}", scene.told());
    outcome.expect("an end in good order");
}

#[tokio::test(start_paused = true)]
async fn a_human_edit_during_the_in_turn_check_is_kept() {
    let mut scene = TestRun::asking(
        "# Demo\n\n- [ ] one\n  - verify: `edit one.txt`\n",
        vec![
            honest("one"),
            act(|place| {
                place.tick("one");
                place.commit("ralph(demo): one, ticked again");
            }),
        ],
    );
    assert_eq!(scene.run().await, Ok(Outcome::Proven));
    assert!(scene.place.read("tasks/demo/TASK.md").ends_with("\nMind the gap.\n"));
    insta::assert_snapshot!(only(&scene.told(), &["stop", "verdict", "notice: put"]).join("\n"), @"
    stop: left, 1 checks
    verdict: Inconclusive TaskChangedByHuman TaskChangedByHuman
    stop: left, 1 checks
    verdict: Pass(Check) NoProgressEntry
    ");
}

/// Providers that have said this.
#[derive(Default)]
struct Said {
    events: Mutex<Vec<InjectedEvent>>,
    /// What they say once no worker has a turn.
    late: Mutex<Vec<InjectedEvent>>,
    told: Mutex<Vec<&'static str>>,
}

impl Said {
    fn tell(&self, what: &'static str) {
        self.told.lock().expect("told").push(what);
    }
}

#[async_trait]
impl Providers for Said {
    fn open(&self) -> Result<(), RecordError> {
        self.tell("open");
        Ok(())
    }

    fn begin_iteration(&self) {
        self.tell("iteration");
    }

    async fn idle(&self) {
        self.tell("idle");
        let late = std::mem::take(&mut *self.late.lock().expect("late"));
        self.put_back(late);
    }

    fn take_events(&self) -> Vec<InjectedEvent> {
        std::mem::take(&mut *self.events.lock().expect("events"))
    }

    fn put_back(&self, events: Vec<InjectedEvent>) {
        self.events.lock().expect("events").splice(0..0, events);
    }

    fn broken(&self) -> Option<RecordError> {
        None
    }

    async fn end(&self) {
        self.tell("end");
    }

    async fn gone(&self) -> Vec<String> {
        self.tell("gone");
        let left = self.events.lock().expect("events").len();
        vec![format!("{left} did not reach it")]
    }
}

/// An act during which a provider says this.
fn meanwhile(said: &Arc<Said>, text: &str, inner: Act) -> Act {
    let said = Arc::clone(said);
    let (provider, stream) = ("ci".to_owned(), "builds".to_owned());
    let event = InjectedEvent { provider, stream, text: text.to_owned() };
    Box::new(move |place| {
        said.events.lock().expect("events").push(event);
        inner(place)
    })
}

/// A run with these providers.
fn with_providers(said: &Arc<Said>, acts: Vec<Act>) -> TestRun {
    let mut scene = TestRun::asking(ONE, acts);
    scene.parts.as_mut().expect("not begun").worker.providers = Some(Arc::clone(said) as _);
    scene
}

#[tokio::test(start_paused = true)]
async fn events_reach_the_agent_in_the_answer_that_sends_it_back_and_without_one() {
    let said = Arc::<Said>::default();
    let work = act(|place| {
        place.write("one.txt", "work\n");
        place.commit("ralph(demo): one");
    });
    let acts = vec![
        meanwhile(&said, "build 1 is red", act(|place| place.tick("one"))),
        meanwhile(&said, "build 2 is green", work),
        act(|_| {}),
    ];
    let mut scene = with_providers(&said, acts);
    assert_eq!(scene.run().await, Ok(Outcome::Proven));
    let words = ["prompt", "stop", "injected", "turn", "notice: 0", "run ended"];
    insta::assert_snapshot!(only(&scene.told(), &words).join("\n"), @"
    prompt
    stop: sent back, 1 checks, CheckFailed NoCommit
    injected: Stop ci
    stop: left, 1 checks
    injected: Stop ci
    stop: left, 1 checks
    turn: EndTurn
    notice: 0 did not reach it
    run ended 0: Proven, 1 ticked
    ");
    let prompts = scene.script().prompts.clone();
    assert!(!prompts[0].contains("build"), "{}", prompts[0]);
    let both = &prompts[1];
    assert!(both.contains("build 1 is red") && both.contains("no commit"), "{both}");
    let alone = &prompts[2];
    assert!(alone.contains("build 2 is green") && !alone.contains("build 1"), "{alone}");
    assert!(alone.contains("otherwise end your turn"), "{alone}");
    for prompt in &prompts {
        assert!(prompt.ends_with("\nFocus on: one\n"), "{prompt}");
    }
    let told = said.told.lock().expect("told").clone();
    assert_eq!(told, ["open", "iteration", "idle", "end", "gone"]);
}

#[tokio::test(start_paused = true)]
async fn events_need_no_in_turn_check_and_what_comes_too_late_waits_for_the_next_prompt() {
    let said = Arc::<Said>::default();
    let acts = vec![
        meanwhile(&said, "build 1 is red", act(|_| {})),
        act(|_| {}),
        meanwhile(&said, "build 2 is red", honest("one")),
        act(|_| {}),
    ];
    let mut scene = with_providers(&said, acts);
    scene.parts.as_mut().expect("not begun").ledger.stop_check = false;
    // Between the two iterations.
    let late = InjectedEvent {
        provider: "late".to_owned(),
        stream: "late".to_owned(),
        text: "`````".to_owned(),
    };
    said.late.lock().expect("late").push(late);
    assert_eq!(scene.run().await, Ok(Outcome::Proven));
    insta::assert_snapshot!(only(&scene.told(), &["prompt", "stop", "injected"]).join("\n"), @"
    prompt
    injected: Stop ci
    injected: Prompt late
    prompt
    injected: Stop ci
    ");
    let prompts = scene.script().prompts.clone();
    assert!(prompts[2].contains("``````text\n`````\n``````\n"), "{}", prompts[2]);
    assert!(prompts[2].ends_with("\nFocus on: one\n"), "{}", prompts[2]);
}
