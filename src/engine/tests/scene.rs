//! A run on a real repository with everything else made up: an agent that is a list of
//! functions, verify commands that look whether a file is there, a clock that stands still
//! unless somebody waits.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, AgentError, Closed, Gate, Session, StopAsked, TurnLimits};
use crate::engine::{BaselineRun, GuardRules, Limits, Parts, Run};
use crate::events::Emitter;
use crate::guard::{Approval, OsFiles, Redactor, Rules};
use crate::model::{
    AgentIdentity, CheckResult, CheckStatus, Event, EventKind, Fault, FaultClass, OnStuck, Outcome,
    Premium, Prompt, Record, ReportError, Reporter, RunId, SessionId, Turn, TurnEnd, WriteScope,
};
use crate::prompt::Templates;
use crate::recipe::{Around, Bridge, Nested};
use crate::sys::clock::Clock;
use crate::sys::stop::Stop;
use crate::verify::{
    Branch, CheckOptions, Checks, CommitsAlone, Dirt, GitRepo, Identity, Layout, Repo as _,
};

/// What one prompt does: to the repository, and as a turn.
pub(super) type Act = Box<dyn FnOnce(&Place) -> Turn + Send>;

/// Where an act happens.
pub(super) struct Place {
    pub(super) root: PathBuf,
    pub(super) stop: Stop,
    /// Seconds by which the wall clock was set.
    pub(super) set: &'static AtomicI64,
}

impl Place {
    pub(super) fn write(&self, path: &str, text: &str) {
        let at = self.root.join(path);
        std::fs::create_dir_all(at.parent().expect("parent")).expect("folder");
        std::fs::write(at, text).expect("written");
    }

    pub(super) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).expect("read")
    }

    pub(super) fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(args)
            .current_dir(&self.root)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .expect("git");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    pub(super) fn tick(&self, criterion: &str) {
        let path = "tasks/demo/TASK.md";
        let text = self.read(path);
        self.write(path, &text.replace(&format!("[ ] {criterion}"), &format!("[x] {criterion}")));
    }

    pub(super) fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", message]);
    }

    /// Work, tick, progress line, commit.
    pub(super) fn honest(&self, criterion: &str) {
        self.write(&format!("{criterion}.txt"), "work\n");
        self.claim(criterion);
    }

    /// The same without the work that the check looks for.
    pub(super) fn claim(&self, criterion: &str) {
        let lines = self.root.join("work.log");
        let before = std::fs::read_to_string(&lines).unwrap_or_default();
        self.write("work.log", &format!("{before}{criterion}\n"));
        self.tick(criterion);
        let progress = std::fs::read_to_string(self.root.join("tasks/demo/progress.md"));
        let progress = progress.unwrap_or_default();
        self.write("tasks/demo/progress.md", &format!("{progress}- 2026-11-21 {criterion}\n"));
        self.commit(&format!("ralph(demo): {criterion}"));
    }
}

#[derive(Default)]
pub(super) struct Script {
    pub(super) acts: VecDeque<Act>,
    /// Why the next sessions cannot be opened.
    pub(super) closed_doors: VecDeque<AgentError>,
    pub(super) prompts: Vec<String>,
    pub(super) starts: u32,
    pub(super) stops: u32,
    /// Sessions that the agent does not let go of.
    pub(super) clings: u32,
}

#[derive(Clone)]
struct Fake {
    script: Arc<Mutex<Script>>,
    place: Arc<Place>,
    gate: Arc<Gate>,
    id: SessionId,
    /// Asks before it ends a turn, as the CLI's hook does.
    asks: Option<mpsc::Sender<StopAsked>>,
}

impl Fake {
    fn script(&self) -> std::sync::MutexGuard<'_, Script> {
        self.script.lock().expect("script")
    }
}

#[async_trait]
impl Agent for Fake {
    fn identity(&self) -> Option<AgentIdentity> {
        None
    }

    fn pid(&self) -> Option<u32> {
        Some(1)
    }

    async fn open(&mut self) -> Result<Box<dyn Session>, AgentError> {
        match self.script().closed_doors.pop_front() {
            Some(error) => Err(error),
            None => Ok(Box::new(self.clone())),
        }
    }

    async fn stop(self: Box<Self>) {
        self.script().stops += 1;
    }
}

#[async_trait]
impl Session for Fake {
    fn id(&self) -> &SessionId {
        &self.id
    }

