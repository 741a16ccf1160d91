//! The scripted agent as a client sees it: frames on a pipe, files and commits on disk.

use std::path::Path;
use std::process::Command;

use ralph_copilot::agent::scripted::{Ended, Script, ScriptedError, serve};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;

/// A client that speaks in raw frames, so that no library smooths over what was sent.
struct Client {
    out: Option<WriteHalf<DuplexStream>>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    agent: JoinHandle<Result<Ended, ScriptedError>>,
    next: u64,
    session: String,
    /// Everything received, in order.
    seen: Vec<Value>,
    /// How permission requests are answered: by the kind of option that is selected.
    answer: fn(&Value) -> Option<&'static str>,
}

fn allow(_: &Value) -> Option<&'static str> {
    Some("allow_once")
}

fn reject(_: &Value) -> Option<&'static str> {
    Some("reject_once")
}

impl Client {
    fn start(script: &str) -> Self {
        let script = Script::parse(script).unwrap_or_else(|error| panic!("{error}"));
        Self::with(script)
    }

    fn with(script: Script) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (stdin, stdout) = tokio::io::split(theirs);
        let (input, out) = tokio::io::split(ours);
        Self {
            out: Some(out),
            lines: BufReader::new(input).lines(),
            agent: tokio::spawn(serve(script, stdin, stdout)),
            next: 0,
            session: String::new(),
            seen: Vec::new(),
            answer: allow,
        }
    }

    async fn send(&mut self, frame: Value) {
        let out = self.out.as_mut().expect("not hung up yet");
        out.write_all(format!("{frame}\n").as_bytes()).await.expect("the agent reads");
    }

    async fn request(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    /// The next frame, if there is one.
    async fn frame(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.expect("UTF-8")?;
        let frame: Value = serde_json::from_str(&line).unwrap_or_else(|_| json!({"junk": line}));
        self.seen.push(frame.clone());
        Some(frame)
    }

    /// Waits for the answer to a request; permission requests are answered meanwhile.
    async fn wait(&mut self, id: u64) -> Option<Value> {
        loop {
            let frame = self.frame().await?;
            if frame["method"] == "session/request_permission" {
                let outcome = match (self.answer)(&frame["params"]["toolCall"]) {
                    Some(option) => json!({"outcome": "selected", "optionId": option}),
                    None => json!({"outcome": "cancelled"}),
                };
                let id = frame["id"].clone();
                self.send(json!({"jsonrpc": "2.0", "id": id, "result": {"outcome": outcome}}))
                    .await;
            } else if frame["id"] == id && frame.get("method").is_none() {
                return Some(frame);
            }
        }
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        self.wait(id).await.expect("an answer")
    }

    async fn open(&mut self, cwd: &Path) {
        self.ask("initialize", json!({"protocolVersion": 1})).await;
        let new = self.ask("session/new", json!({"cwd": cwd, "mcpServers": []})).await;
        new["result"]["sessionId"].as_str().expect("a session").clone_into(&mut self.session);
    }

    async fn prompt(&mut self, criterion: &str) -> Value {
        let id = self.send_prompt(criterion).await;
        self.wait(id).await.expect("an answer")
    }

    async fn send_prompt(&mut self, criterion: &str) -> u64 {
        let text = format!("Execute Ralph iteration 1 for task: hello\n\nFocus on: {criterion}\n");
        let prompt = json!([{"type": "text", "text": text}]);
        self.request("session/prompt", json!({"sessionId": self.session, "prompt": prompt})).await
    }

    fn updates(&self, kind: &str) -> Vec<&Value> {
        self.seen
            .iter()
            .map(|frame| &frame["params"]["update"])
            .filter(|update| update["sessionUpdate"] == kind)
            .collect()
    }

    fn permissions(&self) -> Vec<&Value> {
        self.seen
            .iter()
            .filter(|frame| frame["method"] == "session/request_permission")
            .map(|frame| &frame["params"])
            .collect()
    }

    fn said(&self) -> String {
        let chunks = self.updates("agent_message_chunk");
        chunks.iter().filter_map(|update| update["content"]["text"].as_str()).collect()
    }

    async fn hang_up(mut self) -> Ended {
        self.out = None;
        drop(self.lines);
        self.agent.await.expect("no panic").expect("a clean end")
    }
}

