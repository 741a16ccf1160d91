//! Combines the answers of the XPIA hook and the amplihack hook; XPIA comes first.
//!
//! Invariant: exactly the table below. The chosen answer is passed on unchanged, except that
//! the decision is put in lower case, which the CLI requires.
//!
//! | priority | source | accepted signal | result |
//! |---|---|---|---|
//! | 1 | XPIA | `permissionDecision` = allow, deny or ask | its payload, unchanged |
//! | 2 | amplihack | `permissionDecision` = allow, deny or ask | its payload, unchanged |
//! | 3 | amplihack | `block: true` | a denial with its message |
//! | 4 | none | no decision | `{}` |
//!
//! A missing hook decides nothing; a failed one denies. Running the hooks does NOT live here.

use serde_json::{Map, Value, json};

use super::adapter::{blocked, blocked_reason};
use super::output::{is_text, is_understood, objects};
use super::script::{ScriptEnd, ScriptRun};

/// The message of an amplihack block that has none.
const BLOCKED_BY_AMPLIHACK: &str = "Blocked by amplihack pre-tool-use hook.";

/// A JSON object from a hook's output, with its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload {
    text: String,
    value: Map<String, Value>,
}

impl Payload {
    /// Takes an object from the output. `deny` and `ask` count in any case and are changed to
    /// lower case, which the CLI requires; `allow` counts only in lower case.
    fn new(text: &str, mut value: Map<String, Value>) -> Self {
        let said = value.get("permissionDecision").and_then(Value::as_str).unwrap_or_default();
        let word = said.trim().to_lowercase();
        if word == said || !["deny", "ask"].contains(&word.as_str()) {
            return Self { text: text.to_owned(), value };
        }
        value.insert("permissionDecision".to_owned(), Value::String(word));
        Self { text: Value::Object(value.clone()).to_string(), value }
    }

    /// The `permissionDecision`, if it is an accepted one.
    fn decision(&self) -> Option<&str> {
        let decision = self.value.get("permissionDecision")?.as_str()?;
        ["allow", "deny", "ask"].contains(&decision).then_some(decision)
    }

    /// Whether `block` is set, as amplihack does. Only clearly negative values count as no.
    fn blocks(&self) -> bool {
        match self.value.get("block") {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::Number(number)) => number.as_f64() != Some(0.0),
            Some(Value::String(text)) => !["", "false"].contains(&text.as_str()),
            Some(Value::Bool(true) | Value::Array(_) | Value::Object(_)) => true,
        }
    }

    fn denies(&self) -> bool {
        self.decision() == Some("deny") || self.blocks()
    }

    fn decides(&self) -> bool {
        self.decision().is_some() || self.blocks()
    }

    fn denial(reason: &str) -> Self {
        let text = blocked(reason);
        let value = serde_json::from_str(&text).unwrap_or_default();
        Self { text, value }
    }
}

/// The decision of a hook: the last denial in its output, else the last object that decides. A
/// hook that failed, or whose output cannot be read, denies.
pub fn payload_of(name: &str, ran: &ScriptRun) -> Option<Payload> {
    let found = objects(&ran.stdout);
    let found: Vec<Payload> =
        found.into_iter().map(|(text, value)| Payload::new(text, value)).collect();
    let deny = found.iter().rev().find(|payload| payload.denies());
    match &ran.end {
        _ if deny.is_some() => deny.cloned(),
        ScriptEnd::Exited(0) if !ran.cut && is_text(&ran.stdout) && is_understood(&ran.stdout) => {
            found.into_iter().rev().find(Payload::decides)
        }
        ScriptEnd::Exited(0) => Some(Payload::denial(&format!("cannot read the output of {name}"))),
        ScriptEnd::Exited(_)
        | ScriptEnd::Signalled(_)
        | ScriptEnd::TimedOut(_)
        | ScriptEnd::NotRun(_) => Some(Payload::denial(&ran.failure(name))),
    }
}

