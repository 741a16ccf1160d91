//! What the human's git says of its configuration in this working tree.
//!
//! Invariant: git is asked, because only it knows every form of conditional include; it runs no
//! hook, filter, or other program for these questions. A guess from the machine's name is no answer.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::git_repo::GitRepo;
use crate::sys::env;
use crate::verify::commit_hooks::CommitHooks;
use crate::verify::error::{VerifyError, io_error};
use crate::verify::repo::{Identity, Person, SigningKey};

/// The variables that name a person for git.
const PERSON: [&str; 5] =
    ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL"];

impl GitRepo {
    /// The identity that git would commit with, from its configuration and from variables such as
    /// `GIT_AUTHOR_NAME`, which win. `None` if git would refuse to commit, or guess.
    ///
    /// # Errors
    /// If git cannot be started.
    pub fn identity(
        &self,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<Identity>, VerifyError> {
        // Without EMAIL git would make an address up from the names of the user and the machine.
        let named = variable("EMAIL").is_some_and(|email| !email.is_empty());
        let made_up = format!("user.useConfigOnly={}", !named);
        let person = |role: &str| {
            let said =
                self.ask_git(&["-c", &made_up, "var", &format!("GIT_{role}_IDENT")], variable)?;
            Ok::<_, VerifyError>(said.and_then(|said| parsed(&said)))
        };
        let (author, committer) = (person("AUTHOR")?, person("COMMITTER")?);
        Ok(author.zip(committer).map(|(author, committer)| Identity { author, committer }))
    }

    /// The key with which the human's git signs commits or tags here, if it does so unasked.
    ///
    /// # Errors
    /// If git cannot be started.
    pub fn signs(
        &self,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<SigningKey>, VerifyError> {
        let said = |kind, name| self.ask_git(&["config", kind, "--get", name], variable);
        let is_set =
            |name| Ok::<_, VerifyError>(said("--type=bool", name)?.is_some_and(|it| it == "true"));
        if !is_set("commit.gpgSign")? && !is_set("tag.gpgSign")? {
            return Ok(None);
        }
        if said("--type=path", "gpg.format")?.as_deref() != Some("ssh") {
            return Ok(Some(SigningKey::Gpg));
        }
        let named = said("--type=path", "user.signingKey")?;
        // Git takes the key itself, too.
        let path = named.filter(|named| !named.starts_with("key::") && !named.starts_with("ssh-"));
        Ok(Some(SigningKey::Ssh(path.map(|path| self.root.join(path)))))
    }

    /// The hooks that git runs for a commit here, if there are any.
    ///
    /// # Errors
    /// If git cannot be started.
    pub fn commit_hooks(&self) -> Result<Option<CommitHooks>, VerifyError> {
        let said = self.ask_git(&["rev-parse", "--git-path", "hooks"], &|_| None)?;
        let folder = said.and_then(|said| fs::canonicalize(self.root.join(said)).ok());
        Ok(folder.and_then(|folder| CommitHooks::of(&self.root, &self.common_dir, folder)))
    }

    /// The files that git reads its configuration from here, those that others include among them.
    pub fn configuration(&self) -> BTreeSet<PathBuf> {
        let names = ["config", "--list", "--includes", "--show-origin", "--name-only", "-z"];
        let said = self.ask_git(&names, &|_| None).ok().flatten().unwrap_or_default();
        let files = said.split('\0').filter_map(|part| part.strip_prefix("file:"));
        files.filter_map(|file| fs::canonicalize(self.root.join(file)).ok()).collect()
    }

    /// The output of a git command in the working tree, or `None` if it fails.
    pub(super) fn ask_git(
        &self,
        args: &[&str],
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<String>, VerifyError> {
        let mut git = Command::new("git");
        self.surround(&mut git).args(args);
        for name in PERSON {
            match variable(name) {
                Some(value) => git.env(name, value),
                None => git.env_remove(name),
            };
        }
        let output = git.output().map_err(io_error("ask git in", &self.root))?;
        let said = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
        Ok(output.status.success().then_some(said))
    }

    /// Lets a git command work in this working tree.
    pub(super) fn surround<'c>(&self, git: &'c mut Command) -> &'c mut Command {
        git.current_dir(&self.root).env("LC_ALL", "C");
        for (name, _) in std::env::vars_os() {
            let said = name.to_string_lossy();
            // The configuration that the human names is the human's; another repository is not this.
            if env::is_git_context(&said) && !said.starts_with("GIT_CONFIG") {
                git.env_remove(&name);
            }
        }
        git
    }
}

/// The person in `NAME <EMAIL> SECONDS ZONE`.
fn parsed(said: &str) -> Option<Person> {
    let (name, rest) = said.rsplit_once('<')?;
    let (email, _) = rest.split_once('>')?;
    let (name, email) = (name.trim().to_owned(), email.trim().to_owned());
    (!name.is_empty() && !email.is_empty()).then_some(Person { name, email })
}
