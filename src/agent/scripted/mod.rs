//! The built-in scripted agent: plays a script over ACP, so that the whole loop can be seen
//! and tested without an account.
//!
//! It asks for its actions as Copilot does and really performs them; its misbehaviors are the
//! faults that the runner must survive. Invariant: nothing happens that the script does not
//! say. The wire protocol lives in `acp::serve`; `docs/scripted-agent.md` explains the format
//! of scripts.

mod action;
mod agent;
mod diff;
mod faults;
mod play;
mod prompt_context;
mod script;
mod session;
mod shapes;
mod uses;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::signal::unix::{SignalKind, signal};

use crate::agent::acp::serve;
use script::Deaf;

pub use script::{AgentExit, AgentScript, ScriptedError};

/// Plays a script for one client until it hangs up or the script ends the process.
///
/// # Errors
/// If the connection breaks in the middle, or the script's memory cannot be used.
pub async fn serve<R, W>(
    script: AgentScript,
    stdin: R,
    stdout: W,
) -> Result<AgentExit, ScriptedError>
where
    R: AsyncRead + Send + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    // A handler that does nothing makes the process ignore the signal.
    let _deaf = script
        .ignore
        .contains(&Deaf::Term)
        .then(|| signal(SignalKind::terminate()))
        .transpose()
        .map_err(ScriptedError::Signal)?;
    serve::serve(stdin, stdout, async |wire, incoming| {
        agent::ScriptedAgent::new(script, wire)?.live(incoming).await
    })
    .await?
}