    async fn prompt(
        &mut self,
        prompt: &Prompt,
        _: &TurnLimits,
        stop: &CancellationToken,
    ) -> Result<Turn, AgentError> {
        let act = {
            let mut script = self.script();
            script.prompts.push(prompt.text.clone());
            script.acts.pop_front().expect("one prompt too many")
        };
        let mut turn = act(&self.place);
        while let Some(asks) = &self.asks {
            let (answer, answered) = oneshot::channel();
            let asked = StopAsked { session: self.id.clone(), answer };
            asks.send(asked).await.expect("the run goes on");
            let Ok(Some(told)) = answered.await else { break };
            let act = {
                let mut script = self.script();
                script.prompts.push(told);
                script.acts.pop_front().expect("one prompt too many")
            };
            turn = act(&self.place);
        }
        let took = tokio::time::sleep(Duration::from_millis(turn.millis));
        tokio::select! {
            () = took => {}
            () = stop.cancelled() => {
                return Ok(Turn { end: TurnEnd::Interrupted, ..turn });
            }
        }
        if let Some(broken) = self.gate.take_broken() {
            return Err(broken.into());
        }
        Ok(turn)
    }

    async fn close(self: Box<Self>, _: Duration) -> Closed {
        let mut script = self.script();
        if script.clings == 0 {
            return Closed::LetGo;
        }
        script.clings -= 1;
        Closed::Unanswered
    }
}

/// `exists FILE` passes if the file is there; `slow FILE` as well, but the first time it
/// leaves a file behind and never ends.
#[derive(Default)]
struct FileChecks {
    slow: AtomicBool,
}

#[async_trait]
impl Checks for FileChecks {
    async fn run(&self, command: &str, options: &CheckOptions) -> CheckResult {
        let (how, file) = command.split_once(' ').expect("a command of these tests");
        if how == "slow" && !self.slow.swap(true, Ordering::SeqCst) {
            std::fs::write(options.dir.join("left.tmp"), "").expect("written");
            std::future::pending::<()>().await;
        }
        let there = options.dir.join(file).exists();
        CheckResult {
            command: command.to_owned(),
            criteria: Vec::new(),
            whole_task: false,
            status: if there { CheckStatus::Passed } else { CheckStatus::Failed(1) },
            millis: 1,
            output: String::new(),
        }
    }
}

struct Collector(Arc<Mutex<Vec<Event>>>);

impl Reporter for Collector {
    fn name(&self) -> &'static str {
        "collector"
    }

    fn on_event(&mut self, event: &Event) -> Result<(), ReportError> {
        self.0.lock().expect("events").push(event.clone());
        Ok(())
    }
}

pub(super) struct Scene {
    _dir: tempfile::TempDir,
    pub(super) place: Arc<Place>,
    pub(super) script: Arc<Mutex<Script>>,
    pub(super) events: Arc<Mutex<Vec<Event>>>,
    pub(super) journal: PathBuf,
    pub(super) parts: Option<Parts>,
}

pub(super) const TASK: &str = "# Demo\n\n- [ ] one\n  - verify: `exists one.txt`\n- [ ] two\n";

impl Scene {
    pub(super) fn new(task: &str, acts: Vec<Act>) -> Self {
        Self::with(task, acts, None)
    }

    /// One whose agent asks before it ends a turn.
    pub(super) fn asking(task: &str, acts: Vec<Act>) -> Self {
        let (asks, stops) = mpsc::channel(1);
        let mut scene = Self::with(task, acts, Some(asks));
        scene.parts.as_mut().expect("not begun").stops = stops;
        scene
    }

