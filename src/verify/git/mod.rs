//! The repository through libgit2: the only folder that names `git2`.
//!
//! Invariant: the repository is found by walking up from a directory and is opened by its path, so
//! `GIT_DIR`, `GIT_INDEX_FILE`, and the like have no effect (libgit2 reads them only when asked to,
//! and is never asked). libgit2 runs no hooks and no filter programs, and signs nothing. Not in
//! this folder: the meaning of a change.

mod alternates;
mod back;
mod branch;
mod bundle;
mod clashes;
mod content;
mod diffstat;
mod dissolve;
mod edited;
mod excludes;
mod files;
mod first_work;
mod git_repo;
mod history;
mod identity;
mod import;
mod index_follows;
mod links;
mod locks;
mod merge;
mod operation;
mod partial_clone;
mod patch;
mod pipes;
mod plain;
mod preflight;
mod room;
mod rooms;
mod settings;
mod status;
mod tracked;
mod tree_changes;
mod tree_files;
mod write;

pub use branch::BranchCommit;
pub use bundle::{BundleLimits, BundleRefs, take_bundle};
pub use clashes::clashes;
pub use excludes::{ExcludesLock, ExcludesWatch};
pub use git_repo::GitRepo;
pub(super) use patch::patch;
pub use room::{PrivateRepo, RoomSource, Tidied};
pub use settings::is_git_setting;
pub use tree_files::TreeFiles;
