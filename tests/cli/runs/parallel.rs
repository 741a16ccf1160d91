//! `--jobs`: several criteria at once, each in a worker's tree; work lands proven, one by one.

#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ralph_copilot::model::{EventKind, VerdictResult};

use super::{HONEST, THREE, then_honest};
use crate::repo::{Ran, Repo, collect, finish, signal, until};
use crate::tier::has_tier;

/// The tiers in which workers can work here.
fn tiers() -> Vec<&'static str> {
    ["full", "partial", "off"].into_iter().filter(|tier| has_tier(tier)).collect()
}

fn proven(repo: &Repo) -> BTreeSet<String> {
    let state = repo.state();
    let entries = state["criteria"].as_array().into_iter().flatten();
    let proven = entries.filter(|entry| entry["proof"].is_string());
    proven.map(|entry| entry["text"].as_str().expect("a text").to_owned()).collect()
}

fn verdicts(ran: &Ran) -> Vec<(String, VerdictResult)> {
    let verdicts = ran.events().into_iter().filter_map(|event| match event.kind {
        EventKind::VerdictReached { criterion, verdict, .. } => {
            Some((criterion.text, verdict.result))
        }
        _ => None,
    });
    verdicts.collect()
}

pub(super) fn notices(ran: &Ran) -> Vec<String> {
    let notices = ran.events().into_iter().filter_map(|event| match event.kind {
        EventKind::Notice { message } => Some(message),
        _ => None,
    });
    notices.collect()
}

pub(super) fn started(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// Waits until so many workers have begun.
pub(super) fn begun(repo: &Repo, count: usize) {
    let is_begin = |kind: &EventKind| matches!(kind, EventKind::WorkerStarted { .. });
    until("the workers", || {
        let events = crate::journal(repo);
        (events.iter().filter(|event| is_begin(&event.kind)).count() >= count).then_some(())
    });
}

/// The number of files of this name in a folder and all below it.
fn named(folder: &Path, name: &str) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let counts = entries.map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => named(&entry.path(), name),
        Ok(_) => usize::from(entry.file_name() == name),
        Err(_) => 0,
    });
    counts.sum()
}

/// The texts of all files with such a name in a folder and below it.
fn texts(folder: &Path, end: &str) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let texts = entries.map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => texts(&entry.path(), end),
        Ok(_) if entry.file_name().to_string_lossy().ends_with(end) => {
            std::fs::read_to_string(entry.path()).unwrap_or_default()
        }
        _ => String::new(),
    });
    texts.collect()
}

/// Processes that have something of this repository on their command line, with these lines.
pub(super) fn processes(repo: &Repo) -> Vec<(u32, String)> {
    let folder = repo.beside("");
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let found = entries.filter_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let process = entry.file_name().to_str()?.parse().ok()?;
        line.contains(&*folder.to_string_lossy()).then_some((process, line))
    });
    found.collect()
}

/// The number of workers that had begun before the first hand-in.
fn at_once(ran: &Ran) -> usize {
    let begins = ran
        .events()
        .into_iter()
        .take_while(|event| !matches!(event.kind, EventKind::IterationStarted { .. }));
    begins.filter(|event| matches!(event.kind, EventKind::WorkerStarted { .. })).count()
}

