//! A git repository with a task, a scripted agent beside it, and the built program run as a user
//! would run it.
//!
//! The script and the test's other files are outside the repository, so they do not dirty its
//! tree. Settings of the developer do not apply: HOME is empty, and git reads no global
//! configuration.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use ralph_copilot::model::{Event, EventKind};
use serde_json::Value;
use tempfile::TempDir;

/// Limit for one command; a longer one fails the test.
const LIMIT: Duration = Duration::from_secs(180);

/// The program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_ralph-copilot");

/// A repository with the task `demo` in `tasks/demo`.
pub(crate) struct Repo {
    folder: TempDir,
}

/// The result of a command.
pub(crate) struct Ran {
    /// The exit code; `None` after a signal.
    pub(crate) code: Option<i32>,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl Repo {
    /// A repository whose first commit holds this TASK.md.
    pub(crate) fn new(task: &str) -> Self {
        Self::with(task, &[])
    }

    /// The same with more files.
    pub(crate) fn with(task: &str, files: &[(&str, &str)]) -> Self {
        let repo = Self::empty();
        repo.write("tasks/demo/TASK.md", task);
        repo.write("README.md", "# A project\n");
        for (path, text) in files {
            repo.write(path, text);
        }
        repo.commit("start");
        repo
    }

    /// A repository without a commit.
    pub(crate) fn empty() -> Self {
        let repo = Self { folder: tempfile::tempdir().expect("a folder") };
        std::fs::create_dir_all(repo.root()).expect("a folder");
        std::fs::create_dir_all(repo.home()).expect("a folder");
        repo.git(&["init", "--quiet", "--initial-branch=main"]);
        repo.name_human();
        repo
    }

    /// A clone of it, as on another machine.
    pub(crate) fn clone_of(&self) -> Self {
        let clone = Self { folder: tempfile::tempdir().expect("a folder") };
        std::fs::create_dir_all(clone.home()).expect("a folder");
        let to = clone.root().display().to_string();
        self.git(&["clone", "--quiet", ".", &to]);
        clone.name_human();
        clone
    }

    /// Git knows who commits. Hundreds of tests do this: two processes each are worth saving.
    fn name_human(&self) {
        let config = self.read(".git/config");
        self.write(".git/config", config + "[user]\n\tname = Human\n\temail = human@example.com\n");
    }

    /// The working tree.
    pub(crate) fn root(&self) -> PathBuf {
        self.beside("repo")
    }

    /// A path beside the repository.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("it is there").join(name)
    }

    fn home(&self) -> PathBuf {
        self.beside("home")
    }

    /// A path in the repository.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Writes a file, with its folders.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    /// Reads a file.
    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path))
            .unwrap_or_else(|error| panic!("cannot read {path}: {error}"))
    }

    /// TASK.md.
    pub(crate) fn task(&self) -> String {
        self.read("tasks/demo/TASK.md")
    }

    /// Reads state.json; null before the first run.
    pub(crate) fn state(&self) -> Value {
        let path = self.path("tasks/demo/state.json");
        std::fs::read(path).map_or(Value::Null, |it| serde_json::from_slice(&it).expect("JSON"))
    }

    /// Commits everything.
    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["-c", "maintenance.auto=false", "commit", "--quiet", "--message", message]);
    }

    /// Runs git, which must succeed.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(args).current_dir(self.root());
        self.surround(&mut command);
        let output = command.output().expect("git runs");
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Uncommitted changes as git prints them: empty for a clean tree.
    pub(crate) fn status(&self) -> String {
        self.git(&["status", "--short", "--untracked-files=all"])
    }

    /// Subjects of the commits since the first one, oldest first.
    pub(crate) fn subjects(&self) -> Vec<String> {
        let log = self.git(&["log", "--reverse", "--format=%s", "main"]);
        log.lines().skip(1).map(str::to_owned).collect()
    }

    /// Names of the kept attempts.
    pub(crate) fn attempts(&self) -> Vec<String> {
        let refs = self.git(&["for-each-ref", "--format=%(refname)", "refs/ralph"]);
        refs.lines().map(str::to_owned).collect()
    }

    /// Isolates a command from the developer's environment.
    fn surround(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            let prefixes = ["GIT_", "RALPH_", "COPILOT_", "GITHUB_", "XDG_", "GH_"];
            if prefixes.iter().any(|prefix| name.starts_with(prefix)) {
                command.env_remove(name);
            }
        }
        command
            .env("HOME", self.home())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("TZ", "UTC")
            .env("NO_COLOR", "1")
            .env("COLUMNS", "100")
            // A verify command that plays a human finds them here: it runs in a room of its own.
            .env("HUMAN", self.beside(""))
            .env("HUMANS_REPO", self.root())
            .env_remove("CI");
    }

    /// The program, in this repository.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(args).current_dir(self.root()).stdin(Stdio::null());
        self.surround(&mut command);
        command
    }

    /// Runs the program to its end.
    pub(crate) fn ralph(&self, args: &[&str]) -> Ran {
        finish(self.command(args))
    }

    /// Writes a script and returns the `--agent` value for it.
    pub(crate) fn agent(&self, script: &str) -> String {
        let path = self.beside("agent.yaml");
        std::fs::write(&path, script).expect("written");
        format!("{} agent {}", quoted(Path::new(PROGRAM)), quoted(&path))
    }

    /// The command of a run with a scripted agent.
    pub(crate) fn run_command(&self, script: &str, args: &[&str]) -> Command {
        let agent = self.agent(script);
        let mut all = vec!["run", "demo", "--agent", &agent];
        all.extend(args);
        self.command(&all)
    }

    /// Runs the task with a scripted agent, started by another program.
    pub(crate) fn run_by(&self, by: &[&str], script: &str) -> Ran {
        let run = self.run_command(script, &["--json"]);
        let mut command = in_place_of(&run, by[0]);
        command.args(&by[1..]).arg(run.get_program()).args(run.get_args());
        finish(command)
    }

    /// Runs the task with a scripted agent and `--json`, and checks the invariants of every run.
    pub(crate) fn run(&self, script: &str, args: &[&str]) -> Ran {
        let mut command = self.run_command(script, args);
        command.arg("--json");
        let ran = finish(command);
        self.is_in_order(&ran);
        ran
    }

    /// Checks the invariants that hold after every run, however it ended: the next run can read its
    /// state, its records are whole, and the repository is sound. Leftover processes are checked
    /// wherever the end of a run is awaited.
    pub(crate) fn is_in_order(&self, ran: &Ran) {
        if ran.code == Some(10) {
            // The test has changed the records, and the run leaves them alone.
            return;
        }
        // A refused run has no name and no records.
        let Some(run) = ran.run() else { return };
        let journal = self.path(&format!(".ralph/runs/{run}/events.jsonl"));
        let journal = std::fs::read_to_string(journal).expect("the run's journal");
        assert!(journal.ends_with('\n'), "{run}'s journal is torn");
        if self.path("tasks/demo/TASK.md").is_file() && ran.code != Some(7) {
            let status = self.ralph(&["status", "demo", "--json"]);
            assert_eq!(status.code, Some(0), "{}", status.stderr);
        }
        // Without the traps that a test set in its repository.
        self.git(&["-c", "core.fsmonitor=false", "fsck", "--strict", "--no-progress"]);
    }
}

