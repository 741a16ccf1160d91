//! Repairs that a verdict asks for, made on disk and in git.
//!
//! Invariant: before anything is overwritten, the attempt is kept under its ref, with the state
//! files even if git ignores them; the human's files are not touched. Not in this file: the
//! progress line and the state commit, which are written with every iteration's record anyway, and
//! held work.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::{VerifyError, io_error};
use super::fingerprint::Fingerprints;
use super::git::GitRepo;
use super::layout::{Layout, TASK};
use super::repo::{Identity, SavedAttempt};
use super::state::{StateFiles, keep_list};
use crate::model::{Checkpoint, Oid, Repair};
use crate::sys::{Durability, FileMode, atomic, remove_any};

/// The input of a repair.
#[derive(Clone, Copy)]
pub struct RepairContext<'a> {
    /// The task's name and folder.
    pub layout: &'a Layout,
    /// Where the repository stood before the turn.
    pub checkpoint: &'a Checkpoint,
    /// The commit before the first attempt at the criterion: protected files are put back
    /// to it.
    pub origin: &'a Oid,
    /// The state files before the turn.
    pub state: &'a StateFiles,
    /// The human's uncommitted files.
    pub human: &'a Fingerprints,
    /// The next free number of an attempt's ref.
    pub number: u32,
    /// Who commits.
    pub identity: &'a Identity,
    /// TASK.md as it was before the turn, with the tick of the focus or without.
    pub restore_task: &'a dyn Fn(KeepTick) -> Vec<u8>,
    /// TASK.md as given, without the tick of the focus.
    pub untick: &'a dyn Fn(&[u8]) -> Vec<u8>,
}

/// Whether the tick of the focus survives when TASK.md is put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepTick {
    /// It is proven.
    Yes,
    /// It is not.
    No,
}

/// The repairs that were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repairs {
    /// The attempt, if it had to be kept.
    pub saved: Option<SavedAttempt>,
    /// Paths that could not be put back, because the human's files are in their way or
    /// they are repositories.
    pub left: Vec<PathBuf>,
    /// The commit that puts protected files back, if one was needed.
    pub commit: Option<Oid>,
}

/// Makes the repairs. `ProgressLine` and `StateCommit` are left to the caller.
///
/// # Errors
/// If the attempt cannot be kept (then nothing was changed), or a file not be written.
pub fn repair(
    repo: &GitRepo,
    wanted: &[Repair],
    context: &RepairContext<'_>,
) -> Result<Repairs, VerifyError> {
    let mut repairs = Repairs::default();
    let overwrites = |repair: &Repair| match repair {
        Repair::BackToCheckpoint | Repair::RestoreFile(_) | Repair::RestoreTask { .. } => true,
        Repair::Untick | Repair::Hold | Repair::ProgressLine | Repair::StateCommit => false,
    };
    if wanted.contains(&Repair::BackToCheckpoint) {
        // The attempt then holds their files.
        repo.dissolve(&context.checkpoint.head, context.human)?;
    }
    if wanted.iter().any(overwrites) {
        let message = format!("{}attempt", context.layout.prefix());
        let saved = repo.save_attempt(context.layout, context.number, &message, context.human)?;
        repairs.saved = Some(saved);
    }
    let mut protected = Vec::new();
    for repair in wanted {
        match repair {
            Repair::BackToCheckpoint => {
                // State files have their own repairs, which distinguish the author of a change: a
                // human may have edited one of them meanwhile.
                let keep = keep_list(repo.root(), context.human, context.layout.state_files())?;
                repairs.left = repo.back_to(context.checkpoint, &keep)?;
            }
            Repair::RestoreTask { keep_tick } => {
                let keep = if *keep_tick { KeepTick::Yes } else { KeepTick::No };
                write(repo.root(), &context.layout.file(TASK), &(context.restore_task)(keep))?;
            }
            Repair::Untick => {
                let path = context.layout.file(TASK);
                let now = StateFiles::read(repo.root(), context.layout)?;
                if let Some(bytes) = now.bytes(&path) {
                    write(repo.root(), &path, &(context.untick)(bytes))?;
                }
            }
            Repair::RestoreFile(path) if context.layout.is_state_file(path) => {
                match context.state.bytes(path) {
                    Some(bytes) => write(repo.root(), path, bytes)?,
                    None => {
                        let at = repo.root().join(path);
                        remove_any(&at).map_err(io_error("remove", &at))?;
                    }
                }
            }
            Repair::RestoreFile(path) => {
                if !context.human.in_the_way(path) {
                    protected.push(path.clone());
                }
            }
            Repair::Hold | Repair::ProgressLine | Repair::StateCommit => {}
        }
    }
    if !protected.is_empty() {
        repo.restore(context.origin, &protected)?;
        let message = format!("{}put protected files back", context.layout.prefix());
        repairs.commit =
            repo.commit_paths(&context.checkpoint.branch, &protected, &message, context.identity)?;
    }
    Ok(repairs)
}

/// Replaces a file as a whole, with the mode it had; a link in its place is replaced, and
/// never written through.
fn write(root: &Path, path: &Path, bytes: &[u8]) -> Result<(), VerifyError> {
    let at = root.join(path);
    let failed = io_error("write", &at);
    if fs::symlink_metadata(&at).is_ok_and(|meta| meta.is_dir()) {
        fs::remove_dir_all(&at).map_err(&failed)?;
    }
    fs::create_dir_all(at.parent().unwrap_or(root)).map_err(&failed)?;
    Ok(atomic::write(&at, bytes, Durability::Machine, FileMode::Umask)?)
}
