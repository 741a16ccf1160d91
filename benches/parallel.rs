//! How much faster several jobs are than one, and the memory that a worker takes.
//!
//! Eight independent criteria, from the first attempt's start to the last landing, as the journal has
//! them, with one job and with four, in turn: with an agent that thinks two seconds for each, and
//! with the real Copilot CLI, whose model takes 600 ms for each of eleven answers with ten calls.
//! Beside it: the proof of the eighth criterion against that of the first, with four jobs, and the
//! memory of all processes of the runner, its agent aside (on Linux).
//! `RALPH_TEST_COPILOT=… cargo bench --bench parallel` prints medians.

#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]

#[expect(dead_code, reason = "the tests use all of it")]
#[path = "../tests/support/copilot.rs"]
mod copilot;
#[path = "../tests/support/downloads.rs"]
mod downloads;
#[expect(dead_code, reason = "other benchmarks use more of it")]
#[path = "support/imported.rs"]
mod imported;
#[expect(dead_code, reason = "the tests use all of it")]
#[path = "../tests/support/model.rs"]
mod model;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use copilot::{RUNNER, Scene};
use imported::{Outcome, git, median};
use model::{Model, Step, bash, call, route, say};
use ralph_copilot::model::{Event, EventKind};
use serde_json::json;

const ROUNDS: usize = 3;
const CRITERIA: usize = 8;
const THINKS: &str = "sleep 2";
const ANSWERS_AFTER: &str = "sleep 0.6";
const CALLS: usize = 10;
/// How often the memory is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// A run that has ended.
struct Ran {
    events: Vec<Event>,
    /// The most that its processes had at a time, in kB.
    memory: u64,
}

fn main() -> Outcome<()> {
    println!("an agent that thinks {} s:", THINKS.trim_start_matches("sleep "));
    compare(scripted)?;
    let Some(scene) = Scene::new("- [ ] one\n") else { return Ok(()) };
    println!("\nCopilot CLI {}, {CALLS} calls a criterion:", scene.cli_version());
    compare(real)
}

fn compare(run: impl Fn(usize) -> Outcome<Ran>) -> Outcome<()> {
    let (mut one, mut four, mut first, mut last) = (vec![], vec![], vec![], vec![]);
    let (mut little, mut much) = (0, 0);
    for _ in 0..ROUNDS {
        let alone = run(1)?;
        one.push(span(&alone.events)?);
        let together = run(4)?;
        four.push(span(&together.events)?);
        let proofs = proofs(&together.events);
        first.extend(proofs.first());
        last.extend(proofs.last());
        (little, much) = (alone.memory.max(little), together.memory.max(much));
    }
    let (one, four) = (median(one), median(four));
    println!("  one job            {:>8.2} s", one.as_secs_f64());
    println!("  four jobs          {:>8.2} s", four.as_secs_f64());
    println!("  one / four         {:>8.2}", one.as_secs_f64() / four.as_secs_f64());
    let (first, last) = (median(first), median(last));
    println!("  last / first proof {:>8.2}", last.as_secs_f64() / first.as_secs_f64());
    println!("  memory, one job    {:>8.1} MB", megabytes(little));
    println!("  memory, a worker   {:>8.1} MB", megabytes(much.saturating_sub(little)) / 4.0);
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "no computer has so much")]
fn megabytes(kilobytes: u64) -> f64 {
    kilobytes as f64 / 1000.0
}

/// Runs the task with so many jobs of the scripted agent.
fn scripted(jobs: usize) -> Outcome<Ran> {
    let dir = tempfile::TempDir::new()?;
    let root = dir.path().canonicalize()?.join("repo");
    let (task, home) = (root.join("tasks/demo"), dir.path().join("home"));
    fs::create_dir_all(&task)?;
    fs::create_dir_all(&home)?;
    let (mut text, mut script) = ("# Eight\n\n".to_owned(), "turns:\n".to_owned());
    for number in 1..=CRITERIA {
        let what = format!("file f{number} is there");
        writeln!(text, "- [ ] {what}\n  - verify: `test -e f{number}`")?;
        writeln!(
            script,
            "- match: {what}\n  steps: [{{run: '{THINKS}; echo {number} > f{number}'}}, \
             {{tick: '{{criterion}}'}}, {{commit: f{number}}}]"
        )?;
    }
    fs::write(task.join("TASK.md"), text)?;
    let agent = dir.path().join("agent.yaml");
    fs::write(&agent, script)?;
    git(&root, &["init", "-qb", "main"])?;
    git(&root, &["add", "-A"])?;
    git(&root, &["commit", "-qm", "start"])?;
    let mut command = Command::new(RUNNER);
    command
        .args(["run", "demo", "--jobs", &jobs.to_string(), "--agent"])
        .arg(format!("{RUNNER} agent {}", agent.display()))
        .current_dir(&root)
        .env("HOME", &home);
    ran(command, &root)
}

