//! What stands in for the world around a run: an agent that is a list of functions, and
//! verify commands that look whether a file is there.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::work_tree::{Act, WorkTree};
use crate::agent::{Agent, AgentError, Closed, Gate, Session, StopHook, TurnLimits};
use crate::model::{
    AgentIdentity, CheckResult, CheckStatus, Event, Prompt, ReportError, Reporter, SessionId, Turn,
    TurnEnd,
};
use crate::verify::{CheckOptions, Checks};

#[derive(Default)]
pub(super) struct FakeScript {
    pub(super) acts: VecDeque<Act>,
    /// What a human does before the next sessions are opened.
    pub(super) between: VecDeque<Act>,
    /// Why the next sessions cannot be opened.
    pub(super) closed_doors: VecDeque<AgentError>,
    pub(super) prompts: Vec<String>,
    pub(super) starts: u32,
    /// The model and the effort of each start.
    pub(super) started_with: Vec<Option<String>>,
    pub(super) stops: u32,
}

impl FakeScript {
    pub(super) fn start(&mut self, with: [Option<String>; 2]) {
        self.starts += 1;
        self.started_with.extend(with);
    }
}

#[derive(Clone)]
pub(super) struct Fake {
    pub(super) script: Arc<Mutex<FakeScript>>,
    pub(super) place: Arc<WorkTree>,
    pub(super) gate: Arc<Gate>,
    pub(super) id: SessionId,
    /// Asks before it ends a turn, as the CLI's hook does.
    pub(super) asks: Option<mpsc::Sender<StopHook>>,
}

impl Fake {
    pub(super) fn script(&self) -> std::sync::MutexGuard<'_, FakeScript> {
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
        let between = self.script().between.pop_front();
        between.map(|act| act(&self.place));
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
            let asked = StopHook { session: self.id.clone(), answer };
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
        self.gate.check_recorded()?;
        Ok(turn)
    }

    async fn close(self: Box<Self>, _: Duration) -> Closed {
        Closed::Confirmed
    }
}

/// Verify commands that pass if FILE exists. Some have a side effect:
///
/// - `exists FILE`: none.
/// - `slow FILE`: the first time that FILE exists, leaves a file behind and never ends.
/// - `edit FILE`: the first time that FILE exists, a human saves TASK.md meanwhile.
/// - `spoil FILE`: in the second proof room, removes the journal's last line.
#[derive(Default)]
pub(super) struct FileChecks {
    pub(super) ran_before: AtomicBool,
    pub(super) journal: PathBuf,
}

#[async_trait]
impl Checks for FileChecks {
    async fn run(&self, command: &str, options: &CheckOptions) -> CheckResult {
        let (how, file) = command.split_once(' ').expect("a command of these tests");
        let there = options.dir.join(file).exists();
        let first = || there && !self.ran_before.swap(true, Ordering::SeqCst);
        let repo = self.journal.with_file_name("repo");
        if how == "slow" && first() {
            std::fs::write(options.dir.join("left.tmp"), "").expect("written");
            std::future::pending::<()>().await;
        }
        if how == "edit" && first() {
            let path = repo.join("tasks/demo/TASK.md");
            let text = std::fs::read_to_string(&path).expect("TASK.md");
            std::fs::write(&path, text + "\nMind the gap.\n").expect("saved");
        }
        if how == "spoil" && there && self.journal.with_file_name("rooms/aside").exists() {
            let told = std::fs::read_to_string(&self.journal).expect("a journal");
            let end = told.trim_end().rfind('\n').expect("two lines") + 1;
            std::fs::write(&self.journal, &told[..end]).expect("spoilt");
        }
        CheckResult::new(command, if there { CheckStatus::Passed } else { CheckStatus::Failed(1) })
    }
}

pub(super) struct ReportedEvents(pub(super) Arc<Mutex<Vec<Event>>>);

impl Reporter for ReportedEvents {
    fn name(&self) -> &'static str {
        "collector"
    }

    fn on_event(&mut self, event: &Event) -> Result<(), ReportError> {
        self.0.lock().expect("events").push(event.clone());
        Ok(())
    }
}
