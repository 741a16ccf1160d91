//! The repository in every state that a loop meets: refused before the agent starts, with
//! the reason and the way out, or handled; and in each case the human's own work is left
//! as it was. The program runs as a process, on real repositories made by real git.

#[path = "../support/repo.rs"]
#[expect(dead_code, reason = "the command line's own tests use the rest of it")]
mod repo;
#[path = "../support/tier.rs"]
mod tier;

mod around;
mod commits;
#[cfg(target_os = "linux")]
mod locks;
mod midrun;
mod odd;
mod start;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use ralph_copilot::model::EventKind;

use crate::repo::{Ran, Repo};

/// One criterion with a check.
const TASK: &str = "# Demo\n\n- [ ] a is there\n  - verify: `test -e a.txt`\n";

/// Honest work on it.
const HONEST: &str = r#"
turns:
- match: a is there
  steps: [{write: {path: a.txt, text: "a\n"}}, {tick: "{criterion}"}, {progress: did a}, {commit: a}]
"#;

/// Runs git and takes any exit code: a conflict is what is wanted here.
fn git_may_fail(repo: &Repo, args: &[&str]) {
    let mut all = vec!["-c", "core.editor=true"];
    all.extend(args);
    let mut command = Command::new("git");
    command.args(all).current_dir(repo.root());
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", repo.beside("home"));
    drop(command.output().expect("git runs"));
}

/// Two branches whose README.md is in conflict; `main` is checked out.
fn in_conflict(repo: &Repo) {
    repo.git(&["checkout", "--quiet", "-b", "side"]);
    repo.write("README.md", "theirs\n");
    repo.commit("theirs");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.write("README.md", "ours\n");
    repo.commit("ours");
}

/// Everything that belongs to the human and that no refused run may touch: the files of
/// the working tree, what is staged, branches and other refs, HEAD, and what git keeps of
/// an operation in progress.
fn humans(repo: &Repo) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let root = repo.root();
    below(&root, Path::new(""), &mut all);
    for args in [
        &["for-each-ref"][..],
        &["ls-files", "--stage", "-v"],
        &["stash", "list"],
        &["status", "--porcelain=v2", "--untracked-files=all"],
    ] {
        let mut command = Command::new("git");
        command.args(args).current_dir(&root).env("GIT_OPTIONAL_LOCKS", "0");
        let output = command.env("GIT_CONFIG_NOSYSTEM", "1").output().expect("git runs");
        all.insert(format!("git {args:?}"), output.stdout);
    }
    all
}

/// The bytes of all files below a folder. Of git's own folder only what says where it
/// stands; the runner's own folder is its own.
fn below(root: &Path, folder: &Path, all: &mut BTreeMap<String, Vec<u8>>) {
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else { return };
    for entry in entries.flatten() {
        let path: PathBuf = folder.join(entry.file_name());
        let own = [".ralph", ".git/objects", ".git/info", ".git/index", ".git/logs"];
        if own.iter().any(|own| path == Path::new(own)) {
            continue;
        }
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() {
            below(root, &path, all);
        } else {
            let bytes = if kind.is_symlink() {
                std::fs::read_link(root.join(&path))
                    .expect("a link")
                    .into_os_string()
                    .into_encoded_bytes()
            } else {
                std::fs::read(root.join(&path)).unwrap_or_default()
            };
            all.insert(format!("{path:?}"), bytes);
        }
    }
}

/// Checks what every run must come to, whatever it met: the journal and standard output
/// end with `run_ended` and the process's exit code; gives the reason in the journal.
fn ended(repo: &Repo, ran: &Ran) -> String {
    let events = ran.events();
    let last = events.last().unwrap_or_else(|| panic!("no events: {}", ran.stderr));
    let EventKind::RunEnded { exit_code, outcome, .. } = &last.kind else {
        panic!("the last event is {last:?}: {}", ran.stderr)
    };
    assert_eq!(Some(i32::from(*exit_code)), ran.code, "{}", ran.stderr);
    let folder = repo.path(".ralph/runs").join(last.run.as_str());
    let journal = std::fs::read_to_string(folder.join("events.jsonl")).expect("a journal");
    assert_eq!(journal, ran.stdout);
    serde_json::to_string(outcome).expect("JSON")
}
