//! The real Copilot CLI in an isolated scene: a repository with a task, a home for the CLI, a
//! temporary folder, and none of the developer's environment.
//!
//! Invariant: scenes share nothing but the CLI's unpacked program, so tests run side by side;
//! the repository is outside every folder that the agent treats as temporary. The model's answers
//! do not live here.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ralph_copilot::model::Event;
use serde_json::json;
use tempfile::TempDir;

use crate::downloads::download;
use crate::model::Model;

/// The runner under test.
pub(crate) const RUNNER: &str = env!("CARGO_BIN_EXE_ralph-copilot");
/// The provider's key: only requests to the model may contain it.
pub(crate) const KEY: &str = "sk-scripted-0123456789abcdefghij";
/// Limit of a run; a longer one fails the test.
const LIMIT: Duration = Duration::from_secs(150);

/// Returns the folder with what the CLI unpacks (235 MB): it unpacks once for all test processes.
fn unpacked(binary: &Path) -> PathBuf {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("copilot");
    fs::create_dir_all(&cache).expect("cache folder");
    // Names the program whose files are in the cache; its lock makes the other processes wait.
    let path = cache.join("unpacked-by");
    let mut marker =
        File::options().create(true).read(true).append(true).open(path).expect("marker");
    marker.lock().expect("locked");
    let mut unpacked_by = String::new();
    marker.read_to_string(&mut unpacked_by).expect("marker");
    let line = format!("{}\n", binary.display());
    if !unpacked_by.ends_with(&line) {
        let home = TempDir::new().expect("temporary folder");
        let mut command = Command::new(binary);
        command.arg("--version").env("COPILOT_HOME", home.path()).env("COPILOT_CACHE_HOME", &cache);
        assert!(command.output().expect("started").status.success());
        marker.write_all(line.as_bytes()).expect("marker");
    }
    cache
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// Runs a command to its end.
    fn of(command: Command) -> Self {
        let output = assert_cmd::Command::from_std(command).timeout(LIMIT).output();
        let output = output.expect("started");
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Fails with the whole output unless the exit code is this one.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }
}

/// A repository and everything around it.
pub(crate) struct Scene {
    dir: TempDir,
    binary: PathBuf,
    /// Environment of the runner.
    variables: BTreeMap<&'static str, String>,
}

impl Scene {
    /// A repository on the branch `main` with this TASK.md; `None` without a real CLI.
    pub(crate) fn new(task: &str) -> Option<Self> {
        Some(Self::in_folder(
            task,
            download("RALPH_TEST_COPILOT")?,
            TempDir::new().expect("temporary folder"),
        ))
    }

    /// The same where a sandbox does not hide what lies beside the repository, as it hides `/tmp`.
    #[cfg(target_os = "linux")]
    pub(crate) fn beside_the_build(task: &str) -> Option<Self> {
        let dir = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("temporary folder");
        Some(Self::in_folder(task, download("RALPH_TEST_COPILOT")?, dir))
    }

    fn in_folder(task: &str, binary: PathBuf, dir: TempDir) -> Self {
        let variables = BTreeMap::from([
            ("PATH", std::env::var("PATH").expect("PATH")),
            ("LANG", "C.UTF-8".to_owned()),
            ("COPILOT_CLI_PATH", binary.display().to_string()),
            ("COPILOT_CACHE_HOME", unpacked(&binary).display().to_string()),
        ]);
        let mut scene = Self { dir, binary, variables };
        for folder in ["repo", "user", "copilot", "tmp"] {
            fs::create_dir(scene.path(folder)).expect("folder");
        }
        for (name, folder) in [("HOME", "user"), ("COPILOT_HOME", "copilot"), ("TMPDIR", "tmp")] {
            let path = scene.path(folder).display().to_string();
            scene.variables.insert(name, path);
        }
        scene.write("tasks/job/TASK.md", task);
        scene.write("README.md", "# A project\n");
        scene.write("check.sh", "grep -qx \"$1\" \"out/$1.txt\"\n");
        scene.git(&["init", "-qb", "main"]);
        scene.git(&["config", "user.name", "Ada"]);
        scene.git(&["config", "user.email", "ada@example.org"]);
        scene.git(&["add", "-A"]);
        scene.git(&["commit", "-qm", "first"]);
        scene
    }

    /// Lets the CLI talk to this model instead of GitHub's.
    pub(crate) fn with(mut self, model: &Model) -> Self {
        self.set("COPILOT_OFFLINE", "true");
        self.set("COPILOT_PROVIDER_BASE_URL", &model.url());
        self.set("COPILOT_PROVIDER_TYPE", "openai");
        self.set("COPILOT_PROVIDER_WIRE_API", "completions");
        self.set("COPILOT_PROVIDER_API_KEY", KEY);
        self.set("COPILOT_MODEL", "scripted");
        self
    }