fn git(repo: &Path, args: &[&str]) -> String {
    let output = Command::new("git").args(args).current_dir(repo).output().expect("git runs");
    assert!(output.status.success(), "git {args:?}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

const TASK: &str = "# Hello\n\n- [ ] it's greeting\n- [ ] second\n";

fn repository() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let repo = folder.path();
    let task = repo.join("tasks/hello");
    std::fs::create_dir_all(&task).expect("a folder");
    std::fs::write(task.join("TASK.md"), TASK).expect("a task");
    git(repo, &["init", "-q", "-b", "main"]);
    git(repo, &["config", "user.name", "Agent"]);
    git(repo, &["config", "user.email", "agent@example.com"]);
    git(repo, &["add", "-A"]);
    git(repo, &["commit", "-qm", "start"]);
    folder
}

#[tokio::test]
async fn honest_work_is_asked_for_and_really_done() {
    let repo = repository();
    let mut client = Client::start(
        r#"
turns:
- match: greeting
  steps:
  - say: "On it: {criterion}"
  - think: hm
  - plan: [one, two]
  - read: tasks/hello/TASK.md
  - write: {path: src/greet.sh, text: "echo hi\n"}
  - edit: {path: src/greet.sh, old: hi, new: hello}
  - run: sh src/greet.sh
  - tick: "{criterion}"
  - progress: "{criterion}: done"
  - usage: {input: 100, output: 10}
  - commit: add the greeting
"#,
    );
    client.open(repo.path()).await;
    let answer = client.prompt("it's greeting").await;

    assert_eq!(
        answer["result"],
        json!({"stopReason": "end_turn", "usage": {"inputTokens": 100, "outputTokens": 10,
               "totalTokens": 110, "cachedReadTokens": 0, "cachedWriteTokens": 0}})
    );
    assert_eq!(client.said(), "On it: it's greeting");
    let asked: Vec<_> =
        client.permissions().iter().map(|asked| asked["toolCall"]["title"].clone()).collect();
    assert_eq!(
        asked,
        [
            "Create file",
            "Edit file",
            "sh src/greet.sh",
            "Edit file",
            "Create file",
            "Commit the work"
        ]
    );
    let task = std::fs::read_to_string(repo.path().join("tasks/hello/TASK.md")).expect("a task");
    assert_eq!(task, TASK.replacen("[ ]", "[x]", 1));
    assert_eq!(
        git(repo.path(), &["log", "-1", "--format=%s"]),
        "ralph(hello): [it's greeting] - add the greeting\n"
    );
    assert_eq!(git(repo.path(), &["status", "--short"]), "");
    let today = chrono::Local::now().format("%F");
    assert_eq!(
        std::fs::read_to_string(repo.path().join("tasks/hello/progress.md")).expect("progress"),
        format!("- {today} it's greeting: done\n")
    );
    let outputs: Vec<_> = client
        .updates("tool_call_update")
        .iter()
        .map(|update| update["rawOutput"]["contents"][0]["outputPreview"].clone())
        .filter(|preview| !preview.is_null())
        .collect();
    assert_eq!(outputs[0], "hello\n");
    assert_eq!(client.hang_up().await, Ended::HungUp);
}

#[tokio::test]
async fn a_denial_ends_the_turn_and_the_next_prompt_goes_on() {
    let repo = repository();
    let mut client = Client::start(
        "turns:\n- times: 1\n  steps:\n  - run: touch denied\n  - run: touch unreached\n\
         - match: greeting\n  steps:\n  - run: touch later\n",
    );
    client.open(repo.path()).await;
    client.answer = reject;
    let answer = client.prompt("it's greeting").await;
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));
    assert_eq!(client.said(), "Info: Operation cancelled by user");
    let failed = client.updates("tool_call_update");
    assert_eq!(failed[0]["rawOutput"]["code"], "rejected");
    assert_eq!(client.permissions().len(), 1);

    // The second prompt of a session need not name its criterion again.
    client.answer = allow;
    let prompt = json!([{"type": "text", "text": "That was denied. Go on."}]);
    let session = client.session.clone();
    client.ask("session/prompt", json!({"sessionId": session, "prompt": prompt})).await;
    let made: Vec<bool> = ["denied", "unreached", "later"]
        .iter()
        .map(|name| repo.path().join(name).exists())
        .collect();
    assert_eq!(made, [false, false, true]);
}

/// Copies a folder as the demo does.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("copied");
        }
    }
}

/// As the guard: a program that nobody allowed is denied.
fn deny_curl(call: &Value) -> Option<&'static str> {
    let command = call["rawInput"]["command"].as_str().unwrap_or_default();
    Some(if command.starts_with("curl") { "reject_once" } else { "allow_once" })
}

#[tokio::test]
async fn the_example_is_one_lie_one_denial_and_honest_work() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("tasks-example");
    let folder = tempfile::tempdir().expect("a folder");
    let repo = folder.path();
    copy(&example, repo);
    git(repo, &["init", "-q", "-b", "main"]);
    git(repo, &["config", "user.name", "Agent"]);
    git(repo, &["config", "user.email", "agent@example.com"]);
    git(repo, &["add", "-A"]);
    git(repo, &["commit", "-qm", "start"]);
    let check = |name: &str| {
        let output = Command::new("sh").args(["check.sh", name]).current_dir(repo).output();
        output.expect("sh runs").status.success()
    };
    let criteria = [
        ("greet.sh greets the person that is named", "name"),
        ("Without a name it greets the world", "world"),
        ("Without a name it greets the world", "world"),
        ("An unknown option is refused with exit code 2 and a usage line", "usage"),
        ("An unknown option is refused with exit code 2 and a usage line", "usage"),
        ("README.md shows how to greet Ada", "readme"),
    ];
    let task = repo.join("tasks/hello/TASK.md");
    let mut script = Script::load(&repo.join("agent.yaml")).expect("a script");
    script.pace = 0;
    let mut client = Client::with(script);
    client.open(repo).await;
    client.answer = deny_curl;
    let mut course = Vec::new();
    for (criterion, name) in criteria {
        let before = check(name);
        client.prompt(criterion).await;
        let text = std::fs::read_to_string(&task).expect("a task");
        let ticked = text.contains(&format!("- [x] {criterion}\n"));
        if ticked && !check(name) {
            // As the runner: a false tick is taken back.
            let open = text.replace(&format!("[x] {criterion}"), &format!("[ ] {criterion}"));
            std::fs::write(&task, open).expect("written");
        }
        course.push((name, before, ticked, check(name)));
    }
    assert_eq!(
        course,
        [
            ("name", false, true, true),
            ("world", false, true, false),
            ("world", false, true, true),
            ("usage", false, false, false),
            ("usage", false, true, true),
            ("readme", false, true, true),
        ]
    );
    assert!(["name", "world", "usage", "readme"].into_iter().all(check));
    assert_eq!(git(repo, &["status", "--short"]), "");
    assert_eq!(client.said().matches("Operation cancelled").count(), 1);
}
