//! Who git would commit as: variables before configuration, author and committer apart.

use git2::{Config, ErrorCode, Repository};

use super::git_repo::GitRepo;
use crate::verify::error::VerifyError;
use crate::verify::repo::{Identity, Person};

impl GitRepo {
    pub(super) fn identity_in(
        &self,
        repo: &Repository,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<Identity>, VerifyError> {
        let failed = self.failed("read the configuration");
        let config = repo.config().and_then(|mut config| config.snapshot()).map_err(&failed)?;
        let sources = Sources { variable, config };
        let author = sources.person("AUTHOR", "author").map_err(&failed)?;
        let committer = sources.person("COMMITTER", "committer").map_err(&failed)?;
        Ok(author.zip(committer).map(|(author, committer)| Identity { author, committer }))
    }
}

/// Where a name can come from.
struct Sources<'v> {
    variable: &'v dyn Fn(&str) -> Option<String>,
    config: Config,
}

impl Sources<'_> {
    fn person(&self, variables: &str, section: &str) -> Result<Option<Person>, git2::Error> {
        let name = match (self.variable)(&format!("GIT_{variables}_NAME")) {
            // Set but empty: git refuses it and does not look further.
            Some(name) => Some(name),
            None => self.configured(section, "name")?,
        };
        let email = match (self.variable)(&format!("GIT_{variables}_EMAIL")) {
            Some(email) => Some(email),
            None => self.configured(section, "email")?.or_else(|| (self.variable)("EMAIL")),
        };
        let said = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        Ok(said(name).zip(said(email)).map(|(name, email)| Person { name, email }))
    }

    /// The configured identity for this role, or the general one.
    fn configured(&self, section: &str, what: &str) -> Result<Option<String>, git2::Error> {
        for section in [section, "user"] {
            match self.config.get_string(&format!("{section}.{what}")) {
                Ok(value) if !value.trim().is_empty() => return Ok(Some(value)),
                Ok(_) => {}
                Err(error) if error.code() == ErrorCode::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}
