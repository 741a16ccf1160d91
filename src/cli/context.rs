//! The repository and the task of a command.

use std::path::{Path, PathBuf};

use super::command_names::{nearest, quoted};
use super::environment;
use super::failure::Failure;
use super::openings;
use super::paths::directory;
use super::placeholders::placeholders;
use crate::agent::AGENTS;
use crate::config::{self, Layer, LayerSettings, Source};
use crate::engine::dead_run_task;
use crate::guard::{PolicyError, Rules};
use crate::model::{Diagnostic, ExitCode, Oid, Sandbox, Severity, Task, UnaskedCalls};
use crate::recipe::SOCKET_VARIABLE;
use crate::sys;
use crate::sys::depth::DEPTH_VARIABLE;
use crate::sys::lock::{Holder, TreeLock};
use crate::task::{self, TASK_FILE, TaskError, TaskFolder};
use crate::verify::{GitRepo, Layout, RepoProblem};

/// Our folder in a repository.
const OWN: &str = ".ralph";
/// The folder that `init` scaffolds tasks in, below the repository's root.
pub(super) const TASKS: &str = "tasks";

/// A repository.
pub(super) struct RepoContext {
    pub(super) cwd: PathBuf,
    pub(super) repo: GitRepo,
}

/// A task in a repository.
pub(super) struct TaskContext {
    pub(super) place: RepoContext,
    pub(super) folder: TaskFolder,
    pub(super) layout: Layout,
}

impl RepoContext {
    /// The repository around a folder.
    pub(super) fn find(named: Option<&Path>) -> Result<Self, Failure> {
        let cwd = directory(named)?;
        let repo = GitRepo::discover(&cwd)?;
        Ok(Self { cwd, repo })
    }

    pub(super) fn root(&self) -> &Path {
        self.repo.root()
    }

    /// Where checks run, if the user is in another folder of the repository.
    pub(super) fn where_checks_run(&self) -> Option<String> {
        let inside = self.cwd.strip_prefix(self.root()).ok();
        let inside = inside.filter(|inside| !inside.as_os_str().is_empty())?;
        Some(format!(
            "Checks run in the root of the repository, {}: write `cd {} && …` for one that has to \
             run here.",
            self.root().display(),
            quoted(&inside.to_string_lossy())
        ))
    }

    /// The folder of the runs.
    pub(super) fn runs(&self) -> PathBuf {
        self.root().join(OWN).join("runs")
    }

    /// The file that one run of a working tree locks.
    pub(super) fn lock(&self) -> PathBuf {
        self.runs().join("lock")
    }

    /// The run in this working tree, if there is one.
    pub(super) fn holder(&self) -> Option<Holder> {
        TreeLock::holder(&self.lock()).ok().flatten()
    }

    /// Fails if a run is at work in this tree.
    pub(super) fn require_idle(&self) -> Result<(), Failure> {
        self.holder().map_or(Ok(()), |holder| {
            let why = format!("{holder} is working in this repository");
            Err(Failure::new(ExitCode::Locked, why).hint("wait for it or end it"))
        })
    }

    /// The templates that replace ours.
    pub(super) fn templates(&self) -> PathBuf {
        self.root().join(OWN).join("templates")
    }

    /// The layers of settings, strongest first.
    pub(super) fn layers(
        &self,
        flags: LayerSettings,
        task: Option<&Task>,
    ) -> Result<Vec<Layer>, Failure> {
        layers(self.root(), flags, task)
    }
}

/// Variables with our prefix that are not settings: one for the user, and those for our children.
const NO_SETTINGS: [&str; 5] = [
    "RALPH_COPILOT_LOG",
    DEPTH_VARIABLE,
    SOCKET_VARIABLE,
    super::environment::NESTED,
    crate::sys::env::WORKER_VARIABLE,
];

