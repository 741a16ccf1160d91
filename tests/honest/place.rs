//! A developer's machine in a folder: HOME, a project, and what runs calls in it: a plain shell, or
//! a session's sandbox.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use ralph_copilot::guard::{OsFiles, Policy, Redactor, decide, secret_name};
use ralph_copilot::model::{Asked, SessionId, Tier, ToolRequest};
use ralph_copilot::sandbox::{
    Calls, Network, Overlay, Room, Rooms, Secrets, View, Walls, full, make_caches, partial,
    prepare, tools,
};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;

use super::RUNNER;
use super::compare::{Result, Seen, tree};
use super::corpus::{Call, Project, folder};
use super::tier::programs;

/// Seconds that a command may take.
const LIMIT: &str = "120";
/// How long its output may stay open after it ended.
const OPEN: Duration = Duration::from_secs(10);
/// Folders of HOME that a developer has on PATH.
const BINS: [&str; 15] = [
    ".local/bin",
    "bin",
    ".cargo/bin",
    "go/bin",
    ".pyenv/shims",
    ".pyenv/bin",
    ".rbenv/shims",
    ".asdf/shims",
    ".local/share/mise/shims",
    ".npm-global/bin",
    "tools/protoc-25/bin",
    ".bun/bin",
    ".deno/bin",
    ".volta/bin",
    "miniconda3/bin",
];

pub(crate) struct Place {
    dir: tempfile::TempDir,
    environment: Vec<(String, OsString)>,
}

impl Place {
    /// Prepares HOME and the project, as they are before each call.
    pub(crate) fn new(project: &Project) -> Self {
        let dir = tempfile::tempdir().expect("temporary folder");
        let mut place = Self { dir, environment: Vec::new() };
        place.environment = place.variables();
        for name in ["home", "run/tmp", "pristine", "repo/tasks/job"] {
            fs::create_dir_all(place.at(name)).expect("folder");
        }
        for (name, text) in [("TASK.md", "- [ ] one\n"), ("progress.md", "# Progress\n")] {
            fs::write(place.at("repo/tasks/job").join(name), text).expect("written");
        }
        let source = folder().join("projects").join(&project.name);
        copy(&source.join("."), &place.at("repo"));
        let home = folder().join("honest_home.sh");
        place.prepared(&format!("bash {}", home.display()));
        place.prepared(&project.setup);
        for name in ["home", "repo"] {
            fs::rename(place.at(name), place.at("pristine").join(name)).expect("moved");
        }
        place
    }

    fn prepared(&self, command: &str) {
        let (seen, _) = seen(self.shell(command));
        assert_eq!(seen.status, "exit 0", "{command}: {}{}", seen.stdout, seen.stderr);
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("canonical").join(name)
    }

