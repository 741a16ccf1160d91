//! Signals, closed streams, and two runs at once.

use std::io::Read as _;
use std::process::{Child, Stdio};

#[cfg(target_os = "linux")]
use ralph_copilot::model::Outcome;
use ralph_copilot::model::{Event, EventKind};
use rustix::process::Signal;

use super::{HONEST, THREE};
#[cfg(target_os = "linux")]
use crate::repo::in_place_of;
use crate::repo::{Ran, Repo, collect, finish, processes_of, signal, story, until};

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
        assert_eq!(processes_of(&run), Vec::<String>::new());
        let story = story(&repo, &ran).replace(&code.to_string(), "CODE");
        assert_eq!(repo.task(), THREE);
        let kept = repo.git(&["show", "refs/ralph/demo/attempts/1:half.txt"]);
        assert_eq!(kept, "half");
        let told = repo.ralph(&["status", "demo"]).stdout;
        assert!(
            told.contains("\n  see the unfinished work: git show refs/ralph/demo/attempts/2\n")
        );
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
    assert_eq!(processes_of(&run), Vec::<String>::new());
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
    assert_eq!(processes_of(&run), Vec::<String>::new());
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
    error: run RUN (process PID) is already working in this repository
    hint: wait for it or end it; `ralph-copilot status <task>` shows its progress
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

/// A run on a terminal of its own, by util-linux's `script`, whose input is the keyboard.
#[cfg(target_os = "linux")]
fn on_a_terminal(repo: &Repo, script: &str) -> (Child, String) {
    let run = repo.run_command(script, &[]);
    let words = std::iter::once(run.get_program()).chain(run.get_args());
    let words = words.map(|word| word.to_str().expect("UTF-8"));
    let line = format!("exec {}", shlex::try_join(words).expect("words"));
    let mut terminal = in_place_of(&run, "script");
    terminal.args(["-q", "-e", "-c", &line, "/dev/null"]);
    terminal.env("TERM", "xterm").env("SHELL", "/bin/sh");
    terminal.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let terminal = terminal.spawn().expect("script starts");
    let run = until("the tool call", || {
        let events = crate::journal(repo);
        events.iter().find(|it| tool_finished(it)).map(|it| it.run.as_str().to_owned())
    });
    (terminal, run)
}

/// How the newest run ended, as its journal tells.
#[cfg(target_os = "linux")]
fn end(repo: &Repo) -> Option<(u8, Outcome)> {
    crate::journal(repo).into_iter().find_map(|event| match event.kind {
        EventKind::RunEnded { exit_code, outcome, .. } => Some((exit_code, outcome)),
        _ => None,
    })
}

#[cfg(target_os = "linux")]
#[test]
fn control_c_at_a_terminal_ends_the_run_in_good_order() {
    use std::io::Write as _;
    let repo = Repo::new(THREE);
    let (mut terminal, run) = on_a_terminal(&repo, BUSY);
    terminal.stdin.as_mut().expect("a keyboard").write_all(b"\x03").expect("typed");
    let ran = collect(terminal);
    assert_eq!(ran.code, Some(130), "{}", ran.stdout);
    assert!(ran.stdout.contains("Interrupted ("), "the summary is shown: {}", ran.stdout);
    assert_eq!(end(&repo), Some((130, Outcome::Interrupted { signal: 2 })));
    assert_eq!(processes_of(&run), Vec::<String>::new());
    assert_eq!((repo.task(), repo.status()), (THREE.to_owned(), String::new()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_that_is_closed_ends_the_run_in_good_order() {
    let repo = Repo::new(THREE);
    let (mut terminal, run) = on_a_terminal(&repo, BUSY);
    // With its master gone the terminal hangs up: SIGHUP, and EIO for whoever writes.
    terminal.kill().expect("killed");
    terminal.wait().expect("reaped");
    let end = until("the end", || end(&repo));
    assert_eq!(end, (129, Outcome::Interrupted { signal: 1 }));
    until("the last process", || processes_of(&run).is_empty().then_some(()));
    // The runner is nobody's child any more, carries no name, and has the tree to its last breath.
    let runner = crate::journal(&repo).into_iter().find_map(|event| match event.kind {
        EventKind::RunStarted { pid, .. } => Some(format!("/proc/{pid}/cmdline")),
        _ => None,
    });
    let runner = runner.expect("a start");
    until("the runner's end", || {
        std::fs::read(&runner).unwrap_or_default().is_empty().then_some(())
    });
    assert_eq!((repo.task(), repo.status()), (THREE.to_owned(), String::new()));
    let next = repo.run(HONEST, &[]);
    assert_eq!(next.code, Some(0), "{}", next.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_that_was_started_with_nohup_outlives_its_terminal() {
    let repo = Repo::new(THREE);
    let script = "turns: [{steps: [{run: ls}, {hang: }]}]";
    let run = repo.run_command(script, &["--json"]);
    let mut nohup = in_place_of(&run, "nohup");
    nohup.arg(run.get_program()).args(run.get_args());
    nohup.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = nohup.spawn().expect("nohup starts");
    until("the tool call", || crate::journal(&repo).iter().any(tool_finished).then_some(()));
    signal(child.id(), Signal::HUP);
    signal(child.id(), Signal::INT);
    let ran = collect(child);
    // Had the hang-up counted, the interrupt had been the second signal, and no end told.
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert_eq!(end(&repo), Some((130, Outcome::Interrupted { signal: 2 })));
}

/// Waiting costs no iteration, and what is dead waits for nothing: `status` says of a run
/// what the run says of itself.
#[test]
fn a_run_that_is_ended_while_it_waits_waits_no_more() {
    let limited = "turns: [{steps: [{say: 'Error: 429 Rate limit reached for requests'}]}]";
    let waits = |event: &Event| matches!(event.kind, EventKind::Waiting { .. });
    for (number, standing) in [(Signal::TERM, "ended"), (Signal::KILL, "died")] {
        let repo = Repo::new(THREE);
        let (child, _) = start(&repo, limited, &[], waits);
        let status = || repo.ralph(&["status", "demo", "--json"]).json();
        let before = status();
        assert_eq!(
            (&before["standing"], &before["run"]["iterations"]),
            (&"waiting".into(), &0.into())
        );
        assert!(before["run"]["waiting"]["until"].is_string(), "{before}");
        let text = repo.ralph(&["status", "demo"]).stdout;
        assert!(text.contains("waiting until ") && text.contains("; 0 iterations, "), "{text}");
        signal(child.id(), number);
        collect(child);
        let after = status();
        assert_eq!(
            (&after["standing"], &after["run"]["iterations"]),
            (&standing.into(), &0.into())
        );
        assert!(after["run"]["waiting"].is_null(), "{after}");
        let text = repo.ralph(&["status", "demo"]).stdout;
        assert!(!text.contains("waiting until"), "{text}");
        let goes_on = text.contains(" (goes on from there)");
        assert_eq!(goes_on, standing == "died", "{text}");
    }
}
