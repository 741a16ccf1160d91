//! Errors that stop the loop itself. A task that failed is an outcome, not an error.

use std::path::PathBuf;

use crate::agent::AgentError;
use crate::model::{ExitCode, Obstacle, Oid, RecordError};
use crate::prompt::PromptError;
use crate::recipe::RecipeError;
use crate::sandbox::SandboxError;
use crate::sys;
use crate::task::TaskError;
use crate::verify::VerifyError;

/// The reason why a run cannot go on.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum EngineError {
    /// The journal cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// TASK.md cannot be read or found.
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error("{path} has errors:\n{diagnostics}")]
    TaskInvalid { path: PathBuf, diagnostics: String },
    #[error("--require-checks refuses criteria that only a commit could speak for:{refused}")]
    ChecksRequired { refused: String },
    #[error("the proof room is missing something:\n{what}")]
    RoomLacks { what: String },
    #[error("{what}\n  its command and output: {log}")]
    HoldOut { what: String, log: PathBuf },
    #[error(
        "state.json says that the task began at {}, but that is after work on it, and this shallow \
         clone does not show where it began",
        start.short()
    )]
    StartIsWork { start: Oid },
    #[error("{path} is gone, and the last run died in iteration {iteration}")]
    TaskGone { path: PathBuf, iteration: u32, commit: Oid },
    /// A prompt cannot be rendered.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// The sandbox cannot be started or ended.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The repository cannot be read or written.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// A state file cannot be written.
    #[error(transparent)]
    State(#[from] sys::SysError),
    #[error("cannot read {path}: {source}")]
    StateRead { path: PathBuf, source: std::io::Error },
    #[error("cannot parse {path}: {source}")]
    StateBroken { path: PathBuf, file: PathBuf, source: serde_json::Error },
    /// The journal of an earlier run cannot be read.
    #[error(transparent)]
    Journal(#[from] crate::events::JournalError),
    /// A recipe cannot be run.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    #[error(
        "the last run died in iteration {iteration}, and its journal is damaged ({damage}): its \
         leftovers cannot be told apart from your work"
    )]
    Damaged { iteration: u32, damage: String, folder: PathBuf },
    /// The agent could not be prepared or started.
    #[error(transparent)]
    Agent(AgentError),
    #[error("worker {number} cannot be started: {how}")]
    Worker { number: usize, how: String },
}

impl EngineError {
    /// The kind of problem, which decides the exit code.
    pub fn obstacle(&self) -> Obstacle {
        match self {
            Self::Record(_) | Self::State(_) | Self::StateRead { .. } => Obstacle::Write,
            Self::Recipe(error) => recipe_obstacle(error),
            Self::Task(_)
            | Self::TaskInvalid { .. }
            | Self::ChecksRequired { .. }
            | Self::RoomLacks { .. }
            | Self::HoldOut { .. }
            | Self::StartIsWork { .. }
            | Self::TaskGone { .. }
            | Self::StateBroken { .. }
            | Self::Journal(_)
            | Self::Damaged { .. }
            | Self::Prompt(_) => Obstacle::Invalid,
            Self::Verify(VerifyError::Io { .. }) => Obstacle::Write,
            Self::Verify(VerifyError::Glob { .. }) => Obstacle::Invalid,
            Self::Verify(error) if error.cannot_write() => Obstacle::Write,
            Self::Verify(_) => Obstacle::Repository,
            Self::Sandbox(_) | Self::Worker { .. } => Obstacle::Agent,
            Self::Agent(error) => match error {
                AgentError::Record(_) | AgentError::Prepare { .. } | AgentError::Guard(_) => {
                    Obstacle::Write
                }
                AgentError::Command { .. } => Obstacle::Invalid,
                AgentError::NotFound { .. }
                | AgentError::Start { .. }
                | AgentError::Refused { .. }
                | AgentError::Silent { .. }
                | AgentError::Lost { .. } => Obstacle::Agent,
            },
        }
    }

    /// The next step for the human, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Verify(error) => error.hint(),
            Self::Task(_) => {
                Some("restore TASK.md (see git log -- TASK.md), then start again".into())
            }
            Self::TaskGone { path, commit, .. } => Some(format!(
                "restore it: git restore --source={} -- {}, then start again",
                commit.short(),
                path.display()
            )),
            Self::TaskInvalid { .. } => Some("fix these errors, then start again".into()),
            Self::ChecksRequired { .. } => Some(
                "give each a verify command that fails until the work is done, or run without \
                 --require-checks"
                    .into(),
            ),
            Self::RoomLacks { .. } => {
                Some("add the line to the front matter of TASK.md, then start again".into())
            }
            Self::HoldOut { .. } => Some("fix the hold-out check, then start again".into()),
            Self::StartIsWork { .. } => Some(
                "get the rest of the history: `git fetch --unshallow`, then start again".into(),
            ),
            Self::Record(_)
            | Self::State(_)
            | Self::StateRead { .. }
            | Self::Recipe(RecipeError::Spill { .. }) => Some(ExitCode::Write.hint()),
            Self::Recipe(error) => error.hint(),
            Self::StateBroken { file, .. } => Some(format!(
                "restore the last good version from git (git log -- {}), or delete it, which \
                 forgets attempts and proofs",
                file.display()
            )),
            Self::Damaged { folder, .. } => Some(format!(
                "check the last commits and the working tree, then delete {}: the next run starts \
                 from what is there",
                folder.display()
            )),
            Self::Sandbox(_) | Self::Worker { .. } => {
                Some("run `ralph-copilot doctor` to see which sandbox works on this machine".into())
            }
            Self::Agent(error) => error.hint(),
            Self::Prompt(_) | Self::Journal(_) => None,
        }
    }
}

/// Only a value that cannot be written to disk is about room; the rest is about the recipe's
/// name and values, or about its runner, which takes the agent's place.
fn recipe_obstacle(error: &RecipeError) -> Obstacle {
    use RecipeError::{ContextFile, Limit, Name, Spill, Value};
    if matches!(error, Spill { .. }) {
        Obstacle::Write
    } else if matches!(error, Name { .. } | Value { .. } | ContextFile { .. } | Limit { .. }) {
        Obstacle::Invalid
    } else {
        Obstacle::Agent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_recipe_s_unwritten_value_asks_for_room() {
        let spill = RecipeError::Spill {
            operation: "write",
            path: "/tmp/value".into(),
            source: std::io::ErrorKind::StorageFull.into(),
        };
        let value = RecipeError::Value { argument: "a=b".to_owned(), why: "it is too long" };
        let missing = RecipeError::NotFound { looked: vec!["PATH".to_owned()] };
        for (error, obstacle, hint) in [
            (spill, Obstacle::Write, Some("free some space")),
            (value, Obstacle::Invalid, None),
            (missing, Obstacle::Agent, Some("ralph-copilot recipe install")),
        ] {
            let error = EngineError::from(error);
            assert_eq!(error.obstacle(), obstacle, "{error}");
            let told = error.hint();
            let expected =
                hint.is_none_or(|hint| told.as_deref().is_some_and(|it| it.contains(hint)));
            assert!(expected && told.is_some() == hint.is_some(), "{error}: {told:?}");
        }
    }
}
