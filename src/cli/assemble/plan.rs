//! A run as far as it can be planned without changing anything: `--dry-run` stops here.

use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use crate::agent::AgentCommand;
use crate::cli::args::RunArgs;
use crate::cli::context::{RepoContext, TaskContext};
use crate::cli::failure::Failure;
use crate::cli::mcp::{has_changed, memory, open_digest};
use crate::cli::named_criterion::named;
use crate::cli::print::complain;
use crate::cli::tier::{self, Chosen};
use crate::cli::told::read_state;
use crate::cli::{holdout, launch, policy};
use crate::config::{LayerSettings, Settings, resolve};
use crate::engine::{Limits, OnFatal, ready, require_checks};
use crate::guard::Policy;
use crate::mcp::MemorySources;
use crate::model::{Criterion, ExitCode, GatewayUse, ProofMode, Task, TaskState, Tier};
use crate::prompt::Templates;
use crate::verify::{Branch, Dirt, Preflight, TASK};

/// A run that the task, the settings and the repository allow.
pub(in crate::cli) struct RunPlan {
    pub(in crate::cli) task: Task,
    pub(in crate::cli) settings: Settings,
    pub(in crate::cli) preflight: Preflight,
    pub(in crate::cli) templates: Templates,
    pub(in crate::cli) command: AgentCommand,
    /// Memory that the agent may read, if there is any.
    pub(in crate::cli) memory: Option<MemorySources>,
    /// The tier, and why it is not a better one.
    pub(in crate::cli) chosen: Chosen,
    /// The consequence of a failure of unknown cause: a plan goes on with its other sub-tasks.
    pub(in crate::cli) on_fatal: OnFatal,
    /// The only criterion to work on.
    pub(in crate::cli) only: Option<Criterion>,
}

impl RunPlan {
    /// Reads the task and the settings, and looks at the repository and the agent's program.
    pub(in crate::cli) fn of(at: &TaskContext, args: &RunArgs) -> Result<Self, Failure> {
        let (task, mut settings) = startable(at, args.settings.layer())?;
        if args.only_as.as_ref().is_some_and(|digest| *digest != open_digest(&task)) {
            return Err(Failure::new(ExitCode::Invalid, has_changed(&at.folder.task_file)));
        }
        let (asked, root) = (settings.sandbox, at.place.root());
        let (preflight, chosen) = thread::scope(|scope| {
            // A sandbox takes a while to start, and a large repository to look at.
            let chosen = scope.spawn(move || tier::choose(asked, root));
            (preflight(at, &settings), chosen.join())
        });
        let preflight = preflight?;
        let only = args.only.as_ref().map(|name| only(at, &task, name, &preflight)).transpose()?;
        if only.is_some() {
            settings.jobs = 1;
        }
        let templates = templates(&at.place)?;
        let command = launch::find_agent(&settings)?;
        launch::counts_credits(&settings, command.kind)?;
        let memory = memory::of_run(at.place.root(), &settings)?;
        let chosen = chosen.unwrap_or_else(|panic| resume_unwind(panic))?;
        let on_fatal = if args.plan.is_some() { OnFatal::FailCriterion } else { OnFatal::EndRun };
        Ok(Self { task, settings, preflight, templates, command, memory, chosen, on_fatal, only })
    }
}

/// The only criterion to work on, if another machine can take the work.
fn only(
    at: &TaskContext,
    task: &Task,
    name: &str,
    preflight: &Preflight,
) -> Result<Criterion, Failure> {
    // In a new clone, the runner may have derived its own records again.
    if preflight.prepared.iter().any(|path| at.layout.peoples_files().contains(path)) {
        let folder = at.layout.folder().display();
        let said = format!("{folder} has uncommitted changes, which other machines do not have");
        return Err(Failure::new(ExitCode::Repository, said).hint("commit the task first"));
    }
    let named = named(task, name)?;
    let state = read_state(at)?;
    let found = ready(task, &state).find(|it| named.contains(it)).cloned();
    found.ok_or_else(|| {
        let name = &task.name;
        Failure::new(ExitCode::Usage, format!("{} cannot start now", named[0].key.quoted()))
            .hint(format!("`ralph-copilot list --ready {name}` lists the criteria that can"))
    })
}

/// The task and the settings, if a run would start with them. `check` asks the same question.
pub(in crate::cli) fn startable(
    at: &TaskContext,
    flags: LayerSettings,
) -> Result<(Task, Settings), Failure> {
    let task = at.usable()?;
    let settings = settings(&at.place, flags, &task)?;
    if !settings.lenient {
        at.all_read(&task)?;
    }
    Ok((task, settings))
}

