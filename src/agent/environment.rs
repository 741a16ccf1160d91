//! The environment of an agent's process. Pure, over the names of our own variables.
//!
//! The agent itself may need a token to reach its model, but its tools must never see one.
//! Copilot takes the names to hide from its tools as an argument. Other agents have no such
//! option, so they keep only what agents usually need.

use std::ffi::OsString;
use std::path::Path;

use super::AgentKind;
use crate::sys::env;

/// Changes to the inherited environment, and arguments that go with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForAgent {
    /// Variables to set (`Some`) or remove (`None`).
    pub variables: Vec<(OsString, Option<OsString>)>,
    /// Arguments for the command line.
    pub arguments: Vec<OsString>,
}

/// Computes the changes from the names in our own environment. `provider` holds the CLI's
/// variables for a provider that `COPILOT_BYOK_…` names.
pub fn for_agent(
    kind: AgentKind,
    names: &[String],
    provider: &[(&str, String)],
    tmp: &Path,
) -> ForAgent {
    let mut change = ForAgent::default();
    let mut hidden = Vec::new();
    for name in names {
        if is_for_agent(kind, name) {
            if env::is_secret(name) {
                hidden.push(name.as_str());
            }
        } else if env::is_withheld(name) {
            change.variables.push((name.into(), None));
        }
    }
    for (name, value) in provider {
        if env::is_secret(name) {
            hidden.push(name);
        }
        change.variables.push((name.into(), Some(value.into())));
    }
    let mut set = |name: &str, value: OsString| {
        change.variables.push((name.into(), Some(value)));
    };
    set("TMPDIR", tmp.into());
    set("GIT_TERMINAL_PROMPT", "0".into());
    set("GIT_EDITOR", "true".into());
    set("PAGER", "cat".into());
    if kind == AgentKind::Copilot {
        // The CLI must not update itself during a run, and a login shell's profile could
        // change the environment.
        set("COPILOT_AUTO_UPDATE", "false".into());
        set("COPILOT_DISABLE_LOGIN_SHELL_ENV", "1".into());
        if !hidden.is_empty() {
            change.arguments.push(format!("--secret-env-vars={}", hidden.join(",")).into());
        }
    }
    change
}

/// Does the agent itself need this variable, although its tools must not see it?
fn is_for_agent(kind: AgentKind, name: &str) -> bool {
    match kind {
        AgentKind::Copilot => {
            matches!(name, "GITHUB_TOKEN" | "GH_TOKEN")
                || (name.starts_with("COPILOT_")
                    && !name.starts_with("COPILOT_BYOK_")
                    && !env::is_internal(name))
        }
        AgentKind::Other => {
            (name.starts_with("ANTHROPIC_")
                || name.ends_with("_API_KEY")
                || name == "CLAUDE_CODE_OAUTH_TOKEN")
                && !name.starts_with("COPILOT_")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(kind: AgentKind, names: &[&str]) -> ForAgent {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        for_agent(kind, &names, &[], Path::new("/run/tmp"))
    }

    fn removed(change: &ForAgent) -> Vec<&str> {
        let gone = change.variables.iter().filter(|(_, value)| value.is_none());
        gone.map(|(name, _)| name.to_str().expect("UTF-8")).collect()
    }

    #[test]
    fn copilot_keeps_its_token_and_hides_it_from_its_tools() {
        let names = ["PATH", "GH_TOKEN", "COPILOT_PROVIDER_API_KEY", "AWS_SECRET_ACCESS_KEY"];
        let change = change(AgentKind::Copilot, &names);
        assert_eq!(removed(&change), ["AWS_SECRET_ACCESS_KEY"]);
        assert_eq!(change.arguments, ["--secret-env-vars=GH_TOKEN,COPILOT_PROVIDER_API_KEY"]);
    }

    #[test]
    fn a_provider_s_key_reaches_the_cli_alone() {
        let names = ["COPILOT_BYOK_API_KEY", "COPILOT_BYOK_MODEL"].map(str::to_owned);
        let provider = [
            ("COPILOT_PROVIDER_BASE_URL", "http://mine".to_owned()),
            ("COPILOT_PROVIDER_API_KEY", "sk-1".to_owned()),
        ];
        let change = for_agent(AgentKind::Copilot, &names, &provider, Path::new("/run/tmp"));
        assert_eq!(removed(&change), ["COPILOT_BYOK_API_KEY"]);
        assert_eq!(change.arguments, ["--secret-env-vars=COPILOT_PROVIDER_API_KEY"]);
        let set =
            |name: &str| change.variables.iter().any(|(it, value)| it == name && value.is_some());
        assert!(set("COPILOT_PROVIDER_BASE_URL") && set("COPILOT_PROVIDER_API_KEY"));
    }

    #[test]
    fn what_would_open_the_guard_or_the_ci_job_is_removed() {
        let names = ["COPILOT_ALLOW_ALL", "GITHUB_ENV", "GIT_DIR", "HOME"];
        assert_eq!(
            removed(&change(AgentKind::Copilot, &names)),
            ["COPILOT_ALLOW_ALL", "GITHUB_ENV", "GIT_DIR"]
        );
        let names = ["GITHUB_TOKEN", "ANTHROPIC_API_KEY", "COPILOT_ALLOW_ALL"];
        assert_eq!(
            removed(&change(AgentKind::Other, &names)),
            ["GITHUB_TOKEN", "COPILOT_ALLOW_ALL"]
        );
    }

    #[test]
    fn the_temporary_folder_is_the_run_s_own() {
        let change = change(AgentKind::Other, &[]);
        let tmp = change.variables.iter().find(|(name, _)| name == "TMPDIR").expect("TMPDIR");
        assert_eq!(tmp.1.as_deref(), Some("/run/tmp".as_ref()));
    }
}
