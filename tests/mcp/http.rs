//! The http transport: tokens, sessions that come and go, what a web page could send, and the
//! official client and conformance suite over it.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use ralph_copilot::mcp::{
    Call, Endpoint, Endpoints, ProgressStep, Tool, ToolAnswer, Tools, router, schema,
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::mcp::{client, packages, tool};

const TOKEN: &str = "mtk-0123456789abcdef";

/// Tools that show what the transport carries.
struct Samples {
    changes: watch::Sender<u64>,
}

#[async_trait]
impl Tools for Samples {
    fn list(&self) -> Vec<Tool> {
        let names = ["steps", "fails", "grows"].map(str::to_owned).into_iter();
        let grown = (0..*self.changes.borrow()).map(|number| format!("grown_{number}"));
        names
            .chain(grown)
            .map(|name| Tool {
                name,
                description: "A sample.".to_owned(),
                input_schema: schema(json!({}), &[]),
                read_only: true,
            })
            .collect()
    }

    async fn call(&self, call: Call) -> Option<ToolAnswer> {
        match call.name.as_str() {
            "steps" => {
                for done in 1..=3_u32 {
                    let message = format!("step {done}");
                    let step = ProgressStep { done: done.into(), total: Some(3.0), message };
                    call.progress.report(step);
                }
                Some(ToolAnswer::text("three steps"))
            }
            "fails" => Some(ToolAnswer {
                error_code: Some("TIMEOUT".to_owned()),
                ..ToolAnswer::error("TIMEOUT: too slow")
            }),
            "grows" => {
                self.changes.send_modify(|number| *number += 1);
                Some(ToolAnswer::text("one more"))
            }
            _ => None,
        }
    }

    fn changed(&self) -> Option<watch::Receiver<u64>> {
        Some(self.changes.subscribe())
    }
}

/// The sessions there are.
#[derive(Default)]
struct Sessions(Mutex<BTreeMap<String, Arc<Endpoint>>>);

impl Endpoints for Sessions {
    fn find(&self, session: &str) -> Option<Arc<Endpoint>> {
        self.0.lock().expect("sound").get(session).cloned()
    }
}

struct Served {
    address: SocketAddr,
    sessions: Arc<Sessions>,
    _runtime: Runtime,
}

impl Served {
    fn start() -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let _inside = runtime.enter();
        let sessions = Arc::new(Sessions::default());
        let tools = Arc::new(Samples { changes: watch::Sender::new(0) });
        let endpoint = Arc::new(Endpoint::new(TOKEN, tools));
        sessions.0.lock().expect("sound").insert("dev".to_owned(), endpoint);
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        listener.set_nonblocking(true).expect("set");
        let address = listener.local_addr().expect("an address");
        let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
        let routes = router(Arc::clone(&sessions) as _);
        runtime.spawn(async move { axum::serve(listener, routes).await });
        Self { address, sessions, _runtime: runtime }
    }

    /// The status of a POST to a session with these headers.
    fn status(&self, session: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(self.address).expect("connected");
        let body = "{}";
        let length = body.len();
        let request = format!(
            "POST /mcp/{session} HTTP/1.1\r\n{headers}Content-Type: application/json\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("read");
        answer.split(' ').nth(1).expect("a status").to_owned()
    }
}

#[test]
fn only_local_programs_with_the_sessions_token_get_in() {
    let served = Served::start();
    let host = format!("Host: {}\r\n", served.address);
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n");
    let own = format!("{host}{bearer}");
    // What is let in is judged by the library: this is no MCP message.
    let inside = served.status("dev", &own);
    assert!(["400", "406", "422", "415"].contains(&inside.as_str()), "{inside}");
    for (session, headers, status) in [
        ("dev", host.clone(), "401"),
        ("dev", format!("{host}Authorization: Bearer wrong\r\n"), "401"),
        ("dev", format!("{host}Authorization: {TOKEN}\r\n"), "401"),
        ("dev", format!("{host}Authorization: Bearer {TOKEN}0\r\n"), "401"),
        ("other", own.clone(), "404"),
        ("dev", format!("{own}Origin: http://{}\r\n", served.address), "403"),
        ("dev", format!("{own}Origin: null\r\n"), "403"),
        ("dev", format!("Host: evil.example\r\n{bearer}"), "403"),
        ("dev", format!("Host: localhost.evil.example\r\n{bearer}"), "403"),
        ("dev", format!("Host: 127.0.0.1.evil.example:80\r\n{bearer}"), "403"),
        ("dev", format!("Host: 10.0.0.1\r\n{bearer}"), "403"),
    ] {
        assert_eq!(served.status(session, &headers), status, "{session} {headers}");
    }
    for name in ["localhost:1", "LOCALHOST", "[::1]:9400", "127.0.0.1"] {
        let status = served.status("dev", &format!("Host: {name}\r\n{bearer}"));
        assert_eq!(status, inside, "{name}");
    }
    served.sessions.0.lock().expect("sound").clear();
    assert_eq!(served.status("dev", &own), "404");
}

