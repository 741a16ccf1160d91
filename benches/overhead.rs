//! What the runner costs beside the work itself: time, memory, start-up.
//!
//! The scripted agent does trivial work (write a file, tick, commit) on ten criteria; a
//! plain bash loop does the same. Then a turn with a million updates. Prints medians and
//! ratios; `cargo bench --bench overhead`. Memory is read from /proc, so only on Linux.

#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ralph_copilot::model::{Event, EventKind};
use tempfile::TempDir;

const RUNNER: &str = env!("CARGO_BIN_EXE_ralph-copilot");
const CRITERIA: u32 = 10;
const ROUNDS: usize = 9;
const FLOOD: u64 = 1_000_000;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    version()?;
    iterations()?;
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
fn iterations() -> Outcome<()> {
    let (mut ours, mut bash, mut peaks) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let place = Place::new(CRITERIA, &honest())?;
        ours.push(time(|| {
            let output = place.runner().stdout(Stdio::null()).status()?;
            if output.success() { Ok(()) } else { Err(format!("the run: {output}").into()) }
        })?);
        let place = Place::new(CRITERIA, "")?;
        bash.push(time(|| succeed(place.command("bash").args(["-ec", &bash_loop()])))?);
        let place = Place::new(CRITERIA, &honest())?;
        peaks.push(place.follow()?.peak);
    }
    let (ours, bash) = (median(ours), median(bash));
    let over = ours.saturating_sub(bash) / CRITERIA;
    peaks.sort_unstable();
    println!("\n{CRITERIA} trivial criteria, scripted agent, median of {ROUNDS}:");
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
        let Followed { peak, updates } = place.follow()?;
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

/// A repository with a task, and a script beside it.
struct Place {
    dir: TempDir,
}

struct Followed {
    /// Most memory that the runner used, in bytes.
    peak: u64,
    /// Updates that it counted in the last turn.
    updates: u64,
}

impl Place {
    fn new(criteria: u32, script: &str) -> Outcome<Self> {
        let place = Self { dir: TempDir::new()? };
        let repo = place.repo();
        fs::create_dir_all(repo.join("tasks/job"))?;
        let boxes: String =
            (1..=criteria).map(|number| format!("- [ ] step {number:02}\n")).collect();
        fs::write(repo.join("tasks/job/TASK.md"), format!("# Job\n\n{boxes}"))?;
        fs::write(place.dir.path().join("script.yaml"), script)?;
        for args in [
            &["init", "-qb", "main"][..],
            &["config", "user.name", "Ada"],
            &["config", "user.email", "ada@example.org"],
            &["add", "-A"],
            &["commit", "-qm", "first"],
        ] {
            succeed(place.command("git").args(args))?;
        }
        Ok(place)
    }

    fn repo(&self) -> PathBuf {
        self.dir.path().join("repo")
    }

    /// A program in the repository, with an environment of its own.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var_os("PATH").unwrap_or_default();
        command
            .current_dir(self.repo())
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.dir.path())
            .stdin(Stdio::null());
        command
    }

    fn runner(&self) -> Command {
        let script = self.dir.path().join("script.yaml");
        let mut command = self.command(RUNNER);
        command.args(["job", "--agent"]).arg(format!("{RUNNER} agent {}", script.display()));
        command
    }

    /// Runs to the end and watches the runner's memory.
    fn follow(&self) -> Outcome<Followed> {
        let mut child = self.runner().arg("--json").stdout(Stdio::piped()).spawn()?;
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
}

fn honest() -> String {
    "turns:\n- steps:\n  - write: {path: \"out.txt\", text: \"{criterion}\\n\"}\n  - tick: \"{criterion}\"\n  - commit: work\n".to_owned()
}

/// What the scripted agent does, as a script.
fn bash_loop() -> String {
    format!(
        "for number in $(seq -f %02g {CRITERIA}); do
            echo \"step $number\" > out.txt
            sed -i \"s/- \\[ \\] step $number/- [x] step $number/\" tasks/job/TASK.md
            git add -A
            git commit -qm \"ralph(job): [step $number] - work\"
        done"
    )
}

/// The most memory that a process ever used, in bytes; 0 where that is not told.
fn peak_of(pid: u32) -> u64 {
    let status = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status"));
    let status = status.unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

fn succeed(command: &mut Command) -> Outcome<()> {
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}").into()) }
}

fn time(work: impl FnOnce() -> Outcome<()>) -> Outcome<Duration> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed())
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all[all.len() / 2]
}

fn line(name: &str, time: Duration) {
    println!("  {name:<28} {:>9.2} ms", time.as_secs_f64() * 1000.0);
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
