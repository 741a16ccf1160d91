//! The loop, on one screen, and the parts that it works with.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::cancellable_checks::CancellableChecks;
use super::crew::{Jobs, Workers};
use super::decide::{Limits, NextStep, Spent, next};
use super::schedule::{Step, schedule};
use super::{EngineError, FailureCounts, GuardRules, HoldOut, Providers};
use crate::agent::{Agent, AgentError, AgentKind, Denials, Gate, StopHook, TurnLimits};
use crate::events::Emitter;
use crate::model::{
    CheckResult, CriterionKey, Escalate, Finding, Oid, Outcome, Premium, Proof, ProofMode, Task,
    TaskState, Tier,
};
use crate::prompt::Templates;
use crate::recipe::Bridge;
use crate::sys::clock::Clock;
use crate::sys::shutdown::Shutdown;
use crate::task::TaskFolder;
use crate::verify::{
    Around, Baseline, Checks, CommitsAlone, Identity, Layout, Preflight, ProofRooms, RefusedCommit,
    Repo, Table, VerifyError,
};

/// Starts the agent, as often as needed, with this model and this effort if they are named.
pub type Starter = Box<
    dyn FnMut(
            Option<String>,
            Option<String>,
        ) -> BoxFuture<'static, Result<Box<dyn Agent>, AgentError>>
        + Send,
>;

/// The cost of a prompt to a model; `None` is the agent's own default model.
pub type PremiumOf = Box<dyn Fn(Option<&str>) -> Premium + Send + Sync>;

/// Everything a run is made of.
pub struct RunParts {
    /// The repository.
    pub repo: Arc<dyn Repo>,
    /// Runs verify commands.
    pub checks: Arc<dyn Checks>,
    /// Where they run; none if that is the working tree (`proof: tree`).
    pub rooms: Option<ProofRooms>,
    /// Where checks prove something.
    pub proof: ProofMode,
    /// Which files are tests and configuration.
    pub table: Table,
    /// Runs recipes.
    pub recipes: Arc<Bridge>,
    /// Starts the agent.
    pub start: Starter,
    /// Decides its tool calls.
    pub gate: Arc<Gate>,
    /// The journal and the reporters.
    pub events: Arc<Emitter>,
    /// Renders the prompts.
    pub templates: Templates,
    /// Wall time.
    pub clock: Clock,
    /// Ends the run.
    pub stop: Shutdown,
    /// The task's name and files.
    pub layout: Layout,
    /// The task's folder.
    pub folder: TaskFolder,
    /// The repository as the run found it.
    pub preflight: Preflight,
    /// Who commits.
    pub identity: Identity,
    /// The guard's rules.
    pub rules: GuardRules,
    /// The run's limits.
    pub limits: Limits,
    /// One turn's limits.
    pub turn: TurnLimits,
    /// How long the run may wait for rate limits and the network, in a row.
    pub max_wait: Duration,
    /// How often a failure of the model is retried, if the user sets a limit.
    pub max_retries: Option<u32>,
    /// The time limit of one verify command.
    pub verify_limit: Duration,
    /// The time that other criteria's commands may take in an iteration.
    pub regression_budget: Duration,
    /// Variables for verify commands.
    pub check_environment: Vec<(String, String)>,
    /// Files outside the repository that checks and the agent use, which no sandbox protects.
    pub around: Around,
    /// Do the verify commands run before the work?
    pub baseline: BaselineRun,
    /// Does a commit alone suffice for a criterion?
    pub commits_alone: CommitsAlone,
    /// Whether a prompt costs a premium request; asked for each, as a fallback changes the model.
    pub premium: PremiumOf,
    /// The agent's command, redacted, for the journal.
    pub agent_command: String,
    /// The adapter that speaks ACP.
    pub agent: AgentKind,
    /// The run's own folder.
    pub run_folder: PathBuf,
    /// The kernel's limits on the agent's commands.
    pub tier: Tier,
    /// The model that is asked for.
    pub model: Option<String>,
    /// What the last attempt at a criterion uses instead.
    pub escalate: Option<Escalate>,
    /// Models to fall back to, in this order, if one is not available; `None` is the agent's own.
    pub fallbacks: VecDeque<Option<String>>,
    /// The user's text for every prompt.
    pub project_context: Option<String>,
    /// The use of lessons.
    pub lessons: LessonUse,
    /// The last iteration number in the journals of earlier runs.
    pub iteration: u32,
    /// Criteria at which an earlier run left a commit that counts.
    pub worked: Vec<(CriterionKey, Oid)>,
    /// The tool providers, if the run has a gateway.
    pub providers: Option<Arc<dyn Providers>>,
    /// Is the work checked when the agent wants to end its turn?
    pub stop_check: bool,
    /// Hooks that ask whether a turn may end.
    pub stops: mpsc::Receiver<StopHook>,
    /// Commands for the user to type next.
    pub commands: NextCommands,
    /// Messages for the human before the work.
    pub notices: Vec<String>,
    /// The workers, if there are several jobs.
    pub jobs: Option<Jobs>,
    /// The checks that the agent never sees.
    pub holdout: Option<HoldOut>,
}

