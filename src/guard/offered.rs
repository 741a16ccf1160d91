//! A call of a tool that the run's own MCP server offers → the decision.
//!
//! Memory is only read, and stays inside its folders by itself. A provider's tool is the human's
//! own program: the guard cannot know its effect, and allows it unless the human's rules say
//! otherwise or the arguments are aimed at a secret.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::model::Decision;

use super::call_context::{CallContext, secret};
use super::denial::{Denial, blocked_pattern};
use super::files::Files;
use super::policy::{Approval, Policy};
use super::tool_input::ToolInput;
use super::tools::any_text;

/// A tool of the run's own MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedTool {
    /// Its name in rules, the journal and the audit: `memory_search`, or `<provider>.<tool>`.
    pub name: String,
    /// The tool's implementation.
    pub kind: OfferedKind,
}

/// The implementation of an offered tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferedKind {
    /// Memory, which is only read.
    Memory,
    /// A program of the human's.
    Provider,
    /// Nothing any more: the server answers that there is no such tool.
    Gone,
}

/// Decides a call of an offered tool. Pure, as [`decide`](super::decide) is.
pub fn decide_offered(
    tool: &OfferedTool,
    input: &Value,
    policy: &Policy,
    files: &dyn Files,
) -> Decision {
    judge(tool, input, policy, files)
        .unwrap_or_else(|denial| Decision::deny(denial.rule.clone(), denial.text()))
}

fn judge(
    tool: &OfferedTool,
    input: &Value,
    policy: &Policy,
    files: &dyn Files,
) -> Result<Decision, Denial> {
    let (rules, name) = (&policy.rules, tool.name.as_str());
    if let Some(blocked) = rules.blocks(name) {
        let why = format!("the tool {name} is blocked (`{blocked}` in blocked_tools)");
        return Err(Denial::new("policy.blocked-tool", why));
    }
    if let Some(pattern) = any_text(input, &|text| rules.matches(text)) {
        return Err(blocked_pattern(pattern));
    }
    if !input.is_object() {
        return Err(Denial::new("tool.malformed", format!("cannot parse the arguments of {name}")));
    }
    let decision = match tool.kind {
        OfferedKind::Gone => {
            return Ok(Decision::allow("tool.gone", format!("there is no tool {name} any more")));
        }
        OfferedKind::Memory => Decision::allow("tool.memory", format!("{name} reads memory")),
        OfferedKind::Provider => {
            no_secret(input, policy, files)?;
            Decision::allow("tool.provider", format!("{name} is a tool of your provider"))
        }
    };
    if rules.leaves_out(name) {
        let why = format!("the tool {name} is not in allowed_tools");
        return Err(Denial::new("policy.not-allowed-tool", why)
            .instead(format!("use one of these: {}", rules.allowed().join(", "))));
    }
    let waits = if let Some(asks) = rules.asks_for(name) {
        let why = format!("{name} needs the approval of a human (`{asks}` in ask_tools)");
        Denial::new("policy.ask-tool", why)
    } else if policy.approval == Approval::Human && tool.kind == OfferedKind::Provider {
        let why = "it needs the approval of a human, and no one was asked";
        Denial::new("approval.human", why)
    } else {
        return Ok(decision);
    };
    Ok(Decision { for_a_human: true, ..Decision::deny(waits.rule.clone(), waits.text()) })
}

/// Fails if a path in the arguments, or a word of a command in them, names a file with secrets or
/// a link to one. Other paths may mean anything to a provider.
fn no_secret(input: &Value, policy: &Policy, files: &dyn Files) -> Result<(), Denial> {
    let seen = ToolInput::read(input);
    let words = seen.commands.iter().flat_map(|line| {
        shlex::split(line).unwrap_or_else(|| line.split_whitespace().map(str::to_owned).collect())
    });
    let urls = seen.urls.iter().filter_map(|url| url.strip_prefix("file://")).map(str::to_owned);
    let named = seen.paths.iter().chain(&seen.sources).chain(&seen.removed).cloned();
    let mut context = CallContext::new(policy, files);
    for path in named.chain(words).chain(urls).map(PathBuf::from) {
        let real = context.resolve(&at_home(&path, policy)).map(|real| real.path);
        if policy.hides(&path) || real.is_ok_and(|real| policy.hides(&real)) {
            return Err(secret(&path));
        }
    }
    Ok(())
}

