//! The XPIA contract: the hook's input, the defender's verdict, and the audit.
//!
//! Invariant: only a verdict of "valid" with at most medium risk allows a command; everything else
//! denies. Not in this file: running `xpia-defend` and writing the audit.

use chrono::{DateTime, FixedOffset, SecondsFormat};
use serde::Serialize;
use serde_json::{Map, Value};

use super::adapter::blocked;
use super::script::{ScriptEnd, ScriptRun};
use super::wire::pass;

/// The defender's program.
pub const DEFENDER: &str = "xpia-defend";

/// Length at which the audit cuts off a command, in characters.
const KEPT: usize = 100;

/// The hook's input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum XpiaInput {
    /// Nothing to check: another tool, or no command.
    Nothing,
    /// A shell line.
    Command {
        /// The line.
        command: String,
        /// The session's id, or `unknown`.
        session: String,
    },
}

/// Invalid input of the hook.
#[derive(Debug, thiserror::Error)]
pub enum XpiaError {
    /// Not a JSON object.
    #[error("cannot read the hook's input: {0}")]
    Shape(#[from] serde_json::Error),
    /// A field has the wrong type or is missing.
    #[error("`{0}` in the hook's input is missing or has the wrong type")]
    Field(&'static str),
}

/// Reads the input with Claude's or Copilot's field names; there is nothing to check in empty
/// input.
///
/// # Errors
/// If it is not a JSON object, or a field has the wrong type.
pub fn read_xpia(input: &[u8]) -> Result<XpiaInput, XpiaError> {
    if input.trim_ascii().is_empty() {
        return Ok(XpiaInput::Nothing);
    }
    let fields: Map<String, Value> = serde_json::from_slice(input)?;
    let either = |one: &str, other: &str| fields.get(one).or_else(|| fields.get(other));
    let shell = match either("tool_name", "toolName") {
        None => None,
        Some(Value::String(name)) => Some(name.eq_ignore_ascii_case("bash")),
        Some(_) => return Err(XpiaError::Field("tool_name")),
    };
    if shell == Some(false) {
        return Ok(XpiaInput::Nothing);
    }
    let arguments = match either("tool_input", "toolArgs") {
        None | Some(Value::Null) => return Ok(XpiaInput::Nothing),
        Some(Value::String(text)) => serde_json::from_str(text)?,
        Some(other) => other.clone(),
    };
    let Value::Object(arguments) = arguments else { return Err(XpiaError::Field("tool_input")) };
    let command = match arguments.get("command") {
        None | Some(Value::Null) => return Ok(XpiaInput::Nothing),
        Some(Value::String(command)) if command.trim().is_empty() => {
            return Ok(XpiaInput::Nothing);
        }
        Some(Value::String(command)) => command.clone(),
        Some(_) => return Err(XpiaError::Field("command")),
    };
    if shell.is_none() {
        // There is a command, but no tool's name.
        return Err(XpiaError::Field("tool_name"));
    }
    let session = either("session_id", "sessionId").and_then(Value::as_str);
    Ok(XpiaInput::Command { command, session: session.unwrap_or("unknown").to_owned() })
}

/// The defender's verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XpiaVerdict {
    /// Whether the defender considers the command valid.
    pub valid: bool,
    /// The risk level: `none`, `low`, `medium`, `high`, `critical`, or an unknown word.
    pub risk: String,
    /// The descriptions of the threats that it found.
    pub threats: Vec<String>,
    /// The failure of the defender, if it gave no verdict.
    pub failure: Option<String>,
}

impl XpiaVerdict {
    /// The verdict if the defender failed: invalid and critical.
    pub fn failed(why: impl Into<String>) -> Self {
        Self {
            valid: false,
            risk: "critical".to_owned(),
            threats: Vec::new(),
            failure: Some(why.into()),
        }
    }

    /// Reads the verdict from a run of the defender.
    pub fn of(ran: &ScriptRun) -> Self {
        let code = match &ran.end {
            ScriptEnd::Exited(code @ (0 | 1)) => *code,
            ScriptEnd::Exited(_)
            | ScriptEnd::Signalled(_)
            | ScriptEnd::TimedOut(_)
            | ScriptEnd::NotRun(_) => {
                return Self::failed(format!("{DEFENDER} {}", ran.end.describe()));
            }
        };
        if ran.stdout.trim().is_empty() {
            return Self::failed(format!("{DEFENDER} printed nothing"));
        }
        let Ok(Value::Object(said)) = serde_json::from_str(&ran.stdout) else {
            return Self::failed(format!("{DEFENDER} did not answer in JSON"));
        };
        let risk = said.get("risk_level").and_then(Value::as_str).unwrap_or("critical");
        let threats = said.get("threats").and_then(Value::as_array);
        let threats = threats.into_iter().flatten().map(|threat| {
            let described = threat.get("description").and_then(Value::as_str);
            described.unwrap_or("a threat without a description").to_owned()
        });
        Self {
            // Exit code 1 means blocked, even if the output says otherwise.
            valid: code == 0 && said.get("is_valid") == Some(&Value::Bool(true)),
            risk: risk.to_ascii_lowercase(),
            threats: threats.collect(),
            failure: None,
        }
    }

    /// Whether the command may run.
    pub fn allows(&self) -> bool {
        self.valid && ["none", "low", "medium"].contains(&self.risk.as_str())
    }

    /// The hook's output.
    pub fn output(&self) -> String {
        if self.allows() {
            return pass();
        }
        if let Some(why) = &self.failure {
            return blocked(&format!("XPIA: {why}. Nothing ran."));
        }
        let threats: Vec<&str> = self.threats.iter().take(3).map(String::as_str).collect();
        let threats = if threats.is_empty() {
            String::new()
        } else {
            format!(" Threats: {}.", threats.join(", "))
        };
        blocked(&format!("XPIA: the command has {} risk.{threats} Nothing ran.", self.risk))
    }
}

/// A line of the XPIA audit.
#[derive(Clone, Debug, Serialize)]
pub struct XpiaAudit {
    timestamp: String,
    event_type: &'static str,
    backend: &'static str,
    data: XpiaData,
}

#[derive(Clone, Debug, Serialize)]
struct XpiaData {
    command: String,
    is_valid: bool,
    risk_level: String,
    threats: usize,
    session_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl XpiaAudit {
    /// Makes the line for a verdict. `command` must already be redacted.
    pub fn new(
        command: &str,
        session: &str,
        verdict: &XpiaVerdict,
        at: DateTime<FixedOffset>,
    ) -> Self {
        Self {
            timestamp: at.to_rfc3339_opts(SecondsFormat::Secs, false),
            event_type: "pre_tool_validation",
            backend: "rust",
            data: XpiaData {
                command: command.chars().take(KEPT).collect(),
                is_valid: verdict.valid,
                risk_level: verdict.risk.clone(),
                threats: verdict.threats.len(),
                session_id: session.to_owned(),
                error: verdict.failure.clone(),
            },
        }
    }

    /// The line, without its newline.
    pub fn line(&self) -> String {
        // Only strings, numbers and booleans, which always serialize.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The name of the day's audit file.
    pub fn file(at: DateTime<FixedOffset>) -> String {
        format!("rust_security_{}.log", at.format("%Y%m%d"))
    }
}
