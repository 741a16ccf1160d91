//! The XPIA contract: what is asked, what the defender's answer means, and its audit.
//!
//! Invariant: closed: only an answer that plainly says valid and at most medium risk allows.
//! What does NOT live here: running `xpia-defend` and writing the audit.

use chrono::{DateTime, FixedOffset, SecondsFormat};
use serde::Serialize;
use serde_json::{Map, Value};

use super::adapter::blocked;
use super::script::{ScriptEnd, ScriptRun};
use super::wire::pass;

/// The defender's program.
pub const DEFENDER: &str = "xpia-defend";

/// How many characters of a command the audit keeps.
const KEPT: usize = 100;

/// What the hook is to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum XpiaInput {
    /// Nothing that concerns it: another tool, or no command.
    Nothing,
    /// A shell line.
    Command {
        /// The line.
        command: String,
        /// The session, `unknown` where none is named.
        session: String,
    },
}

/// The hook's input is not understood.
#[derive(Debug, thiserror::Error)]
pub enum XpiaError {
    /// It is no JSON object.
    #[error("the hook's input is not understood: {0}")]
    Shape(#[from] serde_json::Error),
    /// A field is not what it must be.
    #[error("`{0}` of the hook's input is not what it must be")]
    Field(&'static str),
}

/// Reads the input, by Claude's names or by Copilot's; empty input asks nothing.
///
/// # Errors
/// If it is no JSON object, or a command's place holds something else.
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
        // There is a command, and nobody says whose.
        return Err(XpiaError::Field("tool_name"));
    }
    let session = either("session_id", "sessionId").and_then(Value::as_str);
    Ok(XpiaInput::Command { command, session: session.unwrap_or("unknown").to_owned() })
}

/// What the defender said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XpiaVerdict {
    /// Whether it holds the command to be valid.
    pub valid: bool,
    /// `none`, `low`, `medium`, `high`, `critical`, or a word of its own.
    pub risk: String,
    /// What it found, in its own words.
    pub threats: Vec<String>,
    /// Why there is no answer of its own.
    pub failure: Option<String>,
}

impl XpiaVerdict {
    /// No answer: invalid, and critical.
    pub fn failed(why: impl Into<String>) -> Self {
        Self {
            valid: false,
            risk: "critical".to_owned(),
            threats: Vec::new(),
            failure: Some(why.into()),
        }
    }

    /// What a run of the defender says.
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
            return Self::failed(format!("{DEFENDER} said nothing"));
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
            // Its exit code 1 says blocked, whatever else it says.
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
        blocked(&format!(
            "XPIA: the command is held to be of {} risk.{threats} Nothing ran.",
            self.risk
        ))
    }
}

/// A line of the audit.
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
    /// The line on a decision. `command` must hold no secrets any more.
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

    /// The line, without its end.
    pub fn line(&self) -> String {
        // Strings, numbers and booleans alone: nothing that JSON could not hold.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The file of a day.
    pub fn file(at: DateTime<FixedOffset>) -> String {
        format!("rust_security_{}.log", at.format("%Y%m%d"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_of_the_shell_are_looked_at() {
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
    fn only_a_plain_yes_allows() {
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
    fn a_line_of_the_audit_has_these_keys() {
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
