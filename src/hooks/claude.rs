//! Claude's hooks of a project: which of them look at a call, what they are told, and what
//! their end means.
//!
//! Invariant: pure, and closed: a matcher that is not understood matches, a hook that fails
//! denies, and one that only Claude could run decides nothing. Running them does NOT live
//! here.

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
#[error("the project's hooks in {file} are not understood: {source}")]
pub struct ClaudeError {
    /// The file, relative to the project.
    file: String,
    /// Why.
    source: serde_json::Error,
}

/// A hook of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaudeHook {
    /// The shell line.
    pub command: String,
    /// Its own limit, in seconds.
    pub timeout: Option<u64>,
}

/// The hooks that look at a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchingHooks {
    /// Those that can be run.
    pub hooks: Vec<ClaudeHook>,
    /// There is one that only Claude can run: somebody else must look at the call too.
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

/// What Claude calls a tool of Copilot's.
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

/// The hooks of the given settings files (name and text) that look at this call, in order,
/// each once.
///
/// # Errors
/// If a file is not understood: there may be a hook in it that would deny.
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
        for group in groups.iter().filter(|group| looks_at(group.matcher.as_deref(), call)) {
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
                    // Fractions do not matter, and what is longer than ours is cut to ours.
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

/// Whether a matcher means this tool, by Claude's name or by Copilot's. None, an empty one
/// and `*` mean every tool.
fn looks_at(matcher: Option<&str>, call: &HookCall) -> bool {
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
    // Anything else is an expression, which Claude looks for anywhere in the name.
    let anywhere = RegexBuilder::new(matcher).case_insensitive(true).build();
    anywhere.map_or(true, |anywhere| names.iter().any(|name| anywhere.is_match(name)))
}

/// What a hook of Claude's is told about a call. `folder` is the project's, for a CLI that
/// names no working directory.
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

/// The arguments by Claude's names, beside Copilot's own: a hook that looks for either
/// finds it.
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

/// What a hook decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookAnswer {
    /// Nothing speaks against the call.
    Allow,
    /// A human is to decide.
    Ask(String),
    /// No.
    Deny(String),
}

