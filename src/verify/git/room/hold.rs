//! A commit, and a tree in addition to it, brought into the room.
//!
//! Invariant: only differences from the room's content are written, so that builds stay warm;
//! written files get the current time, so that builds notice them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use git2::build::CheckoutBuilder;
use git2::{Commit, ErrorCode, Index, Repository};

use super::{Held, KeptIndex, PrivateRepo, RoomSource, failed};
use crate::model::Oid;
use crate::sys::{remove_any, remove_tree};
use crate::verify::error::{VerifyError, io_error};
use crate::verify::git::plain::{path, read_or_empty};

use crate::verify::classify::{EntryKind, TreeEdit};
use crate::verify::git::edited::edited;
use crate::verify::git::tree_changes::{TreeChange, tree_changes};
use crate::verify::git::tree_files::kind;

/// The mode of a submodule in an index.
const GITLINK: u32 = 0o160_000;

/// The files that were written to show another tree.
#[derive(Default)]
struct Brought {
    written: Vec<PathBuf>,
    gone: Vec<PathBuf>,
    /// Is there a submodule among it?
    modules: bool,
}

impl PrivateRepo {
    /// Holds a commit, with edits of its tree: those of the human, which are not committed, and
    /// others. The latter are part of the commit at HEAD, since a check may clone the room. Returns
    /// the files that a filter program still has to make (see [`PrivateRepo::made`]).
    ///
    /// # Errors
    /// If an object is missing, its content does not match its name, or a file cannot be
    /// written.
    pub fn hold(
        &mut self,
        commit: &Oid,
        (human, edits): (&[TreeEdit], &[TreeEdit]),
    ) -> Result<Vec<PathBuf>, VerifyError> {
        let failed = failed("bring a commit into the proof room", &self.work);
        if self.held.is_none() {
            self.keep_patterns();
        }
        let id = git2::Oid::from_str(commit.as_str()).map_err(&failed)?;
        self.reset(Some(id), self.held.as_ref().map(|held| &held.index))?;
        let repo = self.open()?;
        let base = repo.find_commit(id).map_err(&failed)?;
        let head = with_edits(&repo, &base, edits).map_err(&failed)?;
        let all = [human, edits].concat();
        let tree = base.tree().and_then(|tree| edited(&repo, &tree, &all)).map_err(&failed)?;
        let before = self.held.as_ref().map(|held| held.tree);
        let Brought { written: differ, gone, modules } =
            self.bring(&repo, before, tree).map_err(&failed)?;
        if modules || !self.modules.is_empty() {
            self.submodules(&repo.index().map_err(&failed)?)?;
        }
        self.made.retain(|path, _| !differ.contains(path));
        self.pointers.retain(|path| !differ.contains(path) && !gone.contains(path));
        let waiting = self.filtered(&repo, &differ)?;
        drop(base);
        self.point_at(head)?;
        self.held = Some(Held { commit: id, head, tree, index: KeptIndex::default() });
        self.keep_index()?;
        Ok(waiting)
    }

    /// Records the current state of the index.
    pub(super) fn keep_index(&mut self) -> Result<(), VerifyError> {
        let path = self.git("index");
        let bytes = read_or_empty(&path)?.into();
        let written = fs::metadata(path).and_then(|meta| meta.modified()).ok();
        if let Some(held) = &mut self.held {
            held.index = KeptIndex { bytes, written };
        }
        Ok(())
    }

    /// Writes the differences between two trees, and updates the index.
    fn bring(
        &self,
        repo: &Repository,
        before: Option<git2::Oid>,
        after: git2::Oid,
    ) -> Result<Brought, git2::Error> {
        let old = before.map(|tree| repo.find_tree(tree)).transpose()?;
        let new = repo.find_tree(after)?;
        let mut brought = Brought::default();
        for TreeChange { path, old, new } in tree_changes(repo, old.as_ref(), &new)? {
            if old.is_some_and(|old| !new.is_some_and(|new| new.is_alike(old))) {
                remove(&self.work, &path)
                    .map_err(|error| git2::Error::from_str(&error.to_string()))?;
                brought.gone.push(path.clone());
            }
            if let Some(new) = new {
                brought.modules |= kind(new.mode) == EntryKind::Gitlink;
                brought.written.push(path);
            }
        }
        if !brought.gone.is_empty() {
            let mut index = repo.index()?;
            for gone in &brought.gone {
                drop(index.remove_path(gone));
            }
            index.write()?;
        }
        if brought.written.is_empty() {
            return Ok(brought);
        }
        let mut checkout = CheckoutBuilder::new();
        checkout.force().disable_pathspec_match(true);
        if before.is_some() {
            for wanted in &brought.written {
                checkout.path(wanted.as_os_str().as_encoded_bytes());
            }
        }
        repo.checkout_tree(new.as_object(), Some(&mut checkout))?;
        Ok(brought)
    }

