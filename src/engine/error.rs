//! Why the loop itself cannot go on. A task that failed is an outcome, not an error.

use std::path::PathBuf;

use crate::agent::AgentError;
use crate::guard::PolicyError;
use crate::model::RecordError;
use crate::prompt::PromptError;
use crate::sys;
use crate::task::TaskError;
use crate::verify::VerifyError;

/// The run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The journal cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// TASK.md cannot be read or found.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// TASK.md has errors.
    #[error("{path} has errors:\n{diagnostics}")]
    TaskInvalid {
        /// The file, relative to the repository.
        path: PathBuf,
        /// The diagnostics, rendered.
        diagnostics: String,
    },
    /// A prompt cannot be made.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// The guard's rules cannot be made.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The repository cannot be read or written.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// A state file cannot be written.
    #[error(transparent)]
    State(#[from] sys::Error),
    /// A state file cannot be read.
    #[error("cannot read {path}: {source}")]
    StateRead {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// state.json is no state.
    #[error("{path} is not understood: {source}")]
    StateBroken {
        /// The file.
        path: PathBuf,
        /// The same, relative to the repository.
        file: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// The journal of an earlier run cannot be read.
    #[error(transparent)]
    Journal(#[from] crate::events::Error),
    /// The journal of a run that died does not tell for sure what is its work.
    #[error(
        "the run before this one died in iteration {iteration}, and its journal cannot be relied on ({damage}): what it left cannot be told from your work"
    )]
    Damaged {
        /// The iteration.
        iteration: u32,
        /// The first line that cannot be read.
        damage: String,
        /// The run's folder.
        folder: PathBuf,
    },
    /// The agent's side failed in a way that is ours to mend.
    #[error(transparent)]
    Agent(AgentError),
}
