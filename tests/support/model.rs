//! A scripted model: an OpenAI-compatible chat-completions server on loopback that gives
//! predefined answers and records every request.
//!
//! Invariant: no answer is invented. A request without a matching route, or whose route has no
//! answer left, gets status 400, so that a test with too many requests fails.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::{Value, json};

/// One answer to one request.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// A message that ends the turn.
    Say(String),
    /// Parallel tool calls: name and arguments.
    Call(Vec<(&'static str, Value)>),
    /// Short shell commands, until a tool is offered whose name ends so.
    Await(&'static str),
    /// A line that somebody at the machine runs in this folder, before the next answer.
    Meanwhile(PathBuf, &'static str),
    /// An HTTP error: status, headers and message.
    Status(u16, Vec<(&'static str, &'static str)>, &'static str),
    /// A malformed body.
    Garbage(&'static str),
    /// Half a message, then the connection breaks.
    Drop(&'static str),
    /// Nothing, until the client gives up.
    Hang,
}

/// A message.
pub(crate) fn say(text: impl Into<String>) -> Step {
    Step::Say(text.into())
}

/// One tool call. A name that begins with `*` is the one among the offered tools that ends with the
/// rest of it: the CLI puts the name of a server before the names of its tools.
pub(crate) fn call(tool: &'static str, arguments: Value) -> Step {
    Step::Call(vec![(tool, arguments)])
}

/// Waits for a tool.
pub(crate) fn until_offered(end: &'static str) -> Step {
    Step::Await(end)
}

/// A shell command.
pub(crate) fn bash(command: &str) -> Step {
    call("bash", json!({ "command": command, "description": "work" }))
}

/// Answers to the prompts that contain a text.
#[derive(Debug)]
pub(crate) struct Route {
    part: String,
    steps: VecDeque<Step>,
}

/// A route.
pub(crate) fn route(part: impl Into<String>, steps: impl IntoIterator<Item = Step>) -> Route {
    Route { part: part.into(), steps: steps.into_iter().collect() }
}

/// The running server; it ends when this is dropped.
pub(crate) struct Model {
    address: SocketAddr,
    shared: Arc<Shared>,
    over: Arc<AtomicBool>,
}

struct Shared {
    routes: Mutex<Vec<Route>>,
    requests: Mutex<Vec<Value>>,
}

impl Model {
    /// Listens on a free port.
    pub(crate) fn start(routes: impl IntoIterator<Item = Route>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            routes: Mutex::new(routes.into_iter().collect()),
            requests: Mutex::default(),
        });
        let over = Arc::new(AtomicBool::new(false));
        let (state, ended) = (Arc::clone(&shared), Arc::clone(&over));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::Acquire) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let shared = Arc::clone(&state);
                // A test may close the connection.
                thread::spawn(move || drop(serve(stream, &shared)));
            }
        });
        Self { address, shared, over }
    }

    /// The base URL for clients.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The bodies of all requests so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        lock(&self.shared.requests).clone()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        // Wakes the thread that waits for the next client.
        drop(TcpStream::connect(self.address));
    }
}

