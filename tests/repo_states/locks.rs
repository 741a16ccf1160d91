//! Locks of git: left to a git that lives, and removed after one that died. On Linux, where it
//! is known where a git stands: elsewhere the git of any other test keeps them.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use ralph_copilot::model::EventKind;

use super::around::program;
use super::midrun::{hand, with_a_hand};
use super::{HONEST, TASK, ended};
use crate::repo::{Ran, Repo};

const INDEX: &str = ".git/index.lock";
/// All that a commit locks.
const LOCKS: [&str; 3] = [INDEX, ".git/HEAD.lock", ".git/refs/heads/main.lock"];

/// A git process that stands in the repository.
struct Git(Child);

impl Git {
    fn at_work_in(repo: &Repo) -> Self {
        let mut git = Command::new("git");
        git.args(["cat-file", "--batch"]).current_dir(repo.root());
        git.stdin(Stdio::piped()).stdout(Stdio::null());
        Self(git.spawn().expect("git starts"))
    }
}

impl Drop for Git {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).expect("it ends");
    }
}

/// The locks that a run says it removed.
fn removed(ran: &Ran) -> Vec<String> {
    let told = ran.events().into_iter().filter_map(|event| match event.kind {
        EventKind::Notice { message } => Some(
            message.split_once("removed stale git locks, whose processes are gone: ")?.1.to_owned(),
        ),
        _ => None,
    });
    told.collect()
}

#[test]
fn a_lock_beside_a_living_git_ends_the_run_and_the_next_one_goes_on_when_that_is_gone() {
    let repo = with_a_hand();
    let git = Git::at_work_in(&repo);
    let ran = hand(&repo, "touch .git/index.lock", &[]);
    assert_eq!(ran.code, Some(8), "{}", ran.stderr);
    assert!(ran.stderr.contains(INDEX), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: wait for the other git process"), "{}", ran.stderr);
    let outcome = ended(&repo, &ran);
    assert!(outcome.contains("\"obstacle\":\"repository\""), "{outcome}");
    let next = repo.run(HONEST, &[]);
    assert_eq!(next.code, Some(8), "{}", next.stderr);
    assert!(repo.path(INDEX).exists(), "it is not ours to remove");
    drop(git);
    let next = repo.run(HONEST, &[]);
    assert_eq!(next.code, Some(0), "{}", next.stderr);
    assert_eq!(removed(&next), [repo.path(INDEX).display().to_string()]);
    assert_eq!(repo.status(), "");
}

/// As when the machine is short of memory, or the turn's time is over: git is killed while
/// it holds the lock.
#[test]
fn the_lock_of_a_git_that_died_in_a_turn_is_removed_and_the_run_goes_on() {
    let repo = Repo::new(TASK);
    let dies = "#!/bin/sh\ntest -e ../done || { touch ../done; kill -KILL $PPID; }\n";
    program(&repo.path(".git/hooks/pre-commit"), dies);
    let script = r#"
turns:
- times: 1
  steps: [{write: {path: TASK.txt, text: x}}, {run: git add -A}, {run: git commit -qam x}]
- match: a is there
  steps: [{write: {path: a.txt, text: "a\n"}}, {tick: "{criterion}"}, {progress: did a}, {commit: a}]
"#;
    let ran = repo.run(script, &["--sandbox=off"]);
    assert!(repo.beside("done").exists(), "git was killed");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(removed(&ran), [repo.path(INDEX).display().to_string()]);
    assert_eq!(repo.status(), "");
}

#[test]
#[cfg(debug_assertions)]
fn the_locks_of_a_run_that_was_killed_are_removed_by_the_next_one() {
    let repo = killed();
    // A run writes refs of its own beside its journal.
    let locks = [&LOCKS[..], &[".git/refs/ralph/demo/attempts/7.lock"]].concat();
    for lock in &locks {
        repo.write(lock, "");
    }
    let next = repo.run(HONEST, &[]);
    assert_eq!(next.code, Some(0), "{}", next.stderr);
    let paths: Vec<_> = locks.iter().map(|it| repo.path(it).display().to_string()).collect();
    assert_eq!(removed(&next), [paths.join(", ")]);
    assert_eq!(repo.status(), "");
}

/// It is somebody else's, who may come back to it.
#[test]
#[cfg(debug_assertions)]
fn a_lock_from_before_a_run_that_was_killed_or_from_after_it_stays() {
    let hour = Duration::from_secs(3600);
    for time in [SystemTime::now() - hour, SystemTime::now() + hour] {
        let repo = killed();
        repo.write(INDEX, "");
        let lock = std::fs::File::options().write(true).open(repo.path(INDEX));
        lock.and_then(|lock| lock.set_modified(time)).expect("dated");
        let next = repo.run(HONEST, &[]);
        assert_eq!(next.code, Some(8), "{}", next.stderr);
        assert!(next.stderr.contains("delete the lock file"), "{}", next.stderr);
        assert!(repo.path(INDEX).exists());
    }
}

/// `git commit` starts `git maintenance`, which goes on by itself and ends with the turn.
#[test]
fn the_lock_of_maintenance_that_died_is_removed_and_that_of_one_at_work_stays() {
    const MAINTENANCE: &str = ".git/objects/maintenance.lock";
    let repo = with_a_hand();
    let git = Git::at_work_in(&repo);
    let ran = hand(&repo, &format!("touch {MAINTENANCE}"), &[]);
    assert_eq!(ran.code, Some(0), "it keeps nobody from a commit: {}", ran.stderr);
    assert!(repo.path(MAINTENANCE).exists(), "its git may be at work");
    drop(git);
    let repo = with_a_hand();
    let ran = hand(&repo, &format!("touch {MAINTENANCE}"), &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!repo.path(MAINTENANCE).exists());
    assert_eq!(removed(&ran), [repo.path(MAINTENANCE).display().to_string()]);
}

/// A repository whose run was killed in its first turn.
#[cfg(debug_assertions)]
fn killed() -> Repo {
    let repo = Repo::new(TASK);
    let mut command = repo.run_command(HONEST, &[]);
    command.env(ralph_copilot::sys::crash::CRASH_AT, "60");
    let ran = crate::repo::finish(command);
    assert_eq!(ran.code, None, "{}", ran.stderr);
    repo
}
