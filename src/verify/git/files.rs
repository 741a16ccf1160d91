//! Trees: read, compared, and laid over each other.

use std::collections::BTreeMap;
use std::path::PathBuf;

use git2::{ObjectType, Repository, TreeWalkMode, TreeWalkResult};

use super::edited::edited;
use super::git_repo::GitRepo;
use super::locks::patiently;
use super::plain::{oid, path};
use super::tree_files::TreeFiles;
use crate::model::{Oid, PathChange};
use crate::verify::error::VerifyError;
use crate::verify::harness::{EntryKind, FileEntry, TreeEdit};

impl GitRepo {
    pub(super) fn files_in(
        &self,
        tree: &Oid,
        edits: &[TreeEdit],
    ) -> Result<TreeFiles, VerifyError> {
        let failed = self.failed("read a tree");
        let repo = Repository::open(&self.git_dir).map_err(&failed)?;
        let mut entries = BTreeMap::new();
        let id = git2::Oid::from_str(tree.as_str()).map_err(&failed)?;
        let object = repo.find_object(id, None).map_err(&failed)?;
        let root = object.peel_to_tree().map_err(&failed)?;
        root.walk(TreeWalkMode::PreOrder, |folder, entry| {
            if entry.kind() != Some(ObjectType::Tree) {
                let name = [folder.as_bytes(), entry.name_bytes()].concat();
                let mut id = [0; 20];
                id.copy_from_slice(&entry.id().as_bytes()[..20]);
                entries.insert(path(&name), FileEntry { kind: kind(entry.filemode()), id });
            }
            TreeWalkResult::Ok
        })
        .map_err(&failed)?;
        drop(root);
        drop(object);
        let mut edited = BTreeMap::new();
        for edit in edits {
            match edit {
                TreeEdit::Write { path, kind, bytes } => {
                    let id = git2::Oid::hash_object(ObjectType::Blob, bytes).map_err(&failed)?;
                    let mut name = [0; 20];
                    name.copy_from_slice(&id.as_bytes()[..20]);
                    entries.insert(path.clone(), FileEntry { kind: *kind, id: name });
                    edited.insert(path.clone(), bytes.clone());
                }
                TreeEdit::Remove { path } => {
                    entries.remove(path);
                }
            }
        }
        Ok(TreeFiles { repo, entries, edited })
    }
}

impl GitRepo {
    pub(super) fn laid_in(
        &self,
        repo: &Repository,
        base: &Oid,
        from: &Oid,
        paths: &[PathBuf],
    ) -> Result<Oid, VerifyError> {
        let failed = self.failed("write a tree");
        let (base, from) = (self.tree(repo, base)?, self.tree(repo, from)?);
        let mut edits = Vec::new();
        for path in paths {
            let path = path.clone();
            edits.push(match from.get_path(&path) {
                Ok(entry) => {
                    let blob = repo.find_blob(entry.id());
                    let bytes = blob.map(|blob| blob.content().to_vec()).unwrap_or_default();
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

    pub(super) fn keep_in(
        &self,
        repo: &Repository,
        name: &str,
        object: &Oid,
    ) -> Result<(), VerifyError> {
        let failed = self.failed("write a ref");
        let id = git2::Oid::from_str(object.as_str()).map_err(&failed)?;
        patiently(|| repo.reference(name, id, true, "ralph-copilot: keep").map(drop))
            .map_err(&failed)
    }

    /// The tree of a commit, or the tree of that name.
    fn tree<'r>(&self, repo: &'r Repository, id: &Oid) -> Result<git2::Tree<'r>, VerifyError> {
        git2::Oid::from_str(id.as_str())
            .and_then(|id| repo.find_object(id, None))
            .and_then(|object| object.peel_to_tree())
            .map_err(self.failed("read a tree"))
    }
}

fn kind(mode: i32) -> EntryKind {
    match mode {
        0o120_000 => EntryKind::Link,
        0o160_000 => EntryKind::Gitlink,
        mode => EntryKind::Regular { executable: mode & 0o100 != 0 },
    }
}