/// The path as seen from where relative ones start.
fn at_home(path: &Path, policy: &Policy) -> PathBuf {
    match (path.strip_prefix("~"), &policy.home) {
        (Ok(below), Some(home)) => home.join(below),
        (Ok(_), None) | (Err(_), _) => policy.cwd.join(path),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::guard::{OsFiles, Rules};
    use crate::model::PolicyRules;

    fn tool(name: &str, kind: OfferedKind) -> OfferedTool {
        OfferedTool { name: name.to_owned(), kind }
    }

    fn policy(rules: &PolicyRules) -> Policy {
        let mut policy = Policy::new("/w/repo", "/w/repo/tasks/demo");
        policy.rules = Rules::compile(rules, Path::new("/w/repo"), None).expect("rules");
        policy
    }

    fn rule(tool: &OfferedTool, input: &Value, policy: &Policy) -> (bool, String) {
        let decision = decide_offered(tool, input, policy, &OsFiles);
        (decision.allowed(), decision.rule)
    }

    fn names(names: &[&str]) -> Vec<crate::model::Pattern> {
        names.iter().map(|name| (*name).to_owned().into()).collect()
    }

    #[test]
    fn memory_and_providers_are_allowed_unless_the_human_says_otherwise() {
        let (memory, greet) =
            (tool("memory_read", OfferedKind::Memory), tool("desk.greet", OfferedKind::Provider));
        let free = policy(&PolicyRules::default());
        let hi = json!({"name": "Alice"});
        assert_eq!(rule(&memory, &json!({}), &free), (true, "tool.memory".to_owned()));
        assert_eq!(rule(&greet, &hi, &free), (true, "tool.provider".to_owned()));
        let blocked = PolicyRules { blocked_tools: names(&["desk.*"]), ..PolicyRules::default() };
        assert_eq!(rule(&greet, &hi, &policy(&blocked)).1, "policy.blocked-tool");
        let asks = PolicyRules { ask_tools: names(&["desk.greet"]), ..PolicyRules::default() };
        let decision = decide_offered(&greet, &hi, &policy(&asks), &OsFiles);
        assert!(decision.for_a_human && decision.rule == "policy.ask-tool", "{decision:?}");
        let listed = PolicyRules { allowed_tools: names(&["bash"]), ..PolicyRules::default() };
        assert_eq!(rule(&greet, &hi, &policy(&listed)).1, "policy.not-allowed-tool");
        let patterns = PolicyRules { blocked_patterns: names(&["Ali"]), ..PolicyRules::default() };
        assert!(!rule(&greet, &hi, &policy(&patterns)).0);
        assert_eq!(rule(&greet, &json!([1]), &free).1, "tool.malformed");
    }

    #[test]
    fn without_a_human_only_memory_is_read() {
        let mut policy = policy(&PolicyRules::default());
        policy.approval = Approval::Human;
        assert!(rule(&tool("user_prefs", OfferedKind::Memory), &json!({}), &policy).0);
        let greet = tool("desk.greet", OfferedKind::Provider);
        assert_eq!(rule(&greet, &json!({}), &policy), (false, "approval.human".to_owned()));
    }

    #[test]
    fn arguments_that_are_aimed_at_a_secret_are_denied() {
        let folder = tempfile::tempdir().expect("folder");
        let root = folder.path().canonicalize().expect("it is there");
        std::fs::write(root.join(".env"), "A=1").expect("written");
        std::os::unix::fs::symlink(".env", root.join("notes.txt")).expect("linked");
        let policy = Policy::without_task(&root);
        let show = tool("desk.show", OfferedKind::Provider);
        for input in [
            json!({"path": ".env"}),
            json!({"deep": [{"file": "~/.ssh/id_rsa"}]}),
            json!({"path": "notes.txt"}),
            json!({"url": "file:///w/.env"}),
            json!({"command": "cat '.env'"}),
        ] {
            assert_eq!(rule(&show, &input, &policy).1, "secret.file", "{input}");
        }
        for input in [json!({"path": "/somewhere/else"}), json!({"text": "credentials"})] {
            assert!(rule(&show, &input, &policy).0, "{input}");
        }
    }
}
