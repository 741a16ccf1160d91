//! Converts our answers to the SDK's types, and the agent's answers to our own.

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionResponse,
    SelectedPermissionOutcome, StopReason, Usage as AcpUsage,
};
use serde_json::{Value, json};

use crate::agent::classify_json;
use crate::model::{Answer, Fault, FaultClass, TurnEnd, Usage};

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
