//! A model on loopback with two answers: it asks for one tool call, and ends its turn when it gets
//! the call's result. For `doctor --deep`, which must not ask a real model.
//!
//! Invariant: it listens only on loopback, keeps the reported result of the call, and ends when it
//! is dropped. It does not interpret the result.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Longest request that is read, in bytes.
const LONGEST: u64 = 16 << 20;

/// The running model.
pub(super) struct Loopback {
    address: SocketAddr,
    /// The agent's report about the call.
    told: Arc<Mutex<Option<String>>>,
    task: JoinHandle<()>,
}

impl Loopback {
    /// A model that asks for this shell command.
    pub(super) async fn start(command: &'static str) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let told = Arc::<Mutex<Option<String>>>::default();
        let kept = Arc::clone(&told);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let kept = Arc::clone(&kept);
                tokio::spawn(async move {
                    if let Err(error) = serve(stream, command, &kept).await {
                        tracing::debug!(%error, "a request to the canary's model");
                    }
                });
            }
        });
        Ok(Self { address, told, task })
    }

    /// Its base URL.
    pub(super) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The agent's report about the call, if there was one.
    pub(super) fn told(&self) -> Option<String> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Answers the requests of one connection.
async fn serve(
    stream: TcpStream,
    command: &str,
    told: &Mutex<Option<String>>,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some(body) = read_request(&mut stream).await? {
        let request: Value = serde_json::from_slice(&body).unwrap_or_default();
        let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let result = messages.iter().rev().find(|message| message["role"] == "tool");
        if let Some(result) = result {
            let text = text_of(&result["content"]);
            told.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(text);
        }
        let delta = match result {
            Some(_) => json!({ "role": "assistant", "content": "Done." }),
            None => json!({ "role": "assistant", "content": "", "tool_calls": [{
                "index": 0,
                "id": "call_canary",
                "type": "function",
                "function": {
                    "name": "bash",
                    "arguments":
                        json!({ "command": command, "description": "canary" }).to_string(),
                },
            }] }),
        };
        let finish = if result.is_some() { "stop" } else { "tool_calls" };
        let answer = answer(&delta, finish);
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(answer.as_bytes()).await?;
        stream.flush().await?;
    }
    Ok(())
}

/// The body of one request; none at the connection's end.
async fn read_request(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<Vec<u8>>> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if (&mut *stream).take(LONGEST).read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        let line = line.trim();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse::<u64>().ok();
        }
    }
    let length = length.unwrap_or(0);
    if length > LONGEST {
        return Err(std::io::ErrorKind::InvalidData.into());
    }
    let mut body = Vec::new();
    stream.take(length).read_to_end(&mut body).await?;
    Ok(Some(body))
}

/// A streamed answer of one piece.
fn answer(delta: &Value, finish: &str) -> String {
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({
            "id": "chatcmpl-canary",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "canary",
            "choices": choices,
            "usage": usage,
        });
        format!("data: {chunk}\n\n")
    };
    let choice = |delta: &Value, finish: Value| json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
    let usage = json!({ "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 });
    [
        chunk(choice(delta, Value::Null), Value::Null),
        chunk(choice(&json!({}), finish.into()), Value::Null),
        chunk(json!([]), usage),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat()
}

/// Text of a message, which is a string or a list of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}
