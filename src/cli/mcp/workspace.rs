//! The folder of a server, with its settings, and the redaction of its output.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::context::{RepoContext, layers};
use crate::cli::environment;
use crate::cli::failure::Failure;
use crate::cli::policy;
use crate::cli::secret_files::secret_values;
use crate::config::{LayerSettings, Settings, resolve};
use crate::guard::{Policy, Redactor};
use crate::mcp::ToolAnswer;
use crate::verify::{GitRepo, RepoProblem, VerifyError};

/// The hint for a server that was started outside a repository.
pub(super) const START_ELSEWHERE: &str = "start the MCP client in a repository, or put \
`-C REPOSITORY` before `mcp serve` in its entry";

/// Is the folder in a usable repository? If not, a tool that needs one answers with a hint, on one
/// line. A client that is set up for a user starts its servers anywhere.
pub(super) fn in_repository(folder: &Path, advice: &str) -> Result<(), ToolAnswer> {
    let why = match GitRepo::discover(folder) {
        Ok(_) => return Ok(()),
        Err(problem @ RepoProblem::None { .. }) => format!("{problem}: {advice}"),
        Err(problem) => format!("{problem}: {}", problem.hint()),
    };
    Err(ToolAnswer::error(why))
}

/// The workspace of a server.
pub(super) struct Workspace {
    /// The server's folder.
    pub(super) folder: PathBuf,
    /// The repository's root, or the folder itself if there is no repository.
    pub(super) root: PathBuf,
    pub(super) settings: Settings,
    repository: Option<RepoContext>,
}

impl Workspace {
    /// The repository around the folder, or the folder alone.
    pub(super) fn find(folder: &Path) -> Result<Self, Failure> {
        let flags = LayerSettings::default();
        let (root, settings, repository) = match RepoContext::find(Some(folder)) {
            Ok(place) => {
                let settings = resolve(&place.layers(flags, None)?);
                (place.root().to_owned(), settings, Some(place))
            }
            Err(_) => (folder.to_owned(), resolve(&layers(folder, flags, None)?), None),
        };
        Ok(Self { folder: folder.to_owned(), root, settings, repository })
    }

    /// The guard's rules here.
    pub(super) fn policy(&self) -> Result<Policy, Failure> {
        match &self.repository {
            Some(place) => policy::without_task(place, &self.settings),
            None => policy::rules(Policy::without_task(self.folder.clone()), &self.settings),
        }
    }

    /// Keeps git from seeing the audit.
    pub(super) fn exclude_audit(&self) -> Result<(), Failure> {
        let Some(place) = &self.repository else { return Ok(()) };
        match place.repo.exclude(&[".ralph/audit/"]) {
            // A run at work has seen to it.
            Ok(()) | Err(VerifyError::ExcludesWatched { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// A redaction that knows the values that files with secrets hold at this moment: a server may
    /// live for days.
    pub(super) fn redactor(&self) -> Arc<Redactor> {
        environment::redactor_of(secret_values(&self.root, &self.settings))
    }
}