/// Refuses a task before its checks ran, if the settings require checks that it does not have.
pub(in crate::cli) fn has_checks(
    at: &TaskContext,
    task: &Task,
    settings: &Settings,
    state: &TaskState,
) -> Result<(), Failure> {
    match settings.require_checks {
        true => Ok(require_checks(task, state, &at.layout.file(TASK), &[])?),
        false => Ok(()),
    }
}

/// The settings of a run, if they fit together.
pub(in crate::cli) fn settings(
    place: &RepoContext,
    flags: LayerSettings,
    task: &Task,
) -> Result<Settings, Failure> {
    let settings = resolve(&place.layers(flags, Some(task))?);
    if settings.require_checks && !settings.baseline {
        return Err(Failure::new(
            ExitCode::Usage,
            "--require-checks and --no-baseline cannot be used together",
        )
        .hint("a check proves something only if it failed before the work"));
    }
    if settings.jobs == 0 {
        return Err(Failure::new(ExitCode::Invalid, "jobs: 0 is no number of jobs")
            .hint("`jobs` is how many criteria are worked on at once, from 1 to 16"));
    }
    if settings.jobs > 1 {
        refuse_together(&settings)?;
    }
    Ok(settings)
}

/// Refuses what several workers cannot have.
fn refuse_together(settings: &Settings) -> Result<(), Failure> {
    let what = match settings.proof {
        ProofMode::Tree => Some(("proof: tree", "work lands only if it is proven in a proof room")),
        ProofMode::End => Some(("proof: end", "work lands only if it is proven in a proof room")),
        ProofMode::Room if settings.gateway != GatewayUse::Off => {
            Some(("the gateway", "its providers serve one agent"))
        }
        ProofMode::Room => None,
    };
    what.map_or(Ok(()), |(what, why)| Err(excluded(settings, what, why)))
}

/// Something that several workers cannot have.
pub(super) fn excluded(settings: &Settings, what: &str, why: &str) -> Failure {
    let jobs = settings.jobs;
    let said = format!("{what} and --jobs {jobs} exclude each other: {why}");
    Failure::new(ExitCode::Usage, said).hint("use --jobs 1")
}

/// The limits of a run.
pub(in crate::cli) fn limits(settings: &Settings) -> Limits {
    Limits {
        iterations: settings.max_iterations.get(),
        duration: settings.max_duration.map(|span| span.0),
        premium_requests: settings.max_premium_requests,
        tokens: settings.max_tokens,
        credits: settings.max_ai_credits.map(|credits| u64::from(credits) * 1000),
        attempts: settings.stuck_threshold.get(),
        on_stuck: settings.on_stuck,
        on_fatal: OnFatal::EndRun,
    }
}

/// Looks at the repository.
pub(in crate::cli) fn preflight(
    at: &TaskContext,
    settings: &Settings,
) -> Result<Preflight, Failure> {
    let branch = settings.branch.as_deref().map_or(Branch::Current, Branch::Named);
    let dirt = if settings.allow_dirty { Dirt::Protect } else { Dirt::Refuse };
    at.place.repo.fetch_missing(&revisions(at), &note)?;
    Ok(at.place.repo.preflight(&at.layout, branch, dirt)?)
}

/// The revisions whose files a run reads.
pub(in crate::cli) fn revisions(at: &TaskContext) -> Vec<String> {
    let start = read_state(at).ok().and_then(|state| state.start);
    let start = start.map(|start| start.as_str().to_owned());
    std::iter::once("HEAD".to_owned()).chain(start).map(|it| format!("{it}^{{tree}}")).collect()
}

/// Tells the human of something before there is a journal.
pub(in crate::cli) fn note(text: &str) {
    complain(&format!("note: {text}"));
}

/// The templates, ours or the repository's.
pub(in crate::cli) fn templates(place: &RepoContext) -> Result<Templates, Failure> {
    let folder = place.templates();
    let loaded = if folder.is_dir() { Templates::load(&folder) } else { Templates::builtin() };
    Ok(loaded?)
}

/// The policy of the run's guard, without a criterion in focus.
pub(in crate::cli) fn run_policy(
    at: &TaskContext,
    settings: &Settings,
    preflight: &Preflight,
    tier: Tier,
    scratch: &Path,
) -> Result<Policy, Failure> {
    let root = at.place.root();
    let mut policy = policy::rules(Policy::new(root, &at.folder.dir), settings)?;
    policy.tier = tier;
    policy.tmp = Some(scratch.join("tmp"));
    policy.human = preflight.human.paths().map(|path| root.join(path)).collect();
    policy.marked = preflight.marked.iter().map(|path| root.join(path)).collect();
    policy.hidden = holdout::hidden(settings, &at.place.cwd).collect();
    policy.started = Some(std::time::SystemTime::now());
    Ok(policy)
}
