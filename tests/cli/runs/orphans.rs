//! Nothing of a run outlives it, however it ends: an agent leaves every kind of process
//! behind that there is, and the runner is ended in every way there is.
//!
//! Processes are looked for in `/proc`, by the run's name in their environment and, for those
//! that dropped it, by a number on their command line that nobody else has.
#![cfg(target_os = "linux")]

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ralph_copilot::model::{Event, EventKind};
use rustix::process::Signal;

use super::{HONEST, THREE};
use crate::repo::{Repo, collect, signal, story, until};
use crate::tier::has_tier;

/// Within this after the runner's death by SIGKILL nothing of the run lives.
const GONE: Duration = Duration::from_secs(3);

/// A number that stands on no other command line of this machine.
fn tag() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(100);
    format!("7{}{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// An agent that leaves behind what it can, as TAG, and then hangs.
fn litter(tag: &str) -> String {
    LITTER.replace("TAG", tag)
}

/// A session of its own, a daemon, one that ignores what it can, one that holds the agent's
/// stdout: each carries the run's name.
const LITTER: &str = r#"
turns:
- steps:
  - spawn: {command: "exec sleep TAG", setsid: true}
  - spawn: {command: "setsid sh -c '(sleep TAG & sleep TAG) &'"}
  - spawn: {command: "trap '' TERM INT HUP; sleep TAG; sleep TAG"}
  - spawn: {command: "exec sleep TAG", hold_stdout: true, setsid: true}
  - run: ls
  - hang:
"#;

/// How many sleepers that makes.
const LITTERED: usize = 5;

/// Numbers of processes of which a file in `/proc` satisfies `is`.
fn processes(file: &str, is: impl Fn(&[u8]) -> bool) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    entries
        .filter(|entry| std::fs::read(entry.path().join(file)).is_ok_and(|bytes| is(&bytes)))
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Processes that carry a run's name.
fn alive(run: &str) -> Vec<u32> {
    let name = format!("RALPH_RUN_ID={run}");
    processes("environ", |all| all.split(|byte| *byte == 0).any(|it| it == name.as_bytes()))
}

/// Processes with this text on their command line.
fn with(text: &str) -> Vec<u32> {
    processes("cmdline", |line| String::from_utf8_lossy(line).contains(text))
}

/// The session of a living process; 0 if it began outside this container.
fn session(pid: u32) -> u32 {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("lives");
    let fields = line.rsplit(") ").next().expect("fields");
    fields.split(' ').nth(3).and_then(|it| it.parse().ok()).expect("a session")
}

fn guardians(run: &str) -> Vec<u32> {
    with(&format!("guardian\0--run\0{run}\0"))
}

/// Everything that must be gone.
fn remains(run: &str, tag: &str) -> Vec<u32> {
    let mut all = alive(run);
    all.extend(with(tag));
    all.extend(guardians(run));
    all
}

/// Starts a run, and waits until the agent has littered and hangs.
fn littering(repo: &Repo, script: &str, tag: &str, count: usize) -> (Child, String) {
    // In a sandbox the kernel would end them.
    let mut command = repo.run_command(script, &["--json", "--sandbox=off"]);
    std::fs::create_dir_all(repo.beside("tmp")).expect("a folder");
    command.env("TMPDIR", repo.beside("tmp"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the program starts");
    let finished = |event: &Event| matches!(event.kind, EventKind::ToolFinished { .. });
    let run = until("the tool call", || {
        crate::journal(repo).iter().find(|it| finished(it)).map(|it| it.run.as_str().to_owned())
    });
    until("the litter", || (with(&format!("sleep\0{tag}\0")).len() == count).then_some(()));
    (child, run)
}

/// Waits until nothing is left; says how long that took.
fn until_gone(run: &str, tag: &str) -> Duration {
    let started = Instant::now();
    until("the end of all processes", || remains(run, tag).is_empty().then_some(()));
    started.elapsed()
}

fn notices(repo: &Repo) -> Vec<String> {
    let message = |event: Event| match event.kind {
        EventKind::Notice { message } => Some(message),
        _ => None,
    };
    crate::journal(repo).into_iter().filter_map(message).collect()
}

/// A server that a command starts answers for the work, and has neither parent nor environment.
#[test]
fn what_the_agent_leaves_running_is_gone_before_the_checks_run_a_last_time() {
    let task = "# Demo\n\n- [ ] it answers\n  - verify: `kill -0 $(cat pid)`\n";
    let script = r#"
turns:
- steps:
  - spawn: {command: "env -i setsid sh -c 'echo $$ > pid; exec sleep TAG' &"}
  - run: "until test -s pid; do :; done"
  - tick: "{criterion}"
  - progress: done
  - commit: a server
"#;
    let (repo, tag) = (Repo::new(task), tag());
    let limits = ["--sandbox=off", "--no-stop-check", "--max-iterations", "1"];
    let ran = repo.run(&script.replace("TAG", &tag), &limits);
    let told = story(&repo, &ran);
    assert!(told.contains("iteration 1: pass"), "{told}");
    assert_ne!(ran.code, Some(0), "{told}");
    assert_eq!(repo.state()["criteria"][0]["proof"], serde_json::Value::Null, "{told}");
}

#[test]
fn a_run_that_is_ended_by_a_signal_leaves_no_process_behind() {
    let ended_by = |number, code| {
        let repo = Repo::new(THREE);
        let tag = tag();
        // A daemon without environment, parent and session is known only to a living runner.
        let stripped = "\n  - spawn: {command: \"env -i setsid sleep TAG &\"}\n  - run: ls"
            .replace("TAG", &tag);
        let script = litter(&tag).replace("\n  - run: ls", &stripped);
        let (child, run) = littering(&repo, &script, &tag, LITTERED + 1);
        assert_eq!(guardians(&run).len(), 1);
        signal(child.id(), number);
        let ran = collect(child);
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        assert_eq!(remains(&run, &tag), Vec::<u32>::new(), "when the runner is gone, all are");
    };
    std::thread::scope(|scope| {
        for (number, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
            scope.spawn(move || ended_by(number, code));
        }
    });
}

#[test]
fn a_run_whose_runner_is_killed_leaves_no_process_behind() {
    let repo = Repo::new(THREE);
    let tag = tag();
    let (child, run) = littering(&repo, &litter(&tag), &tag, LITTERED);
    signal(child.id(), Signal::KILL);
    let took = until_gone(&run, &tag);
    assert!(took < GONE, "{took:?}");
    assert_eq!(collect(child).code, None);
    let tmp = std::fs::read_dir(repo.beside("tmp")).expect("a folder");
    assert_eq!(tmp.count(), 0, "temporary files of the run");
    let next = repo.run(HONEST, &[]);
    assert_eq!(next.code, Some(0), "{}", next.stderr);
    let swept = notices(&repo).into_iter().find(|it| it.contains("ended leftover processes"));
    assert_eq!(swept, None);
}

#[test]
fn a_check_whose_runner_is_killed_leaves_no_process_behind() {
    for tier in ["full", "partial", "off"].into_iter().filter(|tier| has_tier(tier)) {
        let tag = tag();
        let repo = Repo::new(&format!(
            "# Slow\n\n- [ ] a\n  - verify: `setsid sh -c 'sleep {tag}' & sleep {tag}`\n"
        ));
        let tier = format!("--sandbox={tier}");
        let mut command = repo.run_command(HONEST, &["--json", &tier]);
        let mut child = command.stdout(Stdio::null()).spawn().expect("the program starts");
        until("the check", || (with(&format!("sleep\0{tag}\0")).len() == 2).then_some(()));
        let run = crate::run_folder(&repo).expect("a run");
        let run = run.file_name().expect("a name").to_string_lossy().into_owned();
        signal(child.id(), Signal::KILL);
        let took = until_gone(&run, &tag);
        assert!(took < GONE, "{tier}: {took:?}");
        child.wait().expect("reaped");
    }
}

#[test]
fn an_agent_that_ends_well_leaves_no_process_behind() {
    let repo = Repo::new("# One\n\n- [ ] a is there\n  - verify: `test -e a.txt`\n");
    let tag = tag();
    let spawns = litter(&tag).replace("\n  - run: ls\n  - hang:", "");
    let script = format!(
        "{spawns}  - write: {{path: a.txt, text: a}}\n  - tick: \"{{criterion}}\"\n  - commit: a\n"
    );
    let ran = repo.run(&script, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let run = ran.events().first().expect("events").run.as_str().to_owned();
    assert_eq!(remains(&run, &tag), Vec::<u32>::new());
}

#[test]
fn the_guardian_stands_apart_from_the_run() {
    let repo = Repo::new(THREE);
    let tag = tag();
    let (child, run) = littering(&repo, &litter(&tag), &tag, LITTERED);
    let [guardian] = guardians(&run)[..] else { panic!("not one: {:?}", guardians(&run)) };
    let link =
        |pid: u32, fd: &str| std::fs::read_link(format!("/proc/{pid}/fd/{fd}")).unwrap_or_default();
    let line = link(guardian, "0");
    assert!(line.to_string_lossy().starts_with("pipe:"), "{line:?}");
    // It keeps no CI job's output open, and knows none of its secrets.
    for stream in ["1", "2"] {
        assert_eq!(link(guardian, stream), PathBuf::from("/dev/null"));
    }
    assert_eq!(std::fs::read(format!("/proc/{guardian}/environ")).expect("environ"), b"");
    assert_eq!(session(guardian), guardian);
    assert_ne!(session(guardian), session(child.id()));
    // Nobody but the runner has the other end.
    for pid in alive(&run) {
        let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let open: Vec<PathBuf> =
            entries.filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect();
        assert!(!open.contains(&line), "process {pid} has it: {open:?}");
    }
    // What ends others does not end it.
    for number in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        signal(guardian, number);
    }
    signal(child.id(), Signal::KILL);
    let took = until_gone(&run, &tag);
    assert!(took < GONE, "{took:?}");
    collect(child);
}

/// As the first process of a container, and in a session and a group that began outside it.
#[expect(clippy::print_stdout, reason = "a test that cannot be made says so")]
#[test]
fn in_a_container_the_guardian_stands_by_all_the_same() {
    let apart = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"];
    let can = Command::new("unshare").args(apart).arg("true").status();
    if !can.is_ok_and(|status| status.success()) {
        println!("no process namespaces here");
        return;
    }
    let repo = Repo::new("# One\n\n- [ ] a is there\n  - verify: `test -e a.txt`\n");
    let script = "turns:\n- steps: [{write: {path: a.txt, text: a}}, {tick: \"{criterion}\"}, \
                  {commit: a}]\n";
    let ran = repo.run_by(&[&["unshare"], &apart[..]].concat(), script);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let told = notices(&repo);
    assert!(!told.iter().any(|it| it.contains("guardian")), "{told:?}");
}

#[test]
fn a_run_goes_on_without_its_guardian_and_then_the_next_one_clears_up() {
    let repo = Repo::new(THREE);
    let tag = tag();
    let (child, run) = littering(&repo, &litter(&tag), &tag, LITTERED);
    let [guardian] = guardians(&run)[..] else { panic!("not one: {:?}", guardians(&run)) };
    signal(guardian, Signal::KILL);
    let said = |repo: &Repo| {
        notices(repo).into_iter().filter(|it| it.contains("guardian")).collect::<Vec<_>>()
    };
    until("the notice", || (!said(&repo).is_empty()).then_some(()));
    assert_eq!(
        said(&repo),
        ["the guardian process ended (signal: 9 (SIGKILL)): if this run is killed, its processes \
          keep running until the next run ends them"]
    );
    signal(child.id(), Signal::KILL);
    collect(child);
    // The agent's children live, and none of them holds the lock.
    assert!(!alive(&run).is_empty());
    let next = repo.run(HONEST, &[]);
    assert_eq!(next.code, Some(0), "{}", next.stderr);
    assert_eq!(remains(&run, &tag), Vec::<u32>::new());
    let swept = notices(&repo).into_iter().find(|it| it.contains("ended leftover processes"));
    assert!(swept.is_some_and(|it| it.contains(&run)));
}

#[test]
fn an_agent_that_is_stopped_and_deaf_to_everything_is_killed_and_replaced() {
    let repo = Repo::new("# One\n\n- [ ] a is there\n  - verify: `test -e a.txt`\n");
    let tag = tag();
    let script = format!(
        r#"
memory: seen.txt
ignore: [cancel, eof, term]
turns:
- match: a is there
  times: 1
  steps:
  - spawn: {{command: "trap '' TERM; sleep {tag}; sleep {tag}", hold_stdout: true, setsid: true}}
  - spawn: {{command: "kill -STOP $PPID"}}
  - hang:
- match: a is there
  steps: [{{write: {{path: a.txt, text: a}}}}, {{tick: "{{criterion}}"}}, {{commit: a}}]
"#
    );
    let ran = repo.run(&script, &["--turn-timeout", "1s", "--sandbox=off"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let run = ran.events().first().expect("events").run.as_str().to_owned();
    let started = |event: &&Event| matches!(event.kind, EventKind::AgentStarted { .. });
    assert_eq!(ran.events().iter().filter(started).count(), 2);
    assert_eq!(remains(&run, &tag), Vec::<u32>::new());
}

#[test]
fn a_deaf_agent_does_not_keep_a_run_from_its_end() {
    let repo = Repo::new(THREE);
    let tag = tag();
    let script = format!("ignore: [cancel, eof, term]{}", litter(&tag));
    let (child, run) = littering(&repo, &script, &tag, LITTERED);
    signal(child.id(), Signal::TERM);
    let ran = collect(child);
    assert_eq!(ran.code, Some(143), "{}", ran.stderr);
    let ended = ran.events().last().map(|it| matches!(it.kind, EventKind::RunEnded { .. }));
    assert_eq!(ended, Some(true), "in good order");
    assert_eq!(remains(&run, &tag), Vec::<u32>::new());
}

/// What `/proc` tells of a process: its state and its parent.
fn state_and_parent(pid: u32) -> Option<(char, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Without a verify command, and with an agent that stays, nobody else looks for them.
#[test]
fn what_ends_in_the_background_does_not_pile_up_until_the_run_ends() {
    let repo = Repo::new("# Two\n\n- [ ] a is there\n- [ ] b is there\n");
    let script = r#"
turns:
- match: a is there
  steps:
  - spawn: {command: "setsid true &"}
  - spawn: {command: "kill -STOP $PPID"}
  - run: ls
  - write: {path: a.txt, text: a}
  - tick: "{criterion}"
  - commit: a
- match: b is there
  steps: [hang: ]
"#;
    let mut command = repo.run_command(script, &["--json", "--sandbox=off"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let runner = command.spawn().expect("the program starts");
    let children = |state: char| {
        let of_runner = |pid: &u32| state_and_parent(*pid) == Some((state, runner.id()));
        processes("stat", |_| true).into_iter().filter(of_runner).collect::<Vec<u32>>()
    };
    let orphan = until("the orphan", || children('Z').first().copied());
    let agent = until("the agent", || children('T').first().copied());
    signal(agent, Signal::CONT);
    until("its end", || state_and_parent(orphan).is_none().then_some(()));
    assert!(!children('S').is_empty(), "the run goes on");
    signal(runner.id(), Signal::TERM);
    assert_eq!(collect(runner).code, Some(143));
}