/// What a hook's end means: 0 allows, unless its output says otherwise as JSON; 2 denies
/// with what it complained about; anything else is a hook that failed, and denies.
pub fn read_answer(hook: &str, ran: &ScriptRun) -> HookAnswer {
    match &ran.end {
        ScriptEnd::Exited(0) if ran.cut => {
            HookAnswer::Deny(format!("the hook `{hook}` printed more than can be understood"))
        }
        ScriptEnd::Exited(0) if !is_text(&ran.stdout) => {
            HookAnswer::Deny(format!("what the hook `{hook}` printed is no text in UTF-8"))
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

/// Claude's hooks may also end with 0 and say their decision as JSON, among other lines or
/// not.
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
        let what = "which is no decision that is known";
        HookAnswer::Deny(format!("the hook `{hook}` decided {decision}, {what}"))
    };
    let permissions = said("permissionDecision").map(|it| read(it).unwrap_or_else(|| unknown(it)));
    // The older key is any program's word: a line of a log may have it, too.
    let decisions = said("decision").filter_map(read);
    let stopped = (output.get("continue") == Some(&Value::Bool(false)))
        .then(|| HookAnswer::Deny(because("ended the turn")));
    strictest(permissions.chain(decisions).chain(stopped))
}

/// What several hooks decided together: the strictest wins, the first of its kind.
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
    use super::super::adapter::read_hook_input;
    use super::*;

    fn call(tool: &str) -> HookCall {
        HookCall { session: "s".into(), tool: tool.into(), input: json!({}) }
    }

    fn settings(matcher: &str) -> [(&'static str, String); 1] {
        let group = json!({ "matcher": matcher, "hooks": [{ "type": "command", "command": "h" }] });
        [("settings.json", json!({ "hooks": { "PreToolUse": [group], "Stop": "x" } }).to_string())]
    }

    #[test]
    fn matchers_mean_tools_by_either_name() {
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
            // What is no list of names is looked for, as Claude does.
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
    fn hooks_of_both_files_are_found_once_and_can_be_disabled() {
        let both = [settings("Bash"), settings("")].concat();
        assert_eq!(matching_hooks(&both, &call("bash")).expect("settings").hooks.len(), 1);
        let mut off = both;
        off.push(("settings.local.json", r#"{"disableAllHooks": true}"#.to_owned()));
        assert_eq!(
            matching_hooks(&off, &call("bash")).expect("settings"),
            MatchingHooks::default()
        );
        let none = [("settings.json", r#"{"permissions": {}}"#.to_owned())];
        assert_eq!(
            matching_hooks(&none, &call("bash")).expect("settings"),
            MatchingHooks::default()
        );
    }

    #[test]
    fn settings_that_are_not_understood_are_an_error_and_foreign_hooks_are_noted() {
        for text in ["", "{", r#"{"hooks": {"PreToolUse": [{"hooks": "x"}]}}"#] {
            let error = matching_hooks(&[("settings.json", text.to_owned())], &call("bash"));
            assert!(error.expect_err(text).to_string().contains("settings.json"), "{text}");
        }
        let text = r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "?"}]}]}}"#;
        let found = matching_hooks(&[("settings.json", text.to_owned())], &call("bash"));
        assert_eq!(found.expect("settings"), MatchingHooks { hooks: Vec::new(), foreign: true });
    }

    #[test]
    fn a_call_is_told_in_claude_s_words() {
        let input = r#"{"sessionId":"s","cwd":"/w","toolName":"edit",
            "toolArgs":"{\"path\":\"a\",\"old_str\":\"x\",\"new_str\":\"y\"}"}"#;
        let asked = read_hook_input(input.as_bytes()).expect("a call");
        assert_eq!(
            claude_input(&asked, Path::new("/p")),
            json!({
                "session_id": "s", "cwd": "/w", "hook_event_name": "PreToolUse",
                "tool_name": "Edit",
                "tool_input": {
                    "path": "a", "file_path": "a",
                    "old_str": "x", "old_string": "x", "new_str": "y", "new_string": "y",
                },
            })
        );
        let bare = read_hook_input(br#"{"toolName":"bash","toolArgs":"{}"}"#).expect("a call");
        assert_eq!(claude_input(&bare, Path::new("/p"))["cwd"], "/p");
    }

    #[test]
    fn an_end_is_allow_deny_or_ask() {
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
            (zero("all is well"), HookAnswer::Allow),
            (ran(ScriptEnd::Exited(2), "", "BLOCKED: no\n"), deny("BLOCKED: no")),
            (ran(ScriptEnd::Exited(2), "no\n", ""), deny("no")),
            (
                ran(ScriptEnd::Exited(2), "", ""),
                deny("the hook `h` denied the call without a reason"),
            ),
            (
                ran(ScriptEnd::Exited(1), "", "oops"),
                deny("the hook `h` ended with exit code 1: oops"),
            ),
            (ran(ScriptEnd::Signalled(9), "", ""), deny("the hook `h` was ended by signal 9")),
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
                deny("the hook `h` decided \"perhaps\", which is no decision that is known"),
            ),
            (
                zero(r#"{"hookSpecificOutput":{"permissionDecision":["deny"]}}"#),
                deny("the hook `h` decided [\"deny\"], which is no decision that is known"),
            ),
            (zero("\u{feff}{\"decision\":\"BLOCK\",\"reason\":\"no\"}"), deny("no")),
            (
                zero("{\0\"\0d\0\"\0:\0\"\0b\0\"\0}\0"),
                deny("what the hook `h` printed is no text in UTF-8"),
            ),
            (zero("{ tool: 'Bash' }\n"), HookAnswer::Allow),
            (zero(r#"{"decision":"fine"}"#), HookAnswer::Allow),
            (zero(r#"{"decision":null}"#), HookAnswer::Allow),
            (zero(r#"{"decision":"approve"}"#), HookAnswer::Allow),
            (
                zero(
                    r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"no"}}"#,
                ),
                deny("no"),
            ),
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

    #[test]
    fn the_strictest_of_several_wins() {
        let (ask, deny) = (HookAnswer::Ask("?".into()), HookAnswer::Deny("no".into()));
        assert_eq!(strictest([]), HookAnswer::Allow);
        assert_eq!(strictest([HookAnswer::Allow, ask.clone(), HookAnswer::Allow]), ask);
        assert_eq!(strictest([ask, deny.clone(), HookAnswer::Deny("later".into())]), deny);
    }
}
