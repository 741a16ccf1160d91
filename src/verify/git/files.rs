//! Trees: read, compared, and laid over each other.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use git2::{ObjectType, Repository};

use super::edited::{edited, is_folder, make_way};
use super::git_repo::GitRepo;
use super::locks::patiently;
use super::plain::oid;
use super::tree_files::{TreeFiles, bytes_of, entries, kind};
use crate::model::{Oid, PathChange};
use crate::verify::classify::{EntryKind, FileEntry, TreeEdit};
use crate::verify::error::VerifyError;

impl GitRepo {
    /// The files of a commit or a tree, with edits laid over it.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn files(&self, tree: &Oid, edits: &[TreeEdit]) -> Result<TreeFiles, VerifyError> {
        let failed = self.failed("read a tree");
        let repo = Repository::open(&self.git_dir).map_err(&failed)?;
        let root = self.tree(&repo, tree)?;
        let mut entries = entries(&root).map_err(&failed)?;
        drop(root);
        let mut edited = BTreeMap::new();
        for edit in edits {
            match edit {
                TreeEdit::Write { path, kind, bytes } => {
                    let id = match kind {
                        EntryKind::Gitlink => git2::Oid::from_bytes(bytes),
                        EntryKind::Regular { .. } | EntryKind::Link => {
                            git2::Oid::hash_object(ObjectType::Blob, bytes)
                        }
                    };
                    let id = id.map_err(&failed)?;
                    let entry = FileEntry { kind: *kind, id: bytes_of(id) };
                    make_way(&mut entries, path);
                    entries.insert(path.clone(), entry);
                    if *kind != EntryKind::Gitlink {
                        edited.insert(path.clone(), bytes.clone());
                    }
                }
                TreeEdit::Remove { path } => {
                    entries.remove(path);
                }
            }
        }
        Ok(TreeFiles { repo, entries, edited, unreadable: OnceCell::new() })
    }

    /// A tree like `base`, but with these paths as `from` has them. Both may be commits.
    ///
    /// # Errors
    /// If an object cannot be read or written.
    pub fn laid_over(&self, base: &Oid, from: &Oid, paths: &[PathBuf]) -> Result<Oid, VerifyError> {
        let repo = &*self.lock();
        let failed = self.failed("write a tree");
        let (base, from) = (self.tree(repo, base)?, self.tree(repo, from)?);
        let mut edits = Vec::new();
        for path in paths {
            let path = path.clone();
            edits.push(match from.get_path(&path) {
                Ok(_) if is_folder(&from, &path) => TreeEdit::Remove { path },
                Ok(entry) => {
                    let blob = repo.find_blob(entry.id());
                    // An entry that is not a blob is a submodule's commit.
                    let bytes = blob.map_or_else(
                        |_| entry.id().as_bytes().to_vec(),
                        |blob| blob.content().to_vec(),
                    );
                    TreeEdit::Write { path, kind: kind(entry.filemode()), bytes }
                }
                Err(_) => TreeEdit::Remove { path },
            });
        }
        edited(repo, &base, &edits).map(oid).map_err(failed)
    }

    pub(super) fn between_in(
        &self,
        repo: &Repository,
        before: &Oid,
        after: &Oid,
    ) -> Result<Vec<PathChange>, VerifyError> {
        let (before, after) = (self.tree(repo, before)?, self.tree(repo, after)?);
        self.difference(repo, Some(&before), &after)
    }

    /// Points a ref to a commit or a tree, whatever it named before.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep(&self, name: &str, object: &Oid) -> Result<(), VerifyError> {
        let repo = &*self.lock();
        let failed = self.failed("write a ref");
        let id = git2::Oid::from_str(object.as_str()).map_err(&failed)?;
        patiently(|| repo.reference(name, id, true, "ralph-copilot: keep").map(drop))
            .map_err(&failed)
    }

    /// The tree of a commit, or the tree of that name.
    pub(super) fn tree<'r>(
        &self,
        repo: &'r Repository,
        id: &Oid,
    ) -> Result<git2::Tree<'r>, VerifyError> {
        git2::Oid::from_str(id.as_str())
            .and_then(|id| repo.find_object(id, None))
            .and_then(|object| object.peel_to_tree())
            .map_err(self.failed("read a tree"))
    }
}
