//! Serves the CLI's hooks during a run, on a private socket.
//!
//! Invariant: a question that is not understood is answered with a denial, and a
//! question that cannot be answered gets no answer at all, which the asking hook
//! turns into a denial.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

use super::{AgentError, Gate};
use crate::hooks;
use crate::model::{Asked, SessionId, ToolRequest};

/// Longest question, in bytes; a tool call that is larger is denied.
const LONGEST: u64 = 32 << 20;
/// How long a question may take to arrive, and its answer to be taken.
const ARRIVAL: Duration = Duration::from_secs(10);

/// What happens to a prompt that reaches the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// It goes on to the model.
    Welcome,
    /// It ends there, before any request to a model: for finding out whether the guard
    /// comes into force, at no cost.
    TurnBack,
}

/// The running server; it ends when this is dropped.
pub struct GuardServer {
    socket: PathBuf,
    task: JoinHandle<()>,
}

impl GuardServer {
    /// Listens on `socket`, in a folder that only this user can enter.
    ///
    /// # Errors
    /// If the socket cannot be made.
    pub fn start(socket: &Path, gate: Arc<Gate>, greeting: Greeting) -> Result<Self, AgentError> {
        let server = Self::beside(socket, Arc::clone(&gate), greeting)?;
        gate.expect_hooks();
        Ok(server)
    }

    /// The same for an agent that has no hooks of its own: only what is launched inside a
    /// recipe asks here.
    ///
    /// # Errors
    /// If the socket cannot be made.
    pub fn beside(socket: &Path, gate: Arc<Gate>, greeting: Greeting) -> Result<Self, AgentError> {
        let listener = UnixListener::bind(socket)
            .map_err(|source| AgentError::Prepare { path: socket.to_owned(), source })?;
        let task = tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => {
                        tokio::spawn(answer(stream, Arc::clone(&gate), greeting));
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a hook could not be accepted");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                }
            }
        });
        Ok(Self { socket: socket.to_owned(), task })
    }

    /// Where it listens.
    pub fn socket(&self) -> &Path {
        &self.socket
    }
}

impl Drop for GuardServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(mut stream: UnixStream, gate: Arc<Gate>, greeting: Greeting) {
    let mut question = Vec::new();
    let mut limited = (&mut stream).take(LONGEST);
    match tokio::time::timeout(ARRIVAL, limited.read_to_end(&mut question)).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => return tracing::warn!(%error, "a hook's question was lost"),
        Err(_) => return tracing::warn!("a hook's question did not arrive"),
    }
    let whole = u64::try_from(question.len()).is_ok_and(|length| length < LONGEST);
    // Deciding reads the file system and writes the journal: not on this thread.
    let reply = tokio::task::spawn_blocking(move || {
        if whole {
            reply(&gate, &question, greeting)
        } else {
            hooks::denial("Nothing ran: the call is too large.")
        }
    })
    .await;
    match reply {
        Ok(reply) => {
            // A hook that does not read denies by itself when its own time is over.
            match tokio::time::timeout(ARRIVAL, stream.write_all(reply.as_bytes())).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(%error, "a hook did not wait for its answer"),
                Err(_) => tracing::warn!("a hook did not read its answer"),
            }
        }
        Err(error) => tracing::error!(%error, "the guard failed"),
    }
}

/// The answer to `<event>\n<input>`.
fn reply(gate: &Gate, question: &[u8], greeting: Greeting) -> String {
    let split = question.iter().position(|byte| *byte == b'\n');
    let (event, input) = match split {
        Some(at) => (&question[..at], &question[at + 1..]),
        None => (question, &[][..]),
    };
    match event {
        b"preToolUse" => match hooks::read_call(input) {
            Ok(call) => decide(gate, call),
            Err(error) => hooks::denial(&format!("Nothing ran: {error}.")),
        },
        b"permissionRequest" => match hooks::read_permission(input) {
            Ok(call) => permit(gate, call),
            Err(error) => hooks::forbid(&format!("Nothing ran: {error}.")),
        },
        b"errorOccurred" => {
            match hooks::read_error(input) {
                Ok(report) => gate.report(report),
                Err(error) => tracing::warn!(%error, "an error report was not understood"),
            }
            hooks::pass()
        }
        b"sessionStart" | b"userPromptSubmitted" => {
            match hooks::read_session(input) {
                Ok(session) => gate.greet(&session),
                Err(error) => tracing::warn!(%error, "a session's greeting was not understood"),
            }
            match greeting {
                Greeting::Welcome => hooks::pass(),
                Greeting::TurnBack => hooks::turn_back("the guard is in force"),
            }
        }
        unknown => {
            let name = String::from_utf8_lossy(unknown);
            hooks::denial(&format!("Nothing ran: the guard knows no hook `{name}`."))
        }
    }
}

fn decide(gate: &Gate, call: hooks::HookCall) -> String {
    if call.session.is_empty() {
        // It could never be joined with the call that runs.
        return hooks::denial("Nothing ran: the hook names no session.");
    }
    let request = ToolRequest {
        session: SessionId::new(call.session),
        call: None,
        tool: call.tool,
        input: call.input,
        asked: Asked::Hook,
    };
    let decision = gate.decide(&request);
    if decision.allowed() { hooks::pass() } else { hooks::denial(&decision.reason) }
}

/// The second layer where no client is asked: what the hook says here is all there is.
fn permit(gate: &Gate, call: hooks::HookCall) -> String {
    let request = ToolRequest {
        session: SessionId::new(call.session),
        // It names no call. What it says vouches for none: the first layer's yes does.
        call: Some("permissionRequest".to_owned()),
        tool: call.tool,
        input: call.input,
        asked: Asked::Permission,
    };
    let decision = gate.decide(&request);
    if decision.allowed() { hooks::permit() } else { hooks::forbid(&decision.reason) }
}

#[cfg(test)]
mod tests;
