//! The gateway inside a run of the built-in scripted agent.

mod ends;
mod guarded;
mod ports;
mod programs;
mod story;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use ralph_copilot::model::{Event, EventKind};
use serde_json::{Value, json};

use crate::place::{clients, python, repository};
use crate::repo::{Repo, until};

/// Limit for anything that is waited for.
const LIMIT: Duration = Duration::from_secs(60);

/// A task whose first criterion the agent meets once the file `flag` is there.
const TWO: &str = "\
# Two

- [ ] a is there
  - verify: `test -e a.txt`
- [ ] b is there
  - verify: `test -e b.txt`
";

/// The agent of that task.
const AGENT: &str = r#"
turns:
- match: a is there
  steps:
  - run: sh wait.sh
  - write: {path: a.txt, text: a}
  - tick: "{criterion}"
  - progress: did a
  - commit: a
- match: b is there
  steps: [{write: {path: b.txt, text: b}}, {tick: "{criterion}"}, {progress: did b}, {commit: b}]
"#;

/// The repository of [`TWO`].
fn two() -> Repo {
    Repo::with(
        TWO,
        &[
            (
                "wait.sh",
                "n=0\nwhile [ ! -e flag ] && [ $n -lt 600 ]\ndo n=$((n+1)); sleep 0.1\ndone\n",
            ),
            (".gitignore", "flag\nfound.txt\n"),
        ],
    )
}

/// The journal of the newest run, as far as it is written.
fn journal(repo: &Repo) -> Vec<Event> {
    let read = |folder: PathBuf| std::fs::read_to_string(folder.join("events.jsonl")).ok();
    let text = newest(repo).and_then(read).unwrap_or_default();
    text.split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
        .map(|line| serde_json::from_str(line).expect("an event"))
        .collect()
}

/// The folder of the newest run.
fn newest(repo: &Repo) -> Option<PathBuf> {
    let folders = std::fs::read_dir(repo.path(".ralph/runs")).ok()?;
    let folders = folders.filter_map(|entry| Some(entry.ok()?.path()));
    folders.filter(|path| path.join("events.jsonl").is_file()).max()
}

/// Waits until an event of the run gives something.
fn wait_for<T>(repo: &Repo, what: &str, found: impl Fn(&EventKind) -> Option<T>) -> T {
    until(what, || journal(repo).iter().find_map(|event| found(&event.kind)))
}

/// The port and the token file of the run.
fn gateway(repo: &Repo) -> (u16, Option<String>) {
    wait_for(repo, "the gateway", |kind| match kind {
        EventKind::GatewayStarted { port, token_file } => Some((*port, token_file.clone())),
        _ => None,
    })
}

/// Notices of the run.
fn notices(repo: &Repo) -> Vec<String> {
    let notices = journal(repo).into_iter().filter_map(|event| match event.kind {
        EventKind::Notice { message } => Some(message),
        _ => None,
    });
    notices.collect()
}

/// A run of [`two`] to which the provider `ci` is bound, unless there is no client.
fn bound() -> Option<(Repo, Child, Client)> {
    clients()?;
    let repo = two();
    let run = start(&repo, &["--gateway=0"]);
    let client = Client::bound(&repo, "ci").expect("the clients are there");
    Some((repo, run, client))
}

/// A provider that the test drives.
struct Client {
    child: Child,
    stdin: ChildStdin,
    frames: Receiver<Value>,
}

impl Client {
    /// Connects to the run's gateway and shows the token. Gives the session that is offered, too.
    fn connect(repo: &Repo) -> Option<(Self, Value)> {
        let (port, token_file) = gateway(repo);
        let token = std::fs::read_to_string(token_file.expect("a token file")).expect("a token");
        let mut client = Self::open(port)?;
        client.send(&json!({"type": "auth", "token": token.trim_end()}));
        let sessions = client.expect("sessions");
        let active = sessions["active"].as_array().expect("a list");
        assert_eq!(active.len(), 1, "{sessions}");
        Some((client, active[0].clone()))
    }

    /// The same, bound under this name with the tool `greet`.
    fn bound(repo: &Repo, name: &str) -> Option<Self> {
        let (mut client, session) = Self::connect(repo)?;
        client.send(&json!({
            "type": "hello", "name": name, "protocolVersion": 2, "session": session["id"],
            "tools": [{"name": format!("greet_{name}"), "description": "d", "parameters": {}}],
        }));
        client.expect("hello.ack");
        assert_eq!(client.expect("session.lifecycle")["state"], "started");
        Some(client)
    }

    fn open(port: u16) -> Option<Self> {
        let mut child = python(&clients()?)
            .arg(repository("tests/gateway/client.py"))
            .arg(format!("ws://127.0.0.1:{port}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        let stdin = child.stdin.take().expect("piped");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, frames) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(serde_json::from_str(&line).expect("JSON")).is_err() {
                    return;
                }
            }
        });
        Some(Self { child, stdin, frames })
    }

    fn send(&mut self, frame: &Value) {
        writeln!(self.stdin, "{frame}").expect("written");
    }

    /// The next frame, which has this type.
    #[track_caller]
    fn expect(&self, kind: &str) -> Value {
        let frame = self.frames.recv_timeout(LIMIT).expect("a frame");
        assert_eq!(frame["type"], kind, "{frame}");
        frame
    }

    fn push(&mut self, level: &str, text: &str) {
        self.send(&json!({"type": "push", "level": level, "event": text, "stream": "builds"}));
    }

    /// Waits for the end of the session, and says goodbye.
    fn goodbye(mut self) {
        loop {
            let frame = self.frames.recv_timeout(LIMIT).expect("the end");
            if frame["state"] == "shutdown.pending" {
                assert_eq!(frame["deadline"], 10_000);
                self.send(&json!({"type": "goodbye"}));
                return drop(self.child.wait());
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Starts the run; the agent goes on once the file `flag` is there.
fn start(repo: &Repo, args: &[&str]) -> Child {
    let mut command = repo.run_command(AGENT, args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}
