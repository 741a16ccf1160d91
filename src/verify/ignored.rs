//! What git ignores and a check may need all the same: `node_modules`, `target`, `.env`.
//!
//! Invariant: in a clean worktree only such ignored entries are there as were there before
//! the run. One that changed since is left out, for the agent may have put into it what
//! the check looks for; only the folders that package managers and compilers keep for
//! themselves may change or be new, and even those are left out when a verify command names a path
//! inside them. What does NOT live here: which paths git ignores.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::layout::Layout;

/// Folders that tools keep for themselves and change whenever they run.
const TOOL_FOLDERS: [&str; 22] = [
    "node_modules",
    "bower_components",
    "target",
    "vendor",
    ".venv",
    "venv",
    ".tox",
    ".nox",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".gradle",
    ".m2",
    ".cargo",
    ".next",
    ".turbo",
    ".parcel-cache",
    ".yarn",
    ".pnpm-store",
    ".bundle",
    ".stack-work",
];

/// An ignored folder with more entries than this is not looked through; it counts as changed.
const ENTRIES: usize = 300_000;

/// The ignored entries of a working tree as they were before any work. A folder that is
/// ignored as a whole is one entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    path: PathBuf,
    /// None: too large to say.
    stamp: Option<[u8; 32]>,
}

/// Which ignored entries a clean worktree gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linked {
    /// As links to the originals.
    pub links: Vec<PathBuf>,
    /// Not at all, because they changed since the run began.
    pub left_out: Vec<PathBuf>,
}

impl Environment {
    /// Looks at ignored entries, given relative to the root. The runner's own files, which
    /// change all the time, are not counted.
    pub(super) fn look(root: &Path, layout: &Layout, entries: Vec<PathBuf>) -> Self {
        let own: Vec<_> = [".ralph/runs", ".ralph/audit"].map(PathBuf::from).into();
        let entries = entries
            .into_iter()
            .filter(|path| !own.contains(path) && !layout.is_state_file(path))
            .map(|path| Entry { stamp: stamp(root, layout, &own, &path), path })
            .collect();
        Self { entries }
    }

    /// Which entries may be linked into a clean worktree in which these commands run.
    /// `present` are the entries that git ignores now: a tool's folder that came into
    /// being during the run, as after `npm ci`, is linked like one that was there.
    pub fn linked(
        &self,
        root: &Path,
        layout: &Layout,
        commands: &[String],
        present: &[PathBuf],
    ) -> Linked {
        let now = Self::look(root, layout, self.entries.iter().map(|e| e.path.clone()).collect());
        let named: BTreeSet<PathBuf> =
            commands.iter().flat_map(|command| super::named_files::paths_in(command)).collect();
        let mut linked = Linked::default();
        for (before, now) in self.entries.iter().zip(&now.entries) {
            if fs::symlink_metadata(root.join(&before.path)).is_err() {
                continue;
            }
            let unchanged = before.stamp.is_some() && before.stamp == now.stamp;
            if unchanged || may_change(&before.path, &named) {
                linked.links.push(before.path.clone());
            } else {
                linked.left_out.push(before.path.clone());
            }
        }
        let known = |path: &PathBuf| self.entries.iter().any(|entry| entry.path == *path);
        let new = present.iter().filter(|path| !known(path));
        linked.links.extend(new.filter(|path| may_change(path, &named)).cloned());
        linked
    }
}

/// Whether a path is a tool's own folder that no command looks into.
fn may_change(path: &Path, named: &BTreeSet<PathBuf>) -> bool {
    let of_a_tool = path
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| TOOL_FOLDERS.contains(&name));
    of_a_tool && !named.iter().any(|looked| looked.starts_with(path))
}

/// A hash over names, sizes, times and modes: reading every byte of `node_modules` would
/// take longer than the checks.
fn stamp(root: &Path, layout: &Layout, own: &[PathBuf], path: &Path) -> Option<[u8; 32]> {
    let mut hasher = Sha256::new();
    let mut waiting = vec![path.to_owned()];
    let mut seen = 0;
    while let Some(path) = waiting.pop() {
        seen += 1;
        if seen > ENTRIES {
            return None;
        }
        if own.contains(&path) || layout.is_state_file(&path) {
            continue;
        }
        let at = root.join(&path);
        let meta = fs::symlink_metadata(&at).ok()?;
        hasher.update(path.as_os_str().as_encoded_bytes());
        hasher.update([0]);
        if meta.is_dir() {
            let mut inside: Vec<_> = fs::read_dir(&at)
                .ok()?
                .map(|entry| entry.map(|entry| path.join(entry.file_name())))
                .collect::<Result<_, _>>()
                .ok()?;
            inside.sort();
            waiting.extend(inside);
        } else {
            hasher.update(meta.len().to_le_bytes());
            let modified = meta.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
            hasher.update(modified.as_nanos().to_le_bytes());
            hasher.update(identity(&meta));
        }
    }
    Some(hasher.finalize().into())
}

/// Size and modification time can be forged by whoever wants to; the change time cannot.
#[cfg(unix)]
fn identity(meta: &fs::Metadata) -> [u8; 20] {
    use std::os::unix::fs::MetadataExt;
    let mut bytes = [0; 20];
    bytes[..4].copy_from_slice(&meta.mode().to_le_bytes());
    bytes[4..12].copy_from_slice(&meta.ctime().to_le_bytes());
    bytes[12..].copy_from_slice(&meta.ctime_nsec().to_le_bytes());
    bytes
}

#[cfg(not(unix))]
fn identity(_meta: &fs::Metadata) -> [u8; 0] {
    []
}
