//! The environment of the recipe runner: an allowlist of our own variables, and the ones that
//! are set for it.
//!
//! Invariant: pure, by name; docs/recipes.md shows the same lists. Keys of providers that are
//! not on the list, channels of the CI, and variables that switch a guard off never pass.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::discover::PATH_VARIABLE;
use crate::sys::depth::DEPTH_VARIABLE;

/// Variables that are forwarded by name.
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
    PROJECT_VARIABLE,
    SOCKET_VARIABLE,
];

/// Prefixes of variables that are forwarded.
pub const ALLOWED_PREFIXES: &[&str] = &["LC_", "AMPLIHACK_", "RECIPE_RUNNER_", "COPILOT_"];

/// Variables with such a prefix that are not forwarded: they would switch the CLI's own guard
/// off, or let a model answer in its place.
pub const REFUSED: &[&str] = &["COPILOT_ALLOW_ALL", "COPILOT_ASSISTED_APPROVAL"];

/// The folder of the project, by which Claude's hooks and recipe steps find its files.
const PROJECT_VARIABLE: &str = "CLAUDE_PROJECT_DIR";

/// The socket of the run that a recipe belongs to. Copilot launches inside it ask there about
/// every tool call.
pub const SOCKET_VARIABLE: &str = "RALPH_COPILOT_SOCKET";

/// The agent that a recipe's agent steps start.
pub const AGENT_VARIABLE: &str = "AMPLIHACK_AGENT_BINARY";

/// The program through which they start it.
pub const LAUNCHER_VARIABLE: &str = "AMPLIHACK_LAUNCHER_BINARY";

/// Keeps the runner from asking the network for its newest version at each start.
const NO_UPDATE_VARIABLE: &str = "RECIPE_RUNNER_NO_UPDATE_CHECK";

/// The only agent whose launches we normalize and guard.
const COPILOT: &str = "copilot";

/// Settings for the launches inside a recipe.
#[derive(Clone, Debug)]
pub struct NestedLaunch {
    /// Our own program, called as `<launcher> copilot -- ARGS`.
    pub launcher: PathBuf,
    /// The nesting depth of these launches.
    pub depth: String,
    /// The socket of the run that the recipe is part of.
    pub socket: Option<PathBuf>,
    /// Further variables that a run sets, such as TMPDIR and git's identity.
    pub more: Vec<(OsString, OsString)>,
}

/// The whole environment of the runner, sorted by name. `project` is the folder in which the
/// recipe works.
///
/// In a run the agent is always Copilot and the project is always the run's own: launches of
/// other agents would not be guarded. Elsewhere the caller's variables win, and another agent
/// is started through the launcher that the user has for it.
pub(super) fn for_runner(
    ours: impl IntoIterator<Item = (OsString, OsString)>,
    runner: Option<&OsStr>,
    project: Option<&Path>,
    nested: &NestedLaunch,
) -> Vec<(OsString, OsString)> {
    let mut all: BTreeMap<OsString, OsString> =
        ours.into_iter().filter(|(name, _)| passes(&name.to_string_lossy())).collect();
    let named = |all: &BTreeMap<OsString, OsString>, name: &str| {
        all.get(OsStr::new(name)).filter(|value| !value.is_empty()).cloned()
    };
    let in_a_run = nested.socket.is_some();
    let other_agent = named(&all, AGENT_VARIABLE).is_some_and(|agent| agent != COPILOT);
    if in_a_run || !other_agent {
        all.insert(AGENT_VARIABLE.into(), COPILOT.into());
        all.insert(LAUNCHER_VARIABLE.into(), nested.launcher.clone().into());
    }
    if let Some(project) = project
        && (in_a_run || named(&all, PROJECT_VARIABLE).is_none())
    {
        all.insert(PROJECT_VARIABLE.into(), project.into());
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
        for_runner(ours, Some(OsStr::new("/bin/rr")), Some(Path::new("/work")), &nested)
            .into_iter()
            .map(|(name, value)| (text(name), text(value)))
            .collect()
    }

    fn value<'a>(all: &'a [(String, String)], name: &str) -> Option<&'a str> {
        all.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    /// A run's recipes work on the run's tree, whatever project its caller meant.
    #[test]
    fn in_a_run_the_project_is_the_run_s() {
        let named = [(PROJECT_VARIABLE, "/the/caller's")];
        for (ours, socket, project) in [
            (&named[..], None, "/the/caller's"),
            (&[], None, "/work"),
            (&named[..], Some("/s"), "/work"),
        ] {
            assert_eq!(value(&made(ours, socket), PROJECT_VARIABLE), Some(project), "{socket:?}");
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
