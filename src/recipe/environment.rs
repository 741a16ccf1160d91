//! What a recipe sees of our environment: an allowlist, and what is set besides.
//!
//! Invariant: pure, by name; docs/recipes.md shows the same lists. A key of a provider that
//! is not on the list, a channel of the CI and whatever switches a guard off never pass.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::discover::PATH_VARIABLE;
use crate::sys::depth::DEPTH_VARIABLE;

/// Variables that pass by their name.
pub const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "FORCE_COLOR",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TMP",
    "TEMP",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "PYTHONPATH",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "GH_HOST",
    SOCKET_VARIABLE,
];

/// Variables that pass by how their name begins.
pub const ALLOWED_PREFIXES: &[&str] = &["LC_", "AMPLIHACK_", "RECIPE_RUNNER_", "COPILOT_"];

/// What does not pass although it begins so: it would switch the CLI's own guard off, or let
/// a model answer in its place.
pub const REFUSED: &[&str] = &["COPILOT_ALLOW_ALL", "COPILOT_ASSISTED_APPROVAL"];

/// The socket of the run that a recipe belongs to: a Copilot launch inside it asks there
/// about every tool call.
pub const SOCKET_VARIABLE: &str = "RALPH_COPILOT_SOCKET";

/// Which agent a recipe's agent steps start.
pub const AGENT_VARIABLE: &str = "AMPLIHACK_AGENT_BINARY";

/// Which program they start it through.
pub const LAUNCHER_VARIABLE: &str = "AMPLIHACK_LAUNCHER_BINARY";

/// Keeps the runner from asking the network for its newest version at each start.
const NO_UPDATE_VARIABLE: &str = "RECIPE_RUNNER_NO_UPDATE_CHECK";

/// The one agent that our launcher normalizes and guards.
const COPILOT: &str = "copilot";

/// What the launches inside a recipe are told.
#[derive(Clone, Debug)]
pub struct NestedLaunch {
    /// Our own program: `<launcher> copilot -- ARGS`.
    pub launcher: PathBuf,
    /// The depth inside.
    pub depth: String,
    /// The socket of the run that the recipe is part of.
    pub socket: Option<PathBuf>,
    /// More that a run sets, as its TMPDIR and git's identity.
    pub more: Vec<(OsString, OsString)>,
}

/// The whole environment of the runner, in the order of the names.
///
/// In a run the agent is Copilot whatever the variable says: no other agent's launches stand
/// under the run's guard. Elsewhere the variable decides, and a launch of another agent goes
/// through the launcher that the user has for it, since ours knows Copilot alone.
pub(super) fn for_runner(
    ours: impl IntoIterator<Item = (OsString, OsString)>,
    runner: Option<&OsStr>,
    nested: &NestedLaunch,
) -> Vec<(OsString, OsString)> {
    let mut all: std::collections::BTreeMap<OsString, OsString> =
        ours.into_iter().filter(|(name, _)| passes(&name.to_string_lossy())).collect();
    let agent = all.get(OsStr::new(AGENT_VARIABLE)).filter(|agent| !agent.is_empty());
    let others = agent.is_some_and(|agent| agent != COPILOT);
    if nested.socket.is_some() || !others {
        all.insert(AGENT_VARIABLE.into(), COPILOT.into());
        all.insert(LAUNCHER_VARIABLE.into(), nested.launcher.clone().into());
    }
    all.insert(NO_UPDATE_VARIABLE.into(), "1".into());
    all.insert(DEPTH_VARIABLE.into(), nested.depth.clone().into());
    if let Some(runner) = runner {
        all.insert(PATH_VARIABLE.into(), runner.to_owned());
    }
    if let Some(socket) = &nested.socket {
        all.insert(SOCKET_VARIABLE.into(), socket.clone().into());
    }
    all.extend(nested.more.iter().cloned());
    all.into_iter().collect()
}

