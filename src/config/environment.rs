//! Reads the settings in the environment.

use std::fmt::Display;
use std::num::NonZeroU32;
use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde::de::value::StrDeserializer;

use super::{ConfigError, GatewayLayer, LayerSettings, MemoryLayer};
use crate::model::{PolicyRules, Sandbox};

/// The prefix of our variables.
pub(super) const PREFIX: &str = "RALPH_COPILOT_";

/// The expectation for numbers that must be at least 1.
const NOT_FROM_ONE: &str = "not a whole number of at least 1";

/// Reads a number that must be at least 1, from a flag or a variable.
///
/// # Errors
/// The expected form.
pub fn from_one(text: &str) -> Result<NonZeroU32, &'static str> {
    text.trim().parse().map_err(|_| NOT_FROM_ONE)
}

/// The settings in the environment. `get` returns the value of a variable.
///
/// # Errors
/// If a value is invalid.
pub fn from_environment(
    get: &dyn Fn(&str) -> Option<String>,
) -> Result<LayerSettings, ConfigError> {
    let variables = Variables { get };
    Ok(LayerSettings {
        max_iterations: variables.positive("MAX_ITERATIONS")?,
        max_duration: variables.typed("MAX_DURATION")?,
        max_premium_requests: variables.number("MAX_PREMIUM_REQUESTS")?,
        max_tokens: variables.number("MAX_TOKENS")?,
        max_ai_credits: variables.number("MAX_AI_CREDITS")?,
        max_wait: variables.typed("MAX_WAIT")?,
        max_retries: max_retries(&variables)?,
        jobs: variables.number("JOBS")?,
        stuck_threshold: variables.positive("STUCK_THRESHOLD")?,
        on_stuck: variables.word("ON_STUCK", "neither `stop` nor `skip`")?,
        model: variables.typed("MODEL")?,
        escalate: None,
        agent: variables.typed("AGENT")?,
        on_end: variables.typed("ON_END")?,
        holdout: variables.typed("HOLDOUT")?,
        holdout_visible: variables.flag("HOLDOUT_VISIBLE")?,
        via: variables.word("VIA", "neither `acp` nor `cli`")?,
        branch: variables.typed("BRANCH")?,
        commit_prefix: variables.typed("COMMIT_PREFIX")?,
        allow_dirty: variables.flag("ALLOW_DIRTY")?,
        lenient: variables.flag("LENIENT")?,
        require_checks: variables.flag("REQUIRE_CHECKS")?,
        sign: variables.flag("SIGN")?,
        baseline: variables.turned("BASELINE")?,
        stop_check: variables.turned("STOP_CHECK")?,
        lessons: variables.turned("LESSONS")?,
        write_scope: variables.word("WRITE_SCOPE", "neither `workspace` nor `task`")?,
        sandbox: sandbox(&variables)?,
        unasked: variables.word("UNASKED", "neither `stop` nor `allow`")?,
        auto_approve: variables.flag("AUTO_APPROVE")?,
        fallback: variables.flag("FALLBACK")?,
        verify_timeout: variables.typed("VERIFY_TIMEOUT")?,
        regression_budget: variables.typed("REGRESSION_BUDGET")?,
        idle_timeout: variables.typed("IDLE_TIMEOUT")?,
        turn_timeout: variables.typed("TURN_TIMEOUT")?,
        proof: variables.word("PROOF", "not one of `room`, `end`, and `tree`")?,
        harness: Vec::new(),
        protect: Vec::new(),
        allow: Vec::new(),
        services: Vec::new(),
        network: None,
        network_for: Vec::new(),
        readable: Vec::new(),
        visible: Vec::new(),
        devices: Vec::new(),
        free_models: None,
        policy: PolicyRules::default(),
        memory: MemoryLayer::default(),
        gateway: GatewayLayer { chosen: variables.typed("GATEWAY")?, ..GatewayLayer::default() },
    })
}

