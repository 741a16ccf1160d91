//! Claude's hooks in a project: which ones match a call, their input, and their answers.
//!
//! Invariant: pure, and fails closed: an invalid matcher matches, and a failed hook denies. A
//! hook that only Claude can run decides nothing. Running hooks does NOT live here.

use std::path::Path;

use regex::RegexBuilder;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::adapter::HookInput;
use super::output::{is_text, objects};
use super::script::{ScriptEnd, ScriptRun};
use super::wire::HookCall;

/// The project's settings cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the project's hooks in {file}: {source}")]
pub struct ClaudeError {
    /// Its path in the project.
    file: String,
    /// Why.
    source: serde_json::Error,
}

/// A hook of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaudeHook {
    /// The shell command.
    pub command: String,
    /// Its own time limit, in seconds.
    pub timeout: Option<u64>,
}

/// The hooks that match a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchingHooks {
    /// The hooks that we can run.
    pub hooks: Vec<ClaudeHook>,
    /// Whether there is one that only Claude can run, so that the call must be checked
    /// otherwise, too.
    pub foreign: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Settings {
    #[serde(default)]
    disable_all_hooks: bool,
    #[serde(default)]
    hooks: Option<Events>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Events {
    #[serde(default)]
    pre_tool_use: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    matcher: Option<String>,
    #[serde(default)]
    hooks: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    timeout: Option<f64>,
}

/// Claude's name for a tool of Copilot.
fn claude_name(tool: &str) -> &str {
    match tool {
        "bash" | "shell" => "Bash",
        "view" | "read" => "Read",
        "create" | "write" => "Write",
        "edit" | "str_replace" => "Edit",
        "grep" => "Grep",
        "glob" => "Glob",
        "web_fetch" | "fetch" => "WebFetch",
        "task" => "Task",
        other => other,
    }
}

/// The hooks of the settings files (name and text) that match a call, in order and without
/// repetitions.
///
/// # Errors
/// If a file cannot be parsed: a hook in it may deny.
pub fn matching_hooks(
    files: &[(&str, String)],
    call: &HookCall,
) -> Result<MatchingHooks, ClaudeError> {
    let mut found = MatchingHooks::default();
    let mut disabled = false;
    for (file, text) in files {
        let failed = |source| ClaudeError { file: (*file).to_owned(), source };
        let settings: Settings = serde_json::from_str(text).map_err(failed)?;
        disabled |= settings.disable_all_hooks;
        let groups = settings.hooks.unwrap_or_default().pre_tool_use;
        for group in groups.iter().filter(|group| matches(group.matcher.as_deref(), call)) {
            for entry in &group.hooks {
                found.add(entry);
            }
        }
    }
    Ok(if disabled { MatchingHooks::default() } else { found })
}

impl MatchingHooks {
    fn add(&mut self, entry: &Entry) {
        match (entry.kind.as_deref(), &entry.command) {
            (None | Some("command"), Some(command)) => {
                let timeout = entry.timeout.filter(|limit| *limit >= 1.0);
                let hook = ClaudeHook {
                    command: command.clone(),
                    // Fractions do not matter, and our own limit is shorter than a day.
                    timeout: timeout.map(|limit| limit.min(86_400.0) as u64),
                };
                if !self.hooks.iter().any(|other| other.command == hook.command) {
                    self.hooks.push(hook);
                }
            }
            (_, _) => self.foreign = true,
        }
    }
}

/// Whether a matcher matches the call's tool by Claude's or Copilot's name. A missing or empty
/// one and `*` match every tool.
fn matches(matcher: Option<&str>, call: &HookCall) -> bool {
    let Some(matcher) = matcher.map(str::trim) else { return true };
    if matcher.is_empty() || matcher == "*" {
        return true;
    }
    let names = [call.tool.as_str(), claude_name(&call.tool)];
    let named = |letter: char| letter.is_ascii_alphanumeric() || "_-| ".contains(letter);
    if matcher.chars().all(named) {
        let mut words = matcher.split('|').map(str::trim);
        return words.any(|word| names.iter().any(|name| name.eq_ignore_ascii_case(word)));
    }
    // Anything else is a regular expression, which Claude searches for in the name.
    let anywhere = RegexBuilder::new(matcher).case_insensitive(true).build();
    anywhere.map_or(true, |anywhere| names.iter().any(|name| anywhere.is_match(name)))
}

/// The input of a Claude hook for a call. `folder`, the project's, is the working directory if
/// the CLI names none.
pub fn claude_input(asked: &HookInput, folder: &Path) -> Value {
    let cwd = asked.cwd.clone().unwrap_or_else(|| folder.display().to_string());
    json!({
        "session_id": asked.call.session,
        "cwd": cwd,
        "hook_event_name": "PreToolUse",
        "tool_name": claude_name(&asked.call.tool),
        "tool_input": claude_arguments(&asked.call),
    })
}

/// The call's arguments under Copilot's and Claude's names.
fn claude_arguments(call: &HookCall) -> Value {
    let pairs: &[(&str, &str)] = match claude_name(&call.tool) {
        "Read" => &[("path", "file_path")],
        "Write" => &[("path", "file_path"), ("file_text", "content")],
        "Edit" => &[("path", "file_path"), ("old_str", "old_string"), ("new_str", "new_string")],
        _ => &[],
    };
    let mut arguments = call.input.clone();
    if let Value::Object(fields) = &mut arguments {
        for (theirs, claudes) in pairs {
            if let Some(value) = fields.get(*theirs).cloned() {
                fields.entry(*claudes).or_insert(value);
            }
        }
    }
    arguments
}

/// The decision of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookAnswer {
    /// The call may run.
    Allow,
    /// A human decides, for this reason.
    Ask(String),
    /// The call is denied, for this reason.
    Deny(String),
}

