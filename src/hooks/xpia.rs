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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shell_commands_are_checked() {
        let command = |text: &str, session: &str| XpiaInput::Command {
            command: text.to_owned(),
            session: session.to_owned(),
        };
        for (input, asked) in [
            ("", XpiaInput::Nothing),
            (" \n", XpiaInput::Nothing),
            ("{}", XpiaInput::Nothing),
            (r#"{"tool_name":"Read","tool_input":{"command":"x"}}"#, XpiaInput::Nothing),
            (r#"{"tool_name":"Bash"}"#, XpiaInput::Nothing),
            (r#"{"tool_name":"Bash","tool_input":{}}"#, XpiaInput::Nothing),
            (r#"{"tool_name":"Bash","tool_input":{"command":""}}"#, XpiaInput::Nothing),
            (
                r#"{"tool_name":"Bash","tool_input":{"command":"pwd"},"session_id":"s"}"#,
                command("pwd", "s"),
            ),
            (
                r#"{"toolName":"bash","toolArgs":"{\"command\":\"pwd\"}"}"#,
                command("pwd", "unknown"),
            ),
        ] {
            assert_eq!(read_xpia(input.as_bytes()).expect(input), asked, "{input}");
        }
        for input in [
            "x",
            "[]",
            r#"{"tool_name":1}"#,
            r#"{"tool_name":"Bash","tool_input":"pwd"}"#,
            r#"{"tool_name":"Bash","tool_input":[]}"#,
            r#"{"tool_name":"Bash","tool_input":{"command":7}}"#,
            r#"{"tool_input":{"command":"pwd"}}"#,
        ] {
            assert!(read_xpia(input.as_bytes()).is_err(), "{input}");
        }
    }

    #[test]
    fn only_a_valid_verdict_of_low_risk_allows() {
        let ran = |code, stdout: &str| ScriptRun {
            end: ScriptEnd::Exited(code),
            stdout: stdout.to_owned(),
            stderr: String::new(),
            cut: false,
        };
        for risk in ["none", "low", "medium", "MEDIUM"] {
            let said = format!(r#"{{"is_valid":true,"risk_level":"{risk}"}}"#);
            assert!(XpiaVerdict::of(&ran(0, &said)).allows(), "{said}");
        }
        for (code, said) in [
            (0, r#"{"is_valid":true,"risk_level":"high"}"#),
            (0, r#"{"is_valid":true,"risk_level":"critical"}"#),
            (0, r#"{"is_valid":true,"risk_level":"banana"}"#),
            (0, r#"{"is_valid":true,"risk_level":0}"#),
            (0, r#"{"is_valid":true}"#),
            (0, r#"{"risk_level":"none"}"#),
            (0, r#"{"is_valid":false,"risk_level":"none"}"#),
            (0, r#"{"is_valid":"true","risk_level":"none"}"#),
            (1, r#"{"is_valid":true,"risk_level":"none"}"#),
            (2, r#"{"is_valid":true,"risk_level":"none"}"#),
            (3, r#"{"is_valid":true,"risk_level":"none"}"#),
            (0, ""),
            (0, "fine"),
            (0, "[]"),
        ] {
            let verdict = XpiaVerdict::of(&ran(code, said));
            assert!(!verdict.allows(), "{code} {said}");
            assert!(verdict.output().contains(r#""permissionDecision":"deny""#), "{said}");
        }
        let late = ScriptRun {
            end: ScriptEnd::TimedOut(25),
            ..ran(0, r#"{"is_valid":true,"risk_level":"none"}"#)
        };
        assert!(!XpiaVerdict::of(&late).allows());
    }

    #[test]
    fn an_audit_line_has_the_documented_keys() {
        let at = DateTime::parse_from_rfc3339("2026-11-21T23:59:50+01:00").expect("time");
        let verdict = XpiaVerdict {
            valid: false,
            risk: "high".into(),
            threats: vec!["a".into(), "b".into()],
            failure: None,
        };
        let long = "é".repeat(150);
        let audit = XpiaAudit::new(&long, "s", &verdict, at);
        let kept = "é".repeat(100);
        assert_eq!(
            audit.line(),
            format!(
                r#"{{"timestamp":"2026-11-21T23:59:50+01:00","event_type":"pre_tool_validation","backend":"rust","data":{{"command":"{kept}","is_valid":false,"risk_level":"high","threats":2,"session_id":"s"}}}}"#
            )
        );
        assert_eq!(XpiaAudit::file(at), "rust_security_20261121.log");
    }
}
