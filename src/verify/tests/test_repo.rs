//! A repository with a task in it, and the git binary that people and agents use.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::model::{
    Attribution, CheckResult, CheckStatus, Checkpoint, Criterion, CriterionKey, Evidence, Task,
    TaskEdit, TaskFileChange, TaskSettings, Verdict, VerifyCommand,
};
use crate::verify::{
    Branch, Collected, CommitsAlone, Dirt, Fingerprints, GitRepo, Inputs, JudgeRules, Layout,
    Preflight, Protection, Repo, RepoProblem, StateFiles, TASK, collect, judge,
};

pub(super) const FOLDER: &str = "tasks/demo";
pub(super) const TASK_MD: &str = "# Demo\n\n- [ ] one\n- [ ] two\n- [x] zero\n";
pub(super) const DATE: &str = "2026-01-17";

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
            checkpoint: preflight.checkpoint.clone(),
            origin: preflight.checkpoint.clone(),
            state: StateFiles::read(&self.root, &layout()).expect("state files"),
            settings: preflight.settings,
            human: preflight.human,
            artefacts: BTreeSet::new(),
            protect: Vec::new(),
            verify: Vec::new(),
            writes: Vec::new(),
            undecided: Vec::new(),
            command_ran: false,
            sealed: false,
            before: Vec::new(),
            after: Vec::new(),
            proven: Vec::new(),
            worked_before: false,
            commits_alone: CommitsAlone::Accepted,
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

pub(super) fn key(text: &str) -> CriterionKey {
    CriterionKey { text: text.into(), occurrence: 0 }
}

pub(super) fn check(command: &str, owner: Option<&str>, status: CheckStatus) -> CheckResult {
    CheckResult {
        runs: Vec::new(),
        command: command.into(),
        criteria: owner.map(key).into_iter().collect(),
        whole_task: owner.is_none(),
        status,
        millis: 1,
        tests: Vec::new(),
        output: String::new(),
    }
}

/// A turn between its checkpoint and its verdict; the focus is always `one`.
pub(super) struct TurnBegun<'a> {
    pub(super) scene: &'a TestRepo,
    pub(super) checkpoint: Checkpoint,
    pub(super) origin: Checkpoint,
    pub(super) state: StateFiles,
    pub(super) settings: Fingerprints,
    pub(super) human: Fingerprints,
    pub(super) artefacts: BTreeSet<PathBuf>,
    pub(super) protect: Vec<String>,
    pub(super) verify: Vec<String>,
    pub(super) writes: Vec<PathBuf>,
    pub(super) undecided: Vec<String>,
    pub(super) command_ran: bool,
    pub(super) sealed: bool,
    pub(super) before: Vec<CheckResult>,
    pub(super) after: Vec<CheckResult>,
    pub(super) proven: Vec<CriterionKey>,
    pub(super) worked_before: bool,
    pub(super) commits_alone: CommitsAlone,
}

impl TurnBegun<'_> {
    /// The agent wrote TASK.md by a tool call that was allowed.
    pub(super) fn wrote_task(&mut self) {
        self.writes.push(self.scene.root.join(FOLDER).join("TASK.md"));
    }

    pub(super) fn collect(&self) -> Collected {
        let repo = self.scene.repo();
        let protection = Protection::of(&self.task()).expect("good globs");
        let file = layout().file(TASK);
        let now = StateFiles::read(&self.scene.root, &layout()).expect("read");
        let bytes = |files: &StateFiles| files.bytes(&file).unwrap_or_default().to_vec();
        let (before, after) = (bytes(&self.state), bytes(&now));
        let edits = [TaskEdit { before, after, unseen: self.command_ran }];
        let inputs = Inputs {
            layout: &layout(),
            focus: &key("one"),
            checkpoint: &self.checkpoint,
            origin: &self.origin.head,
            state: &self.state,
            settings: &self.settings,
            human: &self.human,
            artefacts: &self.artefacts,
            protection: &protection,
            writes: &self.writes,
            sealed: self.sealed,
            edits: &edits,
            undecided: &self.undecided,
            secret: &|path, _| path.ends_with(".env"),
            date: DATE,
            before: &self.before,
            proven: &self.proven,
            worked_before: self.worked_before,
            compare: &compare,
        };
        let mut collected = collect(&repo, &inputs).expect("evidence");
        collected.evidence.checks = self.after.clone();
        collected
    }

    pub(super) fn evidence(&self) -> Evidence {
        self.collect().evidence
    }

    pub(super) fn verdict(&self) -> Verdict {
        let rules = JudgeRules { layout: &layout(), commits_alone: self.commits_alone };
        judge(&self.evidence(), &rules)
    }

    fn task(&self) -> Task {
        let verify = self
            .verify
            .iter()
            .map(|command| VerifyCommand { command: command.clone(), line: 1 })
            .collect();
        Task {
            name: "demo".into(),
            title: None,
            criteria: vec![Criterion {
                key: key("one"),
                line: 3,
                column: 3,
                checked: false,
                mark: 0,
                verify,
                recipe: None,
                may_change: Vec::new(),
                id: None,
                after: Vec::new(),
            }],
            settings: TaskSettings { protect: self.protect.clone(), ..TaskSettings::default() },
            source: String::new(),
            diagnostics: Vec::new(),
        }
    }
}

/// A comparison that knows as much of TASK.md as these tests write.
pub(super) fn compare(before: &[u8], after: &[u8], by: Attribution) -> TaskFileChange {
    fn boxes(text: &[u8]) -> Vec<(CriterionKey, bool)> {
        String::from_utf8_lossy(text)
            .lines()
            .filter_map(|line| {
                let ticked = line.starts_with("- [x] ");
                (ticked || line.starts_with("- [ ] ")).then(|| (key(&line[6..]), ticked))
            })
            .collect()
    }
    fn rest(text: &[u8]) -> Vec<String> {
        let text = String::from_utf8_lossy(text).into_owned();
        text.lines().filter(|line| !line.starts_with("- [")).map(str::to_owned).collect()
    }
    let (old, new) = (boxes(before), boxes(after));
    let find = |all: &[(CriterionKey, bool)], key: &CriterionKey| {
        all.iter().find(|(other, _)| other == key).map(|(_, ticked)| *ticked)
    };
    let turned = |from: bool, to: bool| -> Vec<CriterionKey> {
        old.iter()
            .filter(|(key, ticked)| *ticked == from && find(&new, key) == Some(to))
            .map(|(key, _)| key.clone())
            .collect()
    };
    let missing = |from: &[(CriterionKey, bool)], to: &[(CriterionKey, bool)]| {
        from.iter().filter(|(key, _)| find(to, key).is_none()).map(|(k, _)| k.clone()).collect()
    };
    let ticked = turned(false, true);
    TaskFileChange {
        by,
        focus_ticked: ticked.contains(&key("one")),
        others_ticked: ticked.into_iter().filter(|other| *other != key("one")).collect(),
        unticked: turned(true, false),
        removed: missing(&old, &new),
        added: missing(&new, &old),
        verify_changed: false,
        text_changed: rest(before) != rest(after),
        reformatted: false,
        unreadable: None,
    }
}
