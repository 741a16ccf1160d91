//! What the benchmarks of whole runs share: a repository with a task and a scripted agent
//! beside it, and what /proc tells of the runner. What is measured does NOT live here.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// The runner under measurement.
pub(crate) const RUNNER: &str = env!("CARGO_BIN_EXE_ralph-copilot");

/// What a benchmark comes to.
pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// A repository with a task, and a script beside it.
pub(crate) struct Place {
    dir: TempDir,
}

impl Place {
    /// A task `job` of criteria `step 0001`, `step 0002`, …, and an agent that does this.
    pub(crate) fn new(criteria: usize, script: &str) -> Outcome<Self> {
        let init = |repo: &Path| {
            succeed(Command::new("git").args(["init", "-qb", "main"]).current_dir(repo))
        };
        Self::after(criteria, script, init)
    }

    /// The same, in a repository that this makes, with its history.
    pub(crate) fn after(
        criteria: usize,
        script: &str,
        history: impl FnOnce(&Path) -> Outcome<()>,
    ) -> Outcome<Self> {
        let place = Self { dir: TempDir::new()? };
        let repo = place.repo();
        fs::create_dir(&repo)?;
        history(&repo)?;
        fs::create_dir_all(repo.join("tasks/job"))?;
        let boxes: String = (1..=criteria).map(|at| format!("- [ ] step {at:04}\n")).collect();
        fs::write(repo.join("tasks/job/TASK.md"), format!("# Job\n\n{boxes}"))?;
        fs::write(place.script(), script)?;
        for args in [
            &["config", "user.name", "Ada"][..],
            &["config", "user.email", "ada@example.org"],
            &["add", "-A"],
            &["commit", "-qm", "first"],
        ] {
            succeed(place.command("git").args(args))?;
        }
        Ok(place)
    }

    /// The working tree.
    pub(crate) fn repo(&self) -> PathBuf {
        self.dir.path().join("repo")
    }

    fn script(&self) -> PathBuf {
        self.dir.path().join("script.yaml")
    }

    /// A program in the repository, with an environment of its own.
    pub(crate) fn command(&self, program: &str) -> Command {
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

    /// A run of the task.
    pub(crate) fn runner(&self) -> Command {
        let mut command = self.command(RUNNER);
        command.args(["job", "--agent"]).arg(format!("{RUNNER} agent {}", self.script().display()));
        command
    }
}

/// Runs a program, which must succeed.
pub(crate) fn succeed(command: &mut Command) -> Outcome<()> {
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}").into()) }
}

/// The most memory that a process ever used, in bytes; 0 where that is not told.
pub(crate) fn peak_of(pid: u32) -> u64 {
    let status = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status"));
    let status = status.unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// The CPU time that a process used, in steps of 10 ms; none where that is not told.
pub(crate) fn cpu_of(pid: u32) -> Duration {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    let stat = stat.unwrap_or_default();
    // The second field is the program's name, in parentheses; 14 and 15 are the times.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// Bytes as MiB.
pub(crate) fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
