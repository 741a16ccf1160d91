//! What the runner costs beside the work itself: time, memory, start-up.
//!
//! The scripted agent does trivial work (write a file, tick, commit) on ten criteria; a
//! plain bash loop does the same, with `git status` before each commit; in a small repository,
//! and in one of 50,000 files and 20,000 commits. Then a turn with a million updates. Prints
//! medians and ratios; `cargo bench --bench overhead`. Memory is read from /proc, so only on
//! Linux.

#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]

#[path = "support/imported.rs"]
mod imported;
#[expect(dead_code, reason = "others measure the CPU time, too")]
mod support;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ralph_copilot::model::{Event, EventKind};

use imported::median;
use support::{Outcome, Place, RUNNER, mib, peak_of, succeed};

const CRITERIA: u32 = 10;
/// A history: files of its first commit, and commits that change one of them each.
struct History {
    files: usize,
    commits: usize,
}

const SMALL: History = History { files: 1, commits: 0 };
const LARGE: History = History { files: 50_000, commits: 20_000 };
const FLOOD: u64 = 1_000_000;

/// What the agent does for each criterion.
const HONEST: &str = r#"
turns:
- steps:
  - write: {path: "out.txt", text: "{criterion}\n"}
  - tick: "{criterion}"
  - commit: work
"#;

fn main() -> Outcome<()> {
    version()?;
    iterations("a small repository", &SMALL, 9)?;
    iterations("50,000 files and 20,000 commits", &LARGE, 5)?;
    flood()
}

/// `--version`, beside a program that does nothing.
fn version() -> Outcome<()> {
    let (mut ours, mut nothing) = (Vec::new(), Vec::new());
    for _ in 0..50 {
        ours.push(time(|| succeed(Command::new(RUNNER).arg("--version").stdout(Stdio::null())))?);
        nothing.push(time(|| succeed(&mut Command::new("true")))?);
    }
    let (ours, nothing) = (median(ours), median(nothing));
    println!("ralph-copilot --version, median of 50:");
    line("--version", ours);
    line("true", nothing);
    Ok(())
}

/// Ten trivial criteria, beside a bash loop.
fn iterations(name: &str, history: &History, rounds: usize) -> Outcome<()> {
    let (mut ours, mut bash, mut peaks) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let place = history.place(HONEST)?;
        ours.push(time(|| {
            let output = place.runner().stdout(Stdio::null()).status()?;
            if output.success() { Ok(()) } else { Err(format!("the run: {output}").into()) }
        })?);
        let place = history.place("")?;
        bash.push(time(|| {
            succeed(place.command("bash").args(["-ec", &bash_loop()]).stdout(Stdio::null()))
        })?);
        let place = history.place(HONEST)?;
        peaks.push(follow(&place)?.peak);
    }
    let (ours, bash) = (median(ours), median(bash));
    let over = ours.saturating_sub(bash) / CRITERIA;
    peaks.sort_unstable();
    println!("\n{name}: {CRITERIA} trivial criteria, scripted agent, median of {rounds}:");
    line("ralph-copilot", ours);
    line("bash loop", bash);
    println!("  {:<28} {:>9.2}", "ratio", ours.as_secs_f64() / bash.as_secs_f64());
    line("more per iteration", over);
    println!("  {:<28} {:>9.1} MiB", "peak memory of the runner", mib(peaks[peaks.len() / 2]));
    Ok(())
}

/// One turn with a million updates, beside one with a thousand.
fn flood() -> Outcome<()> {
    println!("\none turn of many updates:");
    for count in [1_000, FLOOD] {
        let script = format!(
            "turns:\n- steps:\n  - flood: {{count: {count}, bytes: 40}}\n  - write: {{path: a.txt, text: x}}\n  - tick: \"{{criterion}}\"\n  - commit: work\n"
        );
        let place = Place::new(1, &script)?;
        let started = Instant::now();
        let Followed { peak, updates } = follow(&place)?;
        let took = started.elapsed();
        let lost = count.saturating_sub(updates);
        println!(
            "  {count:>9} updates: {:>7.2} s, {updates} seen, {lost} lost, peak memory {:.1} MiB",
            took.as_secs_f64(),
            mib(peak)
        );
    }
    Ok(())
}

impl History {
    /// A repository with this history, whose task comes last.
    fn place(&self, script: &str) -> Outcome<Place> {
        let first = (0..self.files).map(|file| (imported::path(file), "0".to_owned())).collect();
        let later = (1..=self.commits)
            .map(|commit| vec![(imported::path(commit % self.files), commit.to_string())]);
        Place::after(CRITERIA as usize, script, |repo| {
            imported::import(repo, std::iter::once(first).chain(later))
        })
    }
}

struct Followed {
    /// Most memory that the runner used, in bytes.
    peak: u64,
    /// Updates that it counted in the last turn.
    updates: u64,
}

/// Runs to the end and watches the runner's memory.
fn follow(place: &Place) -> Outcome<Followed> {
    let mut child = place.runner().arg("--json").stdout(Stdio::piped()).spawn()?;
    let stdout = child.stdout.take().ok_or("no stdout")?;
    let mut followed = Followed { peak: 0, updates: 0 };
    for line in BufReader::new(stdout).lines() {
        followed.peak = followed.peak.max(peak_of(child.id()));
        if let EventKind::TurnEnded { turn, .. } = serde_json::from_str::<Event>(&line?)?.kind {
            followed.updates = turn.updates;
        }
    }
    let status = child.wait()?;
    if status.success() { Ok(followed) } else { Err(format!("the run: {status}").into()) }
}

/// What the scripted agent does, as a script.
fn bash_loop() -> String {
    format!(
        "for number in $(seq -f %04g {CRITERIA}); do
            echo \"step $number\" > out.txt
            sed -i \"s/- \\[ \\] step $number/- [x] step $number/\" tasks/job/TASK.md
            git status --porcelain
            git add -A
            git commit -qm \"ralph(job): [step $number] - work\"
        done"
    )
}

fn time(work: impl FnOnce() -> Outcome<()>) -> Outcome<Duration> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed())
}

fn line(name: &str, time: Duration) {
    println!("  {name:<28} {:>9.2} ms", imported::millis(time));
}
