//! The content of a path, in a form that can be compared later.
//!
//! Invariant: links are never followed, so a link put in a file's place is a difference. Not in
//! this file: which paths matter.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::error::{VerifyError, io_error};
use crate::model::{ChangeKind, PathChange};

/// The content of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fingerprint {
    /// Nothing.
    Absent,
    /// A file: the hash of its bytes, and whether it may be executed.
    File {
        /// SHA-256.
        hash: [u8; 32],
        /// The owner's x bit.
        executable: bool,
    },
    /// A symbolic link: where it points.
    Link(PathBuf),
    /// A directory.
    Directory,
    /// A socket, a pipe, a device.
    Special,
}

impl Fingerprint {
    /// Looks at a path.
    ///
    /// # Errors
    /// If it exists and cannot be read.
    pub fn of(path: &Path) -> Result<Self, VerifyError> {
        let failed = |operation| io_error(operation, path);
        let meta = match fs::symlink_metadata(path) {
            Ok(meta) => meta,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(Self::Absent);
            }
            Err(source) => return Err(failed("look at")(source)),
        };
        let kind = meta.file_type();
        if kind.is_file() {
            let mut hasher = Sha256::new();
            let mut file = fs::File::open(path).map_err(failed("read"))?;
            io::copy(&mut file, &mut Writer(&mut hasher)).map_err(failed("read"))?;
            Ok(Self::File { hash: hasher.finalize().into(), executable: executable(&meta) })
        } else if kind.is_symlink() {
            Ok(Self::Link(fs::read_link(path).map_err(failed("read"))?))
        } else if kind.is_dir() {
            Ok(Self::Directory)
        } else {
            Ok(Self::Special)
        }
    }
}

/// `Sha256` takes bytes, `io::copy` wants a writer.
struct Writer<'a>(&'a mut Sha256);

impl io::Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn executable(meta: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    meta.permissions().mode() & 0o100 != 0
}

/// Several paths and their contents. The caller chooses the keys: relative to the repository for
/// files of the tree, for example.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprints(BTreeMap<PathBuf, Fingerprint>);

impl Fingerprints {
    /// Looks at paths below a root.
    ///
    /// # Errors
    /// If one of them cannot be read.
    pub fn below(
        root: &Path,
        paths: impl IntoIterator<Item = PathBuf>,
    ) -> Result<Self, VerifyError> {
        let mut all = BTreeMap::new();
        for path in paths {
            let print = Fingerprint::of(&root.join(&path))?;
            all.insert(path, print);
        }
        Ok(Self(all))
    }

    /// Adds one, or replaces it.
    pub fn insert(&mut self, path: PathBuf, print: Fingerprint) {
        self.0.insert(path, print);
    }

    /// The paths.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.keys().map(PathBuf::as_path)
    }

    /// The content of one of them.
    pub fn get(&self, path: &Path) -> Option<&Fingerprint> {
        self.0.get(path)
    }

    /// Is it empty?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a path is one of them.
    pub fn contains(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }

    /// Is one of them the path, below it, or in the place of one of its parent directories?
    /// Writing or removing the path would then destroy it.
    pub fn in_the_way(&self, path: &Path) -> bool {
        path.ancestors().any(|above| !above.as_os_str().is_empty() && self.contains(above))
            || self
                .0
                .range(path.to_owned()..)
                .next()
                .is_some_and(|(candidate, _)| candidate.starts_with(path))
    }

    /// The differences in a later look at the same paths.
    pub fn differences(&self, later: &Self) -> Vec<PathChange> {
        let all: BTreeSet<&PathBuf> = self.0.keys().chain(later.0.keys()).collect();
        all.into_iter()
            .filter_map(|path| {
                let there =
                    |prints: &Self| prints.0.get(path).cloned().unwrap_or(Fingerprint::Absent);
                let kind = match (there(self), there(later)) {
                    (before, after) if before == after => return None,
                    (Fingerprint::Absent, _) => ChangeKind::Added,
                    (_, Fingerprint::Absent) => ChangeKind::Deleted,
                    (_, _) => ChangeKind::Modified,
                };
                Some(PathChange { path: path.clone(), kind })
            })
            .collect()
    }

    /// Takes the later content of the chosen paths for the recorded one. Returns those that differed.
    pub fn take_over(&mut self, later: &Self, chosen: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        let differences = self.differences(later).into_iter().map(|change| change.path);
        let taken: Vec<PathBuf> = differences.filter(|path| chosen(path)).collect();
        for path in &taken {
            match later.0.get(path) {
                Some(print) => self.0.insert(path.clone(), print.clone()),
                None => self.0.remove(path),
            };
        }
        taken
    }

    /// The differences between the recorded and the current content.
    ///
    /// # Errors
    /// If a path cannot be read.
    pub fn changed_below(&self, root: &Path) -> Result<Vec<PathChange>, VerifyError> {
        Ok(self.differences(&Self::below(root, self.0.keys().cloned())?))
    }
}
