//! Classifies an agent's failure from the most reliable sign available: a status, then the
//! name of its kind, then its text. Pure.
//!
//! Invariant: text counts only in the shape of an error. A file, a criterion or a test that
//! mentions a rate limit is not a failure. `engine` decides how to handle a failure.

mod clock;
mod json;
mod last_words;
mod pattern;
mod reset;
mod status;
mod text;

use crate::model::{Fault, FaultClass};

pub use clock::next_time;
pub use json::classify_json;
use last_words::fenced;
pub(super) use last_words::{LastWords, ReportedFault};
pub use reset::reset_in;
pub use text::{classify_line, classify_message};

/// Classifies a failure in any form: a JSON-RPC error, a `session.error` record, a hook's
/// report, or plain text of one line or many. The last line that reports a failure counts.
/// Unknown input is fatal.
pub fn classify(input: &str) -> Fault {
    let input = input.trim_start_matches('\u{feff}');
    let whole = serde_json::from_str(input).ok().and_then(|value| classify_json(&value));
    let found = whole.or_else(|| {
        let lines: Vec<&str> = input.lines().collect();
        let fenced = fenced(&lines);
        let plain = lines.iter().enumerate().filter(|(at, _)| !fenced[*at]);
        let (at, mut fault) = plain.rev().find_map(|(at, line)| {
            let fault = match serde_json::from_str::<serde_json::Value>(line) {
                Ok(value) if value.is_object() || value.is_array() => classify_json(&value),
                Ok(_) | Err(_) => classify_line(line)
                    .map(|class| Fault { reset: reset_in(line), ..Fault::new(class, line.trim()) }),
            };
            fault.map(|fault| (at, fault))
        })?;
        // `Retry-After: 3600` has its own line near the status.
        let near = lines.iter().skip(at.saturating_sub(5)).take(20);
        fault.reset = fault.reset.or_else(|| near.rev().find_map(|line| reset_in(line)));
        Some(fault)
    });
    found.unwrap_or_else(|| Fault::new(FaultClass::Fatal, input.trim()))
}

/// Does a failure of this class, read from an agent's last words, explain why the agent was
/// lost? Only a failure that a new process would meet too does. A missing file in a stack
/// trace says nothing about how to go on: the agent died.
pub(super) fn explains_loss(class: FaultClass) -> bool {
    match class {
        FaultClass::NotFound
        | FaultClass::Auth
        | FaultClass::ModelUnavailable
        | FaultClass::RateLimit
        | FaultClass::Network
        | FaultClass::Transient => true,
        FaultClass::FileNotFound
        | FaultClass::PermissionDenied
        | FaultClass::Died
        | FaultClass::Protocol
        | FaultClass::Unasked
        | FaultClass::Fatal => false,
    }
}

/// The hint for a failure of this class. `login` says how to log in to an agent other than the
/// Copilot CLI.
pub fn hint(class: FaultClass, login: Option<&'static str>) -> &'static str {
    match (class, login) {
        (FaultClass::Auth, Some(login)) => login,
        (FaultClass::ModelUnavailable, Some(_)) => {
            "choose a model that your account has in the agent's own settings"
        }
        (FaultClass::NotFound, _) => {
            "install it with `npm install -g @github/copilot`, or name it with COPILOT_CLI_PATH or `--agent '<command>'`"
        }
        (FaultClass::Auth, _) => {
            "log in with `copilot login` (or set COPILOT_GITHUB_TOKEN), then run the same command again"
        }
        (FaultClass::ModelUnavailable, _) => {
            "choose a model that your plan has with `--model`, or let it fall back with RALPH_COPILOT_FALLBACK=true"
        }
        (FaultClass::RateLimit, _) => {
            "run the same command again later, or wait longer with `--max-wait`"
        }
        (FaultClass::Network, _) => {
            "check the connection and the proxy settings, then run the same command again"
        }
        (FaultClass::Transient, _) => {
            "the provider or the connection to it failed; run the same command again later"
        }
        (FaultClass::Unasked, _) => {
            "make the agent ask before it acts, or let its calls run inside the sandbox with `--unasked allow`"
        }
        (
            FaultClass::FileNotFound
            | FaultClass::PermissionDenied
            | FaultClass::Died
            | FaultClass::Protocol
            | FaultClass::Fatal,
            _,
        ) => "see the agent's stderr.log and wire.log in the run's folder below .ralph/runs/",
    }
}

#[cfg(test)]
mod tests;
