//! state.json: read, written, and taken from git where it is broken.
//!
//! Invariant: a state that cannot be understood is never replaced by an empty one: the one
//! that was committed last is used, or nobody goes on. What stands in it does not live
//! here.

use std::path::Path;

use super::EngineError;
use crate::model::TaskState;
use crate::sys::{Durability, FileMode, atomic};
use crate::verify::{Layout, Repo, STATE};

/// Its format.
const VERSION: u32 = 1;

/// What is known of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredState {
    /// The state.
    pub state: TaskState,
    /// The file is broken and this is what was committed last.
    pub broken: Option<BrokenState>,
}

/// A state.json that was of no use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenState {
    /// For the human.
    pub notice: String,
    /// What stood there.
    pub bytes: Vec<u8>,
}

/// Reads state.json; a missing one is the state of a task that was never worked on.
///
/// # Errors
/// [`EngineError::StateRead`] if it cannot be read; [`EngineError::StateBroken`] if it is
/// broken and the last commit holds no better one.
pub fn load(repo: &dyn Repo, layout: &Layout) -> Result<StoredState, EngineError> {
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
    let notice = format!(
        "{} was not understood ({source}): the one that was committed last is taken",
        file.display()
    );
    Ok(StoredState { state, broken: Some(BrokenState { notice, bytes }) })
}

/// Replaces a broken state.json by what was committed last, and keeps the broken one below
/// `.ralph/runs`. Gives what to tell.
pub(super) fn repair(
    repo: &dyn Repo,
    layout: &Layout,
    runs: &Path,
) -> Result<Option<String>, EngineError> {
    let StoredState { state, broken } = load(repo, layout)?;
    let Some(BrokenState { mut notice, bytes }) = broken else { return Ok(None) };
    if !bytes.is_empty() {
        let kept = runs.join("broken-state.json");
        atomic::write(&kept, &bytes, Durability::Process, FileMode::Owner)?;
        notice.push_str(&format!("; the broken one is kept as {}", kept.display()));
    }
    write(repo.root(), layout, &state)?;
    Ok(Some(notice))
}

/// Replaces state.json as a whole.
pub(super) fn write(root: &Path, layout: &Layout, state: &TaskState) -> Result<(), EngineError> {
    let file = layout.file(STATE);
    let path = root.join(&file);
    let mut text = serde_json::to_string_pretty(state)
        .map_err(|source| EngineError::StateBroken { path: path.clone(), file, source })?;
    text.push('\n');
    atomic::write(&path, text.as_bytes(), Durability::Machine, FileMode::Umask)?;
    Ok(())
}
