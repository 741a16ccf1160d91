//! What a warm proof room costs besides the check that runs in it.
//!
//! Repositories of 1,000 files, and of 50,000, with ten changed by each commit. A proof brings the
//! next commit into the room, runs one check, which does nothing, and puts back what it changed.
//! Beside it, `git status` in the same repository. `cargo bench --bench room` prints medians.

#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]

#[path = "support/imported.rs"]
mod imported;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use globset::GlobSet;
use ralph_copilot::model::{CheckResult, CheckStatus, Oid};
use ralph_copilot::verify::{
    Branch, CheckOptions, CheckPhase, Checks, Dirt, GitRepo, Layout, MasterFolder, PlannedCheck,
    ProofRules, RoomFolders, RoomSetup, SeenAt, Shown, Table, Warmth, plan, prove,
};

use imported::{Outcome, git, import, median, millis, path};

const ROUNDS: usize = 9;
const CHANGED: usize = 10;

fn main() -> Outcome<()> {
    let small = measure(1_000)?;
    let large = measure(50_000)?;
    println!("50,000 files / 1,000 files {:>8.2}", large.as_secs_f64() / small.as_secs_f64());
    Ok(())
}

/// A check that takes no time and is not run twice.
struct Nothing;

#[async_trait]
impl Checks for Nothing {
    async fn run(&self, command: &str, _options: &CheckOptions) -> CheckResult {
        CheckResult { millis: 10_000, ..CheckResult::new(command, CheckStatus::Passed) }
    }
}

fn measure(files: usize) -> Outcome<Duration> {
    let dir = tempfile::TempDir::new()?;
    let root = dir.path().canonicalize()?.join("repo");
    std::fs::create_dir(&root)?;
    make(&root, files)?;
    let scratch = tempfile::TempDir::new()?;
    let (base, master) = (scratch.path().join("rooms"), scratch.path().join("master"));
    let (master, seen_at) = (MasterFolder::Kept(&master), SeenAt::ItsPlace);
    let folders = RoomFolders { base: &base, seen_at, master };
    let repo = GitRepo::discover(&root)?;
    let layout = Layout::new("demo", "tasks/demo");
    std::fs::create_dir_all(root.join(layout.folder()))?;
    let preflight = repo.preflight(&layout, Branch::Current, Dirt::Refuse)?;
    let mut rooms = repo.proof_rooms(&layout, folders, &preflight)?;
    let commits = commits(&root)?;
    let (table, none, setup) = (Table::new(&[])?, GlobSet::empty(), RoomSetup::default());
    let rules = ProofRules {
        holdout: None,
        repo: &repo,
        layout: &layout,
        table: &table,
        harness: commits.first(),
        began: None,
        may_change: &none,
        protect: &none,
        first_seen: &[],
        setup: &setup,
        deep: &[],
        learns: true,
        retries: false,
    };
    let planned = planned();
    let options = CheckOptions::in_dir(&root);
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let (mut status, mut room) = (Vec::new(), Vec::new());
    for (round, commit) in commits.iter().enumerate() {
        let started = Instant::now();
        let shown = Shown { commit, edits: &[] };
        let proved =
            prove((&mut rooms, Warmth::Warm), shown, &rules, (&planned, &Nothing), &options);
        let proved = runtime.block_on(proved)?;
        if !proved.wrote.is_empty() || proved.checks.len() != 1 {
            return Err(format!("unexpected: {proved:?}").into());
        }
        // The first one fills the room.
        if round > 0 {
            room.push(started.elapsed());
        }
        let started = Instant::now();
        git(&root, &["status", "--porcelain"])?;
        status.push(started.elapsed());
    }
    let (status, room) = (median(status), median(room));
    println!("{files} files, {CHANGED} changed, median of {ROUNDS}:");
    println!("  git status --porcelain  {:>8.1} ms", millis(status));
    println!("  room                    {:>8.1} ms", millis(room));
    println!("  ratio                   {:>8.2}", room.as_secs_f64() / status.as_secs_f64());
    Ok(room)
}

fn planned() -> Vec<PlannedCheck> {
    let task = ralph_copilot::task::parse("demo", b"# Demo\n\n- [ ] one\n  - verify: `sh run`\n");
    plan(&task, CheckPhase::Baseline, &Default::default())
}

/// A repository whose commits each change some files.
fn make(root: &Path, files: usize) -> Outcome<()> {
    let changed = |commit: usize| if commit == 0 { files } else { CHANGED };
    let text = |commit: usize, file: usize| format!("{commit} {}", file % 100);
    let written = |commit| (0..changed(commit)).map(move |file| (path(file), text(commit, file)));
    import(root, (0..=ROUNDS).map(|commit| written(commit).collect()))
}

/// All commits, oldest first.
fn commits(root: &Path) -> Outcome<Vec<Oid>> {
    let output =
        Command::new("git").args(["rev-list", "--reverse", "main"]).current_dir(root).output()?;
    Ok(String::from_utf8(output.stdout)?.lines().map(Oid::new).collect())
}
