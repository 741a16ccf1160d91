//! Reads each layer from the place it is written in.

use std::cell::RefCell;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use etcetera::BaseStrategy as _;
use serde::de::DeserializeOwned;
use serde::de::value::StrDeserializer;

use super::{LayerSettings, Span};
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
    /// A variable that is none of ours and is meant to be one.
    #[error("{name} is no variable of this program")]
    Unknown {
        /// Its name.
        name: String,
        /// The one that was meant, most likely.
        nearest: String,
    },
}

impl ConfigError {
    /// The way out, where there is one to tell.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { nearest, .. } => {
                Some(format!("{nearest} is one; docs/configuration.md lists them all"))
            }
            Self::Read { .. } | Self::Parse { .. } | Self::Variable { .. } => None,
        }
    }
}

/// Why a number that must be at least 1 was refused.
const NOT_FROM_ONE: &str = "not a whole number from 1";

/// Reads a number that must be at least 1, as flags and variables write it.
///
/// # Errors
/// The reason, for people.
pub fn from_one(text: &str) -> Result<NonZeroU32, &'static str> {
    text.trim().parse().map_err(|_| NOT_FROM_ONE)
}

/// How the names of our variables begin.
const PREFIX: &str = "RALPH_COPILOT_";
/// How those of the limits go on.
const LIMIT: &str = "RALPH_COPILOT_MAX_";

/// The variables that begin as ours do and are none. `set` are the names there are, `others`
/// those of ours that are no settings.
///
/// # Errors
/// If one is mistyped: nearly a name of ours, or named as only limits are. What it was
/// meant to say would silently not hold.
pub fn unknown_variables(
    set: impl IntoIterator<Item = String>,
    others: &[&str],
) -> Result<Vec<String>, ConfigError> {
    // The names of the settings are those that are asked for.
    let asked = RefCell::new(Vec::new());
    from_environment(&|name| {
        asked.borrow_mut().push(name.to_owned());
        None
    })?;
    let known = asked.into_inner();
    let known = || known.iter().map(String::as_str).chain(others.iter().copied());
    let mut unknown = Vec::new();
    for name in set {
        if !name.starts_with(PREFIX) || known().any(|it| it == name) {
            continue;
        }
        let typed = &name[PREFIX.len()..];
        let ours = || known().filter_map(|it| it.strip_prefix(PREFIX));
        let slips = (typed.len() / 4).clamp(1, 2);
        let slip = ours()
            .map(|it| (strsim::osa_distance(&typed.to_uppercase(), it), it))
            .min()
            .filter(|(distance, _)| *distance <= slips);
        let similar = || {
            let all = ours().map(|it| (strsim::jaro_winkler(typed, it), it));
            all.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, it)| it)
        };
        let limit = || similar().filter(|_| name.starts_with(LIMIT));
        match slip.map(|(_, it)| it).or_else(limit) {
            Some(nearest) => {
                let nearest = format!("{PREFIX}{nearest}");
                return Err(ConfigError::Unknown { name, nearest });
            }
            None => unknown.push(name),
        }
    }
    unknown.sort();
    Ok(unknown)
}

/// Reads `.ralph/config.toml` or the user's file; a missing one says nothing.
///
/// # Errors
/// If it exists and cannot be read or understood.
pub fn from_file(path: &Path) -> Result<LayerSettings, ConfigError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(LayerSettings::default());
        }
        Err(source) => return Err(ConfigError::Read { path: path.to_owned(), source }),
    };
    let read: Result<LayerSettings, _> = toml::from_str(&text);
    let mut values = read
        .map_err(|source| ConfigError::Parse { path: path.to_owned(), source: Box::new(source) })?;
    super::policy::place(&mut values.policy, &text, path);
    Ok(values)
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
pub fn from_task(settings: &TaskSettings) -> Result<LayerSettings, ConfigError> {
    let max_duration = settings
        .max_duration
        .as_deref()
        .map(|text| parse::<Span>("max_duration", text))
        .transpose()?;
    Ok(LayerSettings {
        // The parser of TASK.md has refused 0.
        max_iterations: settings.max_iterations.and_then(NonZeroU32::new),
        max_duration,
        max_premium_requests: settings.max_premium_requests,
        stuck_threshold: settings.stuck_threshold.and_then(NonZeroU32::new),
        on_stuck: settings.on_stuck,
        model: settings.model.clone(),
        require_checks: settings.require_checks,
        write_scope: settings.write_scope,
        protect: settings.protect.clone(),
        allow: settings.allow.clone(),
        policy: settings.policy.clone(),
        ..LayerSettings::default()
    })
}