    /// Sets a variable for the runner.
    pub(crate) fn set(&mut self, name: &'static str, value: &str) {
        self.variables.insert(name, value.to_owned());
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("canonical").join(name)
    }

    /// The repository.
    pub(crate) fn repo(&self) -> PathBuf {
        self.path("repo")
    }

    /// The folder that the runner takes for temporary files.
    pub(crate) fn tmp(&self) -> PathBuf {
        self.path("tmp")
    }

    /// Writes a file of the repository.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.repo().join(path);
        fs::create_dir_all(path.parent().expect("parent")).expect("folder");
        fs::write(path, text).expect("write");
    }

    /// Writes a file and commits it.
    pub(crate) fn commit(&self, path: &str, text: &str) {
        self.write(path, text);
        self.git(&["add", path]);
        self.git(&["commit", "-qm", "more"]);
    }

    /// Makes an empty remote `origin`; returns its path.
    pub(crate) fn add_remote(&self) -> String {
        let path = self.path("remote.git").display().to_string();
        self.git(&["init", "-q", "--bare", &path]);
        self.git(&["remote", "add", "origin", &path]);
        path
    }

    /// Makes the repository a folder that the CLI trusts, and disables all hooks there.
    pub(crate) fn disable_hooks(&self) {
        self.commit(".github/copilot/settings.json", "{\"disableAllHooks\": true}\n");
        self.trust();
    }

    /// Runs the CLI itself, without the runner, to its end.
    pub(crate) fn cli(&self, args: &[&str]) -> Ended {
        self.cli_in(&self.repo(), args)
    }

    /// The same in another folder.
    pub(crate) fn cli_in(&self, folder: &Path, args: &[&str]) -> Ended {
        let mut command = Command::new(&self.binary);
        command.args(args).current_dir(folder).env_clear().envs(&self.variables);
        Ended::of(command)
    }

    /// Makes the repository a folder that the CLI trusts.
    pub(crate) fn trust(&self) {
        let trusted = json!({ "trustedFolders": [self.repo()] });
        fs::write(self.path("copilot").join("config.json"), trusted.to_string()).expect("write");
    }

    /// Wraps the CLI in a program that removes `--plugin-dir`.
    pub(crate) fn without_plugins(&mut self) {
        let path = self.path("copilot-without-plugins");
        let binary = self.binary.display();
        let script = format!(
            "#!/bin/sh\nfor word do\n  shift\n  case $skip$word in\n    --plugin-dir) skip=x; \
             continue;;\n    x*) skip=; continue;;\n  esac\n  set -- \"$@\" \"$word\"\ndone\n\
             exec '{binary}' \"$@\"\n"
        );
        fs::write(&path, script).expect("write");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("mode");
        self.set("COPILOT_CLI_PATH", &path.display().to_string());
    }

    /// Wraps the CLI in a program that does not announce that it takes MCP servers over http.
    pub(crate) fn without_http_servers(&mut self) {
        let folder = self.path("wrapped");
        fs::create_dir(&folder).expect("folder");
        let path = folder.join("copilot");
        let binary = self.binary.display();
        let hide = r#"s/"mcpCapabilities":{[^}]*}/"mcpCapabilities":{}/"#;
        let script = format!("#!/bin/sh\n'{binary}' \"$@\" | sed -u '{hide}'\n");
        fs::write(&path, script).expect("write");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("mode");
        self.set("COPILOT_CLI_PATH", &path.display().to_string());
    }

    /// Reads a file of the repository.
    #[track_caller]
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.repo().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Returns whether a file of the repository exists.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.repo().join(path).exists()
    }

    /// Runs git in the repository; returns its trimmed output.
    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(args)
            .current_dir(self.repo())
            .env_clear()
            .envs(&self.variables)
            .output()
            .expect("git");
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Runs git in the repository as the human may at any time; it may fail.
    #[cfg(target_os = "linux")]
    pub(crate) fn human(&self, args: &[&str]) -> Ended {
        let mut command = Command::new("git");
        command.args(args).current_dir(self.repo()).env_clear().envs(&self.variables);
        Ended::of(command)
    }

    /// Processes of any run, and those with `mark` among their arguments.
    #[cfg(target_os = "linux")]
    pub(crate) fn processes_left(&self, mark: &str) -> Vec<String> {
        // An attack may have moved the folder away.
        let runs = if self.has(".ralph/runs") { self.runs() } else { Vec::new() };
        let names = runs.iter().filter_map(|run| run.file_name()?.to_str());
        let output = Command::new("pgrep").args(["-af", mark]).output().expect("pgrep");
        let marked: Vec<_> =
            String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
        [marked, names.flat_map(processes_of).collect()].concat()
    }

    /// The runner with these arguments, not started yet.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(RUNNER);
        command.args(args).current_dir(self.repo()).env_clear().envs(&self.variables);
        command
    }

    /// Runs the runner to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        Ended::of(self.command(args))
    }

    /// Starts a run and follows its events.
    pub(crate) fn follow(&self, args: &[&str]) -> Followed {
        let mut command = self.command(args);
        let child = command.arg("--json").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("started");
        let lines = BufReader::new(child.stdout.take().expect("stdout"));
        Followed { child, lines }
    }

    /// The folders of all runs, oldest first.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        let folder = self.repo().join(".ralph/runs");
        let entries = fs::read_dir(folder).expect("runs").map(|entry| entry.expect("entry").path());
        let mut runs: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
        runs.sort();
        runs
    }

    /// The newest run's journal.
    pub(crate) fn journal(&self) -> Vec<Event> {
        let run = self.runs().pop().expect("a run");
        let text = fs::read_to_string(run.join("events.jsonl")).expect("journal");
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    /// The version of the CLI under test, from its package.json.
    pub(crate) fn cli_version(&self) -> String {
        let package = self.binary.with_file_name("package.json");
        let text = fs::read_to_string(package).expect("package.json");
        let package: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        package["version"].as_str().expect("version").to_owned()
    }

    /// Fails if a run left anything behind: a process, a worktree, a file, uncommitted work.
    #[track_caller]
    pub(crate) fn assert_nothing_left(&self) {
        assert_eq!(self.git(&["status", "--porcelain"]), "");
        assert_eq!(self.git(&["worktree", "list"]).lines().count(), 1);
        assert!(!self.has(".git/worktrees"));
        let left: Vec<_> = fs::read_dir(self.tmp()).expect("tmp").flatten().collect();
        assert!(left.is_empty(), "{left:?}");
        self.assert_no_process_left();
    }

    /// Fails if a process of any run is still alive.
    #[track_caller]
    pub(crate) fn assert_no_process_left(&self) {
        for run in self.runs() {
            let run = run.file_name().expect("name").to_string_lossy().into_owned();
            assert_eq!(processes_of(&run), Vec::<String>::new());
        }
    }
}