/// Another program with the folder and environment of this command.
pub(crate) fn in_place_of(command: &Command, program: &str) -> Command {
    let mut other = Command::new(program);
    other.stdin(Stdio::null()).current_dir(command.get_current_dir().expect("a folder"));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => other.env(name, value),
            None => other.env_remove(name),
        };
    }
    other
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display())
}

/// Runs a command to its end, within the limit.
pub(crate) fn finish(mut command: Command) -> Ran {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the program starts");
    collect(child)
}

/// Waits for a child's end and collects its output.
pub(crate) fn collect(child: Child) -> Ran {
    let pid = child.id();
    let (done, waited) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        if waited.recv_timeout(LIMIT).is_err() {
            signal(pid, rustix::process::Signal::KILL);
        }
    });
    let output = child.wait_with_output().expect("it ends");
    // This fails only if the watch has killed the child, which the exit code shows.
    let _told = done.send(());
    watch.join().expect("the watch ends");
    let ran = Ran::of(&output);
    // A run that ended by itself has ended its processes.
    if let Some(run) = ran.run().filter(|_| ran.code.is_some()) {
        assert_eq!(processes_of(&run), Vec::<String>::new(), "{run} left processes");
        // After a second signal the guardian ends the rest.
        until("the guardian's end", || guardians_of(&run).is_empty().then_some(()));
    }
    ran
}

/// Sends a signal to a process of this test; it may have ended already.
pub(crate) fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).expect("a pid"));
    let _sent = rustix::process::kill_process(pid.expect("a pid"), signal);
}

impl Ran {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
        Self {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// The run's name, from JSON or plain output; `None` for a refused run.
    fn run(&self) -> Option<String> {
        let first = self.stdout.lines().next()?;
        match serde_json::from_str::<Value>(first) {
            Ok(event) => event["run"].as_str().map(str::to_owned),
            Err(_) => Some(first.split_once(" run ")?.1.split(':').next()?.to_owned()),
        }
    }

    /// The events; every line of standard output must be one.
    pub(crate) fn events(&self) -> Vec<Event> {
        let parse = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"))
        };
        self.stdout.lines().map(parse).collect()
    }

    /// Standard output as one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in {:?} {:?}", self.stdout, self.stderr))
    }
}

