//! The MCP endpoints of `gateway serve`, with the official SDK's client.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::call::provider;
use crate::mcp_client;
use crate::place::{Place, Served, repository};

struct Client {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<Value>,
}

impl Client {
    fn start(served: &Served, session: &str, token: &str) -> Option<Self> {
        let home = mcp_client::packages()?;
        let url = format!("{}/{session}", served.ready["mcp_url"].as_str().expect("a URL"));
        let mut child = Command::new("node")
            .arg(repository("tests/gateway/client.mjs"))
            .arg(home)
            .args([&url, token])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).expect("a JSON line");
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take().expect("piped");
        Some(Self { child, stdin, lines })
    }

    fn say(&mut self, line: &Value) {
        writeln!(self.stdin, "{line}").expect("written");
    }

    fn next(&self) -> Value {
        self.lines.recv_timeout(Duration::from_secs(60)).expect("a line")
    }

    /// Calls a tool and gives text, `isError` and `_meta`.
    fn call(&mut self, tool: &str, args: &Value) -> (String, bool, Value) {
        self.say(&json!({"call": tool, "args": args}));
        let answer = &self.next()["answer"];
        let text = answer["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        (text, answer["isError"].as_bool().unwrap_or(false), answer["_meta"].clone())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn names(line: &Value) -> Vec<&str> {
    let tools = line["tools"].as_array().expect("a list");
    tools.iter().map(|tool| tool["name"].as_str().expect("a name")).collect()
}

#[test]
fn tools_come_are_called_and_go() {
    let place = Place::new();
    let mut served = place.serve(&[]);
    let token = served.token("mcp_token_file");
    let Some(mut client) = Client::start(&served, "dev", &token) else { return };
    assert_eq!(names(&client.next()), Vec::<&str>::new());
    let Some(provider) = provider(&served) else { return };
    let listed = client.next();
    assert_eq!(names(&listed), ["fail", "greet", "wait"]);
    assert_eq!(listed["tools"][0]["inputSchema"], json!({"type": "object"}));
    assert_eq!(listed["tools"][0]["annotations"]["readOnlyHint"], false);

    let (text, is_error, meta) = client.call("greet", &json!({"name": "Alice"}));
    assert_eq!((text.as_str(), is_error, meta), ("Hello, Alice!", false, Value::Null));
    let (text, is_error, meta) = client.call("fail", &json!({}));
    assert_eq!((text.as_str(), is_error), ("INTERNAL: broken", true));
    assert_eq!(meta["errorCode"], "INTERNAL");
    let (text, is_error, meta) = client.call("other", &json!({}));
    assert!(text.starts_with("NOT_FOUND: ") && is_error, "{text}");
    assert_eq!(meta["errorCode"], "NOT_FOUND");

    // Cancelling the request cancels the call.
    client.say(&json!({"call": "wait", "args": {}}));
    let called = loop {
        let event = served.event("call");
        if event["id"] == "call-2-3" || event["id"].as_str().is_some_and(|id| id.ends_with("-3")) {
            break event;
        }
    };
    assert_eq!(called["as"], Value::Null);
    client.say(&json!({"cancel": true}));
    assert!(client.next()["failed"].is_string());
    loop {
        let event = served.event("result");
        if event["id"] == called["id"] {
            assert_eq!(event["error_code"], "CANCELLED");
            break;
        }
    }

    // A provider that dies in a call.
    client.say(&json!({"call": "wait", "args": {}}));
    served.event("call");
    drop(provider);
    let (mut answered, mut emptied) = (false, false);
    while !(answered && emptied) {
        let line = client.next();
        if line["answer"].is_object() {
            let text = line["answer"]["content"][0]["text"].as_str().unwrap_or_default();
            assert!(text.starts_with("DISCONNECTED: "), "{line}");
            answered = true;
        } else {
            assert_eq!(names(&line), Vec::<&str>::new());
            emptied = true;
        }
    }
    served.command(&json!({"command": "end", "session": "dev"}));
    served.command(&json!({"command": "tools", "session": "dev"}));
    assert_eq!(served.event("error")["code"], "INVALID_SESSION");
    let late = Client::start(&served, "dev", &token).expect("clients");
    assert_eq!(late.next()["refused"], 404);
}

#[test]
fn a_wrong_bearer_and_an_unknown_session_are_refused() {
    let place = Place::new();
    let served = place.serve(&[]);
    let token = served.token("mcp_token_file");
    for (session, token, status) in [
        ("dev", "ptk-00000000000000000000000000000000", 401),
        ("dev", &served.token("token_file"), 401),
        ("other", &token, 404),
    ] {
        let Some(client) = Client::start(&served, session, token) else { return };
        assert_eq!(client.next()["refused"], status, "{session}");
    }
}