/// Reads the decision of a hook. Exit 0 allows, unless its output has another decision as JSON;
/// exit 2 denies with its error message as the reason; anything else is a failure, and denies.
pub fn read_answer(hook: &str, ran: &ScriptRun) -> HookAnswer {
    match &ran.end {
        ScriptEnd::Exited(0) if ran.cut => {
            HookAnswer::Deny(format!("the hook `{hook}` printed too much"))
        }
        ScriptEnd::Exited(0) if !is_text(&ran.stdout) => {
            HookAnswer::Deny(format!("the output of the hook `{hook}` is not UTF-8"))
        }
        ScriptEnd::Exited(0) => from_output(hook, &ran.stdout),
        ScriptEnd::Exited(2) => {
            let said = ran.complaint();
            let unsaid = || format!("the hook `{hook}` denied the call without a reason");
            HookAnswer::Deny(if said.is_empty() { unsaid() } else { said.to_owned() })
        }
        ScriptEnd::Exited(_)
        | ScriptEnd::Signalled(_)
        | ScriptEnd::TimedOut(_)
        | ScriptEnd::NotRun(_) => HookAnswer::Deny(ran.failure(&format!("the hook `{hook}`"))),
    }
}

/// The strictest decision among the JSON objects in the output.
fn from_output(hook: &str, stdout: &str) -> HookAnswer {
    strictest(objects(stdout).iter().map(|(_, output)| from_object(hook, output)))
}

fn from_object(hook: &str, output: &Map<String, Value>) -> HookAnswer {
    let specific = output.get("hookSpecificOutput").and_then(Value::as_object);
    let said = |name: &'static str| {
        let both = specific.into_iter().chain([output]).filter_map(move |it| it.get(name));
        both.filter(|value| !value.is_null() && *value != "")
    };
    let reason = ["permissionDecisionReason", "reason", "stopReason", "message"];
    let reason = reason.into_iter().flat_map(said).find_map(Value::as_str);
    let because =
        |unsaid: &str| reason.map_or_else(|| format!("the hook `{hook}` {unsaid}"), str::to_owned);
    let read = |decision: &Value| match decision.as_str()?.to_ascii_lowercase().as_str() {
        "deny" | "block" => Some(HookAnswer::Deny(because("denied the call"))),
        "ask" => Some(HookAnswer::Ask(because("wants a human to decide"))),
        "allow" | "approve" => Some(HookAnswer::Allow),
        _ => None,
    };
    let unknown = |decision: &Value| {
        let what = "which is not a known decision";
        HookAnswer::Deny(format!("the hook `{hook}` decided {decision}, {what}"))
    };
    let permissions = said("permissionDecision").map(|it| read(it).unwrap_or_else(|| unknown(it)));
    // Log lines of any program may have the older key `decision`, so unknown values are ignored.
    let decisions = said("decision").filter_map(read);
    let stopped = (output.get("continue") == Some(&Value::Bool(false)))
        .then(|| HookAnswer::Deny(because("ended the turn")));
    strictest(permissions.chain(decisions).chain(stopped))
}

