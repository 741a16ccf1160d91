//! Tracks changes to TASK.md during a turn, and whether a tool call can have made them.
//!
//! The agent's commit includes everything in the tree, a human's edit too, so a commit does
//! not show who changed a file. The guard sees an edit to TASK.md before it happens; only a
//! command can change the file unseen. So the file is read whenever a call is decided, and at the
//! end of the turn.
//!
//! Invariant: a change made after a command may have run counts as the command's. Not in this file:
//! the meaning of a change, and which commands run ([`super::decisions`]).

use std::path::PathBuf;

use serde_json::Value;

use crate::model::{Task, TaskEdit};

/// Changes kept per turn; honest work needs far fewer.
const MANY: usize = 64;

/// Commands that write nothing but git's own files.
const GIT: [&str; 6] = ["git add ", "git commit ", "git status", "git diff", "git log", "git show"];

/// Watches TASK.md.
#[derive(Debug, Default)]
pub(super) struct TaskWatch {
    path: PathBuf,
    last: Vec<u8>,
    edits: Vec<TaskEdit>,
    /// A command with unknown writes has run: it may have left something behind that runs on.
    unseen: bool,
}

impl TaskWatch {
    /// Starts from the current contents of the file.
    pub(super) fn new(path: PathBuf) -> Self {
        let mut watch = Self { path, ..Self::default() };
        watch.last = watch.read();
        watch
    }

    /// A command with unknown writes runs from now on.
    pub(super) fn command_runs(&mut self) {
        self.look();
        self.unseen = true;
    }

    /// Records a change since the last look.
    pub(super) fn look(&mut self) {
        let unseen = self.unseen;
        let now = self.read();
        if now == self.last {
            return;
        }
        let before = std::mem::replace(&mut self.last, now.clone());
        if self.edits.len() < MANY {
            self.edits.push(TaskEdit { before, after: now, unseen });
        }
    }

    /// The latest contents, if the file has changed since the start.
    pub(super) fn changed(&self) -> Option<&[u8]> {
        (!self.edits.is_empty()).then_some(&self.last)
    }

    /// All changes so far.
    pub(super) fn edits(&self) -> Vec<TaskEdit> {
        self.edits.clone()
    }

    /// The contents; empty unless it is a regular file of a plausible size.
    fn read(&self) -> Vec<u8> {
        match std::fs::symlink_metadata(&self.path) {
            Ok(meta) if meta.is_file() && meta.len() <= Task::MOST_BYTES => {
                std::fs::read(&self.path).unwrap_or_default()
            }
            Ok(_) | Err(_) => Vec::new(),
        }
    }
}

/// Does the call have unknown writes? It does if it is a command that runs more than git.
pub(super) fn writes_unseen(input: &Value) -> bool {
    input.get("command").and_then(Value::as_str).is_some_and(|command| !only_git(command))
}

/// Does the command only stage, commit or inspect with git?
fn only_git(command: &str) -> bool {
    // A shell takes text in single quotes literally, but single quotes inside double quotes
    // do not quote.
    let mut bare: String = command.split('\'').step_by(2).collect();
    let quotes = command.matches('\'').count();
    let one_kind = quotes == 0 || !command.contains('"');
    let parts: Vec<String> = bare.split("&&").map(|part| part.trim_start().to_owned()).collect();
    bare = parts.concat();
    one_kind
        && quotes.is_multiple_of(2)
        && !bare.contains(['`', '$', '|', ';', '>', '<', '(', '&', '\\', '\n'])
        && parts.iter().all(|part| GIT.iter().any(|git| part.starts_with(git)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_does_more_than_git_is_no_git() {
        for yes in ["git add -A && git commit -m 'ralph(demo)'", "git status", "git add a"] {
            assert!(only_git(yes), "{yes}");
        }
        for no in [
            "git add a; sh x",
            "git commit -m \"$(x)\"",
            "git add a & sh x",
            "sh x && git add a",
            "git diff > TASK.md",
            "git add 'a",
            r#"git add "'" ; sh x "'""#,
        ] {
            assert!(!only_git(no), "{no}");
        }
    }
}
