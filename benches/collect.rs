//! What it costs to collect the evidence of a turn, beside what `git status` costs.
//!
//! A small repository, and one of 50,000 files and 20,000 commits; each clean but for one
//! commit of a turn. Beside it, what the runner's own commit of the state files costs.
//! `cargo bench --bench collect` prints medians and the ratio.

#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]

#[path = "support/imported.rs"]
mod imported;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use ralph_copilot::model::{CriterionKey, Task, TaskFileChange};
use ralph_copilot::verify::{
    Fingerprints, GitRepo, Identity, Inputs, Layout, Protection, StateFiles, collect,
};

use imported::{Files, Outcome, git, import, median, millis, path};

const ROUNDS: usize = 9;

fn main() -> Outcome<()> {
    measure(20, 20)?;
    measure(50_000, 20_000)
}

fn measure(files: usize, commits: usize) -> Outcome<()> {
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
        secret: &|_, _| false,
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

/// A repository of so many files and commits, with a task.
fn make(root: &Path, files: usize, commits: usize) -> Outcome<()> {
    let count = |commit: usize| ("count".to_owned(), commit.to_string());
    let task = ("tasks/demo/TASK.md".to_owned(), "- [ ] one".to_owned());
    let first = (0..files).map(|file| (path(file), format!("{} {}", file / 100, file % 100)));
    let first: Files = first.chain([task, count(0)]).collect();
    let later = (1..commits).map(|commit| vec![count(commit)]);
    import(root, std::iter::once(first).chain(later))
}

fn time(work: impl FnOnce() -> Outcome<()>) -> Outcome<Duration> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed())
}

fn task() -> Task {
    Task { name: "demo".into(), ..Task::default() }
}
