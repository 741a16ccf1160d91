//! Where a run of these tests works: a real repository, and what an agent does there.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::AtomicI64;

use crate::model::{Fault, FaultClass, Turn, TurnEnd};

/// What one prompt does: to the repository, and as a turn.
pub(super) type Act = Box<dyn FnOnce(&WorkTree) -> Turn + Send>;

/// Where an act happens.
pub(super) struct WorkTree {
    pub(super) root: PathBuf,
    /// Seconds by which the wall clock was set.
    pub(super) set: &'static AtomicI64,
}

impl WorkTree {
    /// Makes the repository, with this TASK.md in its first commit.
    pub(super) fn begin(&self, task: &str) {
        std::fs::create_dir(&self.root).expect("folder");
        self.git(&["init", "-qb", "main"]);
        self.git(&["config", "user.name", "Ada"]);
        self.git(&["config", "user.email", "ada@example.org"]);
        self.write("tasks/demo/TASK.md", task);
        self.write(".gitignore", "*.ignored\n");
        self.commit("first");
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let at = self.root.join(path);
        std::fs::create_dir_all(at.parent().expect("parent")).expect("folder");
        std::fs::write(at, text).expect("written");
    }

    pub(super) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).expect("read")
    }

    pub(super) fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(args)
            .current_dir(&self.root)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .expect("git");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    pub(super) fn tick(&self, criterion: &str) {
        let path = "tasks/demo/TASK.md";
        let text = self.read(path);
        self.write(path, &text.replace(&format!("[ ] {criterion}"), &format!("[x] {criterion}")));
    }

    pub(super) fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", message]);
    }

    /// Work, tick, progress line, commit.
    pub(super) fn honest(&self, criterion: &str) {
        self.write(&format!("{criterion}.txt"), "work\n");
        self.claim(criterion);
    }

    /// The same without the work that the check looks for.
    pub(super) fn claim(&self, criterion: &str) {
        let lines = self.root.join("work.log");
        let before = std::fs::read_to_string(&lines).unwrap_or_default();
        self.write("work.log", &format!("{before}{criterion}\n"));
        self.tick(criterion);
        let progress = std::fs::read_to_string(self.root.join("tasks/demo/progress.md"));
        let progress = progress.unwrap_or_default();
        self.write("tasks/demo/progress.md", &format!("{progress}- 2026-11-21 {criterion}\n"));
        self.commit(&format!("ralph(demo): {criterion}"));
    }
}

pub(super) fn act(act: impl FnOnce(&WorkTree) + Send + 'static) -> Act {
    Box::new(move |place| {
        act(place);
        Turn::default()
    })
}

pub(super) fn honest(criterion: &'static str) -> Act {
    act(move |place| place.honest(criterion))
}

pub(super) fn failing(end: TurnEnd, class: FaultClass) -> Act {
    Box::new(move |_| {
        let fault = Some(Fault::new(class, "it said so"));
        Turn { end, fault, ..Turn::default() }
    })
}
