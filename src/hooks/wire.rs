//! Copilot's hook JSON, in and out.
//!
//! Older versions of the CLI pass `toolArgs` as a JSON string, newer ones as an object; both
//! are read. Unexpected input is an error, and the caller denies.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

/// The only tool of the CLI that takes free text instead of named arguments.
const FREEFORM: &str = "apply_patch";

/// A tool call as `preToolUse` and `postToolUse` describe it.
#[derive(Clone, Debug, PartialEq)]
pub struct HookCall {
    /// The session's id, the same as over ACP; empty if the input has none.
    pub session: String,
    /// The tool's name.
    pub tool: String,
    /// Its arguments.
    pub input: Value,
}

/// A tool call that ended, as `postToolUse` and `postToolUseFailure` describe it.
#[derive(Clone, Debug, PartialEq)]
pub struct HookResult {
    /// The call.
    pub call: HookCall,
    /// The result that the model gets.
    pub output: Value,
    /// The CLI's name for this kind of result, such as `success`.
    pub kind: Option<String>,
}

/// A turn that the agent wants to end, as `agentStop` describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentStop {
    /// The CLI's session.
    pub session: String,
    /// The stop reason; `end_turn` if the agent considers itself done.
    pub reason: String,
}

/// An error, as `errorOccurred` reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorReport {
    /// The CLI's session.
    pub session: String,
    /// The CLI's name for the failed step, such as `model_call`.
    pub context: String,
    /// The CLI's message.
    pub message: String,
}

