//! A set of tools, as every transport serves it.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// Longest text of an answer, in characters.
const LONGEST: usize = 10_000;

/// A tool as `tools/list` shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its name, unique in its server.
    pub name: String,
    /// The description from which a model decides whether to call it.
    pub description: String,
    /// The JSON schema of its arguments; its type is `object`.
    pub input_schema: Map<String, Value>,
    /// Does it change nothing?
    pub read_only: bool,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolAnswer {
    /// The text for the model.
    pub text: String,
    /// Did the call fail?
    pub is_error: bool,
    /// The failure's code, sent as `_meta.errorCode`.
    pub error_code: Option<String>,
}

impl ToolAnswer {
    /// The answer to a call that succeeded.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: false, error_code: None }
    }

    /// The answer to a call that failed, without a code.
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, error_code: None }
    }
}

/// One `tools/call`.
#[derive(Debug)]
pub struct Call {
    /// The tool's name, known or not.
    pub name: String,
    /// The arguments as sent; empty if there were none.
    pub arguments: Map<String, Value>,
    /// Cancelled when the client cancels the request or goes away. The answer to a cancelled
    /// call is dropped.
    pub cancel: CancellationToken,
    /// Where to report progress.
    pub progress: Progress,
}

/// A step of a call that is still running.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgressStep {
    /// Grows with every step.
    pub done: f64,
    /// The value of `done` at the end, if known.
    pub total: Option<f64>,
    /// For people.
    pub message: String,
}

/// Reports progress to the client, if it asked for it.
#[derive(Clone, Debug, Default)]
pub struct Progress(Option<mpsc::Sender<ProgressStep>>);

impl Progress {
    /// Sends the steps into a channel.
    pub(super) fn into(sender: mpsc::Sender<ProgressStep>) -> Self {
        Self(Some(sender))
    }

    /// Reports a step. A client that reads too slowly misses steps.
    pub fn report(&self, step: ProgressStep) {
        if let Some(sender) = &self.0 {
            let _dropped = sender.try_send(step);
        }
    }
}

/// The tools that one server offers.
#[async_trait]
pub trait Tools: Send + Sync + 'static {
    /// The tools there are now.
    fn list(&self) -> Vec<Tool>;

    /// Calls a tool; none if no tool has that name, which is a JSON-RPC error.
    async fn call(&self, call: Call) -> Option<ToolAnswer>;

    /// Changes with the list; none if the list never changes.
    fn changed(&self) -> Option<watch::Receiver<u64>> {
        None
    }
}

/// A text of at most 10,000 characters, and a mark where it was cut.
pub fn bounded(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}\n[truncated]", &text[..end]),
        None => text.to_owned(),
    }
}

/// The tools of all sets. At most one of the sets may change.
pub struct Toolbox(Vec<Arc<dyn Tools>>);

impl Toolbox {
    /// Joins sets whose names differ.
    pub fn new(sets: Vec<Arc<dyn Tools>>) -> Self {
        Self(sets)
    }
}

#[async_trait]
impl Tools for Toolbox {
    fn list(&self) -> Vec<Tool> {
        self.0.iter().flat_map(|set| set.list()).collect()
    }

    async fn call(&self, call: Call) -> Option<ToolAnswer> {
        let has = |set: &&Arc<dyn Tools>| set.list().iter().any(|tool| tool.name == call.name);
        self.0.iter().find(has)?.call(call).await
    }

    fn changed(&self) -> Option<watch::Receiver<u64>> {
        self.0.iter().find_map(|set| set.changed())
    }
}

/// Every name, those of the bridge and of OpenClaw included.
pub const TOOL_NAMES: [&str; 18] = [
    "check_task",
    "run_task",
    "task_status",
    "task_log",
    "policy_check",
    "copilot_code",
    "copilot_code_verbose",
    "copilot_orchestrate",
    "copilot_code_task",
    "copilot_read_file",
    "copilot_create_file",
    "copilot_list_files",
    "memory_search",
    "memory_read",
    "user_prefs",
    "openclaw_memory_search",
    "openclaw_memory_read",
    "openclaw_user_prefs",
];
