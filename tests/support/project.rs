//! A project with its own hooks, and the program started in it as the CLI starts it.
//!
//! Its path contains a space and a quote. Settings of the developer do not apply: HOME is empty,
//! and PATH starts with the test's own programs.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_ralph-copilot");

/// The project and the folders beside it.
pub(crate) struct Project {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

/// How a hook ended.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Project {
    /// A folder without a repository.
    pub(crate) fn new() -> Self {
        let project = Self { folder: tempfile::tempdir().expect("folder"), variables: Vec::new() };
        for name in ["it's a project", "home", "bin"] {
            fs::create_dir(project.beside(name)).expect("folder");
        }
        project
    }

    /// A repository.
    pub(crate) fn repository() -> Self {
        let project = Self::new();
        project.git(&["init", "--quiet"]);
        project
    }

    /// The project's folder.
    pub(crate) fn root(&self) -> PathBuf {
        self.beside("it's a project")
    }

    /// A path beside the project.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("it is there").join(name)
    }

    /// A path of the project.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Sets a variable for every command.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.variables.push((name.to_owned(), value.into()));
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, path: &str, text: &str) {
        write(&self.path(path), text);
    }

    /// Writes a script of the project that its interpreter runs.
    pub(crate) fn script(&self, path: &str, text: &str) {
        script(&self.path(path), text);
    }

    /// Puts a program into PATH.
    pub(crate) fn program(&self, name: &str, text: &str) {
        script(&self.beside("bin").join(name), text);
    }

    /// Reads a file of the project.
    #[track_caller]
    pub(crate) fn read(&self, path: &str) -> String {
        let path = self.path(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Returns whether a path of the project exists.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Runs git, which must succeed.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(args);
        let ended = self.run(command, "");
        assert_eq!(ended.code, Some(0), "git {args:?}: {}", ended.stderr);
        ended.stdout
    }

    /// Runs a hook with this input.
    pub(crate) fn hook(&self, args: &[&str], input: &str) -> Answered {
        let mut command = Command::new(PROGRAM);
        command.arg("hook").args(args);
        self.run(command, input)
    }

    /// Runs a command in the project.
    pub(crate) fn run(&self, mut command: Command, input: &str) -> Answered {
        command
            .current_dir(self.root())
            .env_clear()
            .env("HOME", self.beside("home"))
            .env("PATH", format!("{}:/usr/bin:/bin", self.beside("bin").display()))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let mut stdin = child.stdin.take().expect("stdin");
        // A program that does not read its input may have ended before.
        drop(stdin.write_all(input.as_bytes()));
        drop(stdin);
        let output = child.wait_with_output().expect("ended");
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
        Answered {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

impl Answered {
    /// The output of a successful hook as one JSON object.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code, Some(0), "{self:?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Fails unless the call was left to the CLI.
    #[track_caller]
    pub(crate) fn assert_allowed(&self) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(0), ""), "{self:?}");
    }

    /// Fails unless every key denies the call; returns the reason.
    #[track_caller]
    pub(crate) fn denied(&self) -> String {
        let answer = self.json();
        assert_eq!(answer["permissionDecision"], "deny", "{self:?}");
        assert_eq!(answer["permissionDecisionReason"], answer["message"], "{self:?}");
        let reason = answer["message"].as_str().expect("a reason").to_owned();
        assert!(reason.starts_with("BLOCKED: "), "{reason}");
        reason
    }
}

/// A shell call in the oldest form.
pub(crate) fn bash(command: &str) -> String {
    let arguments = json!({ "command": command }).to_string();
    json!({ "timestamp": 1_704_614_600_000_u64, "toolName": "bash", "toolArgs": arguments })
        .to_string()
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, text).expect("written");
}

fn script(path: &Path, text: &str) {
    write(path, text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
}

/// Returns whether a process has ended; it may still be a zombie.
pub(crate) fn gone(pid: &str) -> bool {
    let ps = Command::new("ps").args(["-o", "stat=", "-p", pid.trim()]).output().expect("ps");
    let state = String::from_utf8_lossy(&ps.stdout).trim().to_owned();
    state.is_empty() || state.starts_with('Z')
}
