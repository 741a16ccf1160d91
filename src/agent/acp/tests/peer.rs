//! The agent's end of the pipe, in raw frames: no library smooths over what is sent.

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
};

/// Speaks frame by frame.
pub(super) struct Peer {
    input: BufReader<ReadHalf<DuplexStream>>,
    out: WriteHalf<DuplexStream>,
    asked: u64,
}

impl Peer {
    pub(super) fn new(pipe: DuplexStream) -> Self {
        let (input, out) = tokio::io::split(pipe);
        Self { input: BufReader::new(input), out, asked: 0 }
    }

    /// The next frame of the client; none at its end.
    pub(super) async fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.input.read_line(&mut line).await.expect("the pipe is whole");
        (read > 0).then(|| serde_json::from_str(&line).expect("a frame"))
    }

    /// The next frame, which must be this request; gives its id and its parameters.
    pub(super) async fn expect(&mut self, method: &str) -> (Value, Value) {
        let frame = self.next().await.expect("a frame before the end");
        assert_eq!(frame["method"], method, "{frame}");
        (frame["id"].clone(), frame["params"].clone())
    }

    pub(super) async fn send(&mut self, frame: &Value) {
        self.bytes(format!("{frame}\n").as_bytes()).await;
    }

    /// Anything at all. A client that is gone is not the peer's business.
    pub(super) async fn bytes(&mut self, bytes: &[u8]) {
        let _gone = self.out.write_all(bytes).await;
    }

    pub(super) async fn answer(&mut self, id: &Value, result: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
    }

    pub(super) async fn refuse(&mut self, id: &Value, error: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error})).await;
    }

    /// Answers `initialize`.
    pub(super) async fn hello(&mut self) {
        let (id, _) = self.expect("initialize").await;
        let agent = json!({"name": "Peer", "version": "1"});
        self.answer(&id, json!({"protocolVersion": 1, "agentInfo": agent})).await;
    }

    /// Answers `session/new` with the session `s`.
    pub(super) async fn open(&mut self) {
        let (id, _) = self.expect("session/new").await;
        self.answer(&id, json!({"sessionId": "s"})).await;
    }

    /// Everything up to a prompt; gives the prompt's id.
    pub(super) async fn prompted(&mut self) -> Value {
        self.expect("session/prompt").await.0
    }

    pub(super) async fn end_turn(&mut self, prompt: &Value) {
        self.answer(prompt, json!({"stopReason": "end_turn"})).await;
    }

    pub(super) async fn update(&mut self, update: Value) {
        self.update_of("s", update).await;
    }

    pub(super) async fn update_of(&mut self, session: &str, update: Value) {
        let params = json!({"sessionId": session, "update": update});
        self.send(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params})).await;
    }

    pub(super) async fn say(&mut self, text: &str) {
        let content = json!({"type": "text", "text": text});
        self.update(json!({"sessionUpdate": "agent_message_chunk", "content": content})).await;
    }

    pub(super) async fn call(&mut self, id: &str, kind: &str, input: Value) {
        self.update(json!({
            "sessionUpdate": "tool_call", "toolCallId": id, "title": "a title", "kind": kind,
            "status": "pending", "rawInput": input,
        }))
        .await;
    }

    pub(super) async fn call_ended(&mut self, id: &str, status: &str, exit: i64) {
        self.update(json!({
            "sessionUpdate": "tool_call_update", "toolCallId": id, "status": status,
            "rawOutput": {"contents": [{"type": "shell_exit", "exitCode": exit}]},
        }))
        .await;
    }

    /// Asks for permission, without waiting; gives the request's id.
    pub(super) async fn ask(&mut self, call: &str, input: Value, options: &[&str]) -> Value {
        self.asked += 1;
        let id = json!(self.asked);
        let options = options.iter().enumerate();
        let options: Vec<Value> = options
            .map(|(at, kind)| json!({"optionId": format!("o{at}-{kind}"), "kind": kind, "name": "n"}))
            .collect();
        let call = json!({"toolCallId": call, "title": "t", "kind": "execute", "rawInput": input});
        let params = json!({"sessionId": "s", "toolCall": call, "options": options});
        let method = "session/request_permission";
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    /// The outcome of the next answer to a permission request, with the request's id.
    pub(super) async fn outcome(&mut self) -> (Value, Value) {
        let mut frame = self.next().await.expect("an answer");
        while frame["method"] == "$/cancel_request" {
            frame = self.next().await.expect("an answer");
        }
        assert!(frame.get("method").is_none(), "{frame}");
        (frame["id"].clone(), frame["result"]["outcome"].clone())
    }
}
