//! Signals, closed streams, and two runs at once.

use std::io::Read as _;
use std::process::{Child, Stdio};

use ralph_copilot::model::{Event, EventKind};
use rustix::process::Signal;

use super::{HONEST, THREE};
use crate::repo::{Ran, Repo, collect, finish, signal, story, until};

/// Starts a run and waits until its journal tells what is waited for.
fn start(
    repo: &Repo,
    script: &str,
    args: &[&str],
    wait: impl Fn(&Event) -> bool,
) -> (Child, String) {
    let mut command = repo.run_command(script, args);
    command.arg("--json").stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the program starts");
    let run = until("the event", || {
        crate::journal(repo).iter().find(|event| wait(event)).map(|it| it.run.as_str().to_owned())
    });
    (child, run)
}

fn tool_finished(event: &Event) -> bool {
    matches!(event.kind, EventKind::ToolFinished { .. })
}

/// An agent in the middle of its work: it has written, and ticked what it has not earned.
const BUSY: &str = r#"
turns:
- steps:
  - tick: "{criterion}"
  - write: {path: half.txt, text: half}
  - spawn: {command: "sleep 1000", setsid: true}
  - run: ls half.txt
  - hang:
"#;

fn written(event: &Event) -> bool {
    matches!(&event.kind, EventKind::ToolFinished { call, .. } if call.kind == "execute")
}

#[test]
fn each_signal_ends_the_run_with_its_code_and_leaves_all_in_order() {
    let ended_by = |number, code: i32| {
        let repo = Repo::new(THREE);
        let (child, run) = start(&repo, BUSY, &[], written);
        signal(child.id(), number);
        let ran = collect(child);
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        assert_eq!(crate::alive(&run), Vec::<u32>::new());
        let story = story(&repo, &ran).replace(&code.to_string(), "CODE");
        assert_eq!(repo.task(), THREE);
        let kept = repo.git(&["show", "refs/ralph/demo/attempts/1:half.txt"]);
        assert_eq!(kept, "half");
        // And the next run goes on as if nothing had been.
        let next = repo.run(HONEST, &[]);
        assert_eq!(next.code, Some(0), "{}", next.stderr);
        story
    };
    let stories = std::thread::scope(|scope| {
        [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)]
            .map(|(number, code)| scope.spawn(move || ended_by(number, code)))
            .map(|ended| ended.join().expect("it holds"))
    });
    assert!(stories.iter().all(|story| *story == stories[0]), "{stories:?}");
    insta::assert_snapshot!(stories[0], @r"
    exit CODE: interrupted
    - [ ] a is there
    - [ ] b is there
    - [ ] c is there
    on refs/heads/main
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    kept: refs/ralph/demo/attempts/2
    ");
}

#[test]
fn a_second_signal_ends_everything_at_once() {
    let repo = Repo::new(THREE);
    let script = "ignore: [cancel, eof, term]\nturns: [{steps: [{run: ls}, {hang: }]}]";
    let (child, run) = start(&repo, script, &[], tool_finished);
    signal(child.id(), Signal::INT);
    // The first one is heard when the turn has been cancelled on the wire.
    until("the cancel", || crate::wire(&repo).contains("session/cancel").then_some(()));
    signal(child.id(), Signal::TERM);
    let ran = collect(child);
    assert_eq!(ran.code, Some(143));
    assert_eq!(crate::alive(&run), Vec::<u32>::new());
    // The journal has no end; the next run says so, and works.
    let next = repo.run(HONEST, &[]);
    assert_eq!(next.code, Some(0), "{}", next.stderr);
}

#[test]
fn a_signal_while_checks_run_ends_the_checks() {
    let repo =
        Repo::new("# Slow\n\n- [ ] a is there\n  - verify: `test ! -e a.txt || sleep 1000`\n");
    let (child, run) =
        start(&repo, HONEST, &[], |event| matches!(event.kind, EventKind::TurnEnded { .. }));
    until("the check", || {
        let path = repo.path("a.txt");
        path.exists().then_some(())
    });
    signal(child.id(), Signal::TERM);
    let ran = collect(child);
    assert_eq!(ran.code, Some(143), "{}", ran.stderr);
    assert_eq!(crate::alive(&run), Vec::<u32>::new());
    assert!(repo.task().contains("- [ ] a is there"), "an unproven tick is taken back");
    assert_eq!(repo.status(), "");
}

#[test]
fn a_reader_that_goes_away_is_no_panic_and_the_run_goes_on() {
    for json in [true, false] {
        let repo = Repo::new(THREE);
        let mut command = repo.run_command(HONEST, &[]);
        if json {
            command.arg("--json");
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut stdout = child.stdout.take().expect("stdout");
        stdout.read_exact(&mut [0; 10]).expect("a few bytes");
        drop(stdout);
        let ran = collect(child);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        assert_eq!(repo.task(), THREE.replace("[ ]", "[x]"));
    }
}

#[test]
fn a_second_run_of_the_same_tree_is_refused_and_the_first_goes_on() {
    let repo = Repo::new(THREE);
    let hang = "turns: [{steps: [{run: ls}, {hang: }]}]";
    let (child, run) = start(&repo, hang, &[], tool_finished);
    let second = finish(repo.run_command(HONEST, &[]));
    assert_eq!((second.code, second.stdout.as_str()), (Some(9), ""));
    let pid = child.id().to_string();
    insta::assert_snapshot!(
        second.stderr.replace(&run, "RUN").replace(&pid, "PID"),
        @r"
    error: run RUN (process PID) works in this repository
    hint: wait for it, or end it; `ralph-copilot status <task>` shows what it does
    "
    );
    let status = repo.ralph(&["status", "demo", "--json"]).json();
    assert_eq!(status["standing"], "running");
    assert_eq!(status["held_by"]["run"], run.as_str());
    let retry = repo.ralph(&["retry", "demo"]);
    assert_eq!(retry.code, Some(9), "{}", retry.stderr);
    signal(child.id(), Signal::INT);
    let first: Ran = collect(child);
    assert_eq!(first.code, Some(130));
}

#[test]
fn the_log_can_be_followed_while_it_grows() {
    let repo = Repo::new(THREE);
    let hang = "turns: [{steps: [{run: ls}, {hang: }]}]";
    let (child, _) = start(&repo, hang, &[], tool_finished);
    let mut follow = repo.command(&["log", "--follow", "--json"]);
    follow.stdout(Stdio::piped()).stderr(Stdio::piped());
    let follow = follow.spawn().expect("log starts");
    signal(child.id(), Signal::INT);
    let first = collect(child);
    let followed = collect(follow);
    assert_eq!((followed.code, followed.stderr.as_str()), (Some(0), ""));
    assert_eq!(followed.stdout, first.stdout);
}