    /// Fills the submodules as the index requires. One whose commit is not here stays empty, as in
    /// a clone.
    fn submodules(&mut self, index: &Index) -> Result<(), VerifyError> {
        let wanted: BTreeMap<PathBuf, git2::Oid> = index
            .iter()
            .filter(|entry| entry.mode == GITLINK)
            .map(|entry| (path(&entry.path), entry.id))
            .collect();
        self.modules.retain(|at, _| wanted.contains_key(at));
        self.empty_modules.clear();
        for (at, commit) in wanted {
            if !self.modules.contains_key(&at) {
                let Some(source) = self.module(&at) else {
                    self.empty_modules.insert(at);
                    continue;
                };
                let (work, number) = (self.work.join(&at), self.modules.len());
                let objects = self.objects.join(format!("module-{number}"));
                let module = Self::new(source, work, objects, "refs/heads/main".to_owned())?;
                self.modules.insert(at.clone(), module);
            }
            let Some(module) = self.modules.get_mut(&at) else { continue };
            match module.hold(&Oid::new(commit.to_string()), (&[], &[])) {
                Err(VerifyError::Git { source, .. }) if is_missing(&*source) => {
                    self.modules.remove(&at);
                    let folder = self.work.join(&at);
                    remove_tree(&folder)
                        .and_then(|()| fs::create_dir(&folder))
                        .map_err(io_error("empty", &folder))?;
                    self.empty_modules.insert(at);
                }
                held => drop(held?),
            }
        }
        Ok(())
    }

    /// Where the objects of a submodule are.
    fn module(&self, at: &Path) -> Option<RoomSource> {
        let known = self.source.modules.get(at).cloned();
        known.or_else(|| {
            let git_dir = self.source.objects.parent()?.join("modules").join(at);
            git_dir.join("objects").is_dir().then(|| RoomSource::only_objects(&git_dir))
        })
    }
}

/// The commit, or one like it with edits of its tree.
fn with_edits(
    repo: &Repository,
    commit: &Commit<'_>,
    edits: &[TreeEdit],
) -> Result<git2::Oid, git2::Error> {
    if edits.is_empty() {
        return Ok(commit.id());
    }
    let tree = repo.find_tree(edited(repo, &commit.tree()?, edits)?)?;
    let parents: Vec<Commit<'_>> = commit.parents().collect();
    let parents: Vec<&Commit<'_>> = parents.iter().collect();
    let message = String::from_utf8_lossy(commit.message_bytes());
    repo.commit(None, &commit.author(), &commit.committer(), &message, &tree, &parents)
}

/// Does the repository lack an object?
fn is_missing(error: &(dyn std::error::Error + 'static)) -> bool {
    let error = error.downcast_ref::<git2::Error>();
    error.is_some_and(|error| error.code() == ErrorCode::NotFound)
}

/// Removes a file, and the folders that are empty then. Never follows a link.
pub(super) fn remove(root: &Path, relative: &Path) -> std::io::Result<()> {
    let mut at = root.to_owned();
    let parents = relative.parent().into_iter().flat_map(Path::components);
    for part in parents {
        at.push(part);
        match fs::symlink_metadata(&at) {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) | Err(_) => return Ok(()),
        }
    }
    remove_any(&root.join(relative))?;
    for above in relative.ancestors().skip(1).filter(|above| *above != Path::new("")) {
        if fs::remove_dir(root.join(above)).is_err() {
            break;
        }
    }
    Ok(())
}
