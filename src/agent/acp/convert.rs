//! Converts the SDK's types to our own and back, in one place.

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SelectedPermissionOutcome, SessionConfigKind, SessionConfigOption,
    StopReason, ToolCallContent, ToolCallStatus, ToolKind, Usage as AcpUsage,
};
use serde_json::{Value, json};

use crate::agent::classify_json;
use crate::model::{
    Answer, Asked, CallStatus, Fault, FaultClass, SessionId, ToolRequest, TurnEnd, Usage,
};

/// A call's status; a failure caused by our own denial becomes `Denied`.
pub(super) fn status(status: ToolCallStatus, output: Option<&Value>) -> CallStatus {
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
pub(super) fn exit_code(output: &Value) -> Option<i64> {
    let contents = output.get("contents")?.as_array()?;
    contents.iter().rev().find_map(|content| content.get("exitCode")?.as_i64())
}

/// A call's result: the raw output, else the content shown to people.
pub(super) fn output(raw: Option<Value>, shown: &[ToolCallContent]) -> Option<Value> {
    raw.filter(|raw| !raw.is_null())
        .or_else(|| (!shown.is_empty()).then(|| serde_json::to_value(shown).ok()).flatten())
}

/// The sub-agent that a call belongs to, from Copilot's own field.
pub(super) fn sub_agent(meta: &serde_json::Map<String, Value>) -> Option<String> {
    meta.get("github.com/copilot")?.get("agentId")?.as_str().map(str::to_owned)
}

/// ACP's word for a kind of tool.
pub(super) fn kind(kind: ToolKind) -> String {
    serde_json::to_value(kind)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_else(|| "other".to_owned())
}

/// Must we have decided a call of this kind before it ran?
pub(super) fn needs_decision(kind: ToolKind) -> bool {
    // Everything that does more than look, unknown kinds included.
    !matches!(kind, ToolKind::Read | ToolKind::Search | ToolKind::Think | ToolKind::SwitchMode)
}

/// A permission request for the guard: the tool and its raw input, never the title.
pub(super) fn request(asked: &RequestPermissionRequest) -> ToolRequest {
    let call = &asked.tool_call;
    let tool = call
        .fields
        .name
        .clone()
        .unwrap_or_else(|| kind(call.fields.kind.unwrap_or(ToolKind::Other)));
    let input = match &call.fields.raw_input {
        Some(input) if !input.is_null() => input.clone(),
        Some(_) | None => {
            let locations = call.fields.locations.iter().flatten();
            let paths: Vec<_> = locations.map(|location| &location.path).collect();
            if paths.is_empty() { Value::Null } else { json!({ "locations": paths }) }
        }
    };
    ToolRequest {
        session: SessionId::new(asked.session_id.0.to_string()),
        call: Some(call.tool_call_id.0.to_string()),
        tool,
        input,
        asked: Asked::Permission,
    }
}

/// The title that people would see.
pub(super) fn title(asked: &RequestPermissionRequest) -> Option<&str> {
    asked.tool_call.fields.title.as_deref()
}

/// Does the agent offer to allow a call once?
pub(super) fn can_allow(options: &[PermissionOption]) -> bool {
    options.iter().any(|option| option.kind == PermissionOptionKind::AllowOnce)
}

/// Selects the option for our answer by its kind; never one that lasts longer than once.
pub(super) fn response(answer: Answer, options: &[PermissionOption]) -> RequestPermissionResponse {
    let find = |kind| options.iter().find(|option| option.kind == kind);
    let chosen = match answer {
        Answer::Allow => find(PermissionOptionKind::AllowOnce),
        Answer::Deny => None,
    };
    let outcome = match chosen.or_else(|| find(PermissionOptionKind::RejectOnce)) {
        Some(option) => RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(
            option.option_id.clone(),
        )),
        None => RequestPermissionOutcome::Cancelled,
    };
    RequestPermissionResponse::new(outcome)
}

/// The turn's end, from the agent's stop reason.
pub(super) fn end(reason: StopReason) -> TurnEnd {
    match reason {
        StopReason::EndTurn => TurnEnd::EndTurn,
        StopReason::Cancelled => TurnEnd::Lost,
        other => TurnEnd::Other(
            serde_json::to_value(other)
                .ok()
                .and_then(|value| value.as_str().map(str::to_owned))
                .unwrap_or_else(|| "unknown".to_owned()),
        ),
    }
}

/// The agent's token count, for the whole session so far.
pub(super) fn usage(usage: &AcpUsage) -> Usage {
    Usage {
        input: usage.input_tokens,
        output: usage.output_tokens,
        total: usage.total_tokens,
        cached: usage.cached_read_tokens.unwrap_or(0),
        credits: None,
    }
}

/// Classifies a JSON-RPC error.
pub(super) fn fault(error: &agent_client_protocol::Error) -> Fault {
    let data = error.data.clone().unwrap_or_default();
    let message = match &data {
        Value::Null => error.message.clone(),
        Value::String(text) => format!("{}: {text}", error.message),
        other => format!("{}: {other}", error.message),
    };
    let code = i32::from(error.code);
    let error_json = json!({ "code": code, "message": error.message, "data": data });
    match classify_json(&error_json) {
        Some(fault) => Fault { message, ..fault },
        None => Fault::new(FaultClass::Fatal, message),
    }
}

/// Does this mode let the agent act without asking?
pub(super) fn widens(mode: &str) -> bool {
    let mode = mode.to_lowercase();
    let name = mode.rsplit(['#', '/', ':']).next().unwrap_or_default();
    // `auto`, `autopilot`, `autoEdit`, `acceptEdits`: at least edits happen without asking.
    name.starts_with("auto")
        || name.starts_with("accept")
        || ["bypass", "yolo", "dontask", "dont-ask", "full-access", "allow-all", "allow_all"]
            .iter()
            .any(|word| name.contains(word))
}

/// Is this the ordinary mode, in which the agent asks before it acts?
pub(super) fn asks(mode: &str) -> bool {
    mode == "default" || mode == "agent" || mode.ends_with("#agent")
}

/// A session setting with which the agent does not ask, if one is on.
pub(super) fn widening_option(options: &[SessionConfigOption]) -> Option<String> {
    options.iter().find_map(|option| {
        let id = option.id.0.as_ref();
        let value = match &option.kind {
            SessionConfigKind::Select(select) => select.current_value.0.to_string(),
            SessionConfigKind::Boolean(flag) => flag.current_value.to_string(),
            // A kind of a later version, whose value is unknown.
            _ => return None,
        };
        let opens =
            ["allow_all", "allow-all", "yolo", "bypass"].iter().any(|word| id.contains(word));
        let all = opens && !matches!(value.as_str(), "off" | "false" | "no");
        let mode = id == "mode" && widens(&value);
        (all || mode).then(|| format!("setting `{id}` = `{value}`"))
    })
}