/// Variables with our prefix that have no meaning. An empty variable counts as unset.
pub(super) fn unknown_variables() -> Result<Vec<String>, Failure> {
    let set = std::env::vars_os().filter(|(_, value)| !value.is_empty());
    let names = set.filter_map(|(name, _)| name.into_string().ok());
    Ok(config::unknown_variables(names, &NO_SETTINGS)?)
}

/// The layers of settings for a task as a commit holds it: an agent may have changed the
/// repository's own configuration since.
pub(super) fn branch_layers(
    at: &TaskContext,
    commit: &Oid,
    task: &Task,
    sandbox: Option<Sandbox>,
) -> Result<Vec<Layer>, Failure> {
    let ours = Path::new(OWN).join("config.toml");
    let values = match at.place.repo.held(commit, &ours)? {
        Some(bytes) => config::from_text(&String::from_utf8_lossy(&bytes), &ours)?,
        None => LayerSettings::default(),
    };
    let flags = LayerSettings { sandbox, ..LayerSettings::default() };
    with_repository(Layer { source: Source::Repository(ours), values }, flags, Some(task))
}

/// The layers of settings for the folder `root`, strongest first.
pub(super) fn layers(
    root: &Path,
    flags: LayerSettings,
    task: Option<&Task>,
) -> Result<Vec<Layer>, Failure> {
    let ours = root.join(OWN).join("config.toml");
    let values = config::from_file(&ours)?;
    with_repository(Layer { source: Source::Repository(ours), values }, flags, task)
}

fn with_repository(
    repository: Layer,
    flags: LayerSettings,
    task: Option<&Task>,
) -> Result<Vec<Layer>, Failure> {
    unknown_variables()?;
    let mut layers = vec![
        Layer { source: Source::Flag, values: flags },
        Layer {
            source: Source::Environment,
            values: config::from_environment(&environment::variable)?,
        },
    ];
    if let Some(task) = task {
        let values = config::from_task(&task.settings)?;
        layers.push(Layer { source: Source::Task, values });
    }
    refuse_programs(&repository)?;
    layers.push(repository);
    if let Some(users) = config::user_file() {
        let values = config::from_file(&users)?;
        layers.push(Layer { source: Source::User(users), values });
    }
    Ok(layers)
}

/// Refuses a gateway in the repository's own configuration: it would open a port and start programs
/// in every clone of the repository. So would a command at a run's end, and an agent of its own. And
/// whoever clones a repository decides what confines the agent, and who signs.
fn refuse_programs(repository: &Layer) -> Result<(), Failure> {
    let LayerSettings { on_end, holdout, holdout_visible, agent, sandbox, unasked, sign, .. } =
        &repository.values;
    let known = |command: &String| {
        command == "copilot --acp" || AGENTS.iter().any(|known| known.start == command)
    };
    let refused = [
        ("`on_end`", "--on-end", on_end.is_some()),
        ("`holdout`", "--holdout", holdout.is_some()),
        ("`holdout_visible`", "--holdout-visible", holdout_visible.is_some()),
        ("an `agent` that is not known", "--agent", agent.as_ref().is_some_and(|it| !known(it))),
        ("this `sandbox`", "--sandbox", matches!(sandbox, Some(Sandbox::Partial | Sandbox::Off))),
        ("`unasked = \"allow\"`", "--unasked", *unasked == Some(UnaskedCalls::Allow)),
        ("`sign = true`", "--sign", *sign == Some(true)),
    ];
    if let Some((what, flag, _)) = refused.into_iter().find(|(.., is_set)| *is_set) {
        let why = format!("{}: a repository's configuration cannot have {what}", repository.source);
        return Err(Failure::new(ExitCode::Invalid, why)
            .hint(format!("move it to ~/.config/ralph-copilot/config.toml, or use {flag}")));
    }
    let gateway = &repository.values.gateway;
    if gateway.chosen.is_none() && gateway.providers.is_empty() {
        return Ok(());
    }
    let place = match &gateway.place {
        Some(place) => format!("{}\n", place.shown("error")),
        None => format!("{}: ", repository.source),
    };
    let why = format!("{place}a repository's configuration cannot have a `[gateway]`");
    Err(Failure::new(ExitCode::Invalid, why).hint(
        "move it to ~/.config/ralph-copilot/config.toml; for one task, set `gateway` in TASK.md",
    ))
}

