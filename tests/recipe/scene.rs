//! A repository and a scripted `recipe-runner-rs` beside it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::repo::{Ran, Repo, finish};

/// An answer of success with one step.
pub(crate) const DONE: &str = r#"echo '{"recipe_name":"hello","success":true,"step_results":[{"step_id":"greet","status":"completed","output":"hello","error":"","duration":5.11e-7}],"context":{"who":"you"}}'"#;

pub(crate) struct Scene {
    pub(crate) repo: Repo,
}

impl Scene {
    /// A repository with nothing but a file, and this script as the runner.
    pub(crate) fn new(body: &str) -> Self {
        Self::with(Repo::with("# Demo\n\n- [ ] a is there\n", &[]), "recipe-runner 0.3.6", body)
    }

    /// The same with a task.
    pub(crate) fn task(task: &str, body: &str) -> Self {
        Self::with(Repo::new(task), "recipe-runner 0.3.6", body)
    }

    /// The same with a runner that says this of its version.
    pub(crate) fn with(repo: Repo, version: &str, body: &str) -> Self {
        let scene = Self { repo };
        let text = format!(
            "#!/bin/sh\nif [ \"$1\" = --version ]; then printf '%s\\n' '{version}'; exit 0; fi\n{body}\n"
        );
        script(&scene.runner(), &text);
        scene
    }

    /// The runner.
    pub(crate) fn runner(&self) -> PathBuf {
        self.repo.beside("recipe-runner-rs")
    }

    /// A file that the runner's script knows as `$RECIPE_RUNNER_OUT/<name>`.
    pub(crate) fn out(&self, name: &str) -> PathBuf {
        self.repo.beside("out").join(name)
    }

    /// What the runner's script wrote there.
    pub(crate) fn written(&self, name: &str) -> String {
        std::fs::read_to_string(self.out(name)).unwrap_or_default()
    }

    /// Lets a command find the runner, and nothing else of this machine's recipes.
    pub(crate) fn surround(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("AMPLIHACK_") || text.starts_with("RECIPE_RUNNER_") {
                command.env_remove(&name);
            }
        }
        let (tmp, out) = (self.repo.beside("tmp"), self.repo.beside("out"));
        for folder in [&tmp, &out] {
            std::fs::create_dir_all(folder).expect("made");
        }
        command
            .env("RECIPE_RUNNER_RS_PATH", self.runner())
            .env("RECIPE_RUNNER_OUT", out)
            .env_remove("CLAUDE_PROJECT_DIR")
            .env("TMPDIR", tmp);
    }

    /// `ralph-copilot recipe …`
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut all = vec!["recipe"];
        all.extend(args);
        let mut command = self.repo.command(&all);
        self.surround(&mut command);
        command
    }

    pub(crate) fn recipe(&self, args: &[&str]) -> Ran {
        finish(self.command(args))
    }

    /// A run of the task, with an agent's script for the criteria without a recipe.
    pub(crate) fn run_command(&self, agent: &str, args: &[&str]) -> Command {
        let mut command = self.repo.run_command(agent, args);
        self.surround(&mut command);
        command.arg("--json");
        command
    }

    /// What is left in the folder for temporary files.
    pub(crate) fn left(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.repo.beside("tmp")).into_iter().flatten();
        entries.flatten().map(|entry| entry.path()).collect()
    }
}

/// Writes a script that can be run at once. Another process writes it: a child that is
/// started meanwhile by another test would inherit our descriptor, and the script would
/// count as being written.
pub(crate) fn script(path: &Path, text: &str) {
    let mut writer = Command::new("sh")
        .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("sh");
    let mut stdin = writer.stdin.take().expect("a pipe");
    stdin.write_all(text.as_bytes()).expect("written");
    drop(stdin);
    assert!(writer.wait().expect("it ends").success());
}
