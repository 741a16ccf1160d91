//! The repository through libgit2: the only folder that names `git2`.
//!
//! Invariant: the repository is found by walking up from a directory and is opened by its
//! path, so that `GIT_DIR`, `GIT_INDEX_FILE` and the like have no say (libgit2 reads them
//! only when asked to, and is never asked). libgit2 runs no hooks, no filter programs and
//! signs nothing. What does NOT live here: what a change means.

mod back;
mod clean;
mod excludes;
mod git_repo;
mod history;
mod identity;
mod locks;
mod operation;
mod preflight;
mod settings;
mod status;
mod tracked;
mod write;

pub use excludes::{ExcludesLock, ExcludesWatch};
pub use git_repo::GitRepo;
