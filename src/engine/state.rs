//! state.json: read, written, and restored from git if it is broken.
//!
//! Invariant: a broken file is never replaced by an empty state. The last committed one is
//! used, or the run stops. The state's fields live in `model`.

use std::path::Path;

use super::EngineError;
use crate::model::TaskState;
use crate::sys::{Durability, FileMode, atomic};
use crate::verify::{GitRepo, Layout, STATE};

/// The version of the format.
const VERSION: u32 = 1;

/// A task's state as read from disk or git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredState {
    /// The state.
    pub state: TaskState,
    /// Set if the file is broken, and `state` is the last committed one.
    pub broken: Option<BrokenState>,
}

/// A state.json that could not be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenState {
    /// The message for the human.
    pub notice: String,
    /// The file's content.
    pub bytes: Vec<u8>,
}

/// Reads state.json. A missing file is the state of a new task.
///
/// # Errors
/// [`EngineError::StateRead`] if it cannot be read; [`EngineError::StateBroken`] if it is broken
/// and so is the last committed one.
pub fn load(repo: &GitRepo, layout: &Layout) -> Result<StoredState, EngineError> {
    let file = layout.file(STATE);
    let path = repo.root().join(&file);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let state = TaskState { version: VERSION, ..TaskState::default() };
            return Ok(StoredState { state, broken: None });
        }
        Err(source) => return Err(EngineError::StateRead { path, source }),
    };
    let source = match serde_json::from_slice(&bytes) {
        Ok(state) => return Ok(StoredState { state, broken: None }),
        Err(source) => source,
    };
    let head = repo.checkpoint()?.head;
    let committed = repo.held(&head, &file)?.and_then(|held| serde_json::from_slice(&held).ok());
    let Some(state) = committed else {
        return Err(EngineError::StateBroken { path, file, source });
    };
    let notice =
        format!("{} cannot be parsed ({source}): using the last committed one", file.display());
    Ok(StoredState { state, broken: Some(BrokenState { notice, bytes }) })
}

/// Replaces a broken state.json with the last committed one, and saves the broken one below
/// `.ralph/runs`. Returns the message for the human.
pub(super) fn repair(
    repo: &GitRepo,
    layout: &Layout,
    runs: &Path,
) -> Result<Option<String>, EngineError> {
    let StoredState { state, broken } = load(repo, layout)?;
    let Some(BrokenState { mut notice, bytes }) = broken else { return Ok(None) };
    if !bytes.is_empty() {
        let kept = runs.join("broken-state.json");
        atomic::write(&kept, &bytes, Durability::Process, FileMode::Owner)?;
        notice.push_str(&format!("; the broken file is saved as {}", kept.display()));
    }
    write(repo.root(), layout, &state)?;
    Ok(Some(notice))
}

/// Writes state.json.
pub(super) fn write(root: &Path, layout: &Layout, state: &TaskState) -> Result<(), EngineError> {
    let file = layout.file(STATE);
    let path = root.join(&file);
    let mut text = serde_json::to_string_pretty(state)
        .map_err(|source| EngineError::StateBroken { path: path.clone(), file, source })?;
    text.push('\n');
    atomic::write(&path, text.as_bytes(), Durability::Machine, FileMode::Umask)?;
    Ok(())
}