/// What the environment says, through `get` (name → value).
///
/// # Errors
/// If a variable holds something that the setting cannot be.
pub fn from_environment(
    get: &dyn Fn(&str) -> Option<String>,
) -> Result<LayerSettings, ConfigError> {
    let read = |flag: &str| {
        let name = format!("{PREFIX}{flag}");
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
    let number = |found| plain::<u32>(found, "not a whole number");
    let from_one = |found| plain::<NonZeroU32>(found, NOT_FROM_ONE);
    let flag = |found| plain::<bool>(found, "neither `true` nor `false`");
    // A setting whose flag turns it off: named as the key is, or as the flag.
    let turned = |name: &str| -> Result<Option<bool>, ConfigError> {
        let (on, off) = (flag(read(name))?, flag(read(&format!("NO_{name}")))?);
        Ok(on.or(off.map(|off| !off)))
    };
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
    Ok(LayerSettings {
        max_iterations: from_one(read("MAX_ITERATIONS"))?,
        max_duration: typed(read("MAX_DURATION"))?,
        max_premium_requests: number(read("MAX_PREMIUM_REQUESTS"))?,
        max_tokens: plain(read("MAX_TOKENS"), "not a whole number")?,
        max_wait: typed(read("MAX_WAIT"))?,
        max_retries: from_one(read("MAX_RETRIES").or_else(retries))?,
        stuck_threshold: from_one(read("STUCK_THRESHOLD"))?,
        on_stuck: word(read("ON_STUCK"), "neither `stop` nor `skip`")?,
        model: typed(read("MODEL"))?,
        agent: typed(read("AGENT"))?,
        via: word(read("VIA"), "neither `acp` nor `cli`")?,
        branch: typed(read("BRANCH"))?,
        allow_dirty: flag(read("ALLOW_DIRTY"))?,
        require_checks: flag(read("REQUIRE_CHECKS"))?,
        baseline: turned("BASELINE")?,
        stop_check: turned("STOP_CHECK")?,
        write_scope: word(read("WRITE_SCOPE"), "neither `workspace` nor `task`")?,
        sandbox: word(sandbox, "not one of `auto`, `full`, `partial`, `off`, and `required`")?,
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

    fn environment(name: &str, value: &str) -> Result<LayerSettings, ConfigError> {
        let (name, value) = (name.to_owned(), value.to_owned());
        from_environment(&move |asked| (asked == name).then(|| value.clone()))
    }

    #[test]
    fn a_variable_is_its_flag_in_capitals() {
        let values = environment("RALPH_COPILOT_MAX_WAIT", "90m").expect("valid");
        assert_eq!(values.max_wait.map(|span| span.0.as_secs()), Some(5400));
        let values = environment("RALPH_COPILOT_ON_STUCK", "skip").expect("valid");
        assert_eq!(values.on_stuck, Some(OnStuck::Skip));
        let values = environment("RALPH_COPILOT_VIA", "cli").expect("valid");
        assert_eq!(values.via, Some(Via::Cli));
        for (name, baseline) in
            [("RALPH_COPILOT_BASELINE", false), ("RALPH_COPILOT_NO_BASELINE", true)]
        {
            let values = environment(name, "false").expect("valid");
            assert_eq!(values.baseline, Some(baseline), "{name}");
        }
        let values = environment("RALPH_COPILOT_WRITE_SCOPE", "task").expect("valid");
        assert_eq!(values.write_scope, Some(WriteScope::Task));
        for (value, sandbox) in [
            ("off", Sandbox::Off),
            ("false", Sandbox::Off),
            ("required", Sandbox::Required),
            ("true", Sandbox::Required),
            ("best-effort", Sandbox::Auto),
        ] {
            let values = environment("RALPH_COPILOT_SANDBOX", value).expect(value);
            assert_eq!(values.sandbox, Some(sandbox));
        }
        for name in ["COPILOT_MAX_RETRIES", "RALPH_COPILOT_MAX_RETRIES"] {
            assert_eq!(environment(name, "1").expect("valid").max_retries, Some(NonZeroU32::MIN));
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
            ("COPILOT_MAX_RETRIES", "0"),
            ("RALPH_COPILOT_MAX_ITERATIONS", "0"),
            ("RALPH_COPILOT_STUCK_THRESHOLD", "0"),
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
        let values = from_file(Path::new("/nonexistent/config.toml")).expect("no file is fine");
        assert_eq!(values, LayerSettings::default());
    }

    /// What is nearly a name of ours is refused; what only begins as ours do is somebody
    /// else's, and told.
    #[test]
    fn a_variable_that_is_mistyped_is_found() {
        let unknown = |name: &str| {
            let others = ["RALPH_COPILOT_LOG", "RALPH_COPILOT_SOCKET"];
            match unknown_variables([name.to_owned()], &others) {
                Ok(unknown) => unknown.join(" "),
                Err(error) => format!("{error}; {}", error.hint().unwrap_or_default()),
            }
        };
        for name in [
            "PATH",
            "COPILOT_MAX_RETRIES",
            "COPILOT_MAX_RETRY",
            "RALPH_RUN_ID",
            "RALPH_COPILOT_MAX_ITERATIONS",
            "RALPH_COPILOT_MAX_RETRIES",
            "RALPH_COPILOT_NO_STOP_CHECK",
            "RALPH_COPILOT_FALLBACK",
            "RALPH_COPILOT_LOG",
            "RALPH_COPILOT_SOCKET",
        ] {
            assert_eq!(unknown(name), "", "{name}");
        }
        for name in [
            "RALPH_COPILOT_VERSION",
            "RALPH_COPILOT_HOME",
            "RALPH_COPILOT_IMAGE",
            "RALPH_COPILOT_MODEL_DIR",
            "RALPH_COPILOT_LOG_DIR",
            "RALPH_COPILOT_JSON",
            "RALPH_COPILOT_",
        ] {
            assert_eq!(unknown(name), name);
        }
        for (name, meant) in [
            ("MAX_ITERATION", "MAX_ITERATIONS"),
            ("MAX_ITERS", "MAX_ITERATIONS"),
            ("MAX_PREMIUM", "MAX_PREMIUM_REQUESTS"),
            ("MAX_TOEKNS", "MAX_TOKENS"),
            ("max_tokens", "MAX_TOKENS"),
            ("WRITESCOPE", "WRITE_SCOPE"),
            ("MODLE", "MODEL"),
            ("LOGS", "LOG"),
        ] {
            let told = unknown(&format!("RALPH_COPILOT_{name}"));
            let says = format!("no variable of this program; RALPH_COPILOT_{meant} is one;");
            assert!(told.contains(&says), "{name}: {told}");
        }
    }
}
