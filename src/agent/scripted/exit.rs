//! How the scripted agent ends: in order, or with an error.

use std::path::PathBuf;

use crate::agent::acp::serve::ServeError;

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
