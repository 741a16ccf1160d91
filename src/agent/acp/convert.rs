//! Tool calls as the agents report them: a table of the ways in which they tell a call's arguments,
//! and a table of what its fields do where its kind does not say.
//!
//! Invariant: a permission request is an update of the announced call, so fields that it leaves out
//! are unchanged. A call is judged by its fields; one that tells nothing is denied.

use agent_client_protocol::v1::schema::{
    ContentBlock, Diff, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolKind,
};
use serde_json::{Map, Value, json};

use crate::agent::call_log::LoggedCall;
use crate::guard::{FieldEffect, field_effect};
use crate::model::{Asked, CallStatus, ExecutedCall, SessionId, ToolRequest};

/// Where a call's arguments come from; a better source replaces a worse one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ArgumentSource {
    /// They name neither a file nor a command.
    #[default]
    None,
    /// The files that it concerns.
    Locations,
    /// What the agent shows to people.
    Shown,
    /// `rawInput`.
    Raw,
}

/// A tool call as the agent reports it.
pub(super) type ObservedCall = LoggedCall<CallDetails>;

/// The protocol's own details of a call.
#[derive(Clone, Debug, Default)]
pub(super) struct CallDetails {
    pub(super) kind: ToolKind,
    pub(super) name: Option<String>,
    pub(super) source: ArgumentSource,
}

/// One update's fields of a call.
#[derive(Debug, Default)]
pub(super) struct CallUpdate {
    pub(super) id: String,
    /// The update announces the call, as opposed to changing it.
    pub(super) announced: bool,
    /// The arguments are in `raw` or nowhere.
    pub(super) only_raw: bool,
    pub(super) kind: Option<ToolKind>,
    pub(super) name: Option<String>,
    pub(super) title: Option<String>,
    pub(super) raw: Option<Value>,
    pub(super) content: Vec<ToolCallContent>,
    pub(super) locations: Vec<String>,
    pub(super) status: Option<CallStatus>,
    pub(super) exit: Option<i64>,
    pub(super) output: Option<Value>,
    pub(super) asker: Option<String>,
    /// Length of the update, in bytes.
    pub(super) bytes: usize,
}

impl CallUpdate {
    /// Says it nothing about what the call does?
    pub(super) fn is_bare(&self) -> bool {
        let said = [&self.name, &self.title].iter().any(|text| text.is_some());
        let shown = !self.content.is_empty() || !self.locations.is_empty();
        let used = self.raw.is_some() || self.output.is_some();
        self.kind.is_none() && !said && !shown && !used
    }
}

/// Reads arguments from an update of a call of this kind.
type ReadArguments = fn(&CallUpdate, ToolKind) -> Option<Value>;

/// The sources of arguments other than `rawInput`, the best one first.
const SOURCES: [(ArgumentSource, ReadArguments); 4] = [
    // Gemini and Codex show an edit as a diff.
    (ArgumentSource::Shown, |call, _| diffs(&call.content)),
    // Kimi CLI shows the arguments as JSON.
    (ArgumentSource::Shown, |call, _| texts(&call.content).find_map(json_object)),
    // Gemini has a command in its title.
    (ArgumentSource::Shown, |call, kind| {
        (kind == ToolKind::Execute).then(|| titled(call)).flatten()
    }),
    (ArgumentSource::Locations, |call, _| match call.locations.as_slice() {
        [] => None,
        [path] => Some(json!({ "path": path })),
        paths => Some(json!({ "paths": paths })),
    }),
];

/// What a call of kind `other` does that has exactly these fields.
const ROWS: [(&[&str], &str); 4] = [
    // OpenCode asks whether it may look outside of the workspace; what it does there is asked next.
    (&["filepath", "parentDir"], "read"),
    // Lists of the model's own, which change nothing.
    (&["todos"], "think"),
    (&["plan"], "think"),
    (&["description", "prompt", "subagent_type"], "think"),
];

/// The fields of an update, whether it announces a call, changes one, or asks for one.
pub(super) fn update(call: ToolCallUpdate, bytes: usize) -> CallUpdate {
    let ToolCallUpdate { tool_call_id, fields, meta, .. } = call;
    let content = fields.content.unwrap_or_default();
    let raw_output = fields.raw_output.filter(|output| !output.is_null());
    let locations = fields.locations.into_iter().flatten();
    CallUpdate {
        id: tool_call_id.0.to_string(),
        announced: false,
        only_raw: false,
        kind: fields.kind,
        name: fields.name,
        title: fields.title,
        raw: fields.raw_input.filter(|input| !input.is_null()),
        locations: locations.map(|it| it.path.to_string_lossy().into_owned()).collect(),
        status: fields.status.map(|it| status(it, raw_output.as_ref())),
        exit: raw_output.as_ref().and_then(exit_code),
        // The raw output, else the content shown to people.
        output: raw_output.or_else(|| {
            (!content.is_empty()).then(|| serde_json::to_value(&content).ok()).flatten()
        }),
        content,
        asker: meta.as_ref().and_then(sub_agent),
        bytes,
    }
}

/// A call's status; a failure caused by our own denial becomes `Denied`.
fn status(status: ToolCallStatus, output: Option<&Value>) -> CallStatus {
    let code = output.and_then(|output| output.get("code")).and_then(Value::as_str);
    match status {
        ToolCallStatus::Completed => CallStatus::Completed,
        ToolCallStatus::Failed if matches!(code, Some("denied" | "rejected")) => CallStatus::Denied,
        ToolCallStatus::Failed => CallStatus::Failed,
        // Pending, in progress, and statuses of later versions: not ended.
        _ => CallStatus::Pending,
    }
}

