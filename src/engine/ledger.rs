//! What a run knows, and the only place where it changes: TASK.md, the state, the baseline, budgets,
//! feedback, the branch, and the journal.
//!
//! Invariant: nothing in here is written by an agent or by the code that drives one.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::EngineError;
use super::cancellable_checks::CancellableChecks;
use super::crew::Earlier;
use super::decide::{Limits, Spent};
use crate::agent::{AgentKind, Denials, Gate};
use crate::events::Emitter;
use crate::guard::Policy;
use crate::model::{
    CheckResult, CriterionKey, Finding, Oid, Outcome, Proof, ProofMode, TaskState, Tier, Usage,
};
use crate::prompt::Templates;
use crate::recipe::Bridge;
use crate::sys::clock::Clock;
use crate::sys::shutdown::Shutdown;
use crate::task::TaskFolder;
use crate::verify::{
    Around, Baseline, Checks, CommitsAlone, GitRepo, HoldOuts, Identity, Layout, Preflight,
    ProofRooms, RefusedCommit, Table,
};

/// What a ledger is made of.
pub struct LedgerParts {
    /// The repository.
    pub repo: Arc<GitRepo>,
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
    /// The guard's policy without a criterion in focus.
    pub policy: Policy,
    /// The run's limits.
    pub limits: Limits,
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
    /// The agent's command, redacted, for the journal.
    pub agent_command: String,
    /// The adapter that speaks ACP.
    pub agent: AgentKind,
    /// The run's own folder.
    pub run_folder: PathBuf,
    /// The kernel's limits on the agent's commands.
    pub tier: Tier,
    /// The user's text for every prompt.
    pub project_context: Option<String>,
    /// The use of lessons.
    pub lessons: LessonUse,
    /// The last iteration number in the journals of earlier runs.
    pub iteration: u32,
    /// Criteria at which an earlier run left a commit that counts.
    pub worked: Vec<(CriterionKey, Oid)>,
    /// Is the work checked when the agent wants to end its turn?
    pub stop_check: bool,
    /// Commands for the user to type next.
    pub commands: NextCommands,
    /// Messages for the human before the work.
    pub notices: Vec<String>,
    /// The checks that the agent never sees.
    pub holdout: Option<HoldOut>,
}

/// Commands that a run names at its end, as the user types them in their folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextCommands {
    /// Starts the run again.
    pub start: String,
    /// The flags of its settings in that, as typed for this run.
    pub flags: Vec<String>,
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
    /// Hands the branch over; none if the work is on the default branch.
    pub pr: Option<String>,
    /// Lands the work where the branch is, if this run hands it over as a bundle.
    pub land: Option<String>,
    /// Logs in to an agent other than the Copilot CLI.
    pub log_in: Option<&'static str>,
}

/// The hold-out checks of a run.
#[derive(Clone, Debug)]
pub struct HoldOut {
    /// The checks.
    pub checks: HoldOuts,
    /// The human's file for their commands and output.
    pub log: PathBuf,
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

/// A run's knowledge, and what it decides with it.
pub(super) struct Ledger {
    pub(super) parts: LedgerParts,
    pub(super) rooms: Option<ProofRooms>,
    pub(super) state: TaskState,
    /// Where the branch was when the runner looked last.
    pub(super) last_head: Option<Oid>,
    pub(super) spent: Spent,
    /// What was spent when the costs of iterations were counted last, and those costs.
    pub(super) counted: Spent,
    pub(super) costs: Vec<(Duration, Usage)>,
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
    /// The ref with work that the end of the run cut off.
    pub(super) unfinished: Vec<String>,
    /// The commits at which checks passed in the room in this run.
    pub(super) passed_at: HashMap<String, Oid>,
    /// Inconclusive verdicts in a row on each criterion.
    pub(super) unclear: HashMap<CriterionKey, u32>,
    /// How often checks of a criterion were flaky in the proof at the end.
    pub(super) flaky_at_end: HashMap<CriterionKey, u32>,
    /// What the project's commit hooks refuse.
    pub(super) commit_hooks: Vec<RefusedCommit>,
    /// Criteria of which it was said that they are skipped.
    pub(super) told_skipped: BTreeSet<CriterionKey>,
    /// Programs that the agent missed although they are there, and that it was told of.
    pub(super) answered: BTreeSet<(CriterionKey, String)>,
    /// Why a hold-out check cannot run.
    pub(super) broken_holdout: Option<String>,
    /// Where the next attempt at a criterion begins, with several jobs.
    pub(super) attempts: HashMap<CriterionKey, Earlier>,
    /// Criteria whose work was fine alone, and did not fit what had landed meanwhile.
    pub(super) clashed: BTreeSet<CriterionKey>,
    /// An agent works in the run's own tree.
    pub(super) works_here: bool,
    /// Work of a worker's that ended the run since it looked like a deception: its base, and the ref
    /// that has it.
    pub(super) doubtful: Option<(Oid, String)>,
}

impl Ledger {
    /// The ledger of a run that has not begun. With several jobs, no agent works in its tree.
    pub(super) fn new(mut parts: LedgerParts, works_here: bool) -> Result<Self, EngineError> {
        let mut state = super::state::load(parts.repo.as_ref(), &parts.layout)?.state;
        state.iteration = state.iteration.max(parts.iteration);
        for (key, commit) in &parts.worked {
            state.entry(key).worked = Some(commit.clone());
        }
        parts.checks = Arc::new(CancellableChecks {
            checks: parts.checks,
            token: parts.stop.token().clone(),
            reason: "the run was ended",
            events: Some(Arc::clone(&parts.events)),
        });
        Ok(Self {
            rooms: parts.rooms.take(),
            last_head: None,
            state,
            spent: Spent::default(),
            counted: Spent::default(),
            costs: Vec::new(),
            baseline: Baseline::default(),
            artefacts: BTreeSet::new(),
            origins: HashMap::new(),
            passed_from: HashMap::new(),
            feedback: HashMap::new(),
            denials: HashMap::new(),
            failed_checks: HashMap::new(),
            failed_before: None,
            told_of_tracked_lessons: false,
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
            unfinished: Vec::new(),
            passed_at: HashMap::new(),
            unclear: HashMap::new(),
            flaky_at_end: HashMap::new(),
            commit_hooks: Vec::new(),
            told_skipped: BTreeSet::new(),
            answered: BTreeSet::new(),
            broken_holdout: None,
            attempts: HashMap::new(),
            clashed: BTreeSet::new(),
            works_here,
            doubtful: None,
            parts,
        })
    }

    /// The outcome after a signal, if there was one.
    pub(super) fn interrupted(&self) -> Option<Outcome> {
        self.parts.stop.signal().map(|signal| Outcome::Interrupted { signal })
    }

    /// The end of the run's time. `None` without a limit, or if it is too far away to represent.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.parts.limits.duration.and_then(|limit| self.started.checked_add(limit))
    }

    /// Shortens a wait to the time that the run has left.
    pub(super) fn within_the_run(&self, delay: Duration) -> Duration {
        let left = self.deadline().map(|deadline| deadline.duration_since(Instant::now()));
        left.map_or(delay, |left| left.min(delay))
    }
}
