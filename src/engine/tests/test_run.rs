//! A run on a real repository with everything else made up, and a clock that stands still
//! unless somebody waits.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::mpsc;

use super::fakes::{Fake, FakeScript, FileChecks, ReportedEvents};
use super::format::told;
use super::work_tree::{Act, WorkTree};
use crate::agent::{Agent, AgentKind, Gate, StopHook, TurnLimits};
use crate::engine::{
    BaselineRun, LedgerParts, Limits, NextCommands, OnFatal, Run, RunParts, WorkerParts,
};
use crate::events::Emitter;
use crate::guard::{OsFiles, Policy, Redactor};
use crate::model::{
    Event, EventKind, OnStuck, Outcome, Premium, ProofMode, Record, Reporter, RunId, SessionId,
    Tier,
};
use crate::prompt::Templates;
use crate::recipe::{Bridge, BridgeConfig, NestedLaunch};
use crate::sys::clock::Clock;
use crate::sys::shutdown::Shutdown;
use crate::verify::{
    Around, Branch, CommitsAlone, Dirt, GitRepo, Identity, Layout, MasterFolder, Person,
    RoomFolders, SeenAt, Table,
};

pub(super) struct TestRun {
    _dir: tempfile::TempDir,
    pub(super) place: Arc<WorkTree>,
    pub(super) script: Arc<Mutex<FakeScript>>,
    pub(super) events: Arc<Mutex<Vec<Event>>>,
    pub(super) parts: Option<RunParts>,
}

pub(super) const TASK: &str = "# Demo\n\n- [ ] one\n  - verify: `exists one.txt`\n- [ ] two\n";

/// Room for the scenes.
fn limits() -> Limits {
    Limits {
        iterations: 10,
        duration: None,
        premium_requests: None,
        tokens: None,
        credits: None,
        attempts: 3,
        on_stuck: OnStuck::Stop,
        on_fatal: OnFatal::EndRun,
    }
}

impl TestRun {
    pub(super) fn new(task: &str, acts: Vec<Act>) -> Self {
        Self::with(task, acts, None)
    }

    /// One whose agent asks before it ends a turn.
    pub(super) fn asking(task: &str, acts: Vec<Act>) -> Self {
        let (asks, stops) = mpsc::channel(1);
        let mut scene = Self::with(task, acts, Some(asks));
        scene.parts.as_mut().expect("not begun").worker.stops = stops;
        scene
    }