/// The results of the tools in a request, newest last.
pub(crate) fn tool_results(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().into_iter().flatten();
    messages.filter(|message| message["role"] == "tool").map(text_of).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Text of a message, which is a string or a list of parts.
fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let parts = parts.iter().filter_map(|part| part["text"].as_str());
            parts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// The next answer: from the first route that matches the newest user message that any route
/// matches. Lines of somebody at the machine are run before it, while other requests are answered.
fn choose(shared: &Shared, body: &Value) -> Step {
    loop {
        match next_step(shared, body) {
            Step::Meanwhile(folder, line) => {
                let ended = Command::new("sh").args(["-ec", line]).current_dir(folder).status();
                assert!(ended.is_ok_and(|status| status.success()), "{line}");
            }
            step => return step,
        }
    }
}

fn next_step(shared: &Shared, body: &Value) -> Step {
    let mut routes = lock(&shared.routes);
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let users = messages.iter().rev().filter(|message| message["role"] == "user").map(text_of);
    for text in users {
        if let Some(route) = routes.iter_mut().find(|route| text.contains(&route.part)) {
            if let Some(Step::Await(end)) = route.steps.front() {
                if !tool_names(body).iter().any(|name| name.ends_with(end)) {
                    return bash("sleep 0.3");
                }
                route.steps.pop_front();
            }
            return route.steps.pop_front().unwrap_or(Step::Status(
                400,
                Vec::new(),
                "the script has no answer left",
            ));
        }
    }
    Step::Status(400, Vec::new(), "the script has no route for this prompt")
}

/// The whole name of a tool; one that is not offered stays as it is.
fn offered(body: &Value, name: &str) -> String {
    let Some(end) = name.strip_prefix('*') else { return name.to_owned() };
    let mut names = tool_names(body).into_iter();
    names.find(|offered| offered.ends_with(end)).unwrap_or_else(|| name.to_owned())
}

/// The names of the tools that a request offers to the model.
pub(crate) fn tool_names(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().into_iter().flatten();
    tools.filter_map(|tool| tool["function"]["name"].as_str().map(str::to_owned)).collect()
}

/// Answers the requests of one connection.
fn serve(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut out = stream;
    while let Some((path, body)) = read_request(&mut reader)? {
        if !path.ends_with("/chat/completions") {
            respond(&mut out, 404, &[], &error("not found"))?;
            continue;
        }
        let body: Value = serde_json::from_slice(&body)?;
        let number = {
            let mut requests = lock(&shared.requests);
            requests.push(body.clone());
            requests.len()
        };
        match choose(shared, &body) {
            Step::Say(text) => stream_answer(&mut out, number, Some(&text), &[])?,
            Step::Call(calls) => {
                let names = calls.iter().map(|(name, _)| offered(&body, name)).collect::<Vec<_>>();
                let arguments = calls.iter().map(|(_, arguments)| arguments.clone());
                let calls: Vec<(&str, Value)> =
                    names.iter().map(String::as_str).zip(arguments).collect();
                stream_answer(&mut out, number, None, &calls)?;
            }
            // `choose` has gone on to the step after it.
            Step::Await(_) | Step::Meanwhile(..) => stream_answer(&mut out, number, Some(""), &[])?,
            Step::Status(status, headers, message) => {
                respond(&mut out, status, &headers, &error(message))?;
            }
            Step::Garbage(text) => respond(&mut out, 200, &[], text)?,
            Step::Drop(text) => {
                begin_stream(&mut out)?;
                let delta = json!({ "role": "assistant", "content": text });
                event(&mut out, &chunk(number, &delta, &Value::Null))?;
                return out.shutdown(Shutdown::Both);
            }
            Step::Hang => {
                // Reads until the client closes its side.
                io::copy(&mut reader, &mut io::sink())?;
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Reads path and body of a request; `None` at the end of the connection.
fn read_request(reader: &mut impl BufRead) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some((path, body)))
}

fn error(message: &str) -> String {
    json!({ "error": { "message": message, "type": "scripted" } }).to_string()
}

fn respond(
    out: &mut impl Write,
    status: u16,
    headers: &[(&str, &str)],
    body: &str,
) -> io::Result<()> {
    let mut text = format!(
        "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(body);
    out.write_all(text.as_bytes())
}

fn begin_stream(out: &mut impl Write) -> io::Result<()> {
    out.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    )
}

/// One server-sent event, as one chunk of the body.
fn event(out: &mut impl Write, data: &str) -> io::Result<()> {
    let event = format!("data: {data}\n\n");
    write!(out, "{:x}\r\n{event}\r\n", event.len())
}

fn chunk(number: usize, delta: &Value, finish: &Value) -> String {
    json!({
        "id": format!("chatcmpl-{number}"),
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "scripted",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
    })
    .to_string()
}

fn stream_answer(
    out: &mut impl Write,
    number: usize,
    text: Option<&str>,
    calls: &[(&str, Value)],
) -> io::Result<()> {
    let mut answer = Vec::new();
    begin_stream(&mut answer)?;
    let delta = json!({ "role": "assistant", "content": text.unwrap_or_default() });
    event(&mut answer, &chunk(number, &delta, &Value::Null))?;
    for (index, (name, arguments)) in calls.iter().enumerate() {
        let call = json!({
            "index": index,
            "id": format!("call_{number}_{index}"),
            "type": "function",
            "function": { "name": name, "arguments": arguments.to_string() },
        });
        event(&mut answer, &chunk(number, &json!({ "tool_calls": [call] }), &Value::Null))?;
    }
    let reason = if calls.is_empty() { "stop" } else { "tool_calls" };
    event(&mut answer, &chunk(number, &json!({}), &json!(reason)))?;
    let usage = json!({ "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110 });
    let last = json!({
        "id": format!("chatcmpl-{number}"),
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "scripted",
        "choices": [],
        "usage": usage,
    });
    event(&mut answer, &last.to_string())?;
    event(&mut answer, "[DONE]")?;
    answer.extend_from_slice(b"0\r\n\r\n");
    out.write_all(&answer)
}