/// Commands that a run names at its end, as the user types them in their folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextCommands {
    /// Starts the run again.
    pub start: String,
    /// Clears the attempts of stuck criteria.
    pub retry: String,
    /// Shows the commits.
    pub review: String,
    /// Shows a run that left its state for the human: the working tree, the task, the events.
    pub look: String,
    /// Ticks a criterion by hand; its line follows.
    pub tick: String,
    /// Takes held work; the criterion follows.
    pub accept: String,
}

/// The use of lessons in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LessonUse {
    /// They are written, and prompts get them.
    Kept,
    /// Neither.
    Off,
}

/// Do the verify commands run before the work?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaselineRun {
    /// Yes.
    Taken,
    /// No: `--no-baseline`.
    Skipped,
}

/// A run in progress.
pub struct Run {
    pub(super) parts: RunParts,
    pub(super) rooms: Option<ProofRooms>,
    pub(super) state: TaskState,
    /// Where the branch was when the runner looked last.
    pub(super) last_head: Option<Oid>,
    pub(super) spent: Spent,
    pub(super) baseline: Baseline,
    pub(super) artefacts: BTreeSet<PathBuf>,
    /// The commit before the first attempt of this run at a criterion.
    pub(super) origins: HashMap<CriterionKey, Oid>,
    /// The same of criteria that passed in this run.
    pub(super) passed_from: HashMap<CriterionKey, Oid>,
    /// The last verdict's findings on each criterion.
    pub(super) feedback: HashMap<CriterionKey, Vec<Finding>>,
    /// The guard's denials in attempts on open criteria.
    pub(super) denials: HashMap<CriterionKey, Denials>,
    /// The checks that failed in attempts on open criteria, for their lessons.
    pub(super) failed_checks: HashMap<CriterionKey, Vec<String>>,
    /// The same of earlier runs, once they were asked for.
    pub(super) failed_before: Option<HashMap<CriterionKey, Vec<CheckResult>>>,
    /// The human has read that the file of lessons is tracked.
    pub(super) told_of_tracked_lessons: bool,
    pub(super) agent: Option<Box<dyn Agent>>,
    pub(super) started: Instant,
    /// Criteria whose boxes were open when the run began.
    pub(super) open_before: BTreeSet<CriterionKey>,
    /// An iteration has begun, so that there is state to commit.
    pub(super) worked_at_all: bool,
    /// A criterion passed since the checks of all of them ran in a new room.
    pub(super) passed_since_proof: bool,
    /// Tests, scripts, and configuration that proven work of this run changed.
    pub(super) changed_harness: BTreeSet<PathBuf>,
    /// Where the branch was when the run began.
    pub(super) run_start: Option<Oid>,
    /// The proofs since the last state commit, for its trailers.
    pub(super) proven_since_commit: Vec<(CriterionKey, Proof)>,
    /// Where the first turn since then began.
    pub(super) turns_since: Option<Oid>,
    /// The commit that replaces the task's start in a clone that does not have it.
    pub(super) start_here: Option<Oid>,
    /// Where the branch was when they ran there last.
    pub(super) proven_head: Option<Oid>,
    /// Where changes of TASK.md that were undone are kept.
    pub(super) kept_tasks: Vec<PathBuf>,
    /// The commits at which checks passed in the room in this run.
    pub(super) passed_at: HashMap<String, Oid>,
    /// Inconclusive verdicts in a row on each criterion.
    pub(super) unclear: HashMap<CriterionKey, u32>,
    /// How often checks of a criterion were flaky in the proof at the end.
    pub(super) flaky_at_end: HashMap<CriterionKey, u32>,
    /// What the project's commit hooks refuse.
    pub(super) commit_hooks: Vec<RefusedCommit>,
    /// Failures of the agent since the last success.
    pub(super) failures: FailureCounts,
    /// Criteria of which it was said that they are skipped.
    pub(super) told_skipped: BTreeSet<CriterionKey>,
    /// The usual model, while another one makes the last attempt at a criterion.
    pub(super) usual_model: Option<Option<String>>,
    /// Programs that the agent missed although they are there, and that it was told of.
    pub(super) answered: BTreeSet<(CriterionKey, String)>,
    /// Why a hold-out check cannot run.
    pub(super) broken_holdout: Option<String>,
    /// The workers, if there are several jobs.
    pub(super) workers: Option<Workers>,
}

