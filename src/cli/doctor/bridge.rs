//! The variables of the bridge to OpenClaw, under their own names: checked and shown, because
//! people set them for it. Nothing here speaks to OpenClaw.

use super::finding::DoctorFinding;
use crate::cli::failure::Failure;
use crate::config::{SettingOrigin, Source};
use crate::model::ExitCode;

/// Levels of `COPILOT_LOG_LEVEL`.
const LEVELS: [&str; 6] = ["none", "error", "warning", "info", "debug", "all"];

/// A variable: its name, its default value, and a function that returns the error in a value.
type Variable = (&'static str, &'static str, fn(&str) -> Option<&'static str>);

const VARIABLES: [Variable; 6] = [
    ("OPENCLAW_HOST", "127.0.0.1", wrong_host),
    ("OPENCLAW_PORT", "18789", wrong_port),
    ("OPENCLAW_GATEWAY_TOKEN", "-", |_| None),
    ("COPILOT_LOG_LEVEL", "info", wrong_level),
    // The settings and the agent check the meaning of these values.
    ("COPILOT_MAX_RETRIES", "-", |_| None),
    ("COPILOT_BYOK_PROVIDER", "-", |_| None),
];

/// The values, the token masked, and a finding for each that is wrong.
pub(super) fn settings(
    get: &dyn Fn(&str) -> Option<String>,
) -> (Vec<SettingOrigin>, Vec<DoctorFinding>) {
    let mut findings = Vec::new();
    let mut shown = Vec::new();
    for (name, usual, wrong) in VARIABLES {
        let set = get(name).filter(|value| !value.is_empty());
        if let Some(why) = set.as_deref().and_then(wrong) {
            let value = set.as_deref().unwrap_or_default();
            let failure = Failure::new(ExitCode::Invalid, format!("{name} is `{value}`: {why}"))
                .hint(format!("fix or unset {name}"));
            findings.push(DoctorFinding::bad("environment", &failure));
        }
        let source = if set.is_some() { Source::Environment } else { Source::Default };
        let value = match set {
            Some(_) if name == "OPENCLAW_GATEWAY_TOKEN" => "[REDACTED]".to_owned(),
            Some(value) => value,
            None => usual.to_owned(),
        };
        shown.push(SettingOrigin { name, value, source });
    }
    (shown, findings)
}

fn wrong_host(value: &str) -> Option<&'static str> {
    let odd = |letter: char| letter.is_whitespace() || letter.is_control() || letter == '/';
    value.contains(odd).then_some("not a host name or address")
}

fn wrong_port(value: &str) -> Option<&'static str> {
    let digits = value.bytes().all(|byte| byte.is_ascii_digit());
    let port = value.parse::<u16>().ok().filter(|port| digits && *port > 0);
    port.is_none().then_some("not a port number from 1 to 65535")
}

fn wrong_level(value: &str) -> Option<&'static str> {
    let known = LEVELS.contains(&value);
    (!known).then_some("not one of none, error, warning, info, debug, and all")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &'static str, value: &'static str) -> (String, Vec<String>) {
        let get = |asked: &str| (asked == name).then(|| value.to_owned());
        let (shown, wrong) = settings(&get);
        let shown = shown.into_iter().find(|shown| shown.name == name).expect("shown");
        (shown.value, wrong.into_iter().map(|finding| finding.detail).collect())
    }

    #[test]
    fn good_values_are_shown_and_the_token_is_masked() {
        for (name, value, shown) in [
            ("OPENCLAW_HOST", "", "127.0.0.1"),
            ("OPENCLAW_HOST", "::1", "::1"),
            ("OPENCLAW_PORT", "", "18789"),
            ("OPENCLAW_PORT", "65535", "65535"),
            ("OPENCLAW_GATEWAY_TOKEN", "", "-"),
            ("OPENCLAW_GATEWAY_TOKEN", "hush", "[REDACTED]"),
            ("COPILOT_LOG_LEVEL", "", "info"),
            ("COPILOT_LOG_LEVEL", "all", "all"),
        ] {
            assert_eq!(of(name, value), (shown.to_owned(), Vec::new()));
        }
    }

    #[test]
    fn a_bad_value_is_a_finding_that_names_the_variable() {
        for (name, value) in [
            ("OPENCLAW_HOST", "a b"),
            ("OPENCLAW_PORT", "0"),
            ("OPENCLAW_PORT", "65536"),
            ("OPENCLAW_PORT", "+80"),
            ("OPENCLAW_PORT", "80 "),
            ("OPENCLAW_PORT", "x"),
            ("COPILOT_LOG_LEVEL", "loud"),
            ("COPILOT_LOG_LEVEL", "INFO"),
        ] {
            let (_, wrong) = of(name, value);
            assert!(wrong.len() == 1 && wrong[0].starts_with(name), "{name}={value}: {wrong:?}");
        }
    }
}
