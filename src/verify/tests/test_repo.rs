//! A repository with a task in it, and the git binary that people and agents use.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::model::{Checkpoint, CriterionKey, Evidence, Task, TaskEdit, TaskFileChange, Verdict};
use crate::verify::{
    Branch, CommitsAlone, Dirt, Fingerprints, GitRepo, Inputs, JudgeRules, Layout, Preflight,
    Protection, RepoProblem, StateFiles, TASK, collect, judge,
};

pub(super) const FOLDER: &str = "tasks/demo";
pub(super) const TASK_MD: &str = "# Demo\n\n- [ ] one\n- [ ] two\n- [x] zero\n";

/// A repository on the branch `main` with one commit.
pub(super) struct TestRepo {
    pub(super) dir: TempDir,
    pub(super) root: PathBuf,
}

impl TestRepo {
    pub(super) fn new() -> Self {
        let scene = Self::empty();
        scene.write("README.md", "hello\n");
        scene.write("src/lib.txt", "code\n");
        scene.write("tests/check.sh", "grep -q work src/lib.txt\n");
        scene.write("tests/other.py", "assert True\n");
        scene.write(".gitignore", "*.log\n!activity.log\n!cost.log\nbuild/\ntarget/\n");
        scene.write("tasks/demo/TASK.md", TASK_MD);
        scene.write("tasks/demo/progress.md", "2026-01-16 before\n");
        scene.write("tasks/demo/guardrails.md", "# Signs\n");
        scene.write("tasks/demo/state.json", "{}\n");
        scene.write("tasks/demo/activity.log", "{\"a\":1}\n");
        scene.write("tasks/demo/cost.log", "[t] Iteration 1\n");
        scene.git(&["add", "-A"]);
        scene.git(&["commit", "-qm", "first"]);
        scene
    }

    /// With `git init` and nothing else.
    pub(super) fn empty() -> Self {
        let dir = TempDir::new().expect("temporary directory");
        let root = dir.path().canonicalize().expect("canonical").join("repo");
        fs::create_dir(&root).expect("directory");
        let scene = Self { dir, root };
        scene.git(&["init", "-qb", "main"]);
        scene.git(&["config", "user.name", "Ada"]);
        scene.git(&["config", "user.email", "ada@example.org"]);
        scene
    }

    /// Runs git here, away from the developer's own configuration and environment.
    pub(super) fn git(&self, args: &[&str]) -> String {
        let (ok, text) = self.try_git(args);
        assert!(ok, "git {args:?}: {text}");
        text
    }

    pub(super) fn try_git(&self, args: &[&str]) -> (bool, String) {
        git_in(&self.root, args)
    }

    pub(super) fn repo(&self) -> GitRepo {
        GitRepo::discover(&self.root).expect("a repository")
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let at = self.root.join(path);
        fs::create_dir_all(at.parent().expect("parent")).expect("directory");
        fs::write(at, text).expect("written");
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).expect("read")
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.root.join(path).symlink_metadata().is_ok()
    }

    pub(super) fn remove(&self, path: &str) {
        fs::remove_file(self.root.join(path)).expect("removed");
    }

    pub(super) fn append(&self, path: &str, text: &str) {
        let old = if self.exists(path) { self.read(path) } else { String::new() };
        self.write(path, &(old + text));
    }

    /// A commit of everything, as agents make it.
    pub(super) fn commit_all(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", message]);
    }

    pub(super) fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    /// What `git status` says, ignored files left out.
    pub(super) fn porcelain(&self) -> String {
        self.git(&["status", "--porcelain", "-uall"])
    }

    pub(super) fn preflight(
        &self,
        branch: Branch<'_>,
        dirt: Dirt,
    ) -> Result<Preflight, RepoProblem> {
        self.repo().preflight(&layout(), branch, dirt)
    }

    /// What the runner knows before a turn.
    pub(super) fn turn(&self) -> TurnBegun<'_> {
        let repo = self.repo();
        let preflight =
            repo.preflight(&layout(), Branch::Current, Dirt::Protect).expect("a usable repository");
        TurnBegun {
            scene: self,
            checkpoint: preflight.checkpoint,
            state: StateFiles::read(&self.root, &layout()).expect("state files"),
            settings: preflight.settings,
            human: preflight.human,
            writes: Vec::new(),
            sealed: false,
        }
    }

    /// What an honest agent does: work, tick, progress line, two commits.
    pub(super) fn honest_work(&self) {
        self.write("src/lib.txt", "code\nwork\n");
        self.commit_all("ralph(demo): one - work");
        self.tick_one();
        self.append("tasks/demo/progress.md", "2026-01-17 did one\n");
        self.commit_all("ralph(demo): state update");
    }

    pub(super) fn tick_one(&self) {
        let text = self.read("tasks/demo/TASK.md").replace("[ ] one", "[x] one");
        self.write("tasks/demo/TASK.md", &text);
    }
}

pub(super) fn git_in(dir: &Path, args: &[&str]) -> (bool, String) {
    let output = Command::new("git")
        .args(args)
        .current_dir(dir)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_ALLOW_PROTOCOL", "file")
        .output()
        .expect("git starts");
    let text = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.success(), String::from_utf8_lossy(&text).trim_end().to_owned())
}

pub(super) fn layout() -> Layout {
    Layout::new("demo", FOLDER)
}

pub(super) fn one() -> CriterionKey {
    CriterionKey { text: "one".into(), occurrence: 0 }
}

/// A turn between its checkpoint and its verdict; the focus is always `one`.
pub(super) struct TurnBegun<'a> {
    scene: &'a TestRepo,
    pub(super) checkpoint: Checkpoint,
    pub(super) state: StateFiles,
    settings: Fingerprints,
    pub(super) human: Fingerprints,
    pub(super) writes: Vec<PathBuf>,
    pub(super) sealed: bool,
}

impl TurnBegun<'_> {
    pub(super) fn evidence(&self) -> Evidence {
        let file = layout().file(TASK);
        let now = StateFiles::read(&self.scene.root, &layout()).expect("read");
        let bytes = |files: &StateFiles| files.bytes(&file).unwrap_or_default().to_vec();
        let (before, after) = (bytes(&self.state), bytes(&now));
        let ticked = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("[x] one");
        let compare = |_: &[u8], after: &[u8], by| TaskFileChange {
            focus_ticked: ticked(after),
            ..TaskFileChange::none(by)
        };
        let inputs = Inputs {
            layout: &layout(),
            focus: &one(),
            checkpoint: &self.checkpoint,
            origin: &self.checkpoint.head,
            state: &self.state,
            settings: &self.settings,
            human: &self.human,
            artefacts: &BTreeSet::new(),
            protection: &Protection::of(&Task::default()).expect("no globs"),
            writes: &self.writes,
            sealed: self.sealed,
            edits: &[TaskEdit { before, after, unseen: false }],
            undecided: &[],
            secret: &|path, _| path.ends_with(".env"),
            date: "2026-01-17",
            before: &[],
            proven: &[],
            worked_before: false,
            compare: &compare,
        };
        collect(&self.scene.repo(), &inputs).expect("evidence").evidence
    }

    pub(super) fn verdict(&self) -> Verdict {
        let rules = JudgeRules { layout: &layout(), commits_alone: CommitsAlone::Accepted };
        judge(&self.evidence(), &rules)
    }
}