impl Run {
    /// A run that has not begun.
    ///
    /// # Errors
    /// If state.json cannot be read.
    pub fn new(mut parts: RunParts) -> Result<Self, EngineError> {
        let mut state = super::state::load(parts.repo.as_ref(), &parts.layout)?.state;
        state.iteration = state.iteration.max(parts.iteration);
        for (key, commit) in &parts.worked {
            state.entry(key).worked = Some(commit.clone());
        }
        parts.checks = Arc::new(CancellableChecks {
            checks: parts.checks,
            token: parts.stop.token().clone(),
            reason: "the run was ended",
        });
        Ok(Self {
            rooms: parts.rooms.take(),
            last_head: None,
            state,
            spent: Spent::default(),
            baseline: Baseline::default(),
            artefacts: BTreeSet::new(),
            origins: HashMap::new(),
            passed_from: HashMap::new(),
            feedback: HashMap::new(),
            denials: HashMap::new(),
            failed_checks: HashMap::new(),
            failed_before: None,
            told_of_tracked_lessons: false,
            agent: None,
            started: Instant::now(),
            open_before: BTreeSet::new(),
            worked_at_all: false,
            passed_since_proof: false,
            changed_harness: BTreeSet::new(),
            run_start: None,
            proven_since_commit: Vec::new(),
            turns_since: None,
            start_here: None,
            proven_head: None,
            kept_tasks: Vec::new(),
            passed_at: HashMap::new(),
            unclear: HashMap::new(),
            flaky_at_end: HashMap::new(),
            commit_hooks: Vec::new(),
            failures: FailureCounts::default(),
            told_skipped: BTreeSet::new(),
            usual_model: None,
            answered: BTreeSet::new(),
            broken_holdout: None,
            workers: parts.jobs.is_some().then(Workers::new),
            parts,
        })
    }

