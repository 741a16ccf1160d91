//! The variables of our own environment that are withheld from children.
//!
//! Invariant: decided by name alone, with one list for verify commands and for the agent's
//! tools. What a child gets instead (its TMPDIR, its git identity) does not live here.

/// Returns whether a variable may hold a secret: a token, key, password or cloud credential.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let words: Vec<&str> = name.split(['_', '-', '.']).collect();
    let provider = ["AWS", "AZURE", "ANTHROPIC"];
    words.first().is_some_and(|first| provider.contains(first))
        || words.iter().any(|word| {
            word.contains("TOKEN")
                || word.contains("SECRET")
                || word.contains("PASSWORD")
                || word.contains("PASSWD")
                || word.contains("PASSPHRASE")
                || word.contains("CREDENTIAL")
                || word.contains("APIKEY")
                || *word == "PAT"
                || *word == "PASS"
        })
        || words.last() == Some(&"KEY")
        || name.contains("PRIVATE_KEY")
        || name.contains("ACCESS_KEY")
        || (name.starts_with("COPILOT_PROVIDER_") && name.contains("KEY"))
        || name == "COPILOT_PROVIDER_HEADERS"
        || matches!(name.as_str(), "SSH_AUTH_SOCK" | "GIT_ASKPASS" | "SSH_ASKPASS")
}

/// Returns whether a variable names a channel into the surrounding CI job: text written there
/// becomes environment, output or summary of later steps.
pub fn is_ci_channel(name: &str) -> bool {
    matches!(
        name,
        "GITHUB_ENV"
            | "GITHUB_OUTPUT"
            | "GITHUB_PATH"
            | "GITHUB_STEP_SUMMARY"
            | "GITHUB_STATE"
            | "BASH_ENV"
    ) || name.starts_with("ACTIONS_")
}

/// Returns whether a variable makes `git` use another repository, index, configuration or
/// identity than those of its working directory.
pub fn is_git_context(name: &str) -> bool {
    matches!(
        name,
        "GIT_DIR"
            | "GIT_WORK_TREE"
            | "GIT_INDEX_FILE"
            | "GIT_COMMON_DIR"
            | "GIT_OBJECT_DIRECTORY"
            | "GIT_ALTERNATE_OBJECT_DIRECTORIES"
            | "GIT_NAMESPACE"
            | "GIT_PREFIX"
            | "GIT_CEILING_DIRECTORIES"
            | "GIT_DISCOVERY_ACROSS_FILESYSTEM"
            | "GIT_QUARANTINE_PATH"
            | "GIT_REPLACE_REF_BASE"
            | "GIT_SHALLOW_FILE"
            | "GIT_EXTERNAL_DIFF"
            | "GIT_EXEC_PATH"
            | "GIT_TEMPLATE_DIR"
    ) || name.starts_with("GIT_CONFIG")
}

/// The variable that tells the commands of a worker's agent its number.
pub const WORKER_VARIABLE: &str = "RALPH_COPILOT_WORKER";

/// Returns whether a variable is internal to the runner or would switch the guard off. The depth
/// is passed on: without it a child could launch the program again without end. So is the number
/// of a worker, for ports and databases of its own.
pub fn is_internal(name: &str) -> bool {
    (name.starts_with("RALPH_") && ![super::depth::DEPTH_VARIABLE, WORKER_VARIABLE].contains(&name))
        || matches!(
            name,
            "COPILOT_ALLOW_ALL"
                | "COPILOT_ASSISTED_APPROVAL"
                | "COPILOT_PROJECT_CONTEXT"
                | "COPILOT_AUDIT_LOG_DIR"
        )
}

/// Returns whether a variable is withheld from children for any of these reasons.
pub fn is_withheld(name: &str) -> bool {
    is_secret(name) || is_ci_channel(name) || is_git_context(name) || is_internal(name)
}

/// The names in this process's environment that are withheld from children.
pub fn withheld() -> Vec<std::ffi::OsString> {
    std::env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| is_withheld(&name.to_string_lossy()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_withheld() {
        for name in [
            "GITHUB_TOKEN",
            "GH_TOKEN",
            "COPILOT_GITHUB_TOKEN",
            "COPILOT_PROVIDER_API_KEY",
            "COPILOT_PROVIDER_BEARER_TOKEN",
            "COPILOT_PROVIDER_KEY_ID",
            "COPILOT_PROVIDER_HEADERS",
            "COPILOT_BYOK_API_KEY",
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_PROFILE",
            "AZURE_CLIENT_SECRET",
            "NPM_TOKEN",
            "npm_config__authToken",
            "DB_PASSWORD",
            "MYSQL_PASSWD",
            "SIGNING_KEY",
            "SSH_PRIVATE_KEY_PEM",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "MY_SECRET_VALUE",
            "SSH_AUTH_SOCK",
        ] {
            assert!(is_withheld(name), "{name}");
        }
    }

    #[test]
    fn ci_channels_git_context_and_internals_are_withheld() {
        for name in [
            "GITHUB_ENV",
            "GITHUB_OUTPUT",
            "GITHUB_PATH",
            "GITHUB_STEP_SUMMARY",
            "GITHUB_STATE",
            "ACTIONS_RUNTIME_URL",
            "ACTIONS_ID_TOKEN_REQUEST_URL",
            "BASH_ENV",
            "GIT_DIR",
            "GIT_WORK_TREE",
            "GIT_INDEX_FILE",
            "GIT_CONFIG_COUNT",
            "GIT_CONFIG_KEY_0",
            "RALPH_COPILOT_SOCKET",
            "COPILOT_ALLOW_ALL",
            "COPILOT_ASSISTED_APPROVAL",
            "COPILOT_PROJECT_CONTEXT",
            "COPILOT_AUDIT_LOG_DIR",
        ] {
            assert!(is_withheld(name), "{name}");
        }
    }

    #[test]
    fn what_builds_need_stays() {
        for name in [
            "PATH",
            "HOME",
            "LANG",
            "TERM",
            "SHELL",
            "USER",
            "TMPDIR",
            "CARGO_HOME",
            "RUSTFLAGS",
            "NODE_PATH",
            "VIRTUAL_ENV",
            "PYTHONPATH",
            "JAVA_HOME",
            "CI",
            "GITHUB_ACTIONS",
            "GITHUB_WORKSPACE",
            "GIT_AUTHOR_NAME",
            "GIT_COMMITTER_EMAIL",
            "GIT_SSH_COMMAND",
            "KEYBOARD",
            "XDG_CONFIG_HOME",
            "COMPASS",
            "PATTERN",
            "RALPH_COPILOT_DEPTH",
        ] {
            assert!(!is_withheld(name), "{name}");
        }
    }
}
