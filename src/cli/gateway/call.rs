//! `gateway call`: one call by hand.
//!
//! Invariant: [`FAILED`] and [`ExitCode::Limit`] say that the call was made, and every other code
//! but 0 and a signal's that it was not.

use serde_json::{Map, Value, json};

use super::folder::folder;
use crate::cli::args::CallToolArgs;
use crate::cli::environment::variable;
use crate::cli::failure::Failure;
use crate::cli::print::{complain, say, say_line};
use crate::cli::runtime::runtime;
use crate::gateway::{
    DEFAULT_PORT, DirectAnswer, DirectCall, FailureCode, call_directly, read_token_files,
};
use crate::model::ExitCode;
use crate::sys::shutdown::Shutdown;

/// The exit code of a call that was made and failed.
const FAILED: u8 = 1;

/// Calls the tool and prints its result.
pub(super) fn call(args: &CallToolArgs) -> Result<u8, Failure> {
    let (port, token) = find()?;
    let call = DirectCall {
        session: args.session.clone(),
        tool: args.tool.clone(),
        args: object(&args.args)?,
        timeout: args.timeout.map(std::num::NonZeroU64::get),
    };
    let runtime = runtime()?;
    runtime.block_on(async {
        let shutdown = Shutdown::default();
        shutdown.listen(|_| {}).map_err(|error| Failure::new(ExitCode::Internal, error))?;
        tokio::select! {
            answer = call_directly(port, &token, &call) => Ok(show(answer?, args.json)),
            // Hanging up cancels the call.
            () = shutdown.token().cancelled() => {
                show_failure(FailureCode::Cancelled.name(), "ended by a signal", args.json);
                Ok(signal_code(&shutdown))
            }
        }
    })
}

/// The exit code of a command that a signal ended.
pub(super) fn signal_code(shutdown: &Shutdown) -> u8 {
    let signal = shutdown.signal().and_then(|signal| u8::try_from(signal).ok());
    signal.map_or(0, |signal| 128 + signal)
}

/// Prints the answer; returns the exit code.
fn show(answer: DirectAnswer, json: bool) -> u8 {
    match answer {
        DirectAnswer::Done { data } => {
            match data {
                data if json => say_line(&json!({"event": "result", "data": data})),
                Value::String(text) => say(&text),
                data => say(&data.to_string()),
            }
            0
        }
        DirectAnswer::Failed { error_code, error } => {
            show_failure(&error_code, &error, json);
            let is_over = error_code == FailureCode::Timeout.name();
            if is_over { ExitCode::Limit.number() } else { FAILED }
        }
    }
}

fn show_failure(error_code: &str, error: &str, json: bool) {
    if json {
        say_line(&json!({"event": "result", "error_code": error_code, "error": error}));
    }
    complain(&format!("error: {error_code}: {error}"));
}

/// The port and the provider's token: the environment's, else those in the folder.
fn find() -> Result<(u16, String), Failure> {
    let named = variable("TAP_GATEWAY_PORT").filter(|port| !port.is_empty());
    let named = named.map(|port| {
        port.parse::<u16>().map_err(|_| {
            Failure::new(
                ExitCode::Invalid,
                format!("TAP_GATEWAY_PORT is not a port number: {port:?}"),
            )
        })
    });
    let folder = folder()?;
    let (token, port) = read_token_files(&folder);
    let port = named.transpose()?.or(port).unwrap_or(DEFAULT_PORT);
    let token = variable("TAP_PROVIDER_TOKEN").filter(|token| !token.is_empty()).or(token);
    let token = token.ok_or_else(|| {
        let reason = format!("found no gateway token in {}", folder.display());
        Failure::new(ExitCode::Invalid, reason)
            .hint("start a run with `--gateway`, or `ralph-copilot gateway serve`")
    })?;
    Ok((port, token))
}

fn object(text: &str) -> Result<Map<String, Value>, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let reason = format!("the arguments are not a JSON object: {error}");
        Failure::new(ExitCode::Usage, reason).hint("quote them, as in '{\"name\":\"Alice\"}'")
    })
}