impl TaskContext {
    /// Finds a task by name or path.
    pub(super) fn find(named: Option<&Path>, task: &str) -> Result<Self, Failure> {
        let place = RepoContext::find(named)?;
        let folder = task::discover(place.root(), &place.cwd, task)
            .map_err(|error| not_found(error, place.root()))?;
        let inside = folder.dir.strip_prefix(place.root()).map(Path::to_owned);
        let inside = inside.map_err(|_| {
            let (folder, root) = (folder.dir.clone(), place.root().to_owned());
            Failure::from(RepoProblem::TaskOutside { folder, root })
        })?;
        let layout = Layout::new(folder.name.clone(), inside);
        Ok(Self { place, folder, layout })
    }

    /// Finds a task to run. Also finds a task whose TASK.md was lost by a run that died, because
    /// the next run restores it.
    pub(super) fn find_to_run(named: Option<&Path>, task: &str) -> Result<Self, Failure> {
        let missing = match Self::find(named, task) {
            Ok(found) => return Ok(found),
            Err(missing) => missing,
        };
        let place = RepoContext::find(named)?;
        let typed = place.cwd.join(task);
        let Some(layout) = dead_run_task(&place.runs()).map_err(Failure::from)? else {
            return Err(missing);
        };
        let dir = place.root().join(layout.folder());
        let task_file = dir.join(TASK_FILE);
        if layout.task() != task && typed != dir && typed != task_file {
            return Err(missing);
        }
        let folder = TaskFolder { dir, task_file, name: layout.task().to_owned() };
        Ok(Self { place, folder, layout })
    }

    /// The task as it was committed last.
    pub(super) fn committed(&self) -> Result<Task, Failure> {
        let repo = &self.place.repo;
        let held = repo.held(&repo.checkpoint()?.head, &self.layout.file(TASK_FILE))?;
        Ok(task::parse(self.layout.task(), &held.unwrap_or_default()))
    }

    /// The task, including an invalid one.
    pub(super) fn load(&self) -> Result<Task, Failure> {
        let mut task = task::load(&self.folder)?;
        if let Some(wrong) = self.wrong_rule(&task) {
            // The front matter comes before the criteria.
            task.diagnostics.insert(0, wrong);
        }
        let unusable = openings::wrong(&task, self.place.root());
        let (untouched, remarks): (Vec<_>, Vec<_>) =
            placeholders(&task).into_iter().partition(|it| it.severity == Severity::Error);
        task.diagnostics.splice(0..0, unusable.into_iter().chain(untouched));
        task.diagnostics.extend(remarks);
        Ok(task)
    }

    /// The first invalid rule in the task's own `policy`.
    fn wrong_rule(&self, task: &Task) -> Option<Diagnostic> {
        let home = etcetera::home_dir().ok();
        let compiled = Rules::compile(&task.settings.policy, self.place.root(), home.as_deref());
        let PolicyError::Rule { place: Some(place), name, why } = compiled.err()? else {
            return None;
        };
        Some(Diagnostic {
            severity: Severity::Error,
            line: place.line,
            column: place.column,
            message: format!("invalid rule `{name}` in `policy`: {why}"),
            hint: Some("see ralph-copilot's docs/guard.md for the format of rules".to_owned()),
            span: place.span(&task.source),
            unread: false,
        })
    }

    /// The task, if it can be worked on.
    pub(super) fn usable(&self) -> Result<Task, Failure> {
        let task = self.load()?;
        if task::usable(&task) {
            return Ok(task);
        }
        let text = self.diagnostics(&task).join("\n\n");
        Err(Failure::new(ExitCode::Invalid, format!("invalid task\n\n{text}")))
    }