/// The same with the real CLI.
fn real(jobs: usize) -> Outcome<Ran> {
    let names: Vec<String> = (1..=CRITERIA).map(|number| format!("c{number}")).collect();
    let boxes = names.iter().map(|name| format!("- [ ] {name}\n  - verify: `test -e {name}`\n"));
    let scene = Scene::new(&format!("# Eight\n\n{}", boxes.collect::<String>())).ok_or("no CLI")?;
    let task = scene.repo().join("tasks/job/TASK.md");
    let routes = names.iter().map(|name| {
        let write = (3..=CALLS).map(|call| bash(&format!("echo {call} > {name}")));
        let (old, new) = (format!("- [ ] {name}\n"), format!("- [x] {name}\n"));
        let tick = call("edit", json!({ "path": task, "old_str": old, "new_str": new }));
        let commit = bash(&format!("git add -A && git commit -qm 'ralph(job): [{name}] - work'"));
        let after = Step::Meanwhile(scene.repo(), ANSWERS_AFTER);
        let answers = write.chain([tick, commit, say("Done.")]);
        route(format!("Focus on: {name}"), answers.flat_map(move |answer| [after.clone(), answer]))
    });
    let model = Model::start(routes);
    let scene = scene.with(&model);
    let command = scene.command(&["job", "--jobs", &jobs.to_string()]);
    ran(command, &scene.repo())
}

/// Runs it to its end, and looks at its memory meanwhile.
fn ran(mut command: Command, root: &Path) -> Outcome<Ran> {
    let mut child = command.stdout(Stdio::null()).spawn()?;
    let mut memory = 0;
    let ended = loop {
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        memory = memory.max(memory_of(child.id()));
        std::thread::sleep(LOOK);
    };
    if !ended.success() {
        return Err(format!("{command:?}: {ended}").into());
    }
    Ok(Ran { events: journal(root)?, memory })
}

/// The memory of a run's processes: this program's, without the agent and its hooks. In kB; shared
/// pages count in parts. Zero where /proc does not tell.
fn memory_of(run: u32) -> u64 {
    let read = |process: u32, name: &str| {
        fs::read_to_string(format!("/proc/{process}/{name}")).unwrap_or_default()
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let parents: HashMap<u32, u32> = entries
        .filter_map(|entry| {
            let process = entry.file_name().to_str()?.parse().ok()?;
            let stat = read(process, "stat");
            // Behind the program's name in brackets: the state, the parent.
            let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
            Some((process, parent))
        })
        .collect();
    let is_its = |process: &&u32| {
        let mut above = std::iter::successors(Some(**process), |it| parents.get(it).copied());
        above.any(|it| it == run)
    };
    let is_ours = |process: &&u32| {
        let line = read(**process, "cmdline");
        let mut words = line.split('\0');
        words.next() == Some(RUNNER) && !matches!(words.next(), Some("agent" | "hook"))
    };
    let all = parents.keys().filter(is_its).filter(is_ours);
    let sizes = all.filter_map(|process| {
        let rollup = read(*process, "smaps_rollup");
        let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    });
    sizes.sum()
}

fn journal(root: &Path) -> Outcome<Vec<Event>> {
    let runs = fs::read_dir(root.join(".ralph/runs"))?.flatten().map(|it| it.path());
    let run = runs.filter(|it| it.is_dir()).max().ok_or("no run")?;
    let text = fs::read_to_string(run.join("events.jsonl"))?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// From the start of the first attempt to the end of the last iteration.
fn span(events: &[Event]) -> Outcome<Duration> {
    let began = events.iter().find(|event| {
        matches!(event.kind, EventKind::IterationStarted { .. } | EventKind::WorkerStarted { .. })
    });
    let ended = events.iter().rfind(|it| matches!(it.kind, EventKind::IterationEnded { .. }));
    let (began, ended) = (began.ok_or("no start")?, ended.ok_or("no end")?);
    Ok((ended.time - began.began()).to_std()?)
}

/// From the hand-in of each work to its verdict.
fn proofs(events: &[Event]) -> Vec<Duration> {
    let mut began = None;
    let mut proofs = Vec::new();
    for event in events {
        if let EventKind::TurnEnded { .. } = event.kind {
            began = Some(event.time);
        } else if let EventKind::VerdictReached { .. } = event.kind {
            let took = began.take().and_then(|began| (event.time - began).to_std().ok());
            proofs.extend(took);
        }
    }
    proofs
}
