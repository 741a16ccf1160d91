//! The official MCP client, driven through Node.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::downloads::download;

/// The folder with the SDK, unless there is none and none is required.
pub(crate) fn packages() -> Option<PathBuf> {
    download("RALPH_TEST_MCP")
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
