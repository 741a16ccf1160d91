//! Hooks and agent settings, tracked by git or not.
//!
//! Invariant: the list in this file is complete. The judge decides about changes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use git2::{ConfigLevel, ErrorCode, Repository};
use sha2::{Digest, Sha256};

use super::git_repo::GitRepo;
use crate::verify::error::{VerifyError, io_error};
use crate::verify::fingerprint::{Fingerprint, Fingerprints};

/// Files and folders of the working tree that can widen an agent's permissions.
const SETTINGS: [&str; 9] = [
    ".github/hooks",
    ".github/copilot",
    ".github/mcp.json",
    ".claude",
    ".copilot",
    ".mcp.json",
    ".vscode/mcp.json",
    ".ralph/config.toml",
    ".ralph/templates",
];

/// A folder below them that holds whole checkouts, and no settings.
const NO_SETTINGS: &str = ".claude/worktrees";

/// Files of the git directory, in addition to its hooks, that change git's behavior.
const GIT_FILES: [&str; 7] = [
    "info/exclude",
    "info/attributes",
    "info/grafts",
    "config.worktree",
    "commondir",
    "objects/info/alternates",
    "objects/info/http-alternates",
];

/// The parts of the git directory that a sandbox with mounts keeps a command from changing.
const KEPT: [&str; 4] = ["config", "hooks", "info", "objects/info"];

/// Is this one of git's own settings that no command in a sandbox with mounts can change?
#[must_use]
pub fn is_git_setting(path: &Path) -> bool {
    path.strip_prefix(".git").is_ok_and(|part| KEPT.iter().any(|kept| part.starts_with(kept)))
}

impl GitRepo {
    pub(super) fn settings_in(&self, repo: &Repository) -> Result<Fingerprints, VerifyError> {
        let mut all = Fingerprints::default();
        let mut waiting: Vec<PathBuf> = SETTINGS.iter().map(PathBuf::from).collect();
        let mut seen = BTreeSet::new();
        while let Some(start) = waiting.pop() {
            if !seen.insert(start.clone()) {
                continue;
            }
            for path in files_below(&self.root, &start)? {
                let print = Fingerprint::of(&self.root.join(&path))?;
                if matches!(print, Fingerprint::Link(_)) {
                    waiting.extend(self.target(&path));
                }
                all.insert(path, print);
            }
        }
        let git = Path::new(".git");
        for path in files_below(&self.common_dir, Path::new("hooks"))? {
            // git puts samples there, which it never runs.
            if path.extension().is_none_or(|extension| extension != "sample") {
                let print = Fingerprint::of(&self.common_dir.join(&path))?;
                all.insert(git.join(path), print);
            }
        }
        for name in GIT_FILES {
            for dir in [&self.common_dir, &self.git_dir] {
                let print = Fingerprint::of(&dir.join(name))?;
                if print != Fingerprint::Absent {
                    all.insert(git.join(name), print);
                }
            }
        }
        // A folder, or what leads to it.
        all.insert(git.to_owned(), Fingerprint::of(&self.root.join(git))?);
        let failed = self.failed("read the configuration");
        let config = repo.config().map_err(&failed)?;
        match config.open_level(ConfigLevel::Local) {
            Ok(mut local) => {
                let hash = self.meaning(&mut local)?;
                all.insert(git.join("config"), Fingerprint::File { hash, executable: false });
            }
            Err(error) if error.code() == ErrorCode::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        if let Ok(hooks) = config.get_path("core.hooksPath") {
            let at = self.root.join(&hooks);
            for path in files_below(&at, Path::new(""))? {
                let print = Fingerprint::of(&at.join(&path))?;
                all.insert(hooks.join(path), print);
            }
        }
        self.nested(repo, &mut all)?;
        Ok(all)
    }

    /// The target of a link in the working tree, if it is inside the tree and does not contain the
    /// link.
    fn target(&self, link: &Path) -> Option<PathBuf> {
        let root = fs::canonicalize(&self.root).ok()?;
        let target = fs::canonicalize(root.join(link)).ok()?;
        let target = target.strip_prefix(root).ok()?;
        (!link.starts_with(target)).then(|| target.to_owned())
    }

    /// Repositories that git enters from this one: `git status` runs programs from their
    /// configuration. So one that a turn adds, or whose `.git` it replaces, is a change of
    /// settings.
    fn nested(&self, repo: &Repository, all: &mut Fingerprints) -> Result<(), VerifyError> {
        for tree in self.linked(repo).map_err(self.failed("read the index"))? {
            let git = tree.join(".git");
            let mut paths = vec![(git.join("config"), self.root.join(&git).join("config"))];
            paths.push((git.clone(), self.root.join(&git)));
            if let Ok(inner) = Repository::open(self.root.join(&tree)) {
                // Mostly below `.git/modules`, where a file in the tree leads.
                let folder = inner.path();
                let hooks = files_below(folder, Path::new("hooks"))?.into_iter();
                let hooks = hooks.filter(|path| path.extension().is_none_or(|it| it != "sample"));
                let files = ["config", "config.worktree", "commondir", "info/attributes"];
                let parts = hooks.chain(files.map(PathBuf::from));
                paths.extend(parts.map(|part| (git.join(&part), folder.join(&part))));
            }
            for (path, at) in paths {
                let print = Fingerprint::of(&at)?;
                if print != Fingerprint::Absent {
                    all.insert(path, print);
                }
            }
        }
        Ok(())
    }

    /// The repository's own configuration. Upstreams, editors' notes about branches, and what Git
    /// LFS writes wherever it is used change by themselves and run nothing; they are left out.
    fn meaning(&self, config: &mut git2::Config) -> Result<[u8; 32], VerifyError> {
        let failed = self.failed("read the configuration");
        let snapshot = config.snapshot().map_err(&failed)?;
        let mut entries = snapshot.entries(None).map_err(&failed)?;
        let mut hasher = Sha256::new();
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(&failed)?;
            let name = entry.name_bytes();
            let by_itself = name.starts_with(b"branch.")
                || name == b"lfs.repositoryformatversion"
                || name.starts_with(b"lfs.") && name.ends_with(b".access");
            if !by_itself {
                hasher.update(name);
                // A key alone means that it is true.
                if entry.has_value() {
                    hasher.update(b"=");
                    hasher.update(entry.value_bytes());
                }
                hasher.update(b"\n");
            }
        }
        Ok(hasher.finalize().into())
    }
}

/// The files and links below a path, relative to a root; the path itself if it is one.
pub(super) fn files_below(root: &Path, start: &Path) -> Result<Vec<PathBuf>, VerifyError> {
    let mut found = Vec::new();
    let mut waiting = vec![start.to_owned()];
    while let Some(path) = waiting.pop() {
        let at = root.join(&path);
        let Ok(meta) = fs::symlink_metadata(&at) else { continue };
        if !meta.is_dir() {
            found.push(path);
        } else if path != Path::new(NO_SETTINGS) {
            let failed = io_error("list", &at);
            for entry in fs::read_dir(&at).map_err(&failed)? {
                let entry = entry.map_err(&failed)?;
                waiting.push(path.join(entry.file_name()));
            }
        }
    }
    Ok(found)
}
