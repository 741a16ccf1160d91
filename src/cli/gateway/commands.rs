//! The commands of `gateway serve --json`: one JSON object a line on standard input.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::io::AsyncRead;
use tokio_util::codec::{AnyDelimiterCodec, AnyDelimiterCodecError, FramedRead};
use tokio_util::sync::CancellationToken;

use super::host::Host;
use crate::cli::print::say_line;
use crate::gateway::{CallKey, CallRequest, SHUTDOWN_TIME};

/// Longest line, in bytes.
const LINE: usize = 8 << 20;

#[derive(Debug, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
enum HostCommand {
    Session {
        id: String,
        label: Option<String>,
        cwd: Option<String>,
    },
    Idle {
        session: String,
    },
    End {
        session: String,
        deadline_ms: Option<u64>,
    },
    Call {
        session: String,
        tool: String,
        #[serde(default)]
        args: Map<String, Value>,
        #[serde(rename = "as")]
        label: Option<String>,
    },
    Cancel {
        #[serde(rename = "as")]
        label: String,
    },
    Tools {
        session: String,
    },
}

/// Calls in flight that have a name.
type Named = Arc<Mutex<HashMap<String, CallKey>>>;

/// Obeys the lines until they end.
pub(super) async fn obey(host: &Host, lines: impl AsyncRead + Unpin) {
    let codec = AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), Vec::new(), LINE);
    let mut lines = FramedRead::new(lines, codec);
    let named = Named::default();
    let mut skipped = false;
    loop {
        // The reader pauses once after a line that was too long.
        let Some(line) = lines.next().await else {
            if std::mem::take(&mut skipped) {
                continue;
            }
            return;
        };
        match line {
            Ok(line) if line.trim_ascii().is_empty() => {}
            Ok(line) => match serde_json::from_slice(&line) {
                Ok(command) => obey_one(host, &named, command).await,
                Err(error) => {
                    let label = label_of(&line);
                    refuse("INVALID_COMMAND", &error.to_string(), label.as_deref());
                }
            },
            Err(AnyDelimiterCodecError::MaxChunkLengthExceeded) => {
                skipped = true;
                refuse("INVALID_COMMAND", &format!("the line is longer than {LINE} bytes"), None);
            }
            Err(AnyDelimiterCodecError::Io(_)) => return,
        }
    }
}

/// Says that a command cannot be obeyed, with the name that it gave to its call.
fn refuse(code: &str, message: &str, label: Option<&str>) {
    let mut line = json!({"event": "error", "code": code, "message": message});
    if let Some(label) = label {
        line["as"] = label.into();
    }
    say_line(&line);
}

fn no_session(id: &str) {
    refuse("INVALID_SESSION", &format!("Session {id} does not exist"), None);
}

/// The name of the call in a line that is otherwise not a command.
fn label_of(line: &[u8]) -> Option<String> {
    let line: Value = serde_json::from_slice(line).ok()?;
    line.get("as").and_then(Value::as_str).map(str::to_owned)
}

async fn obey_one(host: &Host, named: &Named, command: HostCommand) {
    match command {
        HostCommand::Session { id, label, cwd } => {
            if let Err(message) = host.open(&id, label, cwd).await {
                refuse("INVALID_SESSION", &message, None);
            }
        }
        HostCommand::Idle { session } => {
            host.gateway.start_iteration(&session);
            if !host.gateway.idle(&session).await {
                no_session(&session);
            }
        }
        HostCommand::End { session, deadline_ms } => {
            let deadline = deadline_ms.map_or(SHUTDOWN_TIME, Duration::from_millis);
            if !host.end(&session, deadline).await {
                no_session(&session);
            }
        }
        HostCommand::Call { session, tool, args, label } => {
            let request = CallRequest { session, tool, args, label, timeout: None };
            call(host, named, request);
        }
        HostCommand::Cancel { label } => match lock(named).get(&label) {
            Some(key) => host.gateway.cancel(*key),
            None => {
                let message = format!("no call `{label}` is in flight");
                refuse("NOT_FOUND", &message, Some(&label));
            }
        },
        HostCommand::Tools { session } => match host.gateway.tools(&session).await {
            Some(tools) => {
                let tools: Vec<&str> = tools.iter().map(|it| it.tool.name.as_str()).collect();
                say_line(&json!({"event": "tools", "session": session, "tools": tools}));
            }
            None => no_session(&session),
        },
    }
}

fn call(host: &Host, named: &Named, request: CallRequest) {
    let label = request.label.clone();
    if let Some(label) = label.as_ref().filter(|label| lock(named).contains_key(*label)) {
        let message = format!("a call `{label}` is already in flight");
        return refuse("INVALID_COMMAND", &message, Some(label));
    }
    let call = host.gateway.call(request);
    if let Some(label) = &label {
        lock(named).insert(label.clone(), call.key());
    }
    let named = Arc::clone(named);
    tokio::spawn(async move {
        // Its events tell the outcome.
        drop(call.outcome(&CancellationToken::new()).await);
        if let Some(label) = label {
            lock(&named).remove(&label);
        }
    });
}

fn lock(named: &Named) -> MutexGuard<'_, HashMap<String, CallKey>> {
    named.lock().unwrap_or_else(PoisonError::into_inner)
}
