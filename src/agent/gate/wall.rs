//! The restriction of the sandbox that a failed command met, from its output, and what to do
//! instead.
//!
//! Invariant: pure. A line is added to a failed command's result only, and never replaces
//! anything of it.

use crate::model::Tier;

/// How the CLI ends the result of a command that succeeded.
const SUCCEEDED: &str = "exit code 0>";

/// Messages of programs that cannot reach the network.
const NO_NETWORK: [&str; 8] = [
    "could not resolve host",
    "name resolution",
    "name or service not known",
    "network is unreachable",
    "enotfound",
    "eai_again",
    "failed to lookup address",
    "no address associated with hostname",
];
/// Messages about a port without a listener.
const REFUSED: [&str; 2] = ["connection refused", "econnrefused"];
/// Messages about a path that cannot be written.
const READ_ONLY: [&str; 2] = ["read-only file system", "erofs"];
/// Messages caused by Landlock. Chromium's does not name the folder, which is in HOME.
const DENIED: [&str; 3] =
    ["permission denied", "eacces", "failed to create headless user data directory"];
/// git's messages about its settings.
const SETTINGS: [&str; 2] = ["could not lock config file", ".git/config"];

/// The line that explains why a command failed, if a wall of the sandbox did it.
pub(super) fn explain(result: &str, tier: Tier) -> Option<&'static str> {
    let text = result.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if tier == Tier::Off || text.trim_end().ends_with(SUCCEEDED) {
        return None;
    }
    if says(&NO_NETWORK) {
        return Some(
            "[sandbox] There is no network here. Use what is installed; the user can name this \
             exact command in TASK.md under `network_for`.",
        );
    }
    if says(&REFUSED) {
        return Some(
            "[sandbox] The loopback here is this session's own. Start the server in this session; \
             the user can name a port of the machine in TASK.md under `services`.",
        )
        .filter(|_| tier == Tier::Full);
    }
    let walled = says(&READ_ONLY) || tier == Tier::Partial && says(&DENIED);
    if walled && says(&SETTINGS) {
        return Some("[sandbox] git's settings are read-only. Work with the settings as they are.");
    }
    walled.then_some(
        "[sandbox] Only the workspace, without protected files, and $TMPDIR can be written here. \
         Write there.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_its_wall() {
        for (result, tier, expected) in [
            ("curl: (6) Could not resolve host: a.b\n<… exit code 6>", Tier::Full, "no network"),
            ("Error: getaddrinfo EAI_AGAIN x\n<… exit code 1>", Tier::Partial, "no network"),
            ("connect ECONNREFUSED 127.0.0.1:5432\n<… exit code 1>", Tier::Full, "services"),
            ("touch: /etc/x: Read-only file system\n<… exit code 1>", Tier::Full, "Only the"),
            ("touch: /etc/x: Permission denied\n<… exit code 1>", Tier::Partial, "Only the"),
            (
                "Failed to create headless user data directory container.\n<… exit code 1>",
                Tier::Partial,
                "Only the",
            ),
            (
                "error: could not lock config file .git/config: Read-only file system\n<exit code 4>",
                Tier::Full,
                "git's settings",
            ),
        ] {
            let line = explain(result, tier).unwrap_or_else(|| panic!("nothing for {result}"));
            assert!(line.contains(expected), "{result}: {line}");
        }
    }

    #[test]
    fn other_failures_and_successes_are_left_alone() {
        for (result, tier) in [
            ("assertion failed\n<shellId: 1 completed with exit code 1>", Tier::Full),
            ("Could not resolve host\n<shellId: 1 completed with exit code 0>", Tier::Full),
            ("touch: /etc/x: Permission denied\n<… exit code 1>", Tier::Full),
            ("connect ECONNREFUSED 127.0.0.1:5432\n<… exit code 1>", Tier::Partial),
            ("touch: /etc/x: Read-only file system\n<… exit code 1>", Tier::Off),
        ] {
            assert_eq!(explain(result, tier), None, "{result}");
        }
    }
}