/// Applies the table. Returns none for its last row: no decision.
pub fn combine(xpia: Option<&Payload>, amplihack: Option<&Payload>) -> Option<String> {
    let decided = |payload: &&Payload| payload.decision().is_some();
    if let Some(payload) = xpia.filter(decided).or_else(|| amplihack.filter(decided)) {
        return Some(payload.text.clone());
    }
    let blocking = amplihack.filter(|payload| payload.blocks())?;
    let message = blocking.value.get("message").or_else(|| blocking.value.get("reason"));
    let message = message.and_then(Value::as_str).filter(|text| !text.is_empty());
    let message = message.unwrap_or(BLOCKED_BY_AMPLIHACK);
    let denial = json!({
        "permissionDecision": "deny",
        "permissionDecisionReason": blocked_reason(message),
        "message": message,
    });
    Some(denial.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(code: i32, stdout: &str) -> ScriptRun {
        let end = ScriptEnd::Exited(code);
        ScriptRun { end, stdout: stdout.to_owned(), stderr: String::new(), cut: false }
    }

    /// The combined answer to the output of both hooks.
    fn answer(xpia: &str, amplihack: &str) -> Option<String> {
        let (xpia, amplihack) =
            (payload_of("x", &ran(0, xpia)), payload_of("a", &ran(0, amplihack)));
        combine(xpia.as_ref(), amplihack.as_ref())
    }

    #[test]
    fn the_four_rows() {
        for decision in ["allow", "deny", "ask"] {
            let own = format!(r#"{{ "z":1, "permissionDecision":"{decision}",  "a":2 }}"#);
            let other = r#"{"permissionDecision":"ask","message":"other"}"#;
            assert_eq!(answer(&own, other).as_deref(), Some(own.as_str()), "row 1");
            assert_eq!(answer(&own, r#"{"block":true}"#).as_deref(), Some(own.as_str()), "row 1");
            assert_eq!(answer("{}", &own).as_deref(), Some(own.as_str()), "row 2");
            assert_eq!(answer(r#"{"block":true}"#, &own).as_deref(), Some(own.as_str()), "row 2");
        }
        let row3 = answer("{}", r#"{"block":true,"message":"not here"}"#).expect("row 3");
        let row3: Value = serde_json::from_str(&row3).expect("JSON");
        assert_eq!(
            row3,
            json!({
                "permissionDecision": "deny",
                "message": "not here",
                "permissionDecisionReason": "BLOCKED: not here",
            })
        );
        let unsaid = answer("", r#"{"block":true}"#).expect("row 3");
        assert!(unsaid.contains(BLOCKED_BY_AMPLIHACK), "{unsaid}");
        for (xpia, amplihack) in [
            ("", ""),
            ("{}", "{}"),
            (r#"{"permissionDecision":"maybe"}"#, r#"{"block":false}"#),
            (r#"{"block":true}"#, "{}"),
            ("checking\n", "done\n"),
        ] {
            assert_eq!(answer(xpia, amplihack), None, "row 4: {xpia} {amplihack}");
        }
    }

    #[test]
    fn the_last_decision_in_the_output_wins_and_a_denial_always() {
        let deny = r#"{"permissionDecision":"deny","message":"no"}"#;
        let allow = r#"{"permissionDecision":"allow"}"#;
        let ask = r#"{"permissionDecision":"ask"}"#;
        let pretty = "{\n  \"permissionDecision\": \"deny\",\n  \"message\": \"no\"\n}";
        for (output, wins) in [
            (format!("{allow}\n{ask}\n"), Some(ask)),
            (format!("{ask}\n{{}}\n{{\"other\":1}}\n"), Some(ask)),
            (format!("{deny}\n{allow}\n"), Some(deny)),
            (format!("  {allow}\r\nnoise\n{{torn\n"), Some(allow)),
            (format!("{pretty}\n"), Some(pretty)),
            (format!("checking\n{pretty}\nchecked\n"), Some(pretty)),
            (format!("{pretty}\n{allow}"), Some(pretty)),
            ("[]\n\"deny\"\n".to_owned(), None),
            (format!("\u{feff}{deny}\n"), Some(deny)),
            (format!("checking\n \u{feff}{pretty}\n"), Some(pretty)),
            (
                r#"{"permissionDecision":" DENY","message":"no"}"#.to_owned(),
                Some(r#"{"permissionDecision":"deny","message":"no"}"#),
            ),
            (
                "{\"permissionDecision\":\"Ask\"}\n{\"permissionDecision\":\"ALLOW\"}".to_owned(),
                Some(ask),
            ),
            (r#"{"permissionDecision":"ALLOW"}"#.to_owned(), None),
        ] {
            let found = payload_of("x", &ran(0, &output)).map(|payload| payload.text);
            assert_eq!(found.as_deref(), wins, "{output}");
        }
        let blocked = payload_of("a", &ran(0, &format!("{{\"block\":true}}\n{allow}")));
        assert!(blocked.expect("a payload").blocks());
    }

    #[test]
    fn a_failed_hook_denies() {
        let deny = r#"{"permissionDecision":"deny","message":"mine"}"#;
        let allow = r#"{"permissionDecision":"allow"}"#;
        let says = |ran: &ScriptRun| payload_of("xpia", ran).expect("a payload").text;
        assert_eq!(says(&ran(1, deny)), deny, "its own message is kept");
        for failed in [
            ran(1, allow),
            ran(2, ""),
            ran(0, "{\"permissionDecision\": \"den"),
            ran(0, "\u{feff}{\"permissionDecision\": \"den"),
            // UTF-16, without and with its byte order mark.
            ran(0, &deny.replace("", "\0")),
            ran(0, &format!("\u{fffd}\u{fffd}{}", deny.replace("", "\0"))),
            ran(0, &format!("{allow}\n\u{fffd}")),
            ScriptRun { cut: true, ..ran(0, allow) },
            ScriptRun { end: ScriptEnd::TimedOut(25), ..ran(0, allow) },
            ScriptRun { end: ScriptEnd::NotRun("no".into()), ..ran(0, "") },
        ] {
            let said = says(&failed);
            assert!(said.contains("\"deny\"") && said.contains("BLOCKED: "), "{said}");
        }
    }
}
