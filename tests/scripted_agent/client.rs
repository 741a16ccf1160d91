//! A client that speaks in raw frames, so that no library smooths over what was sent.

use std::path::Path;
use std::time::Duration;

use ralph_copilot::agent::scripted::{AgentExit, AgentScript, ScriptedError, serve};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;

/// The client, with the agent at the other end of a pipe.
pub(crate) struct Client {
    out: Option<WriteHalf<DuplexStream>>,
    input: BufReader<ReadHalf<DuplexStream>>,
    agent: JoinHandle<Result<AgentExit, ScriptedError>>,
    next: u64,
    pub(crate) session: String,
    /// Everything received, in order.
    pub(crate) seen: Vec<Value>,
    /// How permission requests are answered: by the kind of option that is selected.
    pub(crate) answer: fn(&Value) -> Option<&'static str>,
}

/// A limit, so that what never comes fails a test instead of holding it.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future).await.expect("an end in time")
}

pub(crate) fn allow(_: &Value) -> Option<&'static str> {
    Some("allow_once")
}

pub(crate) fn reject(_: &Value) -> Option<&'static str> {
    Some("reject_once")
}

impl Client {
    pub(crate) fn start(script: &str) -> Self {
        let script = AgentScript::parse(script).unwrap_or_else(|error| panic!("{error}"));
        Self::with(script)
    }

    pub(crate) fn with(script: AgentScript) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (stdin, stdout) = tokio::io::split(theirs);
        let (input, out) = tokio::io::split(ours);
        Self {
            out: Some(out),
            input: BufReader::new(input),
            agent: tokio::spawn(serve(script, stdin, stdout)),
            next: 0,
            session: String::new(),
            seen: Vec::new(),
            answer: allow,
        }
    }

    pub(crate) async fn send(&mut self, frame: Value) {
        let out = self.out.as_mut().expect("not hung up yet");
        out.write_all(format!("{frame}\n").as_bytes()).await.expect("the agent reads");
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    /// The next frame, if there is one.
    pub(crate) async fn frame(&mut self) -> Option<Value> {
        let mut line = Vec::new();
        within(self.input.read_until(b'\n', &mut line)).await.expect("the pipe is whole");
        if line.is_empty() {
            return None;
        }
        let frame = serde_json::from_slice(&line)
            .unwrap_or_else(|_| json!({"junk": String::from_utf8_lossy(&line)}));
        self.seen.push(frame.clone());
        Some(frame)
    }

    /// Waits for the answer to a request; permission requests are answered meanwhile.
    pub(crate) async fn wait(&mut self, id: u64) -> Option<Value> {
        loop {
            let frame = self.frame().await?;
            if frame["method"] == "session/request_permission" {
                let id = frame["id"].clone();
                match (self.answer)(&frame["params"]["toolCall"]) {
                    Some(option) => self.permit(id, option).await,
                    None => self.outcome(id, json!({"outcome": "cancelled"})).await,
                }
            } else if frame["id"] == id && frame.get("method").is_none() {
                return Some(frame);
            }
        }
    }

    /// Answers a permission request with the option of that id.
    pub(crate) async fn permit(&mut self, id: Value, option: &str) {
        self.outcome(id, json!({"outcome": "selected", "optionId": option})).await;
    }

    async fn outcome(&mut self, id: Value, outcome: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": id, "result": {"outcome": outcome}})).await;
    }

    pub(crate) async fn cancel(&mut self) {
        let params = json!({"sessionId": self.session});
        self.send(json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params})).await;
    }

    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        self.wait(id).await.expect("an answer")
    }

    pub(crate) async fn open(&mut self, cwd: &Path) {
        self.ask("initialize", json!({"protocolVersion": 1})).await;
        let new = self.ask("session/new", json!({"cwd": cwd, "mcpServers": []})).await;
        new["result"]["sessionId"].as_str().expect("a session").clone_into(&mut self.session);
    }

    pub(crate) async fn prompt(&mut self, criterion: &str) -> Value {
        let id = self.send_prompt(criterion).await;
        self.wait(id).await.expect("an answer")
    }

    pub(crate) async fn send_prompt(&mut self, criterion: &str) -> u64 {
        let text = format!("Execute Ralph iteration 1 for task: hello\n\nFocus on: {criterion}\n");
        let prompt = json!([{"type": "text", "text": text}]);
        self.request("session/prompt", json!({"sessionId": self.session, "prompt": prompt})).await
    }

    pub(crate) fn updates(&self, kind: &str) -> Vec<&Value> {
        self.seen
            .iter()
            .map(|frame| &frame["params"]["update"])
            .filter(|update| update["sessionUpdate"] == kind)
            .collect()
    }

    pub(crate) fn permissions(&self) -> Vec<&Value> {
        self.seen
            .iter()
            .filter(|frame| frame["method"] == "session/request_permission")
            .map(|frame| &frame["params"])
            .collect()
    }

    pub(crate) fn said(&self) -> String {
        let chunks = self.updates("agent_message_chunk");
        chunks.iter().filter_map(|update| update["content"]["text"].as_str()).collect()
    }

    pub(crate) async fn hang_up(mut self) -> AgentExit {
        self.out = None;
        drop(self.input);
        self.agent.await.expect("no panic").expect("a clean end")
    }
}
