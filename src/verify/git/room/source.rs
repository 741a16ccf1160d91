//! The files of a proof room that come from a repository, as it was before the agent worked.
//!
//! Invariant: only objects are read from the repository later, and their content is checked
//! against their names. Refs, settings, and patterns are those of the start.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use git2::{ConfigEntry, Repository, Submodule};

use crate::verify::error::{VerifyError, io_error};
use crate::verify::git::alternates::alternates;
use crate::verify::git::plain::read_or_empty;

/// The settings that decide how a blob becomes a file.
const CORE: [&str; 6] = [
    "core.autocrlf",
    "core.eol",
    "core.symlinks",
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
];

/// Files of a git folder that a room has, too. A shallow history has to stay one, or git looks
/// for parents that are not there.
const FILES: [&str; 3] = ["shallow", "info/exclude", "info/attributes"];

/// A repository as a run found it.
#[derive(Clone, Debug, Default)]
pub struct RoomSource {
    /// Its objects.
    pub(super) objects: PathBuf,
    /// The folders that it borrows objects from.
    pub(super) alternates: Vec<PathBuf>,
    /// Its large files (git-lfs).
    pub(super) large: PathBuf,
    /// Its branches and tags, in the format of `packed-refs`.
    pub(super) refs: Vec<u8>,
    pub(super) files: Vec<(&'static str, Vec<u8>)>,
    pub(super) config: Vec<(String, String)>,
    /// Its submodules, by their paths.
    pub(super) modules: BTreeMap<PathBuf, RoomSource>,
}

impl RoomSource {
    /// The existing files.
    pub(in crate::verify::git) fn of(
        repo: &Repository,
        submodules: Vec<Submodule<'_>>,
    ) -> Result<Self, VerifyError> {
        let common = repo.commondir().to_owned();
        let failed = |source: git2::Error| VerifyError::Git {
            operation: "read the repository for the proof room",
            path: common.clone(),
            source: Box::new(source),
        };
        let mut files = Vec::new();
        for name in FILES {
            let bytes = read_or_empty(&common.join(name))?;
            if !bytes.is_empty() {
                files.push((name, bytes));
            }
        }
        let mut modules = BTreeMap::new();
        // A submodule that is not checked out has no objects to take.
        for module in submodules {
            if let Ok(inner) = module.open() {
                let nested = inner.submodules().map_err(failed)?;
                modules.insert(module.path().to_owned(), Self::of(&inner, nested)?);
            }
        }
        let objects = common.join("objects");
        Ok(Self {
            alternates: alternates(&objects).unwrap_or_default(),
            objects: fs::canonicalize(&objects).map_err(io_error("resolve", &objects))?,
            large: common.join("lfs/objects"),
            refs: packed(repo).map_err(failed)?,
            files,
            config: settings(repo).map_err(failed)?,
            modules,
        })
    }

    /// One without anything of the start: of a submodule that the agent added, only the objects
    /// count.
    pub(super) fn only_objects(git_dir: &Path) -> Self {
        Self {
            objects: git_dir.join("objects"),
            large: git_dir.join("lfs/objects"),
            ..Self::default()
        }
    }
}

/// Branches and tags.
fn packed(repo: &Repository) -> Result<Vec<u8>, git2::Error> {
    let mut refs = Vec::new();
    for reference in repo.references()? {
        let reference = reference?;
        let name = reference.name_bytes();
        let wanted = [b"refs/heads/".as_slice(), b"refs/tags/", b"refs/remotes/"];
        if let Some(id) = reference.target()
            && wanted.iter().any(|folder| name.starts_with(folder))
        {
            refs.push((name.to_owned(), id));
        }
    }
    refs.sort();
    let mut packed = Vec::new();
    for (name, id) in refs {
        packed.extend_from_slice(format!("{id} ").as_bytes());
        packed.extend_from_slice(&name);
        packed.push(b'\n');
    }
    Ok(packed)
}

/// The settings that decide how a blob becomes a file, including filter programs. These run only in
/// the room.
fn settings(repo: &Repository) -> Result<Vec<(String, String)>, git2::Error> {
    let config = repo.config()?.snapshot()?;
    let mut found = Vec::new();
    let mut take = |entry: &ConfigEntry<'_>| {
        // A key alone means that it is true.
        let value = if entry.has_value() { entry.value() } else { Ok("true") };
        if let (Ok(name), Ok(value)) = (entry.name(), value) {
            found.push((name.to_owned(), value.to_owned()));
        }
    };
    for key in CORE {
        if let Ok(entry) = config.get_entry(key) {
            take(&entry);
        }
    }
    let mut entries = config.entries(Some("^filter\\."))?;
    while let Some(entry) = entries.next() {
        take(entry?);
    }
    Ok(found)
}