    /// Fails if a person would read a criterion or a check where the parser does not.
    pub(super) fn all_read(&self, task: &Task) -> Result<(), Failure> {
        let unread = task.diagnostics.iter().filter(|it| it.unread);
        let unread: Vec<String> = unread.map(|it| self.rendered(task, it)).collect();
        if unread.is_empty() {
            return Ok(());
        }
        let text = unread.join("\n\n");
        let what = format!("TASK.md seems to say more than the runner reads\n\n{text}");
        Err(Failure::new(ExitCode::Invalid, what)
            .hint("fix these lines, or start with --lenient to leave them as they are"))
    }

    /// The diagnostics of a task, each with its place.
    pub(super) fn diagnostics(&self, task: &Task) -> Vec<String> {
        task.diagnostics.iter().map(|remark| self.rendered(task, remark)).collect()
    }

    /// The warnings about a usable task, in one line each.
    pub(super) fn remarks(&self, task: &Task) -> Vec<String> {
        let file = self.layout.file(TASK_FILE).display().to_string();
        let line = |it: &Diagnostic| {
            let hint = it.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            format!("{file}:{}:{}: {}{hint}", it.line, it.column, it.message)
        };
        task.diagnostics.iter().map(line).collect()
    }

    fn rendered(&self, task: &Task, remark: &Diagnostic) -> String {
        let path = self.layout.file(TASK_FILE).display().to_string();
        task::render_diagnostic(&path, &task.source, remark)
    }
}

impl From<RepoProblem> for Failure {
    fn from(problem: RepoProblem) -> Self {
        let hint = problem.hint();
        Self::new(ExitCode::Repository, problem).hint(hint)
    }
}

impl From<TaskError> for Failure {
    fn from(error: TaskError) -> Self {
        Self::new(ExitCode::Invalid, error)
    }
}

/// A task that was not found in the repository at `root`, with the next step.
fn not_found(error: TaskError, root: &Path) -> Failure {
    let scaffolded = |name: &str| task::wrong_with_name(name).is_none();
    let mut hints = Vec::new();
    match &error {
        TaskError::Missing { name, available, .. }
            if let Some(meant) = nearest(name, available.iter().map(String::as_str)) =>
        {
            hints.push(format!("did you mean the task `{meant}`?"));
        }
        TaskError::Missing { name, available, .. } if available.is_empty() && scaffolded(name) => {
            hints.push(format!("create it with `ralph-copilot init {name}`"));
        }
        TaskError::NoFile { folder, available } => {
            let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if *folder == root.join(TASKS).join(name) && scaffolded(name) {
                hints.push(format!("add one with `ralph-copilot init {name}`"));
            }
            if !available.is_empty() {
                hints.push(format!("available tasks: {}", available.join(", ")));
            }
        }
        TaskError::Missing { .. }
        | TaskError::Name { .. }
        | TaskError::Unusable { .. }
        | TaskError::Io { .. }
        | TaskError::NoBox { .. } => {}
    }
    Failure::from(error).hints(hints)
}

impl From<sys::SysError> for Failure {
    fn from(error: sys::SysError) -> Self {
        match &error {
            sys::SysError::Locked { holder, .. } => {
                let who = holder.as_ref().map_or("another run".to_owned(), Holder::to_string);
                Self::new(ExitCode::Locked, format!("{who} is already working in this repository"))
                    .hint("wait for it or end it; `ralph-copilot status <task>` shows its progress")
            }
            sys::SysError::File { .. } => {
                Self::new(ExitCode::Write, error).hint(ExitCode::Write.hint())
            }
            sys::SysError::Spawn { .. } | sys::SysError::Process { .. } => {
                Self::new(ExitCode::Internal, error)
            }
        }
    }
}
