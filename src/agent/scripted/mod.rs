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
mod ledger;
mod play;
mod prompt_context;
mod script;
mod session;
mod shapes;

use std::path::PathBuf;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::signal::unix::{SignalKind, signal};

use crate::agent::acp::serve::{self, ServeError};
use script::Deaf;

pub use script::AgentScript;

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptedError {
    /// The file cannot be read.
    #[error("cannot read the script {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is not a valid script.
    #[error("cannot understand the script {path}\n{source}")]
    Parse {
        /// The file.
        path: PathBuf,
        /// The parse error, with its line.
        source: Box<serde_saphyr::Error>,
    },
    /// The memory file cannot be used.
    #[error("cannot use the memory {path}: {source}")]
    Memory {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// SIGTERM cannot be ignored.
    #[error("cannot ignore SIGTERM: {0}")]
    Signal(std::io::Error),
    /// A turn panicked.
    #[error("a turn broke off: {0}")]
    Turn(tokio::task::JoinError),
    /// The client went away.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// How the agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentExit {
    /// The client closed its side.
    HungUp,
    /// The script wants the process to end with this code.
    Exit(u8),
}

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