#[test]
fn the_official_client_sees_progress_codes_and_new_tools() {
    let served = Served::start();
    let mut grows = tool("grows", json!({}));
    grows["changes"] = json!(true);
    let calls =
        [tool("steps", json!({})), tool("fails", json!({})), grows, tool("none", json!({}))];
    let url = format!("http://{}/mcp/dev", served.address);
    let plan = json!({"url": url, "token": TOKEN, "calls": calls});
    let Some(seen) = client(&plan) else { return };
    assert_eq!(seen.0["capabilities"], json!({"tools": {"listChanged": true}}));
    assert_eq!(seen.tools(), ["steps", "fails", "grows"]);
    assert_eq!(seen.result(0), (false, "three steps"));
    let steps = seen.0["results"][0]["progress"].as_array().expect("progress");
    let messages: Vec<&str> = steps.iter().filter_map(|step| step["message"].as_str()).collect();
    assert_eq!(messages, ["step 1", "step 2", "step 3"]);
    assert_eq!(seen.result(1), (true, "TIMEOUT: too slow"));
    assert_eq!(seen.0["results"][1]["meta"]["errorCode"], "TIMEOUT");
    assert_eq!(seen.0["results"][3]["code"], -32602);
    assert_eq!(seen.0["changes"], 1);
    assert_eq!(seen.0["after"], json!(["steps", "fails", "grows", "grown_0"]));
}

/// Scenarios that any server must pass.
const PASSES: [&str; 4] = ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"];

/// The others, and why a server of ours cannot pass them.
const OTHERS: [(&str, &[&str]); 6] = [
    (
        "need a fixture tool of the suite",
        &[
            "tools-call-simple-text",
            "tools-call-image",
            "tools-call-audio",
            "tools-call-embedded-resource",
            "tools-call-mixed-content",
            "tools-call-with-logging",
            "tools-call-error",
            "tools-call-with-progress",
            "tools-call-sampling",
            "tools-call-elicitation",
            "json-schema-2020-12",
            "elicitation-sep1034-defaults",
            "elicitation-sep1330-enums",
            "server-sse-polling",
            "server-sse-multiple-streams",
        ],
    ),
    ("logging is not declared", &["logging-set-level"]),
    ("completions are not declared", &["completion-complete"]),
    (
        "resources are not declared",
        &[
            "resources-list",
            "resources-read-text",
            "resources-read-binary",
            "resources-templates-read",
            "resources-subscribe",
            "resources-unsubscribe",
        ],
    ),
    (
        "prompts are not declared",
        &[
            "prompts-list",
            "prompts-get-simple",
            "prompts-get-with-args",
            "prompts-get-embedded-resource",
        ],
    ),
    ("prompts are not declared", &["prompts-get-with-image"]),
];

#[test]
fn the_conformance_suite_passes_what_is_declared() {
    let Some(home) = packages() else { return };
    let served = Served::start();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/conformance.mjs");
    let port = served.address.port().to_string();
    let mut node = Command::new("node");
    node.arg(script).arg(home).args([port.as_str(), "/mcp/dev", TOKEN]).args(PASSES);
    let output = node.output().expect("node");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let told: Value = serde_json::from_slice(&output.stdout).expect(&said);
    for scenario in PASSES {
        let ran = &told["results"][scenario];
        assert_eq!(ran["code"], 0, "{scenario}:\n{}", ran["text"].as_str().unwrap_or_default());
    }
    let list = told["list"].as_str().expect("a list");
    let mut there: Vec<&str> = list
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let others = OTHERS.iter().flat_map(|(_, scenarios)| scenarios.iter().copied());
    let mut known: Vec<&str> = PASSES.into_iter().chain(others).collect();
    there.sort_unstable();
    known.sort_unstable();
    assert_eq!(there, known, "the suite has other scenarios");
}
