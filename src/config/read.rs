//! Reads each layer from the place it is written in.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use etcetera::BaseStrategy as _;
use serde::de::DeserializeOwned;
use serde::de::value::StrDeserializer;

use super::{Span, Written};
use crate::model::{PolicyRules, TaskSettings};

/// A layer that cannot be understood.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is no configuration.
    #[error("{path}: {source}")]
    Parse {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
    /// A variable has no meaning.
    #[error("{name}={value}: {why}")]
    Variable {
        /// Its name.
        name: String,
        /// What it holds.
        value: String,
        /// What was expected.
        why: String,
    },
}

/// Reads `.ralph/config.toml` or the user's file; a missing one says nothing.
///
/// # Errors
/// If it exists and cannot be read or understood.
pub fn from_file(path: &Path) -> Result<Written, ConfigError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Written::default()),
        Err(source) => return Err(ConfigError::Read { path: path.to_owned(), source }),
    };
    let read: Result<Written, _> = toml::from_str(&text);
    let mut written = read
        .map_err(|source| ConfigError::Parse { path: path.to_owned(), source: Box::new(source) })?;
    super::policy::place(&mut written.policy, &text, path);
    Ok(written)
}

/// Where the user's own configuration is looked for.
pub fn user_file() -> Option<PathBuf> {
    let base = etcetera::choose_base_strategy().ok()?;
    Some(base.config_dir().join("ralph-copilot").join("config.toml"))
}

/// What the front matter says. Its durations were checked when it was parsed.
///
/// # Errors
/// If a duration is none.
pub fn from_task(settings: &TaskSettings) -> Result<Written, ConfigError> {
    let max_duration = settings
        .max_duration
        .as_deref()
        .map(|text| parse::<Span>("max_duration", text))
        .transpose()?;
    Ok(Written {
        max_iterations: settings.max_iterations,
        max_duration,
        max_premium_requests: settings.max_premium_requests,
        stuck_threshold: settings.stuck_threshold,
        on_stuck: settings.on_stuck,
        model: settings.model.clone(),
        require_checks: settings.require_checks,
        write_scope: settings.write_scope,
        protect: settings.protect.clone(),
        allow: settings.allow.clone(),
        policy: settings.policy.clone(),
        ..Written::default()
    })
}

/// What the environment says, through `get` (name → value).
///
/// # Errors
/// If a variable holds something that the setting cannot be.
pub fn from_environment(get: &dyn Fn(&str) -> Option<String>) -> Result<Written, ConfigError> {
    let read = |flag: &str| {
        let name = format!("RALPH_COPILOT_{flag}");
        get(&name).filter(|value| !value.is_empty()).map(|value| (name, value))
    };
    fn typed<T: FromStr>(found: Option<(String, String)>) -> Result<Option<T>, ConfigError>
    where
        T::Err: std::fmt::Display,
    {
        found.map(|(name, value)| parse(&name, &value)).transpose()
    }
    /// The standard library's words tell nobody what was expected.
    fn plain<T: FromStr>(
        found: Option<(String, String)>,
        expected: &str,
    ) -> Result<Option<T>, ConfigError> {
        let read = |(name, value): (String, String)| {
            value.trim().parse().map_err(|_| refused(&name, &value, expected))
        };
        found.map(read).transpose()
    }
    /// The names are those that the files have.
    fn word<T: DeserializeOwned>(
        found: Option<(String, String)>,
        expected: &str,
    ) -> Result<Option<T>, ConfigError> {
        let read = |(name, value): (String, String)| {
            T::deserialize(StrDeserializer::<serde::de::value::Error>::new(value.trim()))
                .map_err(|_| refused(&name, &value, expected))
        };
        found.map(read).transpose()
    }
    let number = |found| plain::<u32>(found, "it is a whole number");
    let flag = |found| plain::<bool>(found, "it is `true` or `false`");
    // The variable that Copilot's own tools know, too.
    let retries = || {
        let name = "COPILOT_MAX_RETRIES".to_owned();
        get(&name).filter(|value| !value.is_empty()).map(|value| (name, value))
    };
    let sandbox = read("SANDBOX").map(|(name, value)| match value.as_str() {
        "false" => (name, "off".to_owned()),
        "true" => (name, "required".to_owned()),
        _ => (name, value),
    });
    Ok(Written {
        max_iterations: number(read("MAX_ITERATIONS"))?,
        max_duration: typed(read("MAX_DURATION"))?,
        max_premium_requests: number(read("MAX_PREMIUM_REQUESTS"))?,
        max_tokens: plain(read("MAX_TOKENS"), "it is a whole number")?,
        max_wait: typed(read("MAX_WAIT"))?,
        max_retries: number(read("MAX_RETRIES").or_else(retries))?,
        stuck_threshold: number(read("STUCK_THRESHOLD"))?,
        on_stuck: word(read("ON_STUCK"), "it is `stop` or `skip`")?,
        model: typed(read("MODEL"))?,
        agent: typed(read("AGENT"))?,
        via: word(read("VIA"), "it is `acp` or `cli`")?,
        branch: typed(read("BRANCH"))?,
        allow_dirty: flag(read("ALLOW_DIRTY"))?,
        require_checks: flag(read("REQUIRE_CHECKS"))?,
        baseline: flag(read("BASELINE"))?,
        stop_check: flag(read("STOP_CHECK"))?,
        write_scope: word(read("WRITE_SCOPE"), "it is `workspace` or `task`")?,
        sandbox: word(sandbox, "it is `off`, `required` or `best-effort`")?,
        auto_approve: flag(read("AUTO_APPROVE"))?,
        fallback: flag(read("FALLBACK"))?,
        verify_timeout: typed(read("VERIFY_TIMEOUT"))?,
        regression_budget: typed(read("REGRESSION_BUDGET"))?,
        idle_timeout: typed(read("IDLE_TIMEOUT"))?,
        turn_timeout: typed(read("TURN_TIMEOUT"))?,
        protect: Vec::new(),
        allow: Vec::new(),
        free_models: None,
        policy: PolicyRules::default(),
    })
}

