//! How much faster several jobs are than one.
//!
//! Eight independent criteria, and an agent that thinks two seconds for each. Measured from the first
//! attempt's start to the last landing, as the journal has them, with one job and with four, in turn.
//! Beside it: the proof of the eighth criterion against that of the first, with four jobs.
//! `cargo bench --bench parallel` prints medians.

#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]

#[expect(dead_code, reason = "other benchmarks use more of it")]
#[path = "support/imported.rs"]
mod imported;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use ralph_copilot::model::{Event, EventKind};

use imported::{Outcome, git, median};

const ROUNDS: usize = 3;
const CRITERIA: usize = 8;
const THINKS: &str = "sleep 2";

fn main() -> Outcome<()> {
    let (mut one, mut four, mut first, mut last) = (vec![], vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        one.push(span(&run(1)?)?);
        let events = run(4)?;
        four.push(span(&events)?);
        let proofs = proofs(&events);
        first.extend(proofs.first());
        last.extend(proofs.last());
    }
    let (one, four) = (median(one), median(four));
    println!("one job       {:>8.2} s", one.as_secs_f64());
    println!("four jobs     {:>8.2} s", four.as_secs_f64());
    println!("one / four    {:>8.2}", one.as_secs_f64() / four.as_secs_f64());
    let (first, last) = (median(first), median(last));
    println!("last / first proof {:>3.2}", last.as_secs_f64() / first.as_secs_f64());
    Ok(())
}

/// Runs the task with so many jobs. Returns its events.
fn run(jobs: usize) -> Outcome<Vec<Event>> {
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
    let program = env!("CARGO_BIN_EXE_ralph-copilot");
    let ended = Command::new(program)
        .args(["run", "demo", "--jobs", &jobs.to_string(), "--agent"])
        .arg(format!("{program} agent {}", agent.display()))
        .current_dir(&root)
        .env("HOME", &home)
        .stdout(Stdio::null())
        .status()?;
    if !ended.success() {
        return Err(format!("{jobs} jobs: {ended}").into());
    }
    journal(&root)
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