/// The strictest of several decisions; the first of its kind wins.
pub fn strictest(said: impl IntoIterator<Item = HookAnswer>) -> HookAnswer {
    let mut strictest = HookAnswer::Allow;
    for one in said {
        match (&strictest, &one) {
            (HookAnswer::Deny(_), _) => break,
            (HookAnswer::Allow, _) | (HookAnswer::Ask(_), HookAnswer::Deny(_)) => strictest = one,
            (HookAnswer::Ask(_), HookAnswer::Allow | HookAnswer::Ask(_)) => {}
        }
    }
    strictest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tool: &str) -> HookCall {
        HookCall { session: "s".into(), tool: tool.into(), input: json!({}) }
    }

    fn settings(matcher: &str) -> [(&'static str, String); 1] {
        let group = json!({ "matcher": matcher, "hooks": [{ "type": "command", "command": "h" }] });
        [("settings.json", json!({ "hooks": { "PreToolUse": [group], "Stop": "x" } }).to_string())]
    }

    #[test]
    fn matchers_know_tools_by_either_name() {
        for (matcher, tool, means) in [
            ("Bash", "bash", true),
            ("bash", "bash", true),
            ("", "bash", true),
            ("*", "view", true),
            ("Read|Write", "create", true),
            ("view", "view", true),
            (".*", "playwright-click", true),
            ("Bash", "view", false),
            ("Edit", "NotebookEdit", false),
            ("Edit|Read", "NotebookEdit", false),
            ("Edit | Write", "create", true),
            // Anything but a list of names is a regular expression.
            ("^Notebook", "NotebookEdit", true),
            ("book.*", "NotebookEdit", true),
            ("^Edit$", "NotebookEdit", false),
            ("Write", "bash", false),
            ("(", "bash", true),
        ] {
            let found = matching_hooks(&settings(matcher), &call(tool)).expect("settings");
            assert_eq!(found.hooks.len() == 1, means, "{matcher} {tool}");
        }
    }

    #[test]
    fn every_way_of_ending_is_allow_deny_or_ask() {
        let ran = |end, stdout: &str, stderr: &str| ScriptRun {
            end,
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            cut: false,
        };
        let deny = |text: &str| HookAnswer::Deny(text.to_owned());
        let zero = |stdout| ran(ScriptEnd::Exited(0), stdout, "");
        for (ran, says) in [
            (zero(""), HookAnswer::Allow),
            (ran(ScriptEnd::Exited(2), "no\n", ""), deny("no")),
            (ran(ScriptEnd::TimedOut(25), "", ""), deny("the hook `h` did not answer within 25 s")),
            (zero(r#"{"decision":"block","reason":"no"}"#), deny("no")),
            (zero(r#"{"continue":false,"stopReason":"enough"}"#), deny("enough")),
            (zero(r#"{"permissionDecision":"deny"}"#), deny("the hook `h` denied the call")),
            // Other lines, and other decisions, do not take a denial back.
            (zero("checking\n{\"decision\":\"block\",\"reason\":\"no\"}\n"), deny("no")),
            (
                zero("{\"decision\":\"block\",\"reason\":\"no\"}\n{\"decision\":\"approve\"}"),
                deny("no"),
            ),
            (
                zero(
                    r#"{"decision":"block","reason":"no","hookSpecificOutput":{"permissionDecision":"allow"}}"#,
                ),
                deny("no"),
            ),
            (zero(r#"{"permissionDecision":"Deny"}"#), deny("the hook `h` denied the call")),
            (
                zero(r#"{"permissionDecision":"perhaps"}"#),
                deny("the hook `h` decided \"perhaps\", which is not a known decision"),
            ),
            (
                zero(r#"{"hookSpecificOutput":{"permissionDecision":["deny"]}}"#),
                deny("the hook `h` decided [\"deny\"], which is not a known decision"),
            ),
            (zero("\u{feff}{\"decision\":\"BLOCK\",\"reason\":\"no\"}"), deny("no")),
            (
                zero("{\0\"\0d\0\"\0:\0\"\0b\0\"\0}\0"),
                deny("the output of the hook `h` is not UTF-8"),
            ),
            (zero("{ tool: 'Bash' }\n"), HookAnswer::Allow),
            (zero(r#"{"decision":"fine"}"#), HookAnswer::Allow),
            (zero(r#"{"decision":null}"#), HookAnswer::Allow),
            (zero(r#"{"decision":"approve"}"#), HookAnswer::Allow),
            (
                zero(
                    r#"{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"?"}}"#,
                ),
                HookAnswer::Ask("?".into()),
            ),
            (zero(r#"{"hookSpecificOutput":{"permissionDecision":"allow"}}"#), HookAnswer::Allow),
        ] {
            assert_eq!(read_answer("h", &ran), says, "{ran:?}");
        }
        let endless = ScriptRun { cut: true, ..zero("") };
        assert!(matches!(read_answer("h", &endless), HookAnswer::Deny(_)));
    }
}
