//! What kind of failure an agent's error is: pure, from the most reliable sign
//! that there is. A file or a criterion that mentions a rate limit is no sign:
//! only error channels and the CLI's own `Error: ` lines are ever given to it.

use crate::model::FaultClass;

/// Classifies by HTTP status and the CLI's own error type (`session.error`).
pub fn classify_code(status: Option<u64>, kind: &str) -> Option<FaultClass> {
    let by_status = status.and_then(|status| match status {
        401 | 403 => Some(FaultClass::Auth),
        404 => Some(FaultClass::ModelUnavailable),
        402 | 429 => Some(FaultClass::RateLimit),
        408 | 500..=599 => Some(FaultClass::Network),
        _ => None,
    });
    by_status.or(match kind {
        "rate_limit" | "quota" | "quota_exceeded" => Some(FaultClass::RateLimit),
        "authentication" | "authorization" | "auth" => Some(FaultClass::Auth),
        "model_not_found" | "model_not_supported" => Some(FaultClass::ModelUnavailable),
        "connection" | "network" | "timeout" => Some(FaultClass::Network),
        _ => None,
    })
}

/// Classifies an error message's words: the last resort.
pub fn classify_text(message: &str) -> Option<FaultClass> {
    let text = message.to_lowercase();
    let any = |needles: &[&str]| needles.iter().any(|needle| text.contains(needle));
    if any(&[
        "rate limit",
        "rate-limit",
        "ratelimit",
        "too many requests",
        "quota",
        "http 429",
        " 429 ",
    ]) {
        return Some(FaultClass::RateLimit);
    }
    if any(&[
        "authentication required",
        "authentication failed",
        "not logged in",
        "unauthorized",
        "no authentication information",
        "invalid api key",
        "http 401",
        "http 403",
        "copilot login",
        "/login",
    ]) {
        return Some(FaultClass::Auth);
    }
    if text.contains("model")
        && any(&[
            "not found",
            "not available",
            "unavailable",
            "not supported",
            "unknown model",
            "no model",
        ])
    {
        return Some(FaultClass::ModelUnavailable);
    }
    if any(&[
        "connection",
        "network",
        "could not connect",
        "econnre",
        "enotfound",
        "getaddrinfo",
        "fetch failed",
        "timed out",
        "timeout",
        "socket hang up",
        "http 5",
        "retried",
    ]) {
        return Some(FaultClass::Network);
    }
    None
}

/// What to do about an agent that cannot be used.
pub fn way_out(class: FaultClass) -> &'static str {
    match class {
        FaultClass::NotFound => {
            "install it with `npm install -g @github/copilot`, or name it with COPILOT_CLI_PATH or `--agent '<command>'`"
        }
        FaultClass::Auth => {
            "log in with `copilot login` (or set COPILOT_GITHUB_TOKEN), then start it again"
        }
        FaultClass::ModelUnavailable => {
            "choose a model that your plan has with `--model`, or let it fall back with RALPH_COPILOT_FALLBACK=true"
        }
        FaultClass::RateLimit => "start it again later, or wait longer with `--max-wait`",
        FaultClass::Network => "check the connection and the proxy settings, then start it again",
        FaultClass::Died | FaultClass::Protocol | FaultClass::Other => {
            "the agent's own words are in stderr.log and wire.log of the run's folder below .ralph/runs/"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_beats_the_words() {
        assert_eq!(classify_code(Some(429), "query"), Some(FaultClass::RateLimit));
        assert_eq!(classify_code(Some(401), ""), Some(FaultClass::Auth));
        assert_eq!(classify_code(Some(404), "query"), Some(FaultClass::ModelUnavailable));
        assert_eq!(classify_code(Some(503), "query"), Some(FaultClass::Network));
        assert_eq!(classify_code(Some(418), "rate_limit"), Some(FaultClass::RateLimit));
        assert_eq!(classify_code(None, "query"), None);
    }

    #[test]
    fn the_cli_s_own_words_are_told_apart() {
        for (text, class) in [
            ("Error: 429 Rate limit reached for requests", FaultClass::RateLimit),
            (
                "Error: Authentication failed with provider at http://127.0.0.1:1/v1 (HTTP 401).",
                FaultClass::Auth,
            ),
            ("Authentication required", FaultClass::Auth),
            (
                "Error: Model 'x' not found on provider http://localhost",
                FaultClass::ModelUnavailable,
            ),
            (
                "Could not connect to local model provider at http://127.0.0.1:1/v1",
                FaultClass::Network,
            ),
            (
                "Failed to get response from the AI model; retried 5 times (total retry wait time: 5 seconds) Last error: 503",
                FaultClass::Network,
            ),
        ] {
            assert_eq!(classify_text(text), Some(class), "{text}");
        }
        assert_eq!(classify_text("The file src/main.rs has no such function"), None);
    }
}
