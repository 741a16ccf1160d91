//! Code tasks as tools, under the names of OpenClaw's plugin and of the bridge.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::code_sessions::{CodePlace, CodeSessions, LONGEST, Steps};
use super::file_tools::inside;
use super::workspace::in_repository;
use crate::cli::args::ToolSet;
use crate::cli::code_task::{CodeRequest, CodeResult, ToolUse};
use crate::mcp::{
    Arguments, Call, Tool, ToolAnswer, Tools, bounded, code_log, code_summary, schema, went_well,
};
use crate::model::SessionId;

/// Milliseconds of a code task, unless the client says otherwise.
const TIMEOUT: u64 = 120_000;
/// The hint for a task outside a repository.
const ELSEWHERE: &str = "name a `workingDir` inside one, or start the MCP client in a repository";
/// The longest id of a session.
const LONGEST_ID: usize = 128;

/// Tools that hand a task to the agent.
pub(super) struct CodeTools {
    sessions: Arc<CodeSessions>,
    sets: Vec<ToolSet>,
}

impl CodeTools {
    pub(super) fn new(sessions: Arc<CodeSessions>, sets: Vec<ToolSet>) -> Self {
        Self { sessions, sets }
    }

    async fn answer(&self, call: &Call) -> Result<ToolAnswer, ToolAnswer> {
        let arguments = Arguments::of(&call.arguments);
        let depth = arguments.depth(self.sessions.depth)?;
        let task = if call.name == "copilot_code_task" { "prompt" } else { "task" };
        let request = CodeRequest {
            prompt: arguments.text(task)?.to_owned(),
            session: arguments.optional_text("sessionId")?.map(session_id).transpose()?,
            model: arguments.optional_line("model")?.map(str::to_owned),
            timeout_ms: Some(arguments.count("timeout", TIMEOUT, (1, LONGEST))?),
            use_of_tools: ToolUse::Work,
        };
        let folder = arguments.optional_text("workingDir")?.unwrap_or(".");
        let folder = inside(&self.sessions.folder, Path::new(folder))?;
        if !folder.is_dir() {
            return Err(ToolAnswer::error(format!("{} is not a folder", folder.display())));
        }
        in_repository(&folder, ELSEWHERE)?;
        let mut steps = Steps::of(call);
        let turn = self.sessions.turn(&call.cancel).await?;
        let at = CodePlace { folder: &folder, depth, cancel: &call.cancel };
        let CodeResult { session, turn } =
            turn.run(at, &request, &mut |step| steps.tell(step)).await?;
        let text = match call.name.as_str() {
            "copilot_code_verbose" => code_log(&session, &turn),
            _ => code_summary(&session, &turn),
        };
        Ok(ToolAnswer { is_error: !went_well(&turn), ..ToolAnswer::text(text) })
    }
}

/// An id that an agent may have given. It names a folder of the CLI's records.
fn session_id(text: &str) -> Result<SessionId, ToolAnswer> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if text.is_empty() || text.len() > LONGEST_ID || !text.chars().all(plain) {
        return Err(ToolAnswer::error("`sessionId` must be an id from an earlier result"));
    }
    Ok(SessionId::new(text))
}

fn parameters(task: &str, rest: &[(&str, Value)]) -> Value {
    let mut all = json!({
        task: {"type": "string", "description": "The task, with everything that the agent must \
                know"},
        "workingDir": {"type": "string",
            "description": "The folder to work in, inside the server's [default: the server's]"},
        "timeout": {"type": "integer", "minimum": 1, "default": TIMEOUT,
            "description": "Milliseconds"},
        "sessionId": {"type": "string", "description": "Continue the session of an earlier result"},
    });
    for (name, value) in rest {
        all[*name] = value.clone();
    }
    all
}

#[async_trait]
impl Tools for CodeTools {
    fn list(&self) -> Vec<Tool> {
        let tool = |name: &str, description: &str, input_schema| Tool {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema,
            read_only: false,
        };
        let model = json!({"type": "string", "description": "The model to use"});
        let of_plugin = || schema(parameters("task", &[("model", model.clone())]), &["task"]);
        let mut all = Vec::new();
        if self.sets.contains(&ToolSet::Plugin) {
            all.push(tool(
                "copilot_code",
                "Delegate a coding task to Copilot. Returns its answer, tool calls, and \
                 statistics.",
                of_plugin(),
            ));
            all.push(tool(
                "copilot_code_verbose",
                "Delegate a coding task to Copilot. Returns a numbered log of its tool calls.",
                of_plugin(),
            ));
        }
        if self.sets.contains(&ToolSet::Bridge) {
            all.push(tool(
                "copilot_code_task",
                "Delegate a coding task to Copilot. Calls run one at a time.",
                schema(parameters("prompt", &[]), &["prompt"]),
            ));
        }
        all
    }

    async fn call(&self, call: Call) -> Option<ToolAnswer> {
        let known = self.list().into_iter().any(|tool| tool.name == call.name);
        known.then_some(())?;
        let answer = self.answer(&call).await.unwrap_or_else(|error| error);
        Some(ToolAnswer { text: bounded(&answer.text), ..answer })
    }
}