/// A run in progress.
pub(crate) struct Followed {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Followed {
    /// The runner's process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Reads events until one matches.
    #[track_caller]
    pub(crate) fn until<T>(&mut self, mut look: impl FnMut(&Event) -> Option<T>) -> T {
        let mut line = String::new();
        while self.lines.read_line(&mut line).expect("stdout") > 0 {
            let event = serde_json::from_str(&line).expect("an event");
            if let Some(found) = look(&event) {
                return found;
            }
            line.clear();
        }
        panic!("the run ended before: {}", self.stderr());
    }

    fn stderr(&mut self) -> String {
        let mut text = String::new();
        if let Some(stderr) = &mut self.child.stderr {
            stderr.read_to_string(&mut text).expect("stderr");
        }
        text
    }

    /// Waits for the end and discards unread events.
    pub(crate) fn end(mut self) -> Ended {
        let mut stdout = String::new();
        self.lines.read_to_string(&mut stdout).expect("stdout");
        let stderr = self.stderr();
        let code = self.child.wait().expect("wait").code();
        Ended { code, stdout, stderr }
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        // Ends the run of a failed test; it may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The command lines of all processes that carry a run's name.
#[cfg(target_os = "linux")]
pub(crate) fn processes_of(run: &str) -> Vec<String> {
    let mark = format!("RALPH_RUN_ID={run}").into_bytes();
    let read = |folder: &Path, name: &str| fs::read(folder.join(name)).unwrap_or_default();
    let folders = fs::read_dir("/proc").expect("/proc").flatten().map(|entry| entry.path());
    let marked = folders
        .filter(|folder| read(folder, "environ").split(|byte| *byte == 0).any(|var| var == mark));
    marked
        .map(|folder| {
            let command = String::from_utf8_lossy(&read(&folder, "cmdline")).replace('\0', " ");
            format!("{} {command}", folder.display())
        })
        .collect()
}

/// The command lines of all processes that carry a run's name.
#[cfg(not(target_os = "linux"))]
pub(crate) fn processes_of(run: &str) -> Vec<String> {
    let listed = Command::new("ps").args(["-axEww", "-o", "pid,command"]).output().expect("ps");
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mark = format!("RALPH_RUN_ID={run}");
    text.lines().filter(|line| line.contains(&mark)).map(str::to_owned).collect()
}

/// Returns whether a process is alive and not a zombie.
#[cfg(target_os = "linux")]
pub(crate) fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Returns whether a process is alive and not a zombie.
#[cfg(not(target_os = "linux"))]
pub(crate) fn lives(pid: &str) -> bool {
    let listed = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().expect("ps");
    let state = String::from_utf8_lossy(&listed.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}