/// Summarizes a run with `--json` and its repository in a few lines: each iteration's verdict with
/// all findings, then TASK.md, state.json and git.
pub(crate) fn story(repo: &Repo, ran: &Ran) -> String {
    let mut lines = Vec::new();
    let events = ran.events();
    let ended = events.last().is_some_and(|last| matches!(last.kind, EventKind::RunEnded { .. }));
    if !ended {
        lines.push(format!("exit {:?} without an outcome: {}", ran.code, ran.stderr.trim_end()));
    }
    for event in events {
        match event.kind {
            EventKind::VerdictReached { iteration, verdict, repairs, .. } => {
                lines.push(format!("iteration {iteration}: {}", word(&verdict.result)));
                for finding in &verdict.findings {
                    lines.push(format!("  {}: {}", word(&finding.weight), word(&finding.kind)));
                }
                for repair in &repairs {
                    lines.push(format!("  mended: {}", word(repair)));
                }
            }
            EventKind::CriterionReopened { criterion, .. } => {
                lines.push(format!("reopened: {}", criterion.text));
            }
            EventKind::TaskCheckFailed { command, .. } => {
                lines.push(format!("red: {command}"));
            }
            EventKind::CriterionSkipped { criterion, reason, .. } => {
                lines.push(format!("skipped: {}, {reason}", criterion.text));
            }
            EventKind::CriterionBlocked { criterion, kept, .. } => {
                let kept = kept.map(|kept| format!(", {kept}")).unwrap_or_default();
                lines.push(format!("blocked: {}{kept}", criterion.text));
            }
            EventKind::CriterionHeld { criterion, kept, .. } => {
                lines.push(format!("held: {}, {kept}", criterion.text));
            }
            EventKind::RunEnded { outcome, exit_code, .. } => {
                assert_eq!(Some(i32::from(exit_code)), ran.code, "{}", ran.stderr);
                let outcome = serde_json::to_value(&outcome).expect("JSON");
                let name = outcome["outcome"].as_str().expect("a name").to_owned();
                lines.push(format!("exit {exit_code}: {name}"));
            }
            EventKind::RunStarted { .. }
            | EventKind::Notice { .. }
            | EventKind::GatewayStarted { .. }
            | EventKind::ProviderBound { .. }
            | EventKind::ProviderLeft { .. }
            | EventKind::ToolsChanged { .. }
            | EventKind::ProviderCalled { .. }
            | EventKind::EventPushed { .. }
            | EventKind::EventsInjected { .. }
            | EventKind::BaselineChecked { .. }
            | EventKind::AgentStarted { .. }
            | EventKind::WorkerStarted { .. }
            | EventKind::WorkerHandedIn { .. }
            | EventKind::IterationStarted { .. }
            | EventKind::PromptSent { .. }
            | EventKind::ToolDecided { .. }
            | EventKind::ToolFinished { .. }
            | EventKind::RecipeStarted { .. }
            | EventKind::RecipeProgress { .. }
            | EventKind::RecipeEnded { .. }
            | EventKind::TurnEnded { .. }
            | EventKind::CheckFinished { .. }
            | EventKind::SignAdded { .. }
            | EventKind::IterationEnded { .. }
            | EventKind::StopChecked { .. }
            | EventKind::Waiting { .. }
            | EventKind::Activity { .. } => {}
        }
    }
    let boxes = repo.task();
    lines.extend(
        boxes
            .lines()
            .filter(|line| line.contains("[ ]") || line.contains("[x]"))
            .map(str::to_owned),
    );
    for entry in repo.state()["criteria"].as_array().into_iter().flatten() {
        let attempts = entry["attempts"].as_u64().unwrap_or(0);
        let proof =
            entry["proof"].as_str().map_or("unproven".to_owned(), |by| format!("proven by {by}"));
        let text = entry["text"].as_str().unwrap_or_default();
        lines.push(format!("state: {text}, {proof}, {attempts} attempts failed"));
    }
    let head = repo.git(&["symbolic-ref", "HEAD"]);
    lines.push(format!("on {}", head.trim()));
    lines.extend(repo.subjects().into_iter().map(|subject| format!("commit: {subject}")));
    lines.extend(repo.attempts().into_iter().map(|name| format!("kept: {name}")));
    lines.extend(repo.status().lines().map(|line| format!("left: {line}")));
    lines.join("\n")
}

/// Formats a serialized value in one or two words.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).expect("JSON");
    match value {
        Value::String(word) => word,
        Value::Object(fields) => {
            let words = fields.iter().map(|(name, inner)| match inner {
                Value::String(inner) => format!("{name} {inner}"),
                other => format!("{name} {other}"),
            });
            words.collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}

/// Waits for a condition, within the limit.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < LIMIT, "{what} never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Command lines of the processes of a run.
pub(crate) fn processes_of(run: &str) -> Vec<String> {
    let name = format!("RALPH_RUN_ID={run}");
    command_lines(|folder, _| {
        let environment = std::fs::read(folder.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|it| it == name.as_bytes())
    })
}

/// Command lines of a run's guardian, which does not carry the run's name.
pub(crate) fn guardians_of(run: &str) -> Vec<String> {
    let says = format!(" guardian --run {run} ");
    command_lines(|_, line| line.contains(&says))
}

/// Command lines of the processes that match; none on other systems than Linux.
fn command_lines(are: impl Fn(&Path, &str) -> bool) -> Vec<String> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let line = |folder: PathBuf| {
        let line = std::fs::read(folder.join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        are(&folder, &line).then_some(line)
    };
    all.filter_map(|entry| line(entry.path())).collect()
}