/// A shell command's exit code, if Copilot's output contains it.
fn exit_code(output: &Value) -> Option<i64> {
    let contents = output.get("contents")?.as_array()?;
    contents.iter().rev().find_map(|content| content.get("exitCode")?.as_i64())
}

/// The sub-agent that a call belongs to, from Copilot's own field.
fn sub_agent(meta: &Map<String, Value>) -> Option<String> {
    meta.get("github.com/copilot")?.get("agentId")?.as_str().map(str::to_owned)
}

/// The arguments in an update of a call of this kind, and their source.
pub(super) fn arguments(call: &CallUpdate, kind: ToolKind) -> Option<(ArgumentSource, Value)> {
    let found =
        |(source, read): &(ArgumentSource, ReadArguments)| Some((*source, read(call, kind)?));
    let shown = || SOURCES.iter().find_map(found);
    match &call.raw {
        Some(raw) if call.only_raw => Some((ArgumentSource::Raw, raw.clone())),
        None if call.only_raw => None,
        None => shown(),
        // What names no file and no command is told by what is shown besides.
        Some(raw) if field_effect(raw) == FieldEffect::Nothing => match (raw, shown()) {
            (Value::Object(fields), Some((source, Value::Object(more)))) => {
                Some((source, fields.clone().into_iter().chain(more).collect()))
            }
            (_, None) => Some((ArgumentSource::None, raw.clone())),
            (_, shown) => shown,
        },
        Some(raw) => Some((ArgumentSource::Raw, raw.clone())),
    }
}

fn diffs(content: &[ToolCallContent]) -> Option<Value> {
    let one = |diff: &Diff| match &diff.old_text {
        Some(old) => json!({"path": diff.path, "oldText": old, "newText": diff.new_text}),
        None => json!({"path": diff.path, "content": diff.new_text}),
    };
    let found = content.iter().filter_map(|content| match content {
        ToolCallContent::Diff(diff) => Some(one(diff)),
        _ => None,
    });
    let mut found: Vec<Value> = found.collect();
    match found.len() {
        0 => None,
        1 => found.pop(),
        _ => Some(json!({ "edits": found })),
    }
}

fn texts(content: &[ToolCallContent]) -> impl Iterator<Item = &str> {
    content.iter().filter_map(|content| match content {
        ToolCallContent::Content(it) => match &it.content {
            ContentBlock::Text(text) => Some(text.text.as_str()),
            _ => None,
        },
        _ => None,
    })
}

fn json_object(text: &str) -> Option<Value> {
    // It may be streamed: only a whole object is worth a look.
    let whole = text.starts_with('{') && text.trim_end().ends_with('}');
    serde_json::from_str(text).ok().filter(|value: &Value| whole && value.is_object())
}

/// The command in a title: all of it between backticks, or beside a text about its folder. Any
/// other title is prose.
fn titled(call: &CallUpdate) -> Option<Value> {
    const FOLDERS: [&str; 2] = ["[current working directory ", "[in "];
    let title = call.title.as_deref()?.trim();
    let quoted = title.strip_prefix('`').and_then(|title| title.strip_suffix('`'));
    let beside =
        || texts(&call.content).any(|it| FOLDERS.iter().any(|folder| it.starts_with(folder)));
    // Older versions have that text in the title.
    let within = || FOLDERS.iter().filter_map(|it| title.rfind(&format!(" {it}"))).max();
    let command = match (quoted, within()) {
        (Some(quoted), _) => quoted,
        (None, Some(at)) => &title[..at],
        (None, None) if beside() => title,
        (None, None) => return None,
    };
    Some(json!({ "command": command }))
}

/// ACP's word for a kind of tool.
pub(super) fn kind(kind: ToolKind) -> String {
    serde_json::to_value(kind)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_else(|| "other".to_owned())
}

/// What the journal has of a call.
pub(super) fn executed(call: &ObservedCall) -> ExecutedCall {
    call.executed(kind(call.details.kind))
}

/// A permission request for the guard, from the call that it is about.
pub(super) fn request(session: &str, call: &ObservedCall) -> ToolRequest {
    let named = call.details.name.clone();
    ToolRequest {
        session: SessionId::new(session),
        call: Some(call.id.clone()),
        tool: named.unwrap_or_else(|| kind(call.details.kind)),
        input: match &call.input {
            Value::Null if !call.title.is_empty() => json!({ "title": call.title }),
            input => input.clone(),
        },
        asked: Asked::Permission,
    }
}

/// The tool that a call's fields tell, where its kind says nothing or something else.
pub(super) fn by_fields(tool: &str, input: &Value) -> Option<&'static str> {
    let other = tool == "other";
    match field_effect(input) {
        FieldEffect::Runs(_) if other => Some("execute"),
        FieldEffect::Writes(_) if other || tool == "execute" => Some("edit"),
        FieldEffect::Fetches if other => Some("fetch"),
        FieldEffect::Names(_) | FieldEffect::Nothing if other => {
            let fields = input.as_object()?;
            let same = |row: &&(&[&str], &str)| {
                fields.len() == row.0.len() && row.0.iter().all(|name| fields.contains_key(*name))
            };
            ROWS.iter().find(same).map(|row| row.1)
        }
        _ => None,
    }
}

/// Must we have decided a call before it ran?
pub(super) fn needs_decision(call: &ObservedCall) -> bool {
    // Everything that does more than look, unknown kinds included.
    let looks = matches!(
        call.details.kind,
        ToolKind::Read | ToolKind::Search | ToolKind::Think | ToolKind::SwitchMode
    );
    !looks && by_fields(&kind(call.details.kind), &call.input) != Some("think")
}