    fn with(task: &str, acts: Vec<Act>, asks: Option<mpsc::Sender<StopAsked>>) -> Self {
        let dir = tempfile::tempdir().expect("folder");
        let base = dir.path().canonicalize().expect("canonical");
        let stop = Stop::default();
        // Clocks are copied, so what sets them all outlives them: eight bytes a test.
        let set: &'static AtomicI64 = Box::leak(Box::default());
        let place = Arc::new(Place { root: base.join("repo"), stop: stop.clone(), set });
        std::fs::create_dir(&place.root).expect("folder");
        place.git(&["init", "-qb", "main"]);
        place.git(&["config", "user.name", "Ada"]);
        place.git(&["config", "user.email", "ada@example.org"]);
        place.write("tasks/demo/TASK.md", task);
        place.write(".gitignore", "*.ignored\n");
        place.commit("first");
        let repo = GitRepo::discover(&place.root).expect("repository");
        let layout = Layout::new("demo", "tasks/demo");
        let preflight =
            repo.preflight(&layout, Branch::Current, Dirt::Refuse).expect("a usable repository");
        let clock = Clock::jumping(start(), set);
        let events = Arc::default();
        let journal = base.join("events.jsonl");
        let collector: Box<dyn Reporter> = Box::new(Collector(Arc::clone(&events)));
        let emitter = Emitter::create(&journal, RunId::new("r1"), clock, vec![collector]);
        let emitter = Arc::new(emitter.expect("journal"));
        let record: Arc<dyn Record> = Arc::clone(&emitter) as _;
        let redactor = Arc::new(Redactor::new(Vec::<String>::new()));
        let gate = Arc::new(Gate::new(record, redactor, Box::new(OsFiles)));
        let script = Arc::new(Mutex::new(Script { acts: acts.into(), ..Script::default() }));
        let fake = Fake {
            script: Arc::clone(&script),
            place: Arc::clone(&place),
            gate: Arc::clone(&gate),
            id: SessionId::new("s"),
            asks,
        };
        let folder = crate::task::discover(&place.root, &place.root, "demo").expect("task folder");
        let rules = GuardRules {
            workspace: place.root.clone(),
            task_dir: folder.dir.clone(),
            home: None,
            tmp: base.join("tmp"),
            write_scope: WriteScope::Workspace,
            allow: Vec::new(),
            protect: Vec::new(),
            human: Vec::new(),
            rules: Rules::default(),
            approval: Approval::Automatic,
        };
        let parts = Parts {
            again: "ralph-copilot demo".to_owned(),
            repo: Arc::new(repo),
            checks: Arc::new(FileChecks::default()),
            recipes: Arc::new(Bridge::new(Around {
                ours: Vec::new(),
                home: None,
                nested: Nested {
                    launcher: base.join("nobody"),
                    depth: "1".to_owned(),
                    socket: None,
                    more: Vec::new(),
                },
                run: "scene".to_owned(),
                tmp: base.join("tmp"),
                secret: Arc::new(|_| false),
            })),
            start: Box::new(move |_model| {
                let fake = fake.clone();
                Box::pin(async move {
                    fake.script().starts += 1;
                    Ok(Box::new(fake) as Box<dyn Agent>)
                })
            }),
            gate,
            events: emitter,
            templates: Templates::builtin().expect("templates"),
            clock,
            stop,
            layout,
            folder,
            preflight,
            identity: Identity { name: "Ada".into(), email: "ada@example.org".into() },
            rules,
            limits: Limits {
                iterations: 10,
                duration: None,
                premium_requests: None,
                tokens: None,
                attempts: 3,
                on_stuck: OnStuck::Stop,
            },
            turn: TurnLimits::default(),
            max_wait: Duration::from_secs(100),
            max_retries: None,
            verify_limit: Duration::from_secs(600),
            regression_budget: Duration::from_secs(30),
            check_environment: Vec::new(),
            baseline: BaselineRun::Taken,
            commits_alone: CommitsAlone::Accepted,
            premium: Premium::Counted,
            agent_command: "fake".to_owned(),
            model: None,
            fallbacks: VecDeque::new(),
            project_context: None,
            iteration: 0,
            worked: Vec::new(),
            stops: mpsc::channel(1).1,
            notices: Vec::new(),
        };
        Self { _dir: dir, place, script, events, journal, parts: Some(parts) }
    }

    pub(super) fn limits(&mut self) -> &mut Limits {
        &mut self.parts.as_mut().expect("not begun").limits
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
        events.iter().map(|event| told(event) + "\n").collect()
    }

    pub(super) fn script(&self) -> std::sync::MutexGuard<'_, Script> {
        self.script.lock().expect("script")
    }

    /// How often the agent was started, and stopped.
    pub(super) fn counts(&self) -> (u32, u32) {
        let script = self.script();
        (script.starts, script.stops)
    }

    /// What is in the tree that no commit holds.
    pub(super) fn dirt(&self) -> String {
        self.place.git(&["status", "--porcelain", "-uall"])
    }

    pub(super) fn log(&self) -> Vec<String> {
        let log = self.place.git(&["log", "--format=%s", "--reverse"]);
        log.lines().map(str::to_owned).collect()
    }
}

