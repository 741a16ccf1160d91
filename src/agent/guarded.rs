//! Serves the CLI's hooks on a private socket during a run.
//!
//! Invariant: an unknown question is denied. A question that cannot be answered gets no
//! answer, and the hook process turns that into a denial. A report is always answered with
//! "go on".

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::{AgentError, AgentKind, Gate};
use crate::hooks;
use crate::model::{Asked, SessionId, ToolRequest};

/// Longest question, in bytes; a larger tool call is denied.
const LONGEST: u64 = 32 << 20;
/// How long a question may take to arrive, and its answer to be read.
const ARRIVAL: Duration = Duration::from_secs(10);
/// The CLI's stop reason for an agent that considers itself finished.
const FINISHED: &str = "end_turn";
/// How a question about a result begins, also one of a call that failed.
const RESULT: &[u8] = b"postToolUse";

/// How the guard answers a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// Lets it go on to the model.
    Welcome,
    /// Ends it before any request to a model, to check at no cost that the guard is in force.
    TurnBack,
}

/// A turn that the agent wants to end and that waits for permission.
pub struct StopHook {
    /// The session.
    pub session: SessionId,
    /// Receives what the agent should fix first, or `None`. Dropping it lets the turn end.
    pub answer: oneshot::Sender<Option<String>>,
}

/// The running server; dropping it stops the server.
pub struct GuardServer {
    socket: PathBuf,
    task: JoinHandle<()>,
}

impl GuardServer {
    /// Listens on `socket`, in a folder that only this user can enter. Turns that want to end
    /// are sent to `stops`; without it they end. With an agent that has no hooks, only launches
    /// inside a recipe ask here.
    ///
    /// # Errors
    /// If the socket cannot be created.
    pub fn start(
        socket: &Path,
        gate: Arc<Gate>,
        greeting: Greeting,
        stops: Option<mpsc::Sender<StopHook>>,
        kind: AgentKind,
    ) -> Result<Self, AgentError> {
        let listener = UnixListener::bind(socket)
            .map_err(|source| AgentError::Prepare { path: socket.to_owned(), source })?;
        if kind == AgentKind::Copilot {
            gate.expect_hooks();
        }
        let task = tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => {
                        tokio::spawn(answer(stream, Arc::clone(&gate), greeting, stops.clone()));
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

    /// The socket's path.
    pub fn socket(&self) -> &Path {
        &self.socket
    }
}

impl Drop for GuardServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    mut stream: UnixStream,
    gate: Arc<Gate>,
    greeting: Greeting,
    stops: Option<mpsc::Sender<StopHook>>,
) {
    let mut question = Vec::new();
    let mut limited = (&mut stream).take(LONGEST);
    match tokio::time::timeout(ARRIVAL, limited.read_to_end(&mut question)).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => return tracing::warn!(%error, "a hook's question was lost"),
        Err(_) => return tracing::warn!("a hook's question did not arrive"),
    }
    // A result is the agent's work, and loses known secrets only.
    let redactor = (!question.starts_with(RESULT)).then(|| Arc::clone(gate.redactor()));
    let whole = u64::try_from(question.len()).is_ok_and(|length| length < LONGEST);
    let reply = if let Some(input) = question.strip_prefix(b"agentStop\n").filter(|_| whole) {
        Ok(stop(&gate, input, stops).await)
    } else {
        // Deciding reads the file system and writes the journal: not on this thread.
        tokio::task::spawn_blocking(move || reply(&gate, &question, whole, greeting)).await
    };
    match reply {
        Ok(reply) => {
            let reply = match &redactor {
                Some(redactor) => redactor.redact_str(&reply),
                None => Cow::Borrowed(reply.as_str()),
            };
            // A hook that does not read the answer denies by itself after its own timeout.
            match tokio::time::timeout(ARRIVAL, stream.write_all(reply.as_bytes())).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(%error, "a hook did not wait for its answer"),
                Err(_) => tracing::warn!("a hook did not read its answer"),
            }
        }
        Err(error) => tracing::error!(%error, "the guard failed"),
    }
}