fn parse<T: FromStr>(name: &str, value: &str) -> Result<T, ConfigError>
where
    T::Err: std::fmt::Display,
{
    value.trim().parse().map_err(|error: T::Err| refused(name, value, &error.to_string()))
}

fn refused(name: &str, value: &str, why: &str) -> ConfigError {
    ConfigError::Variable { name: name.to_owned(), value: value.to_owned(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{OnStuck, Sandbox, Via, WriteScope};

    fn environment(name: &str, value: &str) -> Result<Written, ConfigError> {
        let (name, value) = (name.to_owned(), value.to_owned());
        from_environment(&move |asked| (asked == name).then(|| value.clone()))
    }

    #[test]
    fn a_variable_is_its_flag_in_capitals() {
        let written = environment("RALPH_COPILOT_MAX_WAIT", "90m").expect("valid");
        assert_eq!(written.max_wait.map(|span| span.0.as_secs()), Some(5400));
        let written = environment("RALPH_COPILOT_ON_STUCK", "skip").expect("valid");
        assert_eq!(written.on_stuck, Some(OnStuck::Skip));
        let written = environment("RALPH_COPILOT_VIA", "cli").expect("valid");
        assert_eq!(written.via, Some(Via::Cli));
        let written = environment("RALPH_COPILOT_WRITE_SCOPE", "task").expect("valid");
        assert_eq!(written.write_scope, Some(WriteScope::Task));
        for (value, sandbox) in [
            ("off", Sandbox::Off),
            ("false", Sandbox::Off),
            ("required", Sandbox::Required),
            ("true", Sandbox::Required),
            ("best-effort", Sandbox::BestEffort),
        ] {
            let written = environment("RALPH_COPILOT_SANDBOX", value).expect(value);
            assert_eq!(written.sandbox, Some(sandbox));
        }
        for name in ["COPILOT_MAX_RETRIES", "RALPH_COPILOT_MAX_RETRIES"] {
            assert_eq!(environment(name, "1").expect("valid").max_retries, Some(1));
        }
    }

    #[test]
    fn a_variable_without_meaning_is_an_error_that_names_it() {
        for (name, value) in [
            ("RALPH_COPILOT_FALLBACK", "perhaps"),
            ("RALPH_COPILOT_MAX_ITERATIONS", "-3"),
            ("RALPH_COPILOT_MAX_DURATION", "soon"),
            ("RALPH_COPILOT_ON_STUCK", "cry"),
            ("RALPH_COPILOT_VIA", "telnet"),
            ("RALPH_COPILOT_WRITE_SCOPE", "world"),
            ("RALPH_COPILOT_SANDBOX", "maybe"),
            ("COPILOT_MAX_RETRIES", "many"),
        ] {
            let error = environment(name, value).expect_err(name).to_string();
            assert!(error.starts_with(&format!("{name}={value}: ")), "{error}");
        }
    }

    #[test]
    fn an_unknown_key_in_a_file_is_an_error_that_points_at_it() {
        let folder = tempfile::tempdir().expect("temp dir");
        let path = folder.path().join("config.toml");
        std::fs::write(&path, "stuck_threshold = 2\nmax_iteration = 3\n").expect("write");
        let error = from_file(&path).expect_err("unknown key").to_string();
        assert!(error.contains("config.toml") && error.contains("line 2"), "{error}");
        assert!(error.contains("max_iteration"), "{error}");
    }

    #[test]
    fn a_missing_file_says_nothing() {
        let written = from_file(Path::new("/nonexistent/config.toml")).expect("no file is fine");
        assert_eq!(written, Written::default());
    }
}