pub(super) fn start() -> DateTime<Utc> {
    "2026-11-21T14:00:00Z".parse().expect("time")
}

pub(super) fn act(act: impl FnOnce(&Place) + Send + 'static) -> Act {
    ending(TurnEnd::EndTurn, act)
}

pub(super) fn ending(end: TurnEnd, act: impl FnOnce(&Place) + Send + 'static) -> Act {
    Box::new(move |place| {
        act(place);
        Turn { end, ..Turn::default() }
    })
}

pub(super) fn honest(criterion: &'static str) -> Act {
    act(move |place| place.honest(criterion))
}

pub(super) fn failing(end: TurnEnd, class: FaultClass) -> Act {
    Box::new(move |_| {
        let fault = Some(Fault::new(class, "it said so"));
        Turn { end, fault, ..Turn::default() }
    })
}

fn told(event: &Event) -> String {
    let at = (event.time - start()).num_seconds();
    let what = match &event.kind {
        EventKind::Notice { message } => format!("notice: {message}"),
        EventKind::BaselineChecked { checks } => {
            let checks: Vec<_> = checks
                .iter()
                .map(|check| format!("{} {:?}", check.command, check.status))
                .collect();
            format!("baseline: {}", checks.join(", "))
        }
        EventKind::IterationStarted { iteration, criterion, attempt, .. } => {
            format!("iteration {iteration}: {}, attempt {attempt}", criterion.text)
        }
        EventKind::PromptSent { again, .. } => {
            format!("prompt{}", if *again { " again" } else { "" })
        }
        EventKind::RecipeStarted { recipe, .. } => format!("recipe: {recipe}"),
        EventKind::RecipeProgress { step, status, .. } => format!("step: {step} {status:?}"),
        EventKind::RecipeEnded { error, .. } => {
            format!("recipe ended: {:?}", error.as_ref().map(|error| &error.kind))
        }
        EventKind::TurnEnded { turn, .. } => {
            let fault = turn.fault.as_ref().map(|fault| format!(", {:?}", fault.class));
            format!("turn: {:?}{}", turn.end, fault.unwrap_or_default())
        }
        EventKind::CheckFinished { check, .. } => {
            format!("check: {} {:?}", check.command, check.status)
        }
        EventKind::VerdictReached { verdict, .. } => {
            let kinds: Vec<_> =
                verdict.findings.iter().map(|finding| format!("{:?}", finding.kind)).collect();
            format!("verdict: {:?} {}", verdict.result, kinds.join(" ")).trim_end().to_owned()
        }
        EventKind::StopChecked { findings, sent_back, checks, .. } => {
            let kinds: Vec<_> =
                findings.iter().map(|finding| format!("{:?}", finding.kind)).collect();
            let sent = if *sent_back { "sent back" } else { "left" };
            format!("stop: {sent}, {} checks, {}", checks.len(), kinds.join(" "))
                .trim_end_matches([' ', ','])
                .to_owned()
        }
        EventKind::SignAdded { sign, .. } => format!("sign: {sign}"),
        EventKind::CriterionBlocked { criterion, then, kept } => {
            format!("blocked: {}, {then}, {}", criterion.text, kept.as_deref().unwrap_or("-"))
        }
        EventKind::CriterionReopened { criterion, reason } => {
            format!("reopened: {}, {reason}", criterion.text)
        }
        EventKind::IterationEnded { iteration, premium_requests, .. } => {
            format!("iteration {iteration} ended, {premium_requests} premium")
        }
        EventKind::Waiting { until, reason } => {
            format!("waiting until {}: {reason}", (*until - start()).num_seconds())
        }
        EventKind::RunEnded { outcome, exit_code, summary } => {
            let ticked = summary.criteria.iter().filter(|criterion| criterion.checked).count();
            format!("run ended {exit_code}: {outcome:?}, {ticked} ticked")
        }
        other @ (EventKind::RunStarted { .. }
        | EventKind::AgentStarted { .. }
        | EventKind::ToolDecided { .. }
        | EventKind::ToolFinished { .. }) => other.name().to_owned(),
    };
    format!("{at:>4} {what}")
}

/// The lines that begin with one of these words.
pub(super) fn only(told: &str, words: &[&str]) -> Vec<String> {
    let wanted = |line: &&str| words.iter().any(|word| line[5..].starts_with(word));
    told.lines().filter(wanted).map(|line| line[5..].to_owned()).collect()
}

pub(super) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
