//! How the scripted agent ends: in order, or with an error.

use std::path::PathBuf;

use crate::agent::acp::serve::ServeError;

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ScriptedError {
    #[error("cannot read the script {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("cannot understand the script {path}\n{source}")]
    Parse { path: PathBuf, source: Box<serde_saphyr::Error> },
    #[error("cannot use the memory {path}: {source}")]
    Memory { path: PathBuf, source: std::io::Error },
    #[error("cannot ignore SIGTERM: {0}")]
    Signal(std::io::Error),
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