    /// The environment of a developer's shell.
    fn variables(&self) -> Vec<(String, OsString)> {
        let home = self.at("home");
        // The toolchain itself: rustup's proxies would look for it in this HOME.
        let rust = Command::new("rustc").args(["--print", "sysroot"]).output().ok();
        let rust = rust.and_then(|found| String::from_utf8(found.stdout).ok());
        let rust = rust.map(|found| PathBuf::from(found.trim()).join("bin"));
        let own = BINS.iter().map(|bin| home.join(bin)).chain([home.join("perl5/bin")]);
        let system = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
        let path = std::env::join_paths(own.chain(rust).chain(system)).expect("a PATH");
        let date = OsString::from("2026-01-02T03:04:05Z");
        [
            ("HOME", home.clone().into_os_string()),
            ("PATH", path),
            ("TMPDIR", self.at("run/tmp").into_os_string()),
            ("LANG", "C.UTF-8".into()),
            ("USER", "grace".into()),
            ("NVM_DIR", home.join(".nvm").into_os_string()),
            ("PYENV_ROOT", home.join(".pyenv").into_os_string()),
            ("SDKMAN_DIR", home.join(".sdkman").into_os_string()),
            ("PERL5LIB", home.join("perl5/lib/perl5").into_os_string()),
            ("CARGO_INCREMENTAL", "0".into()),
            // Equal commits have equal names.
            ("GIT_AUTHOR_DATE", date.clone()),
            ("GIT_COMMITTER_DATE", date),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    /// HOME, the project and the temporary folders as they were.
    fn reset(&self) {
        for name in ["home", "repo", "run"] {
            let path = self.at(name);
            if path.exists() {
                remove(&path);
            }
        }
        for name in ["run/tmp", "run/var"] {
            fs::create_dir_all(self.at(name)).expect("folder");
        }
        for name in ["home", "repo"] {
            copy(&self.at("pristine").join(name), &self.at(name));
        }
    }

    /// A shell as the CLI starts it.
    fn shell(&self, line: &str) -> Command {
        let mut shell = Command::new("timeout");
        shell.args(["-k", "2", LIMIT, "/bin/bash", "--norc", "--noprofile", "-c", line]);
        shell.current_dir(self.at("repo")).env_clear();
        shell.envs(self.environment.iter().map(|(name, value)| (name, value))).process_group(0);
        shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        shell
    }

    /// The result without any walls.
    pub(crate) fn outside(&self, call: &Call) -> Result {
        self.reset();
        let run = |command: &String| seen(self.shell(command));
        let (seen, groups): (Vec<_>, Vec<_>) = call.commands.iter().map(run).unzip();
        for group in groups {
            // Most calls leave nothing behind.
            let _gone = kill_process_group(group, Signal::KILL);
        }
        self.result(seen)
    }

    fn result(&self, seen: Vec<Seen>) -> Result {
        Result { seen, tree: tree(&self.at("repo"), &self.at("home")) }
    }

    /// The result in a tier, and the rules by which the guard denies commands of it.
    pub(crate) fn inside(&self, call: &Call, tier: Tier) -> (Result, Vec<String>) {
        self.reset();
        let (calls, policy) = (self.calls(tier), self.policy(tier));
        let mut denied = Vec::new();
        let mut run = |command: &String| {
            denied.extend(denial(command, &policy));
            seen(self.shell(&calls.replace(command, Network::Own))).0
        };
        let seen = call.commands.iter().map(&mut run).collect();
        calls.end().expect("ended");
        (self.result(seen), denied)
    }

    fn policy(&self, tier: Tier) -> Policy {
        let mut policy = Policy::new(self.at("repo"), self.at("repo/tasks/job"));
        policy.home = Some(self.at("home"));
        policy.tmp = Some(self.at("run/tmp"));
        policy.tier = tier;
        policy
    }

    /// A session's sandbox.
    fn calls(&self, tier: Tier) -> Calls {
        let repo = self.at("repo");
        let variable = |name: &str| {
            self.environment.iter().find(|(it, _)| it == name).map(|(_, value)| value.clone())
        };
        let view = View {
            tree: repo.clone(),
            seen_at: repo.clone(),
            git: vec![repo.join(".git")],
            protected: vec![repo.join("tasks/job")],
            writable: vec![repo.join("tasks/job/progress.md")],
            tools: tools(&self.at("home"), &variable),
            home: self.at("home"),
            scratch: self.at("run"),
            tmp: self.at("run/tmp"),
            var_tmp: self.at("run/var"),
            empty: self.at("run/empty"),
            ..View::default()
        };
        fs::write(&view.empty, "").expect("written");
        let redactor = Redactor::new(Vec::<String>::new());
        let secrets = Secrets {
            is_secret: &secret_name,
            scrub: &|text| redactor.redact_str(text).into_owned(),
        };
        let walls = match tier {
            Tier::Full => {
                let overlay = Overlay {
                    lower: self.at("home"),
                    upper: self.at("run/upper"),
                    work: self.at("run/work"),
                    merged: self.at("run/home"),
                };
                prepare(&overlay, &view.tools, &secrets).expect("prepared");
                Walls::Namespaces(full(&view, overlay))
            }
            Tier::Partial | Tier::Off => {
                let path = variable("PATH");
                make_caches(&view.home, &|tool| {
                    which::which_in(tool, path.as_ref(), &repo).is_ok()
                });
                Walls::Landlock(partial(&view, &secrets).expect("listed"))
            }
        };
        let socket = self.at("run/calls.sock");
        let client = [RUNNER, "sandbox", "call", socket.to_str().expect("text")];
        let calls = Calls::listen(&socket, &client).expect("listening");
        let (programs, log) = (programs(), self.at("run/log"));
        let start = move || Room::start(&programs, &walls, &repo, &log);
        calls.begin(Rooms::start(Box::new(start), None).expect("started"));
        calls
    }
}

/// The rule by which the guard denies a command.
fn denial(command: &str, policy: &Policy) -> Option<String> {
    let request = ToolRequest {
        session: SessionId::new("s"),
        call: None,
        tool: "bash".to_owned(),
        input: json!({ "command": command }),
        asked: Asked::Hook,
    };
    let decision = decide(&request, policy, &OsFiles);
    (!decision.allowed()).then(|| format!("{}: {}", decision.rule, decision.reason))
}

/// Runs a shell to its end; what it left in its process group lives on.
fn seen(mut shell: Command) -> (Seen, Pid) {
    let mut child = shell.spawn().expect("started");
    let group = Pid::from_child(&child);
    let (stdout, stderr) = (drain(child.stdout.take()), drain(child.stderr.take()));
    let status = child.wait().expect("ended");
    let text = |output: &Receiver<Vec<u8>>| match output.recv_timeout(OPEN) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => "somebody keeps the output open".to_owned(),
    };
    (Seen { status: told(status), stdout: text(&stdout), stderr: text(&stderr) }, group)
}

fn told(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, signal) => format!("signal {signal:?}"),
    }
}

fn drain(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before an error is the output.
        drop(pipe.expect("a pipe").read_to_end(&mut bytes));
        drop(send.send(bytes));
    });
    receive
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").args([from, to]).status().expect("cp");
    assert!(status.success(), "{}", from.display());
}

/// Removes a folder, also one with folders that cannot be written.
fn remove(path: &Path) {
    if fs::remove_dir_all(path).is_err() {
        let status = Command::new("chmod").args(["-R", "u+rwx"]).arg(path).status();
        assert!(status.expect("chmod").success());
        fs::remove_dir_all(path).expect("removed");
    }
}