    /// Works until there is a reason to stop, and returns it.
    ///
    /// # Errors
    /// If the run itself cannot continue; the agent is still stopped.
    pub async fn to_the_end(&mut self) -> Result<Outcome, EngineError> {
        let worked = self.work().await;
        let dismissed = self.dismiss_workers().await;
        let worked = worked.and_then(|outcome| dismissed.map(|()| outcome));
        self.stop_agent().await;
        self.end_providers().await;
        let worked = match worked {
            Ok(outcome) => self.prove_end(outcome).await,
            Err(error) => Err(error),
        };
        let worked = worked.map(|outcome| self.verify_records(outcome));
        let worked = worked.and_then(|outcome| self.tidy_up(outcome));
        // Nothing follows the last event: providers are gone before it.
        let gone = self.providers_gone().await;
        match worked.and_then(|outcome| gone.map(|()| outcome)) {
            Ok(outcome) => {
                self.tell_holdouts()?;
                let ended = self.end(outcome)?;
                self.close_rooms();
                Ok(ended)
            }
            Err(error) => {
                // Record why the run ends, if the journal can still be written.
                if let Err(unwritten) = self.end_for(&error) {
                    tracing::debug!(%unwritten, "the journal does not say why the run ended");
                }
                self.close_rooms();
                Err(error)
            }
        }
    }

    async fn work(&mut self) -> Result<Outcome, EngineError> {
        self.begin().await?;
        if let Some(outcome) = self.prove_left().await? {
            return Ok(outcome);
        }
        if self.workers.is_some() {
            return self.work_together().await;
        }
        loop {
            if let Some(outcome) = self.interrupted() {
                return Ok(outcome);
            }
            let task = self.task()?;
            self.tell_skipped(&task)?;
            self.spent.duration = self.started.elapsed();
            let outcome = match next(&task, &self.state, &self.spent, &self.parts.limits) {
                NextStep::Stop(outcome) => Some(outcome),
                NextStep::Prove => self.prove(&task).await?,
                NextStep::Work(criterion) => self.iterate(criterion).await?,
            };
            if let Some(outcome) = outcome {
                return Ok(outcome);
            }
        }
    }

    /// The same with several workers.
    async fn work_together(&mut self) -> Result<Outcome, EngineError> {
        self.hire(&self.task()?).await?;
        loop {
            self.take_reports().await?;
            if let Some(outcome) = self.interrupted() {
                return Ok(outcome);
            }
            let task = self.task()?;
            self.tell_skipped(&task)?;
            self.spent.duration = self.started.elapsed();
            let step = self.next_together(&task);
            if let (Step::Stop(_) | Step::Prove, Some(workers)) = (&step, &mut self.workers) {
                workers.try_again();
                if !workers.queue.is_empty() {
                    continue;
                }
                let files = workers.put_off.iter().flat_map(|(_, files)| files);
                let paths: Vec<PathBuf> = files.map(|file| file.path.clone()).collect();
                if !paths.is_empty() {
                    return Err(VerifyError::InTheWay { paths }.into());
                }
            }
            let outcome = match step {
                Step::Stop(outcome) => Some(outcome),
                Step::Start(criterion) => self.assign(criterion).await.map(|()| None)?,
                Step::Land => self.land_next().await.map(|()| None)?,
                Step::Wait => self.wait_for_workers().await.map(|()| None)?,
                Step::Alone(criterion) => {
                    if let Some(workers) = &mut self.workers {
                        workers.worked_alone = true;
                    }
                    self.iterate(criterion).await?
                }
                Step::Prove => self.prove(&task).await?,
            };
            if let Some(outcome) = outcome {
                return Ok(outcome);
            }
        }
    }

    fn next_together<'t>(&self, task: &'t Task) -> Step<'t> {
        let Some(workers) = &self.workers else { return Step::Prove };
        let busy = workers.busy();
        // What was handed in has cost what it cost, whether it lands or not.
        let mut spent = self.spent;
        for delivery in workers.queue.iter().filter(|it| !it.counted) {
            spent.premium_requests += delivery.work.premium_requests;
            spent.tokens = match (spent.tokens, delivery.tokens()) {
                (None, None) => None,
                (before, more) => Some(before.unwrap_or(0).saturating_add(more.unwrap_or(0))),
            };
        }
        schedule(task, &self.state, (&spent, &self.parts.limits), workers.crew(&busy))
    }
}
