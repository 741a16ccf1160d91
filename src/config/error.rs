//! Why a layer of settings cannot be read.

use std::path::PathBuf;

/// A layer of settings that cannot be read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ConfigError {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path}: {}", shown(error))]
    Parse { path: PathBuf, error: Box<toml::de::Error> },
    #[error("{name}={value}: {why}")]
    Variable { name: String, value: String, why: String },
    #[error("unknown variable {name}")]
    Unknown { name: String, nearest: String },
}

impl ConfigError {
    /// The hint for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { nearest, .. } => Some(format!(
                "did you mean {nearest}? ralph-copilot's docs/configuration.md lists all variables"
            )),
            Self::Parse { error, .. } => {
                if let Some(key) = task_key(error.message()) {
                    return Some(format!(
                        "`{key}` belongs to a task: write it in the front matter of its TASK.md"
                    ));
                }
                let nearest = meant(error.message())?;
                Some(format!(
                    "did you mean `{nearest}`? ralph-copilot's docs/configuration.md lists all settings"
                ))
            }
            Self::Read { .. } | Self::Variable { .. } => None,
        }
    }
}

/// The similarity, from 0 to 1, from which a known key is suggested for an unknown one.
const ALIKE: f64 = 0.8;

/// A message about an unknown key, without the list of all keys, and that list.
fn unknown_key(message: &str) -> Option<(&str, &str)> {
    message.split_once(", expected ").filter(|(key, _)| key.starts_with("unknown field `"))
}

/// An unknown key that only the front matter of TASK.md has.
fn task_key(message: &str) -> Option<&str> {
    let unknown = unknown_key(message)?.0.split('`').nth(1)?;
    ["verify", "setup", "setup_network", "may_change"].contains(&unknown).then_some(unknown)
}

/// The key that an unknown one is meant to be.
fn meant(message: &str) -> Option<&str> {
    let (unknown, keys) = unknown_key(message)?;
    let unknown = unknown.split('`').nth(1)?.to_lowercase();
    let alike = |key: &&str| strsim::jaro_winkler(&unknown, key);
    let keys = keys.split('`').skip(1).step_by(2).filter(|key| alike(key) >= ALIKE);
    keys.max_by(|one, other| alike(one).total_cmp(&alike(other)))
}

/// Expected types in the parser's words, at the end of its message, and in a user's.
const EXPECTED: [(&str, &str); 7] = [
    ("expected a nonzero u32", "expected a whole number from 1 on"),
    ("expected u32", "expected a whole number"),
    ("expected u64", "expected a whole number"),
    ("expected u16", "expected a whole number up to 65535"),
    ("expected a sequence", "expected a list"),
    ("expected struct WrittenGateway", "expected a table"),
    ("wanted string or table", "expected a string"),
];

/// The error in a user's words, without the list of all keys if one of them is meant.
fn shown(error: &toml::de::Error) -> String {
    let message = error.message();
    let told = match unknown_key(message).filter(|_| task_key(message).or(meant(message)).is_some())
    {
        Some((key, _)) => key.to_owned(),
        None => EXPECTED
            .iter()
            .find_map(|(rust, told)| Some(format!("{}{told}", message.strip_suffix(rust)?)))
            .unwrap_or_else(|| message.to_owned()),
    };
    error.to_string().replace(message, &told)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// One key is suggested for a misspelled one; any other error tells all keys.
    #[test]
    fn a_misspelled_key_is_recognized() {
        let told = |text: &str| {
            let error = crate::config::from_text(text, Path::new("c")).expect_err("no such key");
            assert!(std::error::Error::source(&error).is_none(), "it would be told twice");
            (error.to_string(), error.hint())
        };
        for (text, meant) in [
            ("max_iteration = 3", "max_iterations"),
            ("MAX_ITERATIONS = 3", "max_iterations"),
            ("\n\n[policy]\nallow_tools = []", "allowed_tools"),
            ("alow_dirty = true", "allow_dirty"),
        ] {
            let (message, hint) = told(text);
            let hint = hint.expect("a hint");
            assert!(hint.starts_with(&format!("did you mean `{meant}`?")), "{text}: {hint}");
            let end = message.trim_end();
            assert!(end.ends_with('`') && message.contains("unknown field"), "{message}");
        }
        for (text, expected) in [
            ("max_iterations = 0", "integer `0`, expected a whole number from 1 on"),
            ("max_premium_requests = -1", "integer `-1`, expected a whole number"),
            ("max_tokens = \"x\"", "string \"x\", expected a whole number"),
            ("gateway = true", "boolean `true`, expected a table"),
            ("[gateway]\nport = 65536", "integer `65536`, expected a whole number up to 65535"),
            ("allow = \"x\"", "string \"x\", expected a list"),
            ("on_stuck = 3", "expected a string"),
        ] {
            let (message, _) = told(text);
            assert!(message.trim_end().ends_with(expected), "{message}");
        }
        for key in ["verify", "setup", "setup_network", "may_change"] {
            let (message, hint) = told(&format!("{key} = []"));
            assert!(message.trim_end().ends_with('`'), "{message}");
            let says = format!("`{key}` belongs to a task: write it in the front matter");
            assert!(hint.unwrap_or_default().starts_with(&says), "{key}");
        }
        for text in ["zzz = 3", "max_iterations = \"a\"", "max_iterations ="] {
            assert_eq!(told(text).1, None, "{text}");
        }
        assert!(told("zzz = 3").0.contains("`, expected one of `max_iterations`, "));
    }
}
