//! This project's own history, replayed: what the third run would put back for each commit, had it
//! been an agent's work on the commit before.
//!
//! Nothing is known of the tests themselves here: a commit that changes old ones is held if they
//! fail with its code. `RALPH_TEST_REPLAY=N` compiles N of those commits with their old tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use globset::GlobSet;
use ralph_copilot::model::Oid;
use ralph_copilot::verify::{
    EntryKind, GitRepo, HarnessCheck, HarnessQuestion, PutBack, SourceTree as _, Table, TreeEdit,
    put_back,
};

use super::say;
use crate::sample;

/// Commits of a sample.
const SAMPLE: usize = 12;
/// Compiles this many commits with the old harness.
const COMPILED: &str = "RALPH_TEST_REPLAY";

/// What would be put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// Nothing: there would be no third run.
    Nothing,
    /// New files alone, which would be taken out.
    New,
    /// Old files of the harness, or old test modules in Rust sources.
    Old,
}

fn git(args: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(args).current_dir(env!("CARGO_MANIFEST_DIR")).stderr(Stdio::null());
    let output = git.output().expect("git runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Commits that change sources of the program, newest first, with their parents.
fn commits() -> Vec<(Oid, Oid)> {
    let log = git(&["log", "--no-merges", "--format=%H %P", "--", "src"]);
    let pairs = log.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(commit, parent)| (Oid::new(commit), Oid::new(parent))).collect()
}

fn kind_of(found: &PutBack, start: &dyn Fn(&Path) -> bool) -> Change {
    if found.edits.is_empty() {
        Change::Nothing
    } else if found.changed.iter().any(|path| start(path)) {
        Change::Old
    } else {
        Change::New
    }
}

#[test]
fn what_of_each_commit_would_be_put_back() {
    let Ok(repo) = GitRepo::discover(Path::new(env!("CARGO_MANIFEST_DIR"))) else { return };
    let all = commits();
    let step = if sample::full() { 1 } else { (all.len() / SAMPLE).max(1) };
    let (table, none) = (Table::new(&[]).expect("a table"), GlobSet::empty());
    let check = [HarnessCheck { command: "cargo test", missing_at_start: false }];
    let mut counts = [0; 3];
    let mut old = Vec::new();
    for (commit, parent) in all.iter().step_by(step) {
        // The end of a shallow clone.
        let (Ok(now), Ok(start)) = (repo.files(commit, &[]), repo.files(parent, &[])) else {
            continue;
        };
        let question = HarnessQuestion {
            start: &start,
            now: &now,
            checks: &check,
            setup: &[],
            table: &table,
            may_change: &none,
            protect: &none,
        };
        let found = put_back(&question);
        let change = kind_of(&found, &|path| start.paths().contains_key(path));
        counts[change as usize] += 1;
        // Whatever is put back is as it was. A new module stays, without its tests.
        for edit in &found.edits {
            if let TreeEdit::Write { path, bytes, .. } = edit
                && table.role(path).is_some()
                && start.paths().contains_key(path)
                && !path.ends_with("Cargo.toml")
            {
                let was = start.read(path).unwrap_or_default();
                assert!(*bytes == was, "{commit:?}: {}", path.display());
            }
        }
        if change == Change::Old {
            old.push((commit.clone(), found.edits));
        }
    }
    let [nothing, new, changed] = counts;
    say(&format!(
        "{} commits: {nothing} change no harness, {new} only add to it, {changed} change old tests \
         or test modules",
        counts.iter().sum::<usize>()
    ));
    let compiled = std::env::var(COMPILED).ok().and_then(|number| number.parse().ok());
    compile(&old, compiled.unwrap_or(0));
}

/// Compiles commits with the harness of the one before.
fn compile(commits: &[(Oid, Vec<TreeEdit>)], number: usize) {
    let step = (commits.len() / number.max(1)).max(1);
    let folder = tempfile::tempdir().expect("a folder");
    let mut failed = 0;
    let drawn: Vec<_> = commits.iter().step_by(step).take(number).collect();
    for (commit, edits) in &drawn {
        let work = folder.path().join(commit.short());
        let work_name = work.to_str().expect("UTF-8");
        git(&["worktree", "add", "--quiet", "--detach", work_name, commit.as_str()]);
        for edit in edits {
            lay(&work, edit);
        }
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["check", "--tests", "--offline", "--quiet"]).current_dir(&work);
        cargo.env("CARGO_TARGET_DIR", folder.path().join("target"));
        let output = cargo.output().expect("cargo runs");
        let told = String::from_utf8_lossy(&output.stderr);
        let first = told.lines().find(|line| line.starts_with("error")).unwrap_or("compiles");
        failed += usize::from(!output.status.success());
        say(&format!("{}: {first}", git(&["log", "-1", "--format=%h %s", commit.as_str()]).trim()));
        git(&["worktree", "remove", "--force", work_name]);
    }
    if number > 0 {
        say(&format!("{failed} of {} do not compile with the old harness", drawn.len()));
    }
}

fn lay(work: &Path, edit: &TreeEdit) {
    let path: PathBuf = work.join(edit.path());
    match edit {
        TreeEdit::Remove { .. } => drop(std::fs::remove_file(path)),
        TreeEdit::Write { kind, bytes, .. } => match kind {
            EntryKind::Regular { .. } => {
                std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
                std::fs::write(path, bytes).expect("written");
            }
            EntryKind::Link | EntryKind::Gitlink => {}
        },
    }
}
