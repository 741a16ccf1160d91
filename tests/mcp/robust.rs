//! What a client that misbehaves, or goes away, leaves behind.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::TASK;
use crate::repo::{Repo, collect, guardians_of, processes_of, signal, until};

/// A client that types its own frames.
struct Raw {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Raw {
    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("stdout"));
        Self { child, stdin, stdout }
    }

    fn send(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("open");
        writeln!(stdin, "{line}").expect("sent");
    }

    /// The next line of the server.
    fn next(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.stdout.read_line(&mut line).expect("read") > 0, "no answer");
        serde_json::from_str(&line).expect(&line)
    }

    /// The answer to the request with this id.
    fn answer(&mut self, id: u32) -> Value {
        loop {
            let answer = self.next();
            if answer["id"] == id {
                return answer;
            }
        }
    }

    fn ask(&mut self, id: u32, method: &str, params: Value) -> Value {
        self.send(
            &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        );
        self.answer(id)
    }

    fn initialize(&mut self) {
        let info = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"}});
        let answer = self.ask(1, "initialize", info);
        assert_eq!(answer["result"]["serverInfo"]["name"], "ralph-copilot");
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }
}

/// The code and the id of an answer.
type Refusal = (i64, Option<u32>);

/// Lines that are no message, with the answer, if there is one.
const NOISE: [(&str, Option<Refusal>); 10] = [
    ("not json", Some((-32700, None))),
    ("[]", Some((-32600, None))),
    ("{}", Some((-32600, None))),
    ("\"text\"", Some((-32600, None))),
    (r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#, None),
    (r#"{"jsonrpc":"2.0","id":77,"result":{}}"#, None),
    (r#"{"jsonrpc":"1.0","id":5,"method":"tools/list"}"#, Some((-32600, Some(5)))),
    (r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{}}"#, Some((-32602, Some(6)))),
    (r#"{"jsonrpc":"2.0","method":"notifications/of-others","params":[]}"#, None),
    ("\u{0}\u{1}\u{fffd}", Some((-32700, None))),
];

impl Raw {
    /// Sends lines that are no message, and reads the answers to them.
    fn send_noise(&mut self) {
        for (line, answer) in NOISE {
            self.send(line);
            let Some((code, id)) = answer else { continue };
            let told = self.next();
            assert_eq!((&told["error"]["code"], &told["id"]), (&json!(code), &json!(id)), "{line}");
        }
    }
}

#[test]
fn garbage_is_answered_and_survived_before_and_after_the_handshake() {
    let repo = Repo::new(TASK);
    let mut client = Raw::start(repo.command(&["mcp", "serve"]));
    client.send_noise();
    client.initialize();
    client.send_noise();
    let listed = client.ask(2, "tools/list", json!({}));
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(5));
    let unknown = client.ask(3, "of/others", json!({}));
    assert_eq!(unknown["error"]["code"], -32601);
    client.send(&format!("{{\"x\":\"{}\"}}", "y".repeat(1 << 20)));
    assert_eq!(client.next()["error"]["code"], -32600);
    assert_eq!(client.ask(4, "ping", json!({}))["result"], json!({}));
    drop(client.stdin.take());
    assert_eq!(collect(client.child).code, Some(0));
}

/// Starts a run that does not end by itself, and returns its name.
fn busy(repo: &Repo, client: &mut Raw) -> String {
    client.initialize();
    let params = json!({"name": "run_task", "arguments": {"task": "demo"}});
    let answer = client.ask(2, "tools/call", params);
    let text = answer["result"]["content"][0]["text"].as_str().expect("a text");
    let told: Value = serde_json::from_str(text).expect(text);
    let run = told["run"].as_str().expect("a run").to_owned();
    until("the agent", || {
        let journal = repo.path(&format!(".ralph/runs/{run}/events.jsonl"));
        let journal = std::fs::read_to_string(journal).unwrap_or_default();
        journal.contains("tool_finished").then_some(())
    });
    run
}

#[test]
fn code_tasks_run_in_the_order_in_which_they_were_sent() {
    let repo = Repo::new(TASK);
    let mut command = repo.command(&["mcp", "serve", "--tools", "bridge"]);
    command.env("RALPH_COPILOT_AGENT", repo.agent("turns: [{steps: [{say: Done.}]}]"));
    let mut client = Raw::start(command);
    client.initialize();
    let asked: Vec<u32> = (2..10).collect();
    for id in &asked {
        let params = json!({"name": "copilot_code_task", "arguments": {"prompt": "x"}});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        client.send(&call.to_string());
    }
    let answered: Vec<Value> = asked.iter().map(|_| client.next()["id"].clone()).collect();
    assert_eq!(json!(answered), json!(asked));
    drop(client.stdin.take());
    assert_eq!(collect(client.child).code, Some(0));
}

fn hanging(repo: &Repo) -> Raw {
    let agent = repo.agent("turns: [{steps: [{run: ls}, {hang: }]}]");
    let mut command = repo.command(&["mcp", "serve", "--allow-task", "demo"]);
    // What a killed run leaves is here.
    let tmp = repo.beside("tmp");
    std::fs::create_dir(&tmp).expect("a folder");
    command.env("RALPH_COPILOT_AGENT", agent).env("TMPDIR", tmp);
    Raw::start(command)
}

/// A client that writes lines and closes its end, as a pipe does.
#[test]
fn what_was_asked_before_the_end_of_input_is_answered() {
    let repo = Repo::new(TASK);
    let mut client = Raw::start(repo.command(&["mcp", "serve"]));
    client.initialize();
    let params = json!({"name": "check_task", "arguments": {"task": "demo"}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    client.send(&call.to_string());
    drop(client.stdin.take());
    let answer = client.answer(2);
    let text = answer["result"]["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("criteria") && answer["result"]["isError"] != true, "{answer}");
    assert_eq!(collect(client.child).code, Some(0));
}

#[test]
fn the_end_of_input_ends_the_run_and_leaves_no_process() {
    let repo = Repo::new(TASK);
    let mut client = hanging(&repo);
    let run = busy(&repo, &mut client);
    drop(client.stdin.take());
    let ran = collect(client.child);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(processes_of(&run), Vec::<String>::new());
    let journal = repo.read(&format!(".ralph/runs/{run}/events.jsonl"));
    assert!(journal.contains("interrupted"), "the run did not end in good order: {journal}");
}

#[test]
fn sigterm_ends_the_run_and_leaves_no_process() {
    let repo = Repo::new(TASK);
    let mut client = hanging(&repo);
    let run = busy(&repo, &mut client);
    signal(client.child.id(), Signal::TERM);
    let ran = collect(client.child);
    assert_eq!(ran.code, Some(143), "{}", ran.stderr);
    drop(client.stdin);
    assert_eq!(processes_of(&run), Vec::<String>::new());
}

#[test]
fn a_kill_of_the_server_leaves_no_process() {
    let repo = Repo::new(TASK);
    let mut client = hanging(&repo);
    let run = busy(&repo, &mut client);
    signal(client.child.id(), Signal::KILL);
    collect(client.child);
    until("the end of the run", || processes_of(&run).is_empty().then_some(()));
    // It removes folders that only root could remove as they are.
    until("the guardian's end", || guardians_of(&run).is_empty().then_some(()));
}

#[test]
fn a_task_that_changed_since_the_start_is_not_run() {
    let repo = Repo::new(TASK);
    let mut client = hanging(&repo);
    client.initialize();
    let run = json!({"name": "run_task", "arguments": {"task": "demo"}});
    // A tick is no change of the task, and everything else is.
    repo.write("tasks/demo/TASK.md", TASK.replace("a.txt", "README.md").replace("[ ]", "[x]"));
    let answer = client.ask(2, "tools/call", run);
    let text = answer["result"]["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("has changed since the server started"), "{text}");
    assert!(!repo.path(".ralph/runs").exists());
    drop(client.stdin.take());
    assert_eq!(collect(client.child).code, Some(0));
}

#[test]
fn a_task_that_is_not_there_is_an_error_of_the_start() {
    let repo = Repo::new(TASK);
    let ran = repo.ralph(&["mcp", "serve", "--allow-task", "nope"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(7), ""));
    assert!(ran.stderr.contains("nope"), "{}", ran.stderr);
}

#[test]
fn an_argument_that_no_program_can_take_is_an_error_of_the_tool() {
    let repo = Repo::new(TASK);
    let mut client = hanging(&repo);
    client.initialize();
    for (id, (tool, key, value, why)) in (2..).zip([
        ("task_status", "task", "t\0".to_owned(), "`task` contains a NUL byte"),
        ("policy_check", "command", "ls \0".to_owned(), "`command` contains a NUL byte"),
        ("policy_check", "command", "x".repeat(3_000_000), "`command` is longer than 100000 bytes"),
    ]) {
        let call = json!({"name": tool, "arguments": {key: value}});
        let answer = client.ask(id, "tools/call", call);
        assert_eq!(answer["result"]["content"][0]["text"], why, "{tool}");
    }
    let unknown = json!({"name": "x".repeat(1_000_000), "arguments": {}});
    assert!(client.ask(9, "tools/call", unknown).to_string().len() < 1000);
    drop(client.stdin.take());
    assert_eq!(collect(client.child).code, Some(0));
}