#[test]
fn criteria_are_worked_on_at_once_and_land_with_their_authors_and_messages() {
    for tier in tiers() {
        let repo = Repo::new(THREE);
        let slow = HONEST.replace("steps: [", "steps: [{run: 'sleep 0.5'}, ");
        let ran = repo.run(&slow, &["-j3", &format!("--sandbox={tier}")]);
        assert_eq!(ran.code, Some(0), "{tier}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(proven(&repo).len(), 3, "{tier}");
        assert_eq!(repo.status(), "", "{tier}");
        assert_eq!(repo.attempts().iter().filter(|it| it.contains("/attempts/")).count(), 0);
        let own = repo.git(&["log", "--no-merges", "--format=%an %s"]);
        for name in ["a", "b", "c"] {
            assert!(
                own.contains(&format!("Human ralph(demo): [{name} is there] - {name}")),
                "{own}"
            );
            let progress = repo.read("tasks/demo/progress.md");
            assert_eq!(progress.matches(&format!("did {name}")).count(), 1, "{progress}");
        }
        let first = repo.git(&["log", "--first-parent", "--merges", "--format=%s"]);
        assert_eq!(first.lines().count(), 3, "{first}");
        // Several commits may have the time of the first one.
        let start = repo.git(&["rev-list", "--max-parents=0", "HEAD"]);
        let verify = ["verify", "demo", "--base", start.trim(), &format!("--sandbox={tier}")];
        let verified = repo.ralph(&verify);
        assert_eq!(verified.code, Some(0), "{tier}: {}{}", verified.stdout, verified.stderr);
        assert_eq!(at_once(&ran), 3, "{tier}");
    }
}

/// Both write one file; the second does it differently when it sees the first one's work.
const CLASH: &str = "\
turns:
- match: a is there
  steps: [{run: 'sleep 0.3; test -e shared && echo a >> shared || echo a > shared; touch a.txt'}, \
{tick: '{criterion}'}, {commit: a}]
- match: b is there
  steps: [{run: 'sleep 0.3; test -e shared && echo b >> shared || echo b > shared; touch b.txt'}, \
{tick: '{criterion}'}, {commit: b}]
";

const TWO: &str = "\
- [ ] a is there
  - verify: `test -e a.txt`
- [ ] b is there
  - verify: `test -e b.txt`
";

#[test]
fn work_that_conflicts_is_done_again_on_the_new_tip_and_costs_no_attempt() {
    let repo = Repo::new(TWO);
    let ran = repo.run(CLASH, &["-j2", "--stuck-threshold=1"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let results: Vec<VerdictResult> = verdicts(&ran).into_iter().map(|(_, it)| it).collect();
    assert!(results.contains(&VerdictResult::Inconclusive), "{results:?}");
    let mut shared: Vec<_> = repo.read("shared").lines().map(str::to_owned).collect();
    shared.sort();
    assert_eq!(shared, ["a", "b"]);
    let state = repo.state();
    let attempts = state["criteria"].as_array().into_iter().flatten();
    assert!(attempts.clone().all(|it| it["attempts"].as_u64().unwrap_or(0) == 0), "{state}");
    // The first form of the work is still there.
    assert_eq!(repo.attempts().iter().filter(|it| it.contains("/attempts/")).count(), 1);
}

#[test]
fn work_that_is_red_only_together_never_lands() {
    let task = "\
- [ ] a is there
  - verify: `test -e a.txt && test ! -e b.txt -o -e both.txt`
- [ ] b is there
  - verify: `test -e b.txt && test ! -e a.txt -o -e both.txt`
";
    let script = "\
turns:
- match: a is there
  steps: [{run: 'sleep 0.3; touch a.txt; test ! -e b.txt || touch both.txt'}, \
{tick: '{criterion}'}, {commit: a}]
- match: b is there
  steps: [{run: 'sleep 0.3; touch b.txt; test ! -e a.txt || touch both.txt'}, \
{tick: '{criterion}'}, {commit: b}]
";
    let repo = Repo::new(task);
    let ran = repo.run(script, &["-j2"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let said = ran.stdout.matches("on the work together with what landed").count();
    assert!(said >= 1, "{}", ran.stdout);
    // Every landing is green alone.
    for landing in repo.git(&["log", "--first-parent", "--merges", "--format=%H"]).lines() {
        let names = repo.git(&["ls-tree", "--name-only", landing]);
        let has = |name: &str| names.lines().any(|it| it == name);
        assert!(!(has("a.txt") && has("b.txt")) || has("both.txt"), "{landing}: {names}");
    }
}

#[test]
fn a_lie_about_the_work_of_another_worker_is_not_proven() {
    let repo = Repo::new(THREE);
    let lie = "- match: b is there\n  steps: [{run: 'echo x > a.txt'}, {tick: '{criterion}'}, \
               {commit: 'b.txt is there'}]\n";
    let ran = repo.run(&then_honest(lie), &["-j2", "--stuck-threshold=1", "--on-stuck=skip"]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    let expected = ["a is there", "c is there"].map(str::to_owned);
    assert_eq!(proven(&repo), expected.into());
    assert!(repo.task().contains("- [ ] b is there"), "{}", repo.task());
}

#[test]
fn criteria_wait_for_those_before_them_and_recipes_for_all() {
    let repo = Repo::new(
        "- [ ] a is there\n  - verify: `test -e a.txt`\n  - after: b\n\
         - [ ] b is there\n  - verify: `test -e b.txt`\n  - id: b\n",
    );
    let ran = repo.run(HONEST, &["-j2"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let order: Vec<String> = verdicts(&ran).into_iter().map(|(text, _)| text).collect();
    assert_eq!(order, ["b is there", "a is there"]);
}

#[test]
fn a_file_in_the_way_keeps_the_work_and_is_named() {
    let repo = Repo::new(TWO);
    let slow = "- match: b is there\n  steps: [{run: 'sleep 1; touch b.txt'}, \
                {tick: '{criterion}'}, {commit: b}]\n";
    let mut command = repo.run_command(&then_honest(slow), &["-j2", "--json"]);
    let child = started(&mut command);
    begun(&repo, 1);
    repo.write("b.txt", "mine");
    let ran = collect(child);
    assert_eq!(ran.code, Some(8), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("b.txt"), "{}", ran.stderr);
    assert_eq!(repo.read("b.txt"), "mine");
    assert_eq!(proven(&repo), ["a is there".to_owned()].into());
    let kept = repo.attempts().into_iter().find(|it| it.contains("/attempts/"));
    let kept = kept.expect("the work is kept");
    assert_eq!(repo.git(&["show", &format!("{kept}:b.txt")]), "");
}

#[test]
fn a_human_who_commits_meanwhile_is_followed() {
    let repo = Repo::new(TWO);
    let slow = "- match: is there\n  steps: [{run: 'sleep 1; touch a.txt b.txt'}, \
                {tick: '{criterion}'}, {commit: both}]\n";
    let mut command = repo.run_command(&then_honest(slow), &["-j2", "--json"]);
    let child = started(&mut command);
    begun(&repo, 1);
    repo.write("mine.txt", "mine");
    repo.git(&["add", "mine.txt"]);
    repo.git(&["commit", "--quiet", "--message", "by the human"]);
    let ran = collect(child);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(proven(&repo).len(), 2);
    assert!(repo.git(&["log", "--first-parent", "--format=%s"]).contains("by the human"));
    assert_eq!(repo.read("mine.txt"), "mine");
}

#[test]
fn a_signal_keeps_what_was_begun_and_leaves_no_process() {
    let repo = Repo::new(THREE);
    let slow = "- match: is there\n  steps: [{write: {path: half.txt, text: half}}, \
                {run: 'sleep 60'}]\n";
    let mut command = repo.run_command(&then_honest(slow), &["-j3", "--json"]);
    std::fs::create_dir_all(repo.beside("tmp")).expect("a folder");
    command.env("TMPDIR", repo.beside("tmp"));
    let child = started(&mut command);
    until("the half-done work of all three", || {
        (named(&repo.beside("tmp"), "half.txt") == 3).then_some(())
    });
    let sent = Instant::now();
    signal(child.id(), rustix::process::Signal::TERM);
    let ran = collect(child);
    assert_eq!(ran.code, Some(143), "{}{}", ran.stdout, ran.stderr);
    assert!(sent.elapsed() < Duration::from_secs(30), "{:?}", sent.elapsed());
    assert_eq!(repo.status(), "");
    let kept = notices(&ran).into_iter().filter(|it| it.starts_with("unfinished work on"));
    assert_eq!(kept.count(), 3, "{}", ran.stdout);
    // The last lines name it, too.
    let (_, named) = ran.stdout.rsplit_once("see the unfinished work: git show ").expect("a step");
    let named = named.split('"').next().expect("refs");
    assert_eq!(
        named.split(' ').filter(|it| repo.attempts().contains(&(*it).to_owned())).count(),
        3
    );
    for kept in repo.attempts().iter().filter(|it| it.contains("/attempts/")) {
        assert_eq!(repo.git(&["show", &format!("{kept}:half.txt")]), "half");
    }
    until("the end of all processes", || processes(&repo).is_empty().then_some(()));
}

#[test]
fn a_signal_while_the_checks_of_a_landing_run_keeps_the_work() {
    let sleeps = format!("sleep 1000.{}", std::process::id());
    let repo = Repo::new(&TWO.replace("test -e a.txt", &format!("test ! -e a.txt || {sleeps}")));
    let mut command = repo.run_command(HONEST, &["-j2", "--json", "--no-stop-check"]);
    let child = started(&mut command);
    until("the check", || {
        let found = Command::new("pgrep").args(["-xf", &sleeps]).output().expect("pgrep");
        found.status.success().then_some(())
    });
    signal(child.id(), rustix::process::Signal::TERM);
    let ran = collect(child);
    assert_eq!(ran.code, Some(143), "{}{}", ran.stdout, ran.stderr);
    let kept = repo.attempts().into_iter().find(|it| it.contains("/attempts/"));
    assert_eq!(repo.git(&["show", &format!("{}:a.txt", kept.expect("it is kept"))]), "a");
    assert_eq!(repo.status(), "");
}

/// The agent dies in its turn, and the worker starts it again.
#[test]
fn a_turn_that_a_failure_cut_off_goes_on_in_its_worker() {
    let repo = Repo::new(TWO);
    let script = format!(
        "memory: seen.txt\n{}",
        then_honest(
            "- match: a is there\n  times: 1\n  steps: [{write: {path: half.txt, \
             text: half}}, {die: kill}]\n"
        )
    );
    let ran = repo.run(&script, &["-j2"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(verdicts(&ran).len(), 2, "it costs no iteration: {}", ran.stdout);
    assert_eq!(proven(&repo).len(), 2);
    assert!(repo.path("half.txt").exists(), "{}", ran.stdout);
}

#[test]
fn a_worker_that_dies_costs_its_turn_and_no_attempt() {
    let repo = Repo::new(TWO);
    // The agent kills the program that it is a child of, once.
    let script = format!(
        "memory: seen.txt\n{}",
        then_honest("- match: a is there\n  times: 1\n  steps: [{run: 'sleep 2'}]\n")
    );
    let mut command = repo.run_command(&script, &["-j2", "--json", "--sandbox=off"]);
    let child = started(&mut command);
    begun(&repo, 2);
    let is_first = |line: &&(u32, String)| line.1.contains(" --worker {\"number\":1,");
    let worker = processes(&repo).iter().find(is_first).expect("a worker").0;
    signal(worker, rustix::process::Signal::KILL);
    let ran = collect(child);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(notices(&ran).iter().any(|it| it.starts_with("worker 1 died at")), "{}", ran.stdout);
    assert_eq!(proven(&repo).len(), 2);
    until("the end of all processes", || processes(&repo).is_empty().then_some(()));
}

#[test]
fn what_workers_cannot_have_is_refused_with_one_line() {
    let repo = Repo::new(TWO);
    for (flags, code, said) in [
        (&["-j0"][..], 7, "jobs: 0 is no number of jobs"),
        (&["-j2", "--proof=tree"], 2, "proof: tree and --jobs 2 exclude each other"),
        (&["-j2", "--proof=end"], 2, "proof: end and --jobs 2 exclude each other"),
        (&["-j2", "--ask"], 2, "--ask and --jobs 2 exclude each other"),
        (&["-j2", "--gateway=0"], 2, "the gateway and --jobs 2 exclude each other"),
    ] {
        let ran = finish(repo.run_command(HONEST, flags));
        assert_eq!(ran.code, Some(code), "{flags:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{flags:?}: {}", ran.stderr);
        assert_eq!(repo.status(), "");
    }
}

#[test]
fn more_jobs_than_sixteen_count_as_sixteen() {
    let repo = Repo::new(TWO);
    let ran = repo.run(HONEST, &["-j99"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(notices(&ran).iter().any(|it| it == "jobs: 99 counts as 16"), "{}", ran.stdout);
}

#[test]
fn beside_a_humans_changes_each_worker_sees_them_and_commits_none() {
    let repo = Repo::new(TWO);
    repo.write("README.md", "# Mine\n");
    repo.write("mine.txt", "mine\n");
    let mut script = "turns:\n".to_owned();
    for name in ["a", "b"] {
        script.push_str(&format!(
            "- match: {name} is there\n  steps: [{{run: 'grep -q Mine README.md && test -e \
             mine.txt && touch {name}.txt'}}, {{tick: '{{criterion}}'}}, {{run: \"git add {name}.txt \
             tasks && git commit -qm '{name}'\"}}]\n"
        ));
    }
    let ran = repo.run(&script, &["-j2", "--allow-dirty"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(proven(&repo).len(), 2);
    assert_eq!(repo.status(), " M README.md\n?? mine.txt\n");
    let names = repo.git(&["log", "--format=", "--name-only", "-m"]);
    assert!(!names.contains("mine.txt"), "{names}");
    let failed = ran.events().into_iter().filter_map(|event| match event.kind {
        EventKind::ToolFinished { call, .. } => call.exit.filter(|exit| *exit != 0),
        _ => None,
    });
    assert_eq!(failed.count(), 0, "{}", ran.stdout);
}

#[test]
fn workers_that_say_much_on_standard_error_do_not_stop() {
    let repo = Repo::new(THREE);
    let chatty = HONEST.replace("steps: [", "steps: [{flood: {count: 1000, bytes: 10}}, ");
    let mut command = repo.run_command(&chatty, &["-j2", "--json"]);
    command.env("RALPH_COPILOT_LOG", "trace");
    let ran = finish(command);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert_eq!(proven(&repo).len(), 3);
}

#[test]
fn each_line_of_a_workers_iteration_says_whose_it_is_and_the_first_how_much_disk_they_take() {
    let repo = Repo::new(THREE);
    let denied = HONEST.replace("steps: [", "on_reject: continue\n  steps: [{run: 'git push'}, ");
    let ran = finish(repo.run_command(&denied, &["-j2"]));
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let lines: Vec<&str> = ran.stdout.lines().filter_map(|line| line.get(9..)).collect();
    let disk = lines.iter().position(|line| line.starts_with("note: 2 workers; their trees take"));
    let begins = lines.iter().position(|line| line.starts_with("worker 1 begins \"a is there\""));
    assert!(disk.is_some() && disk < begins, "{}", ran.stdout);
    let told = lines[disk.expect("a line")];
    let size = told.split_once("(2 × ").and_then(|(_, size)| size.strip_suffix(" kB)"));
    let size: u64 = size.and_then(|it| it.parse().ok()).unwrap_or_else(|| panic!("{told}"));
    // TASK.md alone takes a block, and so do git's files.
    assert!((8..200).contains(&size), "{told}");
    for worker in ["worker 1: ", "worker 2: "] {
        for what in ["iteration ", "  Denied", "  `test -e ", "agent started: "] {
            let of =
                |line: &&&str| line.strip_prefix(worker).is_some_and(|it| it.starts_with(what));
            assert!(lines.iter().find(of).is_some(), "{worker}{what}: {}", ran.stdout);
        }
    }
    let without = |line: &&&str| line.starts_with("iteration ") || line.starts_with("  Denied");
    assert_eq!(lines.iter().find(without), None, "{}", ran.stdout);
    let activity = repo.read("tasks/demo/activity.log");
    let workers: BTreeSet<Option<u64>> = activity
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"))
        .map(|line| line["worker"].as_u64())
        .collect();
    // What runs at the end is nobody's.
    assert!(workers.is_superset(&[Some(1), Some(2)].into()), "{activity}");
    let log = repo.ralph(&["log", "demo"]).stdout;
    assert!(log.contains(" worker 2: iteration "), "{log}");
}

#[test]
fn status_says_what_each_worker_is_at_and_what_waits_to_land_while_the_run_lives() {
    let repo = Repo::new(
        "- [ ] a is there\n  - verify: `test -e a.txt && sleep 3`\n\
         - [ ] b is there\n  - verify: `test -e b.txt`\n\
         - [ ] c is there\n  - verify: `test -e c.txt`\n",
    );
    let turns = "- match: b is there\n  steps: [{run: 'sleep 1; touch b.txt'}, \
                 {tick: '{criterion}'}, {commit: b}]\n\
                 - match: c is there\n  steps: [{run: 'sleep 60'}]\n";
    let mut command = repo.run_command(&then_honest(turns), &["-j3", "--json"]);
    let child = started(&mut command);
    let status = || repo.ralph(&["status", "demo"]).stdout;
    begun(&repo, 3);
    let all = until("three at work", || Some(status()).filter(|it| it.contains("  worker 3, ")));
    assert!(all.contains("  worker 3, attempt 1, since 20"), "{all}");
    assert!(all.contains(" UTC: c is there"), "{all}");
    let is_there = |said: &String| said.contains("  waits to land, by worker 2, since 20");
    let waits = until("work that waits to land", || Some(status()).filter(is_there));
    assert!(waits.contains("iteration 1, attempt 1: a is there"), "{waits}");
    assert!(!waits.contains("  worker 2, attempt"), "{waits}");
    assert!(!waits.contains("  worker 1, ") && !waits.contains("by worker 1,"), "{waits}");
    let run = &repo.ralph(&["status", "demo", "--json"]).json()["run"];
    assert_eq!(run["to_land"][0]["worker"], 2, "{run}");
    assert_eq!(run["at_work"][0]["criterion"]["text"], "c is there", "{run}");
    assert_eq!(run["at_work"][0]["attempt"], 1, "{run}");
    signal(child.id(), rustix::process::Signal::TERM);
    let ran = collect(child);
    assert_eq!(ran.code, Some(143), "{}{}", ran.stdout, ran.stderr);
    let after = status();
    assert!(!after.contains("waits to land") && !after.contains("  worker "), "{after}");
    let run = &repo.ralph(&["status", "demo", "--json"]).json()["run"];
    assert!(run["at_work"].is_null() && run["to_land"].is_null(), "{run}");
}

#[test]
fn the_next_attempt_is_told_where_it_conflicts_with_work_that_is_under_way() {
    let repo = Repo::new(TWO);
    let script = "memory: seen.txt\nturns:\n\
                  - match: a is there\n  steps: [{run: 'echo a > shared; sleep 6; touch a.txt'}, \
                  {tick: '{criterion}'}, {commit: a}]\n\
                  - match: b is there\n  times: 1\n  steps: [{run: 'sleep 1; echo b > shared'}, \
                  {tick: '{criterion}'}, {commit: b}]\n\
                  - match: b is there\n  steps: [{run: 'sleep 2; touch b.txt'}, \
                  {tick: '{criterion}'}, {commit: b}]\n";
    let mut command = repo.run_command(script, &["-j2", "--json"]);
    std::fs::create_dir_all(repo.beside("tmp")).expect("a folder");
    command.env("TMPDIR", repo.beside("tmp"));
    let child = started(&mut command);
    let told = "Work on `a is there` is under way that changes the same places of shared.";
    let asked = until("a prompt that says so", || {
        let prompts = texts(&repo.beside("tmp"), ".jsonl");
        prompts.contains(told).then_some(prompts)
    });
    // Not the one that began with nothing.
    assert!(!asked.contains("Work on `b is there` is under way"), "{asked}");
    let ran = collect(child);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(proven(&repo).len(), 2);
}

/// Two criteria, the second of which is worked on honestly.
fn with_b(turns: &str) -> String {
    format!(
        "memory: seen.txt\nturns:\n{turns}\
         - match: a is there\n  steps: [{{run: touch a.txt}}, {{tick: '{{criterion}}'}}, {{run: \
         'git add a.txt tasks && git commit -qm a'}}]\n\
         - match: b is there\n  steps: [{{run: touch b.txt}}, {{tick: '{{criterion}}'}}, {{commit: b}}]\n"
    )
}

#[test]
fn a_worker_whose_tree_is_broken_ends_and_its_criterion_is_taken_again() {
    for broken in ["git checkout -q --detach", "rm .git/HEAD", "rm -rf .git", "echo x > .git/index"]
    {
        let repo = Repo::new(TWO);
        let turn = format!(
            "- match: a is there\n  times: 1\n  steps: [{{write: {{path: p.sh, text: '{broken}'}}}}, \
             {{run: 'sh p.sh; touch a.txt'}}]\n"
        );
        let mut command = repo.run_command(&with_b(&turn), &["-j2", "--sandbox=off"]);
        let mut child = started(&mut command);
        let ended = until("the run's end", || child.try_wait().expect("it is known"));
        let ran = collect(child);
        assert_eq!(ended.code(), Some(0), "{broken}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(proven(&repo).len(), 2, "{broken}");
        assert_eq!(processes(&repo), vec![], "{broken}");
    }
}

#[test]
fn what_an_attempt_left_uncommitted_stays_uncommitted_in_the_next_one() {
    let repo = Repo::with(TWO, &[("drop.sh", "rm junk.txt\n")]);
    let first = "- match: a is there\n  times: 1\n  steps: [{run: 'touch a.txt; echo j > junk.txt; \
                 echo n > notes.txt'}, {tick: '{criterion}'}, {run: 'git add a.txt tasks && git commit -qm a'}]\n\
                 - match: a is there\n  times: 1\n  steps: [{run: 'sh drop.sh; \
                 git add notes.txt && git commit -qm notes'}, {tick: '{criterion}'}, {commit: a}]\n";
    let ran = repo.run(&with_b(first), &["-j2", "--sandbox=off"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let added = repo.git(&["log", "--all-match", "--format=", "--name-only", "main"]);
    assert!(!added.lines().any(|name| name == "junk.txt"), "{added}");
    assert_eq!(repo.read("notes.txt"), "n\n");
    let told: Vec<_> =
        verdicts(&ran).into_iter().filter(|(text, _)| text == "a is there").collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0].1, VerdictResult::Fail);
}

#[test]
fn what_the_human_changes_meanwhile_stays_in_their_tree() {
    for (flags, code) in [(&["--max-iterations", "1"][..], 3), (&["--stuck-threshold", "1"], 4)] {
        let repo = Repo::new(TWO);
        repo.write("tracked.txt", "one\n");
        repo.commit("a file");
        let hard = "- match: a is there\n  steps: [{run: 'sleep 1'}]\n";
        let fixed = ["-j2", "--sandbox=off"];
        let mut command = repo.run_command(&with_b(hard), &[&fixed[..], flags].concat());
        let child = started(&mut command);
        begun(&repo, 1);
        repo.write("tracked.txt", "two\n");
        repo.write("notes.txt", "mine\n");
        repo.write("staged.txt", "staged\n");
        repo.git(&["add", "staged.txt"]);
        let ran = collect(child);
        assert_eq!(ran.code, Some(code), "{}{}", ran.stdout, ran.stderr);
        assert_eq!(repo.read("tracked.txt"), "two\n");
        assert_eq!(repo.read("notes.txt"), "mine\n");
        assert_eq!(repo.git(&["diff", "--cached", "--name-only"]), "staged.txt\n");
    }
}

#[test]
fn a_protected_file_that_one_attempt_changed_is_as_it_was_in_the_next() {
    let task = format!("---\nprotect: [\"conf/**\"]\n---\n{TWO}");
    let repo = Repo::with(&task, &[("conf/x", "old\n"), ("p.sh", "echo new > conf/x\n")]);
    let first = "- match: a is there\n  times: 1\n  steps: [\
                 {run: 'sh p.sh; touch a.txt'}, {tick: '{criterion}'}, {commit: a}]\n";
    let ran = repo.run(&with_b(first), &["-j2", "--sandbox=off"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(repo.read("conf/x"), "old\n");
}

#[test]
fn commands_of_a_worker_know_its_number() {
    let turns = "- match: a is there\n  steps: [{run: 'sh number.sh a.txt'}, {tick: '{criterion}'}, {commit: a}]\n\
                 - match: b is there\n  steps: [{run: 'sh number.sh b.txt'}, {tick: '{criterion}'}, {commit: b}]\n";
    for tier in tiers() {
        let script = "echo $RALPH_COPILOT_WORKER > $1\nsleep 0.5\n";
        let repo = Repo::with(TWO, &[("number.sh", script)]);
        let ran = repo.run(&with_b(turns), &["-j2", &format!("--sandbox={tier}")]);
        assert_eq!(ran.code, Some(0), "{tier}: {}{}", ran.stdout, ran.stderr);
        let both = BTreeSet::from([repo.read("a.txt"), repo.read("b.txt")]);
        assert_eq!(both, BTreeSet::from(["1\n".to_owned(), "2\n".to_owned()]), "{tier}");
    }
}

#[test]
fn tokens_of_work_that_waits_count_against_the_limit() {
    let task: String = (0..8)
        .map(|it| format!("- [ ] c{it} is there\n  - verify: `sleep 0.3; test -e c{it}`\n"))
        .collect();
    let turns: String = (0..8)
        .map(|it| format!(
            "- match: c{it} is there\n  steps: [{{run: touch c{it}}}, {{tick: '{{criterion}}'}}, \
             {{usage: {{input: 4, output: 4}}}}, {{commit: c}}]\n"
        ))
        .collect();
    let repo = Repo::new(&task);
    let flags = ["-j2", "--sandbox=off", "--max-tokens", "20"];
    let ran = repo.run(&format!("turns:\n{turns}"), &flags);
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    let done = proven(&repo).len();
    // One limit is passed before it is known, and the other worker is at work then.
    assert!((3..=4).contains(&done), "{done} of 8");
}

#[test]
fn work_that_breaks_what_was_proven_is_no_clash() {
    let task = "- [ ] a is there\n  - id: a\n  - verify: `test -e a.txt`\n\
                - [ ] b is there\n  - after: a\n  - verify: `test -e b.txt`\n\
                - [ ] c is there\n  - after: a\n  - verify: `test -e c.txt`\n";
    let repo = Repo::new(task);
    let turns = "- match: b is there\n  steps: [{run: 'git rm -q a.txt; touch b.txt; sleep 1'}, \
                 {tick: '{criterion}'}, {commit: b}]\n\
                 - match: c is there\n  steps: [{say: no}]\n";
    let flags = ["-j2", "--sandbox=off", "--stuck-threshold", "1", "--on-stuck", "skip"];
    let ran = repo.run(&with_b(turns), &flags);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    let told = verdicts(&ran);
    let of_b: Vec<_> = told.iter().filter(|(text, _)| text == "b is there").collect();
    assert_eq!(of_b, [&("b is there".to_owned(), VerdictResult::Fail)]);
    assert_eq!(repo.read("a.txt"), "");
}

#[test]
fn a_commit_that_the_human_took_off_the_branch_does_not_come_back() {
    let repo = Repo::new(TWO);
    repo.write("key.txt", "sk-1234\n");
    repo.commit("a key by mistake");
    let slow = "- match: a is there\n  times: 1\n  steps: [{run: 'touch a.txt; sleep 2'}, \
                {tick: '{criterion}'}, {commit: a}]\n";
    let mut command = repo.run_command(&with_b(slow), &["-j2", "--sandbox=off"]);
    let child = started(&mut command);
    begun(&repo, 2);
    let with_key = repo.git(&["log", "--format=%H", "--grep", "a key by mistake"]);
    let with_key = with_key.trim();
    repo.git(&["rebase", "-q", "--onto", &format!("{with_key}~1"), with_key, "main"]);
    let ran = collect(child);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let all = repo.git(&["rev-list", "main"]);
    assert!(!all.contains(with_key), "it is back\n{}", ran.stdout);
    assert_eq!(proven(&repo).len(), 2);
}

#[cfg(debug_assertions)]
#[test]
fn what_the_human_changed_stays_after_a_crash_in_a_landing() {
    for at in [75, 85, 95, 105] {
        let repo = Repo::new(THREE);
        repo.write("tracked.txt", "one\n");
        repo.commit("a file");
        let slow = HONEST.replace("steps: [", "steps: [{run: 'sleep 0.5'}, ");
        let flags = ["-j3", "--sandbox=off"];
        let mut command = repo.run_command(&slow, &flags);
        command.env(ralph_copilot::sys::crash::CRASH_AT, at.to_string());
        let child = started(&mut command);
        begun(&repo, 1);
        repo.write("tracked.txt", "mine, too\n");
        repo.write("notes.txt", "mine\n");
        let died = collect(child);
        assert_eq!(died.code, None, "{at} is after the end\n{}", died.stdout);
        let refused = repo.run(&slow, &flags);
        let told = format!("{at}: {}{}", refused.stdout, refused.stderr);
        assert_eq!(refused.code, Some(8), "{told}");
        assert_eq!(repo.read("tracked.txt"), "mine, too\n", "{told}");
        assert_eq!(repo.read("notes.txt"), "mine\n", "{told}");
        let status = repo.status();
        assert!(
            status.contains(" M tracked.txt\n") && status.contains("?? notes.txt\n"),
            "{status}"
        );
        repo.commit("mine");
        let ran = repo.run(&slow, &flags);
        assert_eq!(ran.code, Some(0), "{at}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(proven(&repo).len(), 3, "{at}");
    }
}

#[test]
fn a_tick_of_the_human_does_not_throw_the_work_away() {
    let repo = Repo::new(TWO);
    let slow = "- match: a is there\n  times: 1\n  steps: [{run: 'touch a.txt; sleep 1'}, \
                {tick: '{criterion}'}, {commit: a}]\n";
    let mut command = repo.run_command(&with_b(slow), &["-j2", "--sandbox=off"]);
    let child = started(&mut command);
    begun(&repo, 2);
    let ticked = repo.ralph(&["tick", "demo", "1"]);
    assert_eq!(ticked.code, Some(0), "{}", ticked.stderr);
    let ran = collect(child);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(proven(&repo).len(), 2);
}
