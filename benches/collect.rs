//! What it costs to collect the evidence of a turn, beside what `git status` costs.
//!
//! A small repository, and one of 50,000 files and 20,000 commits; each clean but for one
//! commit of a turn. Beside it, what the runner's own commit of the state files costs.
//! `cargo bench --bench collect` prints medians and the ratio.

#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]

use std::collections::BTreeSet;
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ralph_copilot::model::{CriterionKey, Task, TaskFileChange, TaskSettings};
use ralph_copilot::verify::{
    Fingerprints, GitRepo, Identity, Inputs, Layout, Protection, Repo, StateFiles, collect,
};

const ROUNDS: usize = 9;

fn main() -> Result<(), Box<dyn Error>> {
    measure(20, 20)?;
    measure(50_000, 20_000)
}

fn measure(files: usize, commits: usize) -> Result<(), Box<dyn Error>> {
    let dir = tempfile::TempDir::new()?;
    let root = dir.path().canonicalize()?;
    make(&root, files, commits)?;

    let repo = GitRepo::discover(&root)?;
    let layout = Layout::new("demo", "tasks/demo");
    let checkpoint = repo.checkpoint()?;
    let state = StateFiles::read(&root, &layout)?;
    let settings = repo.settings()?;
    std::fs::write(root.join("d0/f0"), "work\n")?;
    git(&root, &["commit", "-qam", "ralph(demo): work"])?;

    let focus = CriterionKey { text: "one".into(), occurrence: 0 };
    let human = Fingerprints::default();
    let artefacts = BTreeSet::new();
    let protection = Protection::of(&task())?;
    let compare = |_: &[u8], _: &[u8], by| TaskFileChange::none(by);
    let inputs = Inputs {
        layout: &layout,
        focus: &focus,
        checkpoint: &checkpoint,
        origin: &checkpoint.head,
        state: &state,
        settings: &settings,
        human: &human,
        artefacts: &artefacts,
        protection: &protection,
        writes: &[],
        sealed: true,
        edits: &[],
        secret: &|_| false,
        undecided: &[],
        date: "2026-01-17",
        before: &[],
        proven: &[],
        worked_before: false,
        compare: &compare,
    };
    let (mut status, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        status.push(time(|| git(&root, &["status", "--porcelain"]))?);
        ours.push(time(|| {
            let collected = collect(&repo, &inputs)?;
            let commits = collected.evidence.commits.len();
            if commits == 1 && collected.status.all().is_empty() {
                return Ok(());
            }
            Err(format!("unexpected evidence: {commits} commits").into())
        })?);
    }
    let (status, ours) = (median(status), median(ours));
    let identity = Identity::of_the_runner();
    let mut state_commit = Vec::new();
    for round in 0..ROUNDS {
        std::fs::write(root.join("tasks/demo/progress.md"), format!("{round}\n"))?;
        state_commit.push(time(|| {
            repo.commit_paths(
                &checkpoint.branch,
                &layout.state_files(),
                &layout.state_message(),
                &identity,
            )?;
            Ok(())
        })?);
    }
    println!("{files} files, {commits} commits, median of {ROUNDS}:");
    println!("  git status --porcelain  {:>8.1} ms", millis(status));
    println!("  collect                 {:>8.1} ms", millis(ours));
    println!("  ratio                   {:>8.2}", ours.as_secs_f64() / status.as_secs_f64());
    println!("  state commit            {:>8.1} ms", millis(median(state_commit)));
    Ok(())
}

/// A repository made by `git fast-import`, and checked out.
fn make(root: &Path, files: usize, commits: usize) -> Result<(), Box<dyn Error>> {
    git(root, &["init", "-qb", "main"])?;
    let mut import = Command::new("git")
        .args(["fast-import", "--quiet"])
        .current_dir(root)
        .stdin(Stdio::piped())
        .spawn()?;
    let mut to = std::io::BufWriter::new(import.stdin.take().ok_or("no pipe")?);
    let author = "committer Ada <ada@example.org>";
    for commit in 0..commits {
        let time = 1_700_000_000 + commit;
        write!(to, "commit refs/heads/main\n{author} {time} +0000\ndata 1\nx\n")?;
        write!(to, "M 644 inline count\ndata <<E\n{commit}\nE\n")?;
        if commit == 0 {
            for file in 0..files {
                let (folder, file) = (file / 100, file % 100);
                write!(to, "M 644 inline d{folder}/f{file}\ndata <<E\n{folder} {file}\nE\n")?;
            }
            write!(to, "M 644 inline tasks/demo/TASK.md\ndata <<E\n- [ ] one\nE\n")?;
        }
    }
    drop(to);
    if !import.wait()?.success() {
        return Err("git fast-import failed".into());
    }
    git(root, &["reset", "-q", "--hard"])?;
    // As in a repository that is in use, the times in the index are of an earlier second.
    std::thread::sleep(Duration::from_millis(1100));
    git(root, &["status", "--porcelain"])
}

fn git(root: &Path, args: &[&str]) -> Result<(), Box<dyn Error>> {
    let status = Command::new("git")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
        .args(args)
        .current_dir(root)
        .stdout(Stdio::null())
        .status()?;
    if status.success() { Ok(()) } else { Err(format!("git {args:?}: {status}").into()) }
}

fn time(work: impl FnOnce() -> Result<(), Box<dyn Error>>) -> Result<Duration, Box<dyn Error>> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed())
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all[all.len() / 2]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn task() -> Task {
    Task {
        name: "demo".into(),
        title: None,
        criteria: Vec::new(),
        settings: TaskSettings::default(),
        source: String::new(),
        diagnostics: Vec::new(),
    }
}
