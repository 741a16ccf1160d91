//! Where a hook works when no run has said so: the project whose hooks are asked, and the
//! workspace that the guard decides for.

use std::path::{Path, PathBuf};

use crate::cli::failure::Failure;
use crate::cli::{audit, context, environment, paths};
use crate::config::{LayerSettings, resolve};
use crate::guard::{Globs, OsFiles, Policy, decide, is_system};
use crate::hooks::HookInput;
use crate::model::{Asked, AuditEntry, Decision, RecordError, SessionId, ToolRequest};
use crate::sys::clock::Clock;
use crate::sys::lock::{Holder, TreeLock};
use crate::sys::process::RUN_VARIABLE;
use crate::verify::GitRepo;

/// Where the runner writes, beside the day's file: ignored by git.
const AUDIT: &str = ".ralph/audit/";

/// The place.
pub(super) struct HookContext {
    /// The working directory, canonical.
    pub(super) base: PathBuf,
    /// The folder whose hooks are asked.
    pub(super) project: PathBuf,
    /// The repository around it, if there is one.
    repo: Option<GitRepo>,
}

impl HookContext {
    /// Finds the project: the working directory if it has its own hooks, else the repository around
    /// it, else the directory again.
    pub(super) fn find(named: Option<&Path>) -> Result<Self, Failure> {
        let base = real(&paths::directory(named)?);
        let repo = GitRepo::discover(&base).ok();
        let root = repo.as_ref().map_or(base.as_path(), |repo| repo.root());
        let own = [".claude", "hooks/core"].iter().any(|folder| base.join(folder).is_dir());
        let project = if own { base.clone() } else { root.to_owned() };
        Ok(Self { base, project, repo })
    }

    /// Lets git ignore a file of ours below the working directory, by its own list.
    pub(super) fn ignore(&self, path: &Path) {
        let Some(repo) = &self.repo else { return };
        if holder(repo.root()).is_some() {
            // A runner has seen to it; to change git's settings now would be tampering.
            return;
        }
        let Ok(relative) = path.strip_prefix(repo.root()) else { return };
        let pattern = format!("/{}", relative.display());
        // A file that shows up as untracked is a nuisance and no reason to fail.
        if let Err(error) = repo.exclude(&[&pattern]) {
            tracing::warn!(%error, "cannot add {pattern} to git's exclude file");
        }
    }

    /// Writes a line of the audit. A call that cannot be audited must not run.
    pub(super) fn audit(&self, entry: &AuditEntry) -> Result<(), RecordError> {
        let root = self.repo.as_ref().map_or(self.base.as_path(), |repo| repo.root());
        let folder = audit::folder(root, &self.base);
        if folder.starts_with(root) {
            self.ignore(&root.join(AUDIT));
        }
        audit::open(&folder, Clock::system(), environment::redactor())?.write(entry)
    }

    /// The workspace, and the folder of a call. The session's claim about its folder never widens
    /// anything: the workspace is the hook's own repository; if it is in none, the session's
    /// repository; or else the hook's own folder.
    fn workspace(&self, asked: &HookInput) -> Workspace {
        let named = asked.cwd.as_deref().map(Path::new).filter(|cwd| cwd.is_absolute());
        let cwd = named.filter(|cwd| cwd.is_dir()).map_or_else(|| self.base.clone(), real);
        let repository = match &self.repo {
            Some(repo) => Some(repo.root().to_owned()),
            None if cwd == self.base => None,
            None => GitRepo::discover(&cwd).ok().map(|repo| repo.root().to_owned()),
        };
        Workspace {
            is_repository: repository.is_some(),
            root: repository.unwrap_or_else(|| self.base.clone()),
            cwd,
        }
    }

    /// Whether the call belongs to a session of a run: its own hook asks the runner about
    /// every call, and the runner knows the task.
    pub(super) fn in_a_run(&self, asked: &HookInput) -> bool {
        run_holds(&self.workspace(asked).root)
    }

    /// Whether the hook was started in a session of a run.
    pub(super) fn is_a_run_s(&self) -> bool {
        run_holds(self.repo.as_ref().map_or(self.base.as_path(), |repo| repo.root()))
    }

    /// The guard's decision about a call, with the settings of the place and without a task.
    pub(super) fn guard(&self, asked: &HookInput) -> Decision {
        let workspace = self.workspace(asked);
        let mut policy = match policy(&workspace.root) {
            Ok(policy) => policy,
            Err(failure) => {
                let reason = format!("{}. Nothing was run.", failure.source);
                return Decision::deny("config.invalid", reason);
            }
        };
        if workspace.is_nobody_s(policy.home.as_deref().map(real).as_deref()) {
            // There one may look, and no more.
            match Globs::new(["**"]) {
                Ok(everything) => policy.protect = everything,
                Err(error) => return Decision::deny("config.invalid", error.to_string()),
            }
        }
        policy.cwd = workspace.cwd;
        let request = ToolRequest {
            session: SessionId::new(asked.call.session.clone()),
            call: None,
            tool: asked.call.tool.clone(),
            input: asked.call.input.clone(),
            asked: Asked::Hook,
        };
        decide(&request, &policy, &OsFiles)
    }
}

/// The caller for whom the guard decides.
struct Workspace {
    root: PathBuf,
    is_repository: bool,
    /// The folder that the call runs in, there or elsewhere.
    cwd: PathBuf,
}

impl Workspace {
    /// Whether this folder cannot be meant as a workspace, such as the home folder or a folder of
    /// the system. A repository below one of these is a workspace.
    fn is_nobody_s(&self, home: Option<&Path>) -> bool {
        let within_home = home.is_some_and(|home| self.root.starts_with(home));
        if self.is_repository {
            return !within_home && self.root.components().count() <= 2 && is_system(&self.root);
        }
        let holds_home = home.is_some_and(|home| home.starts_with(&self.root));
        holds_home || (!within_home && is_system(&self.root))
    }
}

/// Whether the run that our environment names holds a working tree at this moment.
fn run_holds(root: &Path) -> bool {
    let Some(run) = std::env::var_os(RUN_VARIABLE) else { return false };
    holder(root).is_some_and(|holder| *holder.run == *run)
}

/// The run that holds a working tree at this moment.
fn holder(root: &Path) -> Option<Holder> {
    TreeLock::holder(&root.join(".ralph/runs/lock")).ok().flatten()
}

/// The guard's rules in a folder, without a task in focus: files of tasks and of the runner are
/// protected.
fn policy(root: &Path) -> Result<Policy, Failure> {
    let settings = resolve(&context::layers(root, LayerSettings::default(), None)?);
    crate::cli::policy::rules(Policy::without_task(root), &settings)
}

/// The path without links, or unchanged if it cannot be resolved.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