    fn with(task: &str, acts: Vec<Act>, asks: Option<mpsc::Sender<StopHook>>) -> Self {
        let dir = tempfile::tempdir().expect("folder");
        let base = dir.path().canonicalize().expect("canonical");
        let stop = Shutdown::default();
        // Clocks are copied, so what sets them all outlives them: eight bytes a test.
        let set: &'static AtomicI64 = Box::leak(Box::default());
        let place = Arc::new(WorkTree { root: base.join("repo"), set });
        place.begin(task);
        let repo = GitRepo::discover(&place.root).expect("repository");
        let layout = Layout::new("demo", "tasks/demo");
        let preflight =
            repo.preflight(&layout, Branch::Current, Dirt::Refuse).expect("a usable repository");
        let (rooms, master, seen_at) = (base.join("rooms"), base.join("master"), SeenAt::ItsPlace);
        let folders = RoomFolders { base: &rooms, seen_at, master: MasterFolder::Kept(&master) };
        let rooms = repo.proof_rooms(&layout, folders, &preflight).expect("proof rooms");
        let clock = Clock::jumping(start(), set);
        let (events, journal) = (Arc::default(), base.join("events.jsonl"));
        let collector: Box<dyn Reporter> = Box::new(ReportedEvents(Arc::clone(&events)));
        let (run, reporters) = (RunId::new("r1"), vec![collector]);
        let emitter = Emitter::create(&journal, run, clock, Arc::new(str::to_owned), reporters);
        let emitter = Arc::new(emitter.expect("journal"));
        let record: Arc<dyn Record> = Arc::clone(&emitter) as _;
        let redactor = Arc::new(Redactor::new(Vec::<String>::new()));
        let gate = Arc::new(Gate::new(record, redactor, Box::new(OsFiles)));
        let script =
            Arc::new(Mutex::new(FakeScript { acts: acts.into(), ..FakeScript::default() }));
        let fake = Fake {
            script: Arc::clone(&script),
            place: Arc::clone(&place),
            gate: Arc::clone(&gate),
            id: SessionId::new("s"),
            asks,
        };
        let folder = crate::task::discover(&place.root, &place.root, "demo").expect("task folder");
        let ledger = LedgerParts {
            tier: Tier::Off,
            agent: AgentKind::Copilot,
            run_folder: base.join("run"),
            commands: commands(),
            rooms: Some(rooms),
            proof: ProofMode::Room,
            table: Table::new(&[]).expect("the table"),
            repo: Arc::new(repo),
            checks: Arc::new(FileChecks { journal: journal.clone(), ..FileChecks::default() }),
            recipes: Arc::new(no_recipes(&base)),
            gate,
            events: emitter,
            templates: Templates::builtin().expect("templates"),
            clock,
            stop,
            layout,
            policy: Policy { tmp: Some(base.join("tmp")), ..Policy::new(&place.root, &folder.dir) },
            folder,
            preflight,
            identity: Identity::of(Person { name: "Ada".into(), email: "ada@example.org".into() }),
            limits: limits(),
            verify_limit: Duration::from_secs(600),
            regression_budget: Duration::from_secs(30),
            check_environment: Vec::new(),
            around: Around::look(Vec::new(), None).expect("nothing to read"),
            baseline: BaselineRun::Taken,
            commits_alone: CommitsAlone::Accepted,
            agent_command: "fake".to_owned(),
            project_context: None,
            lessons: crate::engine::LessonUse::Kept,
            iteration: 0,
            worked: Vec::new(),
            stop_check: true,
            notices: Vec::new(),
            holdout: None,
        };
        let worker = WorkerParts {
            start: Box::new(move |model, effort| {
                let fake = fake.clone();
                Box::pin(async move {
                    fake.script().start([model, effort]);
                    Ok(Box::new(fake) as Box<dyn Agent>)
                })
            }),
            turn: TurnLimits::default(),
            max_wait: Duration::from_secs(100),
            max_retries: None,
            premium: Box::new(|_| Premium::Counted),
            model: None,
            escalate: None,
            fallbacks: VecDeque::new(),
            providers: None,
            stops: mpsc::channel(1).1,
        };
        let parts = RunParts { ledger, worker, jobs: None, only: None, handed_in: None };
        Self { _dir: dir, place, script, events, parts: Some(parts) }
    }

    pub(super) fn limits(&mut self) -> &mut Limits {
        &mut self.parts.as_mut().expect("not begun").ledger.limits
    }

    /// Runs to the end; gives the outcome or the error's words.
    pub(super) async fn run(&mut self) -> Result<Outcome, String> {
        let parts = self.parts.take().expect("not begun");
        let mut run = Run::new(parts).map_err(|error| error.to_string())?;
        run.to_the_end().await.map_err(|error| error.to_string())
    }

    /// Every event in a line of its own.
    pub(super) fn told(&self) -> String {
        let events = self.events.lock().expect("events");
        let events = events.iter().filter(|it| !matches!(it.kind, EventKind::Activity { .. }));
        events.map(|event| told(event) + "\n").collect()
    }

    pub(super) fn script(&self) -> std::sync::MutexGuard<'_, FakeScript> {
        self.script.lock().expect("script")
    }

    /// How often the agent was started, and stopped.
    pub(super) fn counts(&self) -> (u32, u32) {
        let script = self.script();
        (script.starts, script.stops)
    }
}

/// A bridge that finds no recipe runner.
fn no_recipes(base: &Path) -> Bridge {
    Bridge::new(BridgeConfig {
        ours: Vec::new(),
        home: None,
        nested: NestedLaunch {
            launcher: base.join("nobody"),
            depth: "1".to_owned(),
            socket: None,
            more: Vec::new(),
        },
        run: "scene".to_owned(),
        tmp: base.join("tmp"),
        secret: Arc::new(|_| false),
    })
}

pub(super) fn start() -> DateTime<Utc> {
    "2026-11-21T14:00:00Z".parse().expect("time")
}

fn commands() -> NextCommands {
    NextCommands {
        accept: "ralph-copilot accept demo".to_owned(),
        start: "ralph-copilot demo".to_owned(),
        flags: Vec::new(),
        retry: "ralph-copilot retry demo".to_owned(),
        look: "git status; ralph-copilot log".to_owned(),
        tick: "ralph-copilot tick demo".to_owned(),
        review: "git log --oneline".to_owned(),
        pr: Some("ralph-copilot pr demo".to_owned()),
        land: None,
        log_in: None,
    }
}