/// `COPILOT_MAX_RETRIES` counts too: other tools for Copilot use it.
fn max_retries(variables: &Variables<'_>) -> Result<Option<NonZeroU32>, ConfigError> {
    let shared = || variables.named("COPILOT_MAX_RETRIES".to_owned());
    let found = variables.setting("MAX_RETRIES").or_else(shared);
    found.map(|found| found.parse(NOT_FROM_ONE)).transpose()
}

/// The sandbox, by its mode or as a boolean.
fn sandbox(variables: &Variables<'_>) -> Result<Option<Sandbox>, ConfigError> {
    let found = variables.setting("SANDBOX");
    let found = found.map(|found| match found.value.as_str() {
        "false" => Variable { value: "off".to_owned(), ..found },
        "true" => Variable { value: "required".to_owned(), ..found },
        _ => found,
    });
    let expected = "not one of `auto`, `full`, `partial`, `off`, and `required`";
    found.map(|found| found.word(expected)).transpose()
}

/// The environment.
struct Variables<'g> {
    get: &'g dyn Fn(&str) -> Option<String>,
}

/// A variable that is set and not empty.
struct Variable {
    name: String,
    value: String,
}

impl Variables<'_> {
    fn named(&self, name: String) -> Option<Variable> {
        let value = (self.get)(&name).filter(|value| !value.is_empty())?;
        Some(Variable { name, value })
    }

    /// The variable of a setting.
    fn setting(&self, setting: &str) -> Option<Variable> {
        self.named(format!("{PREFIX}{setting}"))
    }

    /// A value of a type whose errors name the expected form.
    fn typed<T: FromStr>(&self, setting: &str) -> Result<Option<T>, ConfigError>
    where
        T::Err: Display,
    {
        self.setting(setting).map(|found| parse(&found.name, &found.value)).transpose()
    }

    fn number<T: FromStr>(&self, setting: &str) -> Result<Option<T>, ConfigError> {
        self.setting(setting).map(|found| found.parse("not a whole number")).transpose()
    }

    fn positive(&self, setting: &str) -> Result<Option<NonZeroU32>, ConfigError> {
        self.setting(setting).map(|found| found.parse(NOT_FROM_ONE)).transpose()
    }

    fn flag(&self, setting: &str) -> Result<Option<bool>, ConfigError> {
        self.setting(setting).map(|found| found.parse("neither `true` nor `false`")).transpose()
    }

    /// A setting that is on by default: under its own name, or that of the flag that turns it off.
    fn turned(&self, setting: &str) -> Result<Option<bool>, ConfigError> {
        let (on, off) = (self.flag(setting)?, self.flag(&format!("NO_{setting}"))?);
        Ok(on.or(off.map(|off| !off)))
    }

    fn word<T: DeserializeOwned>(
        &self,
        setting: &str,
        expected: &str,
    ) -> Result<Option<T>, ConfigError> {
        self.setting(setting).map(|found| found.word(expected)).transpose()
    }
}

impl Variable {
    /// A value of a type whose errors are not for users.
    fn parse<T: FromStr>(&self, expected: &str) -> Result<T, ConfigError> {
        self.value.trim().parse().map_err(|_| invalid(&self.name, &self.value, expected))
    }

    /// One of the words that the configuration files use.
    fn word<T: DeserializeOwned>(&self, expected: &str) -> Result<T, ConfigError> {
        let word = StrDeserializer::<serde::de::value::Error>::new(self.value.trim());
        T::deserialize(word).map_err(|_| invalid(&self.name, &self.value, expected))
    }
}

/// Parses the value of a variable or key.
pub(super) fn parse<T: FromStr>(name: &str, value: &str) -> Result<T, ConfigError>
where
    T::Err: Display,
{
    value.trim().parse().map_err(|error: T::Err| invalid(name, value, &error.to_string()))
}

fn invalid(name: &str, value: &str, why: &str) -> ConfigError {
    ConfigError::Variable { name: name.to_owned(), value: value.to_owned(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{OnStuck, Via, WriteScope};

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
    fn an_invalid_value_is_an_error_that_names_its_variable() {
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
}
