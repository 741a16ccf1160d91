//! A branch against its base.
//!
//! Invariant: merges follow first parents, so a merge's own changes count as its commit. Nothing is
//! changed.

use git2::{Commit, ErrorCode, Repository};

use super::git_repo::GitRepo;
use super::history::trailers;
use super::plain::oid;
use crate::model::{Oid, PathChange};
use crate::verify::error::VerifyError;
use crate::verify::repo::Person;

/// Where the base of a branch is looked for, in this order.
const UPSTREAM: [&str; 6] = [
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    "refs/remotes/origin/trunk",
    "refs/heads/main",
    "refs/heads/master",
];

/// A commit of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchCommit {
    /// Its id.
    pub id: Oid,
    /// The first line of its message.
    pub subject: String,
    /// The trailers of its message.
    pub trailers: Vec<(String, String)>,
    /// Who wrote it, as git says.
    pub author: Person,
    /// Its changes against its first parent; nothing for a base.
    pub changes: Vec<PathChange>,
}

impl GitRepo {
    /// The commit that a revision names, as in `main~2`.
    ///
    /// # Errors
    /// If git fails for any reason except that it does not exist.
    pub fn revision(&self, name: &str) -> Result<Option<Oid>, VerifyError> {
        let repo = self.lock();
        let found = repo.revparse_single(name).and_then(|object| object.peel_to_commit());
        match found {
            Ok(commit) => Ok(Some(oid(commit.id()))),
            Err(error)
                if matches!(
                    error.code(),
                    ErrorCode::NotFound | ErrorCode::InvalidSpec | ErrorCode::Peel
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(self.failed("find a revision")(error)),
        }
    }

    /// The names of the branches and tags, as users type them; those that are not UTF-8 are left
    /// out.
    ///
    /// # Errors
    /// If git cannot list them.
    pub fn revision_names(&self) -> Result<Vec<String>, VerifyError> {
        let repo = self.lock();
        let found = repo.references().map_err(self.failed("list the branches"))?;
        let names = found
            .filter_map(Result::ok)
            .filter(|it| it.is_branch() || it.is_remote() || it.is_tag());
        Ok(names.filter_map(|it| it.shorthand().ok().map(str::to_owned)).collect())
    }

    /// The refs in a folder of refs, by their full names.
    ///
    /// # Errors
    /// If git cannot list them.
    pub fn refs_below(&self, folder: &str) -> Result<Vec<(String, Oid)>, VerifyError> {
        let repo = self.lock();
        let found = repo.references_glob(&format!("{folder}/*"));
        let found = found.map_err(self.failed("list the refs"))?.filter_map(Result::ok);
        Ok(found.filter_map(|it| Some((it.name().ok()?.to_owned(), oid(it.target()?)))).collect())
    }

    /// The names of the remotes.
    pub fn remotes(&self) -> Vec<String> {
        let names = self.lock().remotes();
        let names = names.iter().flat_map(|names| names.iter().flatten().flatten());
        names.map(str::to_owned).collect()
    }

    /// Where branches of this repository begin: the remote's default branch, or the local one.
    pub fn upstream(&self) -> Option<&'static str> {
        let repo = self.lock();
        UPSTREAM
            .into_iter()
            .find(|name| repo.find_reference(name).and_then(|found| found.peel_to_commit()).is_ok())
    }

    /// Is a part of the history missing?
    pub fn is_shallow(&self) -> bool {
        self.lock().is_shallow()
    }

    /// The last commit that two others have in common.
    ///
    /// # Errors
    /// If commits cannot be read.
    pub fn fork(&self, one: &Oid, other: &Oid) -> Result<Option<Oid>, VerifyError> {
        let repo = self.lock();
        let id = |commit| self.commit(&repo, commit).map(|commit| commit.id());
        match repo.merge_base(id(one)?, id(other)?) {
            Ok(id) => Ok(Some(oid(id))),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(self.failed("find where a branch begins")(error)),
        }
    }

    /// The base, and the commits from there to `head`, oldest first.
    ///
    /// # Errors
    /// If commits cannot be read.
    pub fn branch(&self, base: &Oid, head: &Oid) -> Result<Vec<BranchCommit>, VerifyError> {
        let mut ids = Vec::new();
        let mut found = Vec::new();
        {
            let repo = self.lock();
            let failed = self.failed("read the branch");
            let base = self.commit(&repo, base)?;
            let mut at = self.commit(&repo, head)?;
            // A base that was merged into the branch is not among its first parents.
            while !is_in(&repo, at.id(), base.id()).map_err(&failed)? {
                ids.push(seen(&at));
                let Ok(parent) = at.parent(0) else { break };
                at = parent;
            }
            found.push(seen(&base));
        }
        for commit in ids.into_iter().rev() {
            let before = found.last().map(|before: &BranchCommit| before.id.clone());
            let changes = match before {
                Some(before) => self.between(&before, &commit.id)?,
                None => Vec::new(),
            };
            found.push(BranchCommit { changes, ..commit });
        }
        Ok(found)
    }
}

/// Is a commit the base, or one that the base has grown from?
fn is_in(repo: &Repository, commit: git2::Oid, base: git2::Oid) -> Result<bool, git2::Error> {
    Ok(commit == base || repo.graph_descendant_of(base, commit)?)
}

fn seen(commit: &Commit<'_>) -> BranchCommit {
    let author = commit.author();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    BranchCommit {
        id: oid(commit.id()),
        subject: text(commit.summary_bytes().unwrap_or_default()),
        author: Person { name: text(author.name_bytes()), email: text(author.email_bytes()) },
        trailers: trailers(commit),
        changes: Vec::new(),
    }
}
