//! The state files as they were before a turn.
//!
//! Invariant: read from disk, not from git, since git may ignore a task's folder; a link is never
//! followed. Not in this file: the meaning of a change.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::{VerifyError, io_error};
use super::fingerprint::{Fingerprint, Fingerprints};
use super::layout::{GUARDRAILS, Layout, PROGRESS, TASK};
use crate::model::Task;

/// Paths to keep in the working tree when everything else is restored: the human's files, and files
/// that a human may have just edited.
///
/// # Errors
/// If one of them exists and cannot be read.
pub fn keep_list(
    root: &Path,
    human: &Fingerprints,
    files: Vec<PathBuf>,
) -> Result<Fingerprints, VerifyError> {
    let mut kept = human.clone();
    for path in files {
        let print = Fingerprint::of(&root.join(&path))?;
        kept.insert(path, print);
    }
    Ok(kept)
}

/// Their content at a checkpoint: the bytes of files that people write, and a hash of the records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateFiles {
    bytes: BTreeMap<PathBuf, Vec<u8>>,
    prints: Fingerprints,
}

impl StateFiles {
    /// Reads them; one that is absent is remembered as absent.
    ///
    /// # Errors
    /// If one exists and cannot be read.
    pub fn read(root: &Path, layout: &Layout) -> Result<Self, VerifyError> {
        let prints = Fingerprints::below(root, layout.state_files())?;
        let mut bytes = BTreeMap::new();
        for name in [TASK, PROGRESS, GUARDRAILS] {
            let path = layout.file(name);
            if let Some(Fingerprint::File { .. }) = prints.get(&path) {
                let at = root.join(&path);
                if name == TASK && fs::metadata(&at).is_ok_and(|it| it.len() > Task::MOST_BYTES) {
                    continue;
                }
                let content = fs::read(&at).map_err(io_error("read", &at))?;
                bytes.insert(path, content);
            }
        }
        Ok(Self { bytes, prints })
    }

    /// The bytes of a file that people write; none if it is absent, not a regular
    /// file, or a TASK.md that a person cannot have written.
    pub fn bytes(&self, path: &Path) -> Option<&[u8]> {
        self.bytes.get(path).map(Vec::as_slice)
    }

    /// The content of all of them.
    pub fn prints(&self) -> &Fingerprints {
        &self.prints
    }
}