/// Asks the engine whether a turn may end, for a limited time. Without an answer it ends; its
/// work is judged afterwards either way.
async fn stop(gate: &Gate, input: &[u8], stops: Option<mpsc::Sender<StopHook>>) -> String {
    gate.alive();
    let (Some(stops), Ok(stop)) = (stops, hooks::read_stop(input)) else { return hooks::pass() };
    if stop.reason != FINISHED {
        return hooks::pass();
    }
    let _busy = gate.busy();
    let (answer, answered) = oneshot::channel();
    let session = SessionId::new(stop.session);
    let asked = StopHook { session: session.clone(), answer };
    let answered = async {
        stops.send(asked).await.ok()?;
        answered.await.ok()?
    };
    match tokio::time::timeout(hooks::STOP_CHECK_LIMIT, answered).await {
        Ok(Some(reason)) => {
            gate.prompted(&session, &reason);
            hooks::turn_back(&reason)
        }
        Ok(None) => hooks::pass(),
        Err(_) => {
            tracing::info!("a turn ended before its work was checked");
            hooks::pass()
        }
    }
}

/// The answer to `<event>\n<input>`.
fn reply(gate: &Gate, question: &[u8], whole: bool, greeting: Greeting) -> String {
    let split = question.iter().position(|byte| *byte == b'\n');
    let (event, input) = match split {
        Some(at) => (&question[..at], &question[at + 1..]),
        None => (question, &[][..]),
    };
    let only_reports = std::str::from_utf8(event).is_ok_and(hooks::observes);
    if !whole {
        return if only_reports {
            hooks::pass()
        } else {
            hooks::denial("Nothing ran: the call is too large.")
        };
    }
    match event {
        b"preToolUse" => match hooks::read_call(input) {
            Ok(call) => decide(gate, call),
            Err(error) => hooks::denial(&format!("Nothing ran: {error}.")),
        },
        event if event == hooks::PERMIT.as_bytes() => match hooks::read_permission(input) {
            Ok(call) => permit(gate, call),
            Err(error) => hooks::forbid(&format!("Nothing ran: {error}.")),
        },
        // A report gets the same answer whatever it contains.
        b"postToolUse" | b"postToolUseFailure" => match hooks::read_result(input) {
            Ok(result) => {
                gate.record_result(&result);
                gate.shown_result(&result).unwrap_or_else(hooks::pass)
            }
            Err(error) => understood(Err(error)),
        },
        b"errorOccurred" => understood(hooks::read_error(input).map(|report| gate.report(report))),
        b"sessionEnd" => {
            let ended = hooks::read_end(input);
            understood(ended.map(|(session, reason)| gate.prompt_over(session, reason)))
        }
        b"permissionRequest" | b"agentStop" => {
            gate.alive();
            hooks::pass()
        }
        b"sessionStart" | b"userPromptSubmitted" => {
            match hooks::read_session(input) {
                Ok((session, cwd)) => gate.greet(&session, cwd.as_deref()),
                Err(error) => tracing::warn!(%error, "a session's greeting was not understood"),
            }
            match greeting {
                Greeting::Welcome => hooks::pass(),
                Greeting::TurnBack => hooks::turn_back("the guard is in force"),
            }
        }
        unknown => {
            let name = String::from_utf8_lossy(unknown);
            hooks::denial(&format!("Nothing ran: the guard has no hook `{name}`."))
        }
    }
}

fn understood(report: Result<(), hooks::WireError>) -> String {
    if let Err(error) = report {
        tracing::warn!(%error, "a hook's report was not understood");
    }
    hooks::pass()
}

fn decide(gate: &Gate, call: hooks::HookCall) -> String {
    if call.session.is_empty() {
        // Without a session the decision could never be matched with the call.
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
    match decision.allowed().then(|| gate.replacement(&request)) {
        Some(Some(arguments)) => hooks::replace(&arguments),
        Some(None) => hooks::pass(),
        None => hooks::denial(&decision.reason),
    }
}

/// Decides a `permissionRequest`, the second layer where no ACP client is asked.
fn permit(gate: &Gate, call: hooks::HookCall) -> String {
    let request = ToolRequest {
        session: SessionId::new(call.session),
        // This hook names no call. Its permission covers none; the first layer's does.
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