fn passes(name: &str) -> bool {
    let allowed =
        ALLOWED.contains(&name) || ALLOWED_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    allowed && !REFUSED.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(ours: &[(&str, &str)], socket: Option<&str>) -> Vec<(String, String)> {
        let nested = NestedLaunch {
            launcher: "/bin/ralph-copilot".into(),
            depth: "1".to_owned(),
            socket: socket.map(PathBuf::from),
            more: vec![("TMPDIR".into(), "/run/tmp".into())],
        };
        let ours = ours.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let text = |text: OsString| text.into_string().expect("UTF-8");
        for_runner(ours, Some(OsStr::new("/bin/rr")), &nested)
            .into_iter()
            .map(|(name, value)| (text(name), text(value)))
            .collect()
    }

    fn value<'a>(all: &'a [(String, String)], name: &str) -> Option<&'a str> {
        all.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    #[test]
    fn the_list_passes_and_nothing_else() {
        for name in [
            "PATH",
            "HOME",
            "LANG",
            "LC_ALL",
            "https_proxy",
            "NO_PROXY",
            "AMPLIHACK_HOME",
            "RECIPE_RUNNER_RECIPE_DIRS",
            "COPILOT_HOME",
            "COPILOT_GITHUB_TOKEN",
            "GH_TOKEN",
            "GITHUB_TOKEN",
            "COPILOT_PROVIDER_API_KEY",
            "RALPH_COPILOT_SOCKET",
        ] {
            assert_eq!(value(&made(&[(name, "x")], None), name), Some("x"), "{name}");
        }
        for name in [
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "AZURE_CLIENT_SECRET",
            "GEMINI_API_KEY",
            "NPM_TOKEN",
            "SSH_AUTH_SOCK",
            "GITHUB_ENV",
            "GITHUB_OUTPUT",
            "COPILOT_ALLOW_ALL",
            "COPILOT_ASSISTED_APPROVAL",
            "LD_PRELOAD",
            "BASH_ENV",
            "GIT_DIR",
            "CLAUDECODE",
            "ANYTHING",
            "RALPH_COPILOT_MODEL",
            "PATHS",
            "MY_PATH",
            "path",
        ] {
            assert_eq!(value(&made(&[(name, "x")], None), name), None, "{name}");
        }
    }

    #[test]
    fn what_is_set_is_set() {
        let all = made(
            &[
                ("RECIPE_RUNNER_NO_UPDATE_CHECK", "0"),
                ("RALPH_COPILOT_DEPTH", "7"),
                ("TMPDIR", "/t"),
            ],
            Some("/run/guard.sock"),
        );
        for (name, expected) in [
            ("RECIPE_RUNNER_NO_UPDATE_CHECK", "1"),
            ("RECIPE_RUNNER_RS_PATH", "/bin/rr"),
            ("RALPH_COPILOT_DEPTH", "1"),
            ("RALPH_COPILOT_SOCKET", "/run/guard.sock"),
            ("AMPLIHACK_LAUNCHER_BINARY", "/bin/ralph-copilot"),
            ("AMPLIHACK_AGENT_BINARY", "copilot"),
            ("TMPDIR", "/run/tmp"),
        ] {
            assert_eq!(value(&all, name), Some(expected), "{name}");
        }
    }

    #[test]
    fn the_agent_is_the_user_s_choice_but_not_in_a_run() {
        let agents = |ours: &[(&str, &str)], socket| {
            let all = made(ours, socket);
            let of = |name| value(&all, name).unwrap_or("–").to_owned();
            (of(AGENT_VARIABLE), of(LAUNCHER_VARIABLE))
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let ours = pair("copilot", "/bin/ralph-copilot");
        assert_eq!(agents(&[], None), ours);
        assert_eq!(agents(&[(AGENT_VARIABLE, "")], None), ours);
        let named = [(AGENT_VARIABLE, "copilot"), (LAUNCHER_VARIABLE, "/bin/amplihack")];
        assert_eq!(agents(&named, None), ours);
        let other = [(AGENT_VARIABLE, "claude"), (LAUNCHER_VARIABLE, "/bin/amplihack")];
        assert_eq!(agents(&other, None), pair("claude", "/bin/amplihack"));
        assert_eq!(agents(&other[..1], None), pair("claude", "–"));
        assert_eq!(agents(&other, Some("/s")), ours);
    }
}
