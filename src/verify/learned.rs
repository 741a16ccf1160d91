//! Additions to the harness: tests that the proof of a criterion rested on, and human commits.
//!
//! Invariant: a test that an agent changed keeps its old content.

use std::path::PathBuf;

use globset::GlobSet;

use super::classify::{Role, SourceTree as _, Table};
use super::error::VerifyError;
use super::git::GitRepo;
use super::layout::Layout;
use crate::model::{Oid, PathChange};

/// The harness after a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learned {
    /// A tree.
    pub harness: Oid,
    /// The task allowed changes of old tests: there may be fewer than at the start.
    pub fewer_tests: bool,
}

/// Adds the files that a proof at `commit` rested on: new tests, and those that the task allows to
/// change. `None` if there are none.
///
/// # Errors
/// If trees cannot be read or written.
pub fn learned(
    repo: &GitRepo,
    harness: &Oid,
    commit: &Oid,
    changed: &[PathChange],
    (table, may_change): (&Table, &GlobSet),
) -> Result<Option<Learned>, VerifyError> {
    let known = repo.files(harness, &[])?;
    // A manifest is put back by its parts: the proof did not rest on what was taken out of it.
    let is_test = |change: &&PathChange| table.role(&change.path) != Some(Role::Manifest);
    let added = changed.iter().filter(is_test);
    let added = added.filter(|change| !known.paths().contains_key(&change.path));
    let allowed = match may_change.is_empty() {
        true => Vec::new(),
        false => repo.between(harness, commit)?,
    };
    let allowed = allowed.iter().filter(|change| may_change.is_match(&change.path));
    let fewer_tests = allowed.clone().next().is_some();
    let new = added.chain(allowed).map(|change| change.path.clone());
    let new: Vec<PathBuf> = new.collect();
    if new.is_empty() {
        return Ok(None);
    }
    Ok(Some(Learned { harness: repo.laid_over(harness, commit, &new)?, fewer_tests }))
}

/// Adds the humans' commits after `from`, up to `to`, to a harness. `None` if they change only
/// state files.
///
/// # Errors
/// If trees cannot be read or written.
pub fn with_human(
    repo: &GitRepo,
    layout: &Layout,
    harness: &Oid,
    (from, to): (&Oid, &Oid),
) -> Result<Option<Oid>, VerifyError> {
    let paths = repo.between(from, to)?.into_iter().map(|change| change.path);
    let paths: Vec<PathBuf> = paths.filter(|path| !layout.is_state_file(path)).collect();
    (!paths.is_empty()).then(|| repo.laid_over(harness, to, &paths)).transpose()
}
