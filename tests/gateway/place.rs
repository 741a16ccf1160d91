//! A folder with a Copilot home, the gateway that runs there, and the clients.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::downloads::download;

/// Limit for anything that is waited for.
const LIMIT: Duration = Duration::from_secs(60);

/// The folder.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The folder of the token files.
    pub(crate) fn tokens(&self) -> PathBuf {
        self.path().join("copilot/extensions/tap")
    }

    /// A `gateway` command.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ralph-copilot"));
        command
            .arg("gateway")
            .args(args)
            .current_dir(self.path())
            .env("COPILOT_HOME", self.path().join("copilot"))
            .env_remove("TAP_PROVIDER_TOKEN")
            .env_remove("TAP_GATEWAY_PORT");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).stdin(Stdio::null()).output().expect("started")
    }

    /// `gateway serve --json` on a free port.
    pub(crate) fn serve(&self, args: &[&str]) -> Served {
        let mut command = self.command(&["serve", "--json", "--port", "0"]);
        command.args(args);
        self.served(command)
    }

    /// The same, by this command.
    pub(crate) fn served(&self, mut command: Command) -> Served {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("started");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, events) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let event: Value = serde_json::from_str(&line).expect("a JSON line");
                if sender.send(event).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        let mut served = Served { child, stdin, events, ready: Value::Null };
        served.ready = served.next();
        assert_eq!(served.ready["event"], "gateway_ready");
        served
    }
}

/// A gateway that runs.
pub(crate) struct Served {
    pub(crate) child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    events: Receiver<Value>,
    pub(crate) ready: Value,
}

impl Served {
    pub(crate) fn port(&self) -> u16 {
        let url = self.ready["url"].as_str().expect("a URL");
        url.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port")
    }

    pub(crate) fn path(&self, key: &str) -> PathBuf {
        PathBuf::from(self.ready[key].as_str().expect("a path"))
    }

    pub(crate) fn token(&self, key: &str) -> String {
        std::fs::read_to_string(self.path(key)).expect("a token").trim_end().to_owned()
    }

    pub(crate) fn next(&self) -> Value {
        self.events.recv_timeout(LIMIT).expect("an event")
    }

    /// Waits for an event of this name.
    pub(crate) fn event(&self, name: &str) -> Value {
        loop {
            let event = self.next();
            if event["event"] == name {
                return event;
            }
        }
    }

    pub(crate) fn command(&mut self, command: &Value) {
        let stdin = self.stdin.as_mut().expect("open");
        writeln!(stdin, "{command}").expect("written");
    }

    /// Ends standard input and gives the exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        drop(self.stdin.take());
        self.child.wait().expect("waited").code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It has ended in most tests.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The folder with the clients, unless there is none and none is required.
pub(crate) fn clients() -> Option<PathBuf> {
    download("RALPH_TEST_GATEWAY_CLIENTS")
}

/// Python with `websockets`.
pub(crate) fn python(clients: &Path) -> Command {
    let mut command = Command::new("python3");
    command.env("PYTHONPATH", clients.join("python")).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// Node, on a program that is copied to where it finds the packages of `clients`.
pub(crate) fn node(clients: &Path, place: &Place, name: &str, program: &str) -> Command {
    let modules = place.path().join("node_modules");
    if !modules.exists() {
        std::os::unix::fs::symlink(clients.join("node_modules"), modules).expect("linked");
    }
    let file = place.path().join(name);
    std::fs::write(&file, program).expect("written");
    let mut command = Command::new("node");
    command.arg("--preserve-symlinks").arg("--preserve-symlinks-main").arg(file);
    command
}

/// The file of this repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Checks the exit status, and shows what was printed if it is another.
#[track_caller]
pub(crate) fn ended(output: &Output, code: i32) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{stdout}\n{stderr}");
    stdout + &stderr
}
