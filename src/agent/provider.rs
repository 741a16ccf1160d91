//! Translates `COPILOT_BYOK_…`, which name the user's own model provider, into the Copilot
//! CLI's variables. Pure, over the environment that is passed in.
//!
//! Invariant: the CLI's own variables (`COPILOT_PROVIDER_…`, `COPILOT_MODEL`) are never
//! overridden. Secrets go to the CLI alone; `environment` hides them from everything else.

/// The variables that name the user's provider.
const PROVIDER: &str = "COPILOT_BYOK_PROVIDER";
const API_KEY: &str = "COPILOT_BYOK_API_KEY";
const BASE_URL: &str = "COPILOT_BYOK_BASE_URL";
const MODEL: &str = "COPILOT_BYOK_MODEL";

/// The variable that makes the CLI use the user's own provider.
pub const PROVIDER_URL: &str = "COPILOT_PROVIDER_BASE_URL";

/// `COPILOT_BYOK_…` does not name a usable provider.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The provider's name is unknown.
    #[error("{PROVIDER}={named}: unknown provider; use `openai`, `azure`, `anthropic` or `ollama`")]
    Unknown {
        /// The name as written.
        named: String,
    },
    /// The provider has no default address.
    #[error("{PROVIDER}={named} needs {BASE_URL}")]
    NoAddress {
        /// The name as written.
        named: String,
    },
}

/// The CLI's variables for the provider that `COPILOT_BYOK_…` names. Empty if they name none,
/// or if the CLI's own variables already name one. `get` returns a variable's value.
///
/// # Errors
/// If the provider is unknown, or has no address.
pub fn provider_variables(
    get: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<(&'static str, String)>, ProviderError> {
    let get = |name: &str| get(name).filter(|value| !value.trim().is_empty());
    if get(PROVIDER_URL).is_some() {
        return Ok(Vec::new());
    }
    let (named, url) = (get(PROVIDER), get(BASE_URL));
    if named.is_none() && url.is_none() {
        return Ok(Vec::new());
    }
    let named = named.unwrap_or_else(|| "openai".to_owned());
    let (kind, known_url) = match named.trim().to_ascii_lowercase().as_str() {
        "openai" => ("openai", Some("https://api.openai.com/v1")),
        "anthropic" => ("anthropic", Some("https://api.anthropic.com")),
        "ollama" => ("openai", Some("http://localhost:11434/v1")),
        "azure" => ("azure", None),
        _ => return Err(ProviderError::Unknown { named }),
    };
    let url =
        url.or_else(|| known_url.map(str::to_owned)).ok_or(ProviderError::NoAddress { named })?;
    let mapped = [
        (PROVIDER_URL, Some(url)),
        ("COPILOT_PROVIDER_TYPE", Some(kind.to_owned())),
        ("COPILOT_PROVIDER_API_KEY", get(API_KEY)),
        ("COPILOT_MODEL", get(MODEL)),
    ];
    let own = |name: &str| get(name).is_some() && name != PROVIDER_URL;
    Ok(mapped
        .into_iter()
        .filter(|(name, _)| !own(name))
        .filter_map(|(name, value)| Some((name, value?)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(set: &[(&str, &str)]) -> Result<Vec<(&'static str, String)>, ProviderError> {
        provider_variables(&|name| {
            set.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[track_caller]
    fn assert_mapped(set: &[(&str, &str)], expected: &[(&str, &str)]) {
        let mapped = variables(set).expect("a provider");
        let mapped: Vec<_> = mapped.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(mapped, expected);
    }

    #[test]
    fn each_provider_is_named_in_the_cli_s_own_words() {
        assert_mapped(
            &[(PROVIDER, "openai"), (API_KEY, "sk-1"), (MODEL, "gpt-5")],
            &[
                (PROVIDER_URL, "https://api.openai.com/v1"),
                ("COPILOT_PROVIDER_TYPE", "openai"),
                ("COPILOT_PROVIDER_API_KEY", "sk-1"),
                ("COPILOT_MODEL", "gpt-5"),
            ],
        );
        assert_mapped(
            &[(PROVIDER, "Anthropic"), (API_KEY, "k"), (MODEL, "claude-sonnet-4.5")],
            &[
                (PROVIDER_URL, "https://api.anthropic.com"),
                ("COPILOT_PROVIDER_TYPE", "anthropic"),
                ("COPILOT_PROVIDER_API_KEY", "k"),
                ("COPILOT_MODEL", "claude-sonnet-4.5"),
            ],
        );
        assert_mapped(
            &[(PROVIDER, "ollama"), (MODEL, "qwen")],
            &[
                (PROVIDER_URL, "http://localhost:11434/v1"),
                ("COPILOT_PROVIDER_TYPE", "openai"),
                ("COPILOT_MODEL", "qwen"),
            ],
        );
        assert_mapped(
            &[(PROVIDER, "azure"), (BASE_URL, "https://x.openai.azure.com")],
            &[(PROVIDER_URL, "https://x.openai.azure.com"), ("COPILOT_PROVIDER_TYPE", "azure")],
        );
        assert_mapped(
            &[(BASE_URL, "http://127.0.0.1:1/v1")],
            &[(PROVIDER_URL, "http://127.0.0.1:1/v1"), ("COPILOT_PROVIDER_TYPE", "openai")],
        );
    }

    #[test]
    fn what_the_cli_s_own_variables_say_stays() {
        assert_mapped(&[], &[]);
        assert_mapped(&[(API_KEY, "sk-1"), (MODEL, "gpt-5"), (PROVIDER, " ")], &[]);
        assert_mapped(&[(PROVIDER, "openai"), (PROVIDER_URL, "http://mine")], &[]);
        assert_mapped(
            &[(PROVIDER, "ollama"), (MODEL, "qwen"), ("COPILOT_MODEL", "mine")],
            &[(PROVIDER_URL, "http://localhost:11434/v1"), ("COPILOT_PROVIDER_TYPE", "openai")],
        );
    }

    #[test]
    fn a_provider_that_cannot_be_reached_is_told_by_its_variable() {
        let error = variables(&[(PROVIDER, "copilot")]).expect_err("unknown").to_string();
        assert!(error.starts_with("COPILOT_BYOK_PROVIDER=copilot: "), "{error}");
        let error = variables(&[(PROVIDER, "azure")]).expect_err("no address").to_string();
        assert_eq!(error, "COPILOT_BYOK_PROVIDER=azure needs COPILOT_BYOK_BASE_URL");
    }
}
