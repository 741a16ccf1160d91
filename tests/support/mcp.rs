//! The official MCP client, driven through Node.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

/// The folder with the SDK; without one, prints why the test is skipped.
pub(crate) fn packages() -> Option<PathBuf> {
    let named = std::env::var_os("RALPH_TEST_MCP").filter(|path| !path.is_empty());
    if let Some(path) = named.map(PathBuf::from)
        && path.is_dir()
    {
        return Some(path);
    }
    let required = std::env::var_os("RALPH_TEST_REAL").is_some_and(|value| value == "required");
    assert!(!required, "RALPH_TEST_REAL=required, but RALPH_TEST_MCP does not name a folder");
    let reason = "skipped: RALPH_TEST_MCP does not name MCP's SDK; tests/run downloads it";
    drop(std::io::Write::write_all(&mut std::io::stderr(), format!("{reason}\n").as_bytes()));
    None
}

/// What a client saw.
#[derive(Debug)]
pub(crate) struct Seen(pub(crate) Value);

impl Seen {
    /// The result of the call at this place: did it fail, and its text.
    pub(crate) fn result(&self, at: usize) -> (bool, &str) {
        let result = &self.0["results"][at];
        let failed = result["isError"].as_bool().unwrap_or(true);
        (failed, result["text"].as_str().expect("a text"))
    }

    /// The names of the listed tools.
    pub(crate) fn tools(&self) -> Vec<&str> {
        let tools = self.0["tools"].as_array().expect("tools");
        tools.iter().filter_map(|tool| tool["name"].as_str()).collect()
    }
}

/// A call of a plan.
pub(crate) fn tool(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

/// Lets the client carry out a plan.
pub(crate) fn client(plan: &Value) -> Option<Seen> {
    let home = packages()?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/client.mjs");
    let output = Command::new("node").arg(script).arg(home).arg(plan.to_string()).output();
    let output = output.expect("node");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    Some(Seen(serde_json::from_slice(&output.stdout).expect("JSON")))
}

/// A server that the client starts: this command's program, arguments, folder and environment.
pub(crate) fn server(command: &Command) -> Value {
    let text = |text: &std::ffi::OsStr| text.to_str().expect("UTF-8").to_owned();
    let path = std::env::var("PATH").expect("PATH");
    let mut environment = serde_json::Map::from_iter([("PATH".to_owned(), json!(path))]);
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            environment.insert(text(name), json!(text(value)));
        }
    }
    json!({
        "command": text(command.get_program()),
        "args": command.get_args().map(text).collect::<Vec<_>>(),
        "cwd": command.get_current_dir().expect("a folder"),
        "env": environment,
    })
}
