//! Variables of the environment that look like settings and are not.

use std::cell::RefCell;

use super::ConfigError;
use super::environment::{PREFIX, from_environment};

/// The prefix of variables that set a limit.
const LIMIT: &str = "RALPH_COPILOT_MAX_";

/// The variables with our prefix that have no meaning. `set` are the names in the environment,
/// `others` our variables that are not settings.
///
/// # Errors
/// If a name is almost one of ours, or begins like that of a limit. Such a setting would be
/// ignored silently.
pub fn unknown_variables(
    set: impl IntoIterator<Item = String>,
    others: &[&str],
) -> Result<Vec<String>, ConfigError> {
    // The names of the settings are those that the reader asks for.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A misspelled name is an error. A name that only has our prefix is listed.
    #[test]
    fn a_misspelled_variable_is_an_error() {
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
            let says = format!("; did you mean RALPH_COPILOT_{meant}? ");
            assert!(told.contains(&says), "{name}: {told}");
        }
    }
}