/// Invalid input of a hook.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// Not JSON, or not of the expected shape.
    #[error("cannot read the hook's input: {0}")]
    Shape(#[from] serde_json::Error),
    /// `toolArgs` is neither an object nor a string that holds one.
    #[error("`toolArgs` of {tool} must be an object, but is {found}")]
    Arguments {
        /// The tool.
        tool: String,
        /// The type of its value.
        found: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Call {
    #[serde(default)]
    session_id: String,
    tool_name: String,
    #[serde(default)]
    tool_args: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Occurred {
    #[serde(default)]
    session_id: String,
    #[serde(default)]
    error_context: String,
    #[serde(default)]
    error: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Permission {
    #[serde(default)]
    session_id: String,
    tool_name: String,
    tool_input: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ended {
    #[serde(default)]
    tool_result: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    session_id: String,
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    stop_reason: String,
}

/// Reads the input of `preToolUse`.
///
/// # Errors
/// If it is not JSON, names no tool, or the arguments are not an object.
pub fn read_call(input: &[u8]) -> Result<HookCall, WireError> {
    let call: Call = serde_json::from_slice(input)?;
    let arguments = match call.tool_args {
        Value::String(text) if text.trim().is_empty() => json!({}),
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(arguments) => arguments,
            Err(_) if call.tool_name == FREEFORM => json!({ "input": text }),
            Err(error) => return Err(error.into()),
        },
        Value::Null => json!({}),
        other => other,
    };
    if !arguments.is_object() {
        return Err(WireError::Arguments { tool: call.tool_name, found: kind_of(&arguments) });
    }
    Ok(HookCall { session: call.session_id, tool: call.tool_name, input: arguments })
}

/// Reads the input of `permissionRequest`, which describes a call differently: without the
/// description, and an edit as a diff.
///
/// # Errors
/// If it is not JSON, names no tool, or the arguments are not an object.
pub fn read_permission(input: &[u8]) -> Result<HookCall, WireError> {
    let Permission { session_id, tool_name, tool_input } = serde_json::from_slice(input)?;
    if !tool_input.is_object() {
        return Err(WireError::Arguments { tool: tool_name, found: kind_of(&tool_input) });
    }
    Ok(HookCall { session: session_id, tool: tool_name, input: tool_input })
}

/// Reads the input of `postToolUse` or `postToolUseFailure`.
///
/// # Errors
/// As for [`read_call`].
pub fn read_result(input: &[u8]) -> Result<HookResult, WireError> {
    let call = read_call(input)?;
    let ended: Ended = serde_json::from_slice(input)?;
    let kind = ended.tool_result.as_ref().and_then(|result| result["resultType"].as_str());
    let kind = kind.map(str::to_owned);
    let told = ended.tool_result.map(|mut result| match result.get_mut("textResultForLlm") {
        Some(text) => text.take(),
        None => result,
    });
    Ok(HookResult { call, output: told.or(ended.error).unwrap_or_default(), kind })
}

/// Reads the input of `agentStop`.
///
/// # Errors
/// If it is not JSON or names no session.
pub fn read_stop(input: &[u8]) -> Result<AgentStop, WireError> {
    let stop: Named = serde_json::from_slice(input)?;
    Ok(AgentStop { session: stop.session_id, reason: stop.stop_reason })
}

/// Reads the input of `sessionEnd`, which follows each prompt: the session and the reason,
/// `complete` or `error`.
///
/// # Errors
/// If it is not JSON or names no session.
pub fn read_end(input: &[u8]) -> Result<(String, String), WireError> {
    let end: Named = serde_json::from_slice(input)?;
    Ok((end.session_id, end.reason))
}

/// Reads the input of `errorOccurred`.
///
/// # Errors
/// If it is not JSON of the expected shape.
pub fn read_error(input: &[u8]) -> Result<ErrorReport, WireError> {
    let occurred: Occurred = serde_json::from_slice(input)?;
    let message = match &occurred.error {
        Value::String(text) => text.clone(),
        other => other.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
    };
    Ok(ErrorReport { session: occurred.session_id, context: occurred.error_context, message })
}

/// Reads the session's id and working directory from the input of any other hook.
///
/// # Errors
/// If it is not JSON or names no session.
pub fn read_session(input: &[u8]) -> Result<(String, Option<PathBuf>), WireError> {
    let Named { session_id, cwd, .. } = serde_json::from_slice(input)?;
    Ok((session_id, cwd))
}

/// The output that denies a call. The model gets the reason and continues.
pub fn denial(reason: &str) -> String {
    json!({
        "permissionDecision": "deny",
        "permissionDecisionReason": reason,
        "message": reason,
    })
    .to_string()
}

/// The output without a decision: an ACP permission request, the second layer, decides.
pub fn pass() -> String {
    "{}".to_owned()
}

/// The output without a decision that replaces the call's arguments.
pub fn replace(arguments: &Value) -> String {
    json!({ "modifiedArgs": arguments }).to_string()
}

/// The output of `postToolUse`, which replaces the model's result.
pub fn replace_result(kind: &str, text: &str) -> String {
    json!({ "modifiedResult": { "resultType": kind, "textResultForLlm": text } }).to_string()
}

/// The output of `permissionRequest` that allows the call; any other output denies it.
pub fn permit() -> String {
    json!({ "behavior": "allow" }).to_string()
}

/// The output of `permissionRequest` that denies the call.
pub fn forbid(reason: &str) -> String {
    json!({ "behavior": "deny", "message": reason }).to_string()
}

/// The output of `userPromptSubmitted` that rejects the prompt before a model gets it, and of
/// `agentStop` that keeps the turn going with the reason as the next message.
pub fn turn_back(reason: &str) -> String {
    json!({ "decision": "block", "reason": reason }).to_string()
}

fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_may_come_as_the_text_that_it_is() {
        let text = "*** Begin Patch\n*** Add File: a.txt\n+a\n*** End Patch";
        for arguments in [json!(text), json!({ "input": text })] {
            let call = json!({"toolName": "apply_patch", "toolArgs": arguments}).to_string();
            let read = read_call(call.as_bytes()).expect("a call");
            assert_eq!(read.input, json!({ "input": text }));
        }
    }

    #[test]
    fn invalid_hook_input_is_an_error() {
        for input in [
            &b""[..],
            b"[]",
            b"{\"toolArgs\":{}}",
            br#"{"toolName":"bash","toolArgs":"not json"}"#,
            br#"{"toolName":"bash","toolArgs":"[1]"}"#,
            br#"{"toolName":"bash","toolArgs":7}"#,
        ] {
            assert!(read_call(input).is_err(), "{}", String::from_utf8_lossy(input));
        }
    }

    #[test]
    fn a_permission_request_is_read_and_answered_in_its_own_format() {
        let input = br#"{"hookName":"permissionRequest","sessionId":"s","toolName":"edit","toolInput":{"file_path":"/w/x"},"permissionSuggestions":[]}"#;
        let expected = HookCall {
            session: "s".into(),
            tool: "edit".into(),
            input: json!({"file_path": "/w/x"}),
        };
        assert_eq!(read_permission(input).expect("read"), expected);
        assert!(read_permission(br#"{"sessionId":"s","toolName":"edit","toolInput":7}"#).is_err());
        assert!(read_permission(br#"{"sessionId":"s","toolName":"edit"}"#).is_err());
        assert_eq!(permit(), r#"{"behavior":"allow"}"#);
        assert_eq!(forbid("no"), r#"{"behavior":"deny","message":"no"}"#);
    }

    #[test]
    fn a_result_is_the_text_for_the_model() {
        let ended = |rest: &str| {
            let input = format!(r#"{{"sessionId":"s","toolName":"view","toolArgs":{{}}{rest}}}"#);
            read_result(input.as_bytes()).expect("a result").output
        };
        let told = r#","toolResult":{"resultType":"success","textResultForLlm":"hi"}"#;
        assert_eq!(ended(told), "hi");
        assert_eq!(ended(r#","toolResult":{"resultType":"success"}"#)["resultType"], "success");
        assert_eq!(ended(r#","error":"Path does not exist""#), "Path does not exist");
        assert_eq!(ended(""), Value::Null);
    }

    #[test]
    fn a_stop_and_an_end_have_reasons() {
        let stop = br#"{"sessionId":"s","stopReason":"end_turn","stop_hook_active":true}"#;
        let expected = AgentStop { session: "s".to_owned(), reason: "end_turn".to_owned() };
        assert_eq!(read_stop(stop).expect("a stop"), expected);
        let end = read_end(br#"{"sessionId":"s","reason":"error"}"#).expect("an end");
        assert_eq!(end, ("s".to_owned(), "error".to_owned()));
    }

    #[test]
    fn an_error_s_message_is_found_in_both_forms() {
        let object = br#"{"sessionId":"s","errorContext":"model_call","error":{"message":"429"}}"#;
        assert_eq!(read_error(object).expect("object").message, "429");
        let string = br#"{"sessionId":"s","error":"401"}"#;
        assert_eq!(read_error(string).expect("string").message, "401");
    }
}
