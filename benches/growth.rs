//! Whether a long run costs as much per iteration at its end as at its start.
//!
//! The scripted agent does trivial work on 500 criteria. Prints the mean of the first and
//! the last fifty iterations, from the start of one to the start of the next, what of it
//! passes after the turn, the runner's own CPU time, which the machine's other work does
//! not change, the ratios, and what grew meanwhile.
//! `cargo bench --bench growth`; the number of criteria may be given. Memory is read from
//! /proc, so only on Linux.

#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]

mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use chrono::{DateTime, Utc};
use ralph_copilot::model::{Event, EventKind};

use support::{Outcome, Place, cpu_of, mib, peak_of, succeed};

const CRITERIA: usize = 500;
/// Iterations at either end that are compared.
const ENDS: usize = 50;

/// What the agent does for each criterion.
const WORK: &str = r#"
turns:
- steps:
  - write: {path: "out.txt", text: "{criterion}\n"}
  - run: "echo looked at it"
  - tick: "{criterion}"
  - progress: "did {criterion}"
  - commit: work
"#;

fn main() -> Outcome<()> {
    let criteria = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(CRITERIA);
    let place = Place::new(criteria, WORK)?;
    let repo = place.repo();
    succeed(place.command("git").args(["config", "gc.auto", "0"]))?;
    let mut child = place
        .runner()
        .args(["--json", "--max-iterations", "100000"])
        .stdout(Stdio::piped())
        .spawn()?;
    let stdout = child.stdout.take().ok_or("no stdout")?;
    let mut told = Told::default();
    for line in BufReader::new(stdout).lines() {
        told.take(&serde_json::from_str(&line?)?, child.id());
    }
    let status = child.wait()?;
    if !status.success() {
        return Err(format!("the run: {status}").into());
    }
    println!("{criteria} iterations; means of the first and the last {ENDS}:");
    compare("an iteration", &told.whole);
    compare("after its turn", &told.after);
    compare("runner's CPU time", &told.cpu);
    println!(
        "  {:<18} {:>8.1} MiB, {:.1} MiB at the end",
        "peak memory, first",
        mib(told.peak_first),
        mib(told.peak)
    );
    for name in ["progress.md", "activity.log", "activity.log.1", "cost.log", "state.json"] {
        let size = fs::metadata(repo.join("tasks/job").join(name)).map_or(0, |meta| meta.len());
        println!("  {name:<18} {:>8.1} KiB", size as f64 / 1024.0);
    }
    println!("  {:<18} {:>8.1} MiB", "runs", mib(size_of(&repo.join(".ralph/runs"))));
    println!("  {:<18} {:>8.1} MiB", "git", mib(size_of(&repo.join(".git"))));
    Ok(())
}

/// What the events told.
#[derive(Default)]
struct Told {
    started: Option<DateTime<Utc>>,
    turned: Option<DateTime<Utc>>,
    whole: Vec<Duration>,
    after: Vec<Duration>,
    /// CPU time that the runner used from the end of one iteration to that of the next.
    cpu: Vec<Duration>,
    used: Duration,
    peak_first: u64,
    peak: u64,
}

impl Told {
    fn take(&mut self, event: &Event, runner: u32) {
        let since = |before: DateTime<Utc>| (event.time - before).to_std().unwrap_or_default();
        match &event.kind {
            EventKind::IterationStarted { .. } => {
                self.whole.extend(self.started.map(since));
                self.started = Some(event.time);
            }
            EventKind::TurnEnded { .. } => self.turned = Some(event.time),
            EventKind::IterationEnded { .. } => {
                self.after.extend(self.turned.map(since));
                self.peak = peak_of(runner);
                let used = cpu_of(runner);
                self.cpu.push(used.saturating_sub(self.used));
                self.used = used;
                if self.after.len() == ENDS {
                    self.peak_first = self.peak;
                }
            }
            _ => {}
        }
    }
}

fn compare(name: &str, all: &[Duration]) {
    let mean = |some: &[Duration]| {
        some.iter().sum::<Duration>().as_secs_f64() * 1000.0 / some.len().max(1) as f64
    };
    let ends = ENDS.min(all.len());
    let (first, last) = (mean(&all[..ends]), mean(&all[all.len() - ends..]));
    println!("  {name:<18} {first:>8.2} ms {last:>8.2} ms, ratio {:.2}", last / first);
}

fn size_of(folder: &Path) -> u64 {
    let mut waiting: Vec<PathBuf> = vec![folder.to_owned()];
    let mut size = 0;
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => waiting.push(entry.path()),
                Ok(meta) => size += meta.len(),
                Err(_) => {}
            }
        }
    }
    size
}
