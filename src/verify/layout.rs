//! The places of a task's files, and the names of its commits and refs.
//!
//! Invariant: pure; the names of the state files are defined only here. Not in this file: their
//! content.

use std::path::{Path, PathBuf};

/// The human's file: the criteria.
pub const TASK: &str = "TASK.md";
/// The history, appended by agent and runner.
pub const PROGRESS: &str = "progress.md";
/// The signs, written by human and runner.
pub const GUARDRAILS: &str = "guardrails.md";
/// The state that must outlive a machine, written by the runner.
pub const STATE: &str = "state.json";
/// The files that only the runner writes. A full log is moved aside, once: older lines are in git.
pub const RECORDS: [&str; 5] = [STATE, "activity.log", "cost.log", "activity.log.1", "cost.log.1"];

/// The subject of the runner's own commits, after the prefix.
const STATE_UPDATE: &str = "state update";

/// A task's name and folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    task: String,
    folder: PathBuf,
    commit_prefix: String,
}

impl Layout {
    /// `folder` is relative to the repository's root.
    pub fn new(task: impl Into<String>, folder: impl Into<PathBuf>) -> Self {
        Self { task: task.into(), folder: folder.into(), commit_prefix: String::new() }
    }

    /// The same, with a text that commit subjects begin with, because a hook of the project wants
    /// it. Only new commits have it: [`Self::marks`] does not ask for it.
    #[must_use]
    pub fn with_commit_prefix(self, prefix: &str) -> Self {
        let prefix = prefix.trim();
        let commit_prefix = if prefix.is_empty() { String::new() } else { format!("{prefix} ") };
        Self { commit_prefix, ..self }
    }

    /// What commit subjects begin with, before ours.
    pub fn commit_prefix(&self) -> &str {
        &self.commit_prefix
    }

    /// The task's name.
    pub fn task(&self) -> &str {
        &self.task
    }

    /// The task's folder, relative to the repository's root.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A file of the task's folder, relative to the repository's root.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The state files, relative to the repository's root.
    pub fn state_files(&self) -> Vec<PathBuf> {
        let mut files = self.peoples_files();
        files.extend(RECORDS.iter().map(|name| self.file(name)));
        files
    }

    /// Those of the state files in which people write.
    pub fn peoples_files(&self) -> Vec<PathBuf> {
        [TASK, PROGRESS, GUARDRAILS].iter().map(|name| self.file(name)).collect()
    }

    /// Whether a path, relative to the repository's root, is a state file. Other files of
    /// the folder are work like any other.
    pub fn is_state_file(&self, path: &Path) -> bool {
        path.parent() == Some(&self.folder)
            && path.file_name().and_then(|name| name.to_str()).is_some_and(|name| {
                [TASK, PROGRESS, GUARDRAILS].contains(&name) || RECORDS.contains(&name)
            })
    }

    /// Does nothing stand in front of this task's mark in a commit's subject?
    pub fn has_no_prefix(&self) -> bool {
        self.commit_prefix.is_empty()
    }

    /// What every commit subject of this task begins with.
    pub fn prefix(&self) -> String {
        format!("{}{}", self.commit_prefix, self.mark())
    }

    /// What tells the commits of this task from others.
    fn mark(&self) -> String {
        format!("ralph({}): ", self.task)
    }

    /// The rest of a subject after the task's mark. A configured prefix or a hook may have put a
    /// type or a ticket in front of it. A commit that quotes or amends another one is not marked.
    fn after_mark<'s>(&self, subject: &'s str) -> Option<&'s str> {
        let (before, rest) = subject.split_once(&self.mark())?;
        let in_front =
            before.ends_with(' ') && !before.ends_with("! ") && !before.contains(['"', '\'']);
        (before.is_empty() || in_front).then_some(rest)
    }

    /// Whether a commit with this subject says that it belongs to this task.
    pub fn marks(&self, subject: &str) -> bool {
        self.after_mark(subject).is_some()
    }

    /// The message of the runner's own commits.
    pub fn state_message(&self) -> String {
        format!("{}{STATE_UPDATE}", self.prefix())
    }

    /// Whether a commit with this subject is one of the runner's own, as far as that can be
    /// told from its words.
    pub fn is_state_message(&self, subject: &str) -> bool {
        let rest = self.after_mark(subject).and_then(|rest| rest.strip_prefix(STATE_UPDATE));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" ("))
    }

    /// The ref that keeps an attempt.
    pub fn attempt_ref(&self, number: u32) -> String {
        format!("{}/attempts/{number}", self.refs())
    }

    /// The ref that keeps work until a human has reviewed it.
    pub fn held_ref(&self, criterion: &str) -> String {
        format!("{}/held/{criterion}", self.refs())
    }

    /// The ref that keeps the harness that counts from being collected as garbage.
    pub fn harness_ref(&self) -> String {
        format!("{}/harness", self.refs())
    }

    /// The ref that names the work on a criterion in a bundle.
    pub fn handed_in_ref(&self, criterion: &str) -> String {
        format!("{}/handed-in/{}", self.refs(), in_ref(criterion))
    }

    /// The folder of the task's refs, `refs/ralph/<task>`.
    pub fn refs(&self) -> String {
        format!("refs/ralph/{}", in_ref(&self.task))
    }
}

/// A name in a ref. Characters that git does not allow there are written as `%` and two hexadecimal
/// digits.
fn in_ref(text: &str) -> String {
    let mut name = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => name.push(char::from(byte)),
            _ => name.push_str(&format!("%{byte:02X}")),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_files_of_the_folder_itself_are_state() {
        let layout = Layout::new("demo", ".ralph/active/demo");
        for name in
            ["TASK.md", "progress.md", "guardrails.md", "state.json", "activity.log", "cost.log"]
        {
            assert!(layout.is_state_file(&layout.file(name)), "{name}");
        }
        assert_eq!(layout.state_files().len(), 8);
        for path in ["TASK.md", ".ralph/active/demo/check.sh", ".ralph/active/demo/sub/TASK.md"] {
            assert!(!layout.is_state_file(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn a_task_in_the_root_has_state_files_too() {
        let layout = Layout::new("demo", "");
        assert!(layout.is_state_file(Path::new("TASK.md")));
        assert!(!layout.is_state_file(Path::new("sub/TASK.md")));
    }

    #[test]
    fn a_type_or_a_ticket_may_stand_in_front_of_the_mark() {
        let layout = Layout::new("demo", "x");
        for subject in ["ralph(demo): a", "feat: ralph(demo): a", "[AB-12] ralph(demo): a"] {
            assert!(layout.marks(subject), "{subject}");
        }
        for subject in [
            "a",
            "feat: a",
            "ralph(other): a",
            "ralph(demo):a",
            "Revert \"ralph(demo): a\"",
            "fixup! ralph(demo): a",
            "xralph(demo): a",
        ] {
            assert!(!layout.marks(subject), "{subject}");
        }
        let state = layout.clone().with_commit_prefix(" chore:").state_message();
        assert_eq!(state, "chore: ralph(demo): state update");
        assert!(layout.is_state_message(&state), "without the setting, too");
    }

    #[test]
    fn a_name_that_git_would_refuse_is_written_differently() {
        let layout = Layout::new("a b..c/ü.lock", "x");
        assert_eq!(
            layout.attempt_ref(7),
            "refs/ralph/a%20b%2E%2Ec%2F%C3%BC%2Elock/attempts/7".to_owned()
        );
        assert_eq!(layout.prefix(), "ralph(a b..c/ü.lock): ");
    }
}
