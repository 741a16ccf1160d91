//! Small repositories for the agent to work in.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

pub(crate) fn git(repo: &Path, args: &[&str]) -> String {
    let output = Command::new("git").args(args).current_dir(repo).output().expect("git runs");
    assert!(output.status.success(), "git {args:?}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

pub(crate) const TASK: &str = "# Hello\n\n- [ ] it's greeting\n- [ ] second\n";

pub(crate) fn repository() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let repo = folder.path();
    let task = repo.join("tasks/hello");
    std::fs::create_dir_all(&task).expect("a folder");
    std::fs::write(task.join("TASK.md"), TASK).expect("a task");
    git(repo, &["init", "-q", "-b", "main"]);
    git(repo, &["config", "user.name", "Agent"]);
    git(repo, &["config", "user.email", "agent@example.com"]);
    git(repo, &["add", "-A"]);
    git(repo, &["commit", "-qm", "start"]);
    folder
}
