//! What a run does now, folded from its events, for people who watch it.
//!
//! Invariant: pure. The screen of a run and `watch` show the same, since both have only this.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::fold::RunView;
use crate::model::{
    Activity, Answer, Cell, ContextFill, CriterionKey, Event, EventKind, FaultClass, StepStatus,
    Totals, TurnEnd, VerdictResult,
};

/// A run, as its screen shows it.
#[derive(Clone, Debug, Default)]
pub struct LiveView {
    /// Its state.
    pub view: RunView,
    /// The criteria now.
    pub criteria: Totals,
    /// Seconds it may take, if there is a limit.
    pub max_seconds: Option<u64>,
    /// What happens in its own tree; none if nothing does.
    pub own: Option<Work>,
    /// What its workers do, by their numbers.
    pub workers: BTreeMap<usize, Work>,
}

/// What happens in a tree.
#[derive(Clone, Debug)]
pub struct Work {
    /// The criterion in focus, if there is one.
    pub criterion: Option<CriterionKey>,
    /// 1 for the first attempt at it.
    pub attempt: u32,
    /// When it began.
    pub since: DateTime<Utc>,
    /// When the agent was last heard of.
    pub heard: DateTime<Utc>,
    /// How full the context of its agent is.
    context: Option<ContextFill>,
    doing: Doing,
    /// Calls that have not ended: their ids, and what they are.
    calls: Vec<(Option<String>, String, Value)>,
}

/// What happens now.
#[derive(Clone, Debug, PartialEq)]
pub enum Doing {
    /// A step of the runner's own.
    Step(&'static str),
    /// The agent works, and no call is running.
    Thinking,
    /// A call of the agent.
    Call {
        /// The tool.
        tool: String,
        /// Its arguments.
        input: Value,
    },
    /// A command of `setup:`.
    SettingUp(String),
    /// A verify command.
    Checking {
        /// The command.
        command: String,
        /// What this run of it is to find.
        cell: Cell,
        /// Its place in the list of commands, and the length of the list.
        place: (usize, usize),
    },
    /// A step of a recipe.
    Recipe(String),
    /// A wait.
    Waiting {
        /// Until when.
        until: DateTime<Utc>,
        /// The kind of failure.
        fault: Option<FaultClass>,
    },
    /// A worker without work.
    Idle,
}

impl Work {
    fn new(criterion: Option<CriterionKey>, attempt: u32, at: DateTime<Utc>, doing: Doing) -> Self {
        let (context, calls) = (None, Vec::new());
        Self { criterion, attempt, since: at, heard: at, context, doing, calls }
    }

    /// What happens now: of several calls, the last one that began.
    pub fn doing(&self) -> Doing {
        match (&self.doing, self.calls.last()) {
            (Doing::Thinking, Some((_, tool, input))) => {
                Doing::Call { tool: tool.clone(), input: input.clone() }
            }
            (doing, _) => doing.clone(),
        }
    }

    fn does(&mut self, doing: Doing) {
        self.doing = doing;
        self.calls.clear();
    }

    fn call(&mut self, call: Option<&String>, tool: &str, input: &Value) {
        self.calls.push((call.cloned(), tool.to_owned(), input.clone()));
        self.doing = Doing::Thinking;
    }

    fn call_ended(&mut self, id: &str) {
        // Not every agent names its calls when it asks.
        let known = self.calls.iter().position(|(call, ..)| call.as_deref() == Some(id));
        let nameless = || self.calls.iter().position(|(call, ..)| call.is_none());
        if let Some(at) = known.or_else(nameless) {
            self.calls.remove(at);
        }
    }

    fn take(&mut self, activity: &Activity) {
        match activity.clone() {
            Activity::Alive { context } => {
                self.context = context.or(self.context);
                self.doing = Doing::Thinking;
            }
            Activity::Call { call, tool, input } => self.call(call.as_ref(), &tool, &input),
            Activity::CallEnded { call } => self.call_ended(&call),
            Activity::SettingUp { command } => self.does(Doing::SettingUp(command)),
            Activity::Checking { command, cell, number, of } => {
                self.does(Doing::Checking { command, cell, place: (number, of) });
            }
        }
    }
}

impl LiveView {
    /// Takes the next event.
    pub fn apply(&mut self, event: &Event) {
        self.view.apply(event);
        let at = event.time;
        match &event.kind {
            EventKind::RunStarted { criteria, max_seconds, .. } => {
                (self.criteria, self.max_seconds) = (*criteria, *max_seconds);
                self.own = Some(Work::new(None, 1, at, Doing::Step("preparing")));
            }
            EventKind::Activity { worker, activity } => self.take(*worker, activity, at),
            EventKind::BaselineChecked { .. } => self.step("starting the agent"),
            EventKind::AgentStarted { .. } => self.step("opening a session"),
            EventKind::WorkerStarted { worker, criterion, attempt, .. } => {
                let work =
                    Work::new(Some(criterion.clone()), *attempt, at, Doing::Step("starting"));
                self.workers.insert(*worker, work);
                self.own.take_if(|own| own.criterion.is_none());
            }
            EventKind::WorkerHandedIn { worker, criterion } => self.rest(*worker, criterion, at),
            EventKind::IterationStarted { criterion, attempt, worker, .. } => {
                let doing = match worker {
                    Some(_) => Doing::Step("proving"),
                    None => Doing::Step("writing the prompt"),
                };
                if let Some(worker) = worker {
                    self.rest(*worker, criterion, at);
                }
                self.own = Some(Work::new(Some(criterion.clone()), *attempt, at, doing));
            }
            EventKind::PromptSent { .. } => self.turn(at, |own| own.does(Doing::Thinking)),
            EventKind::ToolDecided { answer: Answer::Allow, call, tool, input, .. } => {
                self.turn(at, |own| own.call(call.as_ref(), tool, input));
            }
            EventKind::ToolDecided { answer: Answer::Deny, .. } => self.turn(at, |_| {}),
            EventKind::ToolFinished { call, .. } => self.turn(at, |own| own.call_ended(&call.id)),
            EventKind::StopChecked { .. } => self.turn(at, |own| own.does(Doing::Thinking)),
            EventKind::RecipeStarted { recipe, .. } => {
                let name = recipe.as_str().to_owned();
                self.turn(at, |own| own.does(Doing::Recipe(name)));
            }
            EventKind::RecipeProgress { step, status: StepStatus::Running, .. } => {
                self.turn(at, |own| own.does(Doing::Recipe(step.clone())));
            }
            EventKind::TurnEnded { turn, .. } => {
                let ends = turn.end == TurnEnd::Interrupted;
                let step = if ends { "ending the run" } else { "collecting evidence" };
                self.turn(at, |own| own.does(Doing::Step(step)));
            }
            EventKind::VerdictReached { verdict, .. } => {
                if let VerdictResult::Pass(_) = verdict.result {
                    self.criteria.open = self.criteria.open.saturating_sub(1);
                }
                self.step("recording the verdict");
            }
            EventKind::CriterionReopened { .. } => self.criteria.open += 1,
            EventKind::IterationEnded { .. } => {
                self.own = self
                    .workers
                    .is_empty()
                    .then(|| Work::new(None, 1, at, Doing::Step("choosing the next step")));
            }
            EventKind::Waiting { until, fault, worker, .. } => {
                let work = match worker {
                    Some(worker) => self.workers.get_mut(worker),
                    None => Some(self.own_or(at)),
                };
                if let Some(work) = work {
                    work.does(Doing::Waiting { until: *until, fault: *fault });
                }
            }
            EventKind::RunEnded { .. } => {
                self.own = None;
                self.workers.clear();
            }
            EventKind::Notice { .. }
            | EventKind::RecipeProgress { .. }
            | EventKind::RecipeEnded { .. }
            | EventKind::CheckFinished { .. }
            | EventKind::SignAdded { .. }
            | EventKind::CriterionBlocked { .. }
            | EventKind::CriterionSkipped { .. }
            | EventKind::CriterionHeld { .. }
            | EventKind::TaskCheckFailed { .. }
            | EventKind::GatewayStarted { .. }
            | EventKind::ProviderBound { .. }
            | EventKind::ProviderLeft { .. }
            | EventKind::ToolsChanged { .. }
            | EventKind::ProviderCalled { .. }
            | EventKind::EventPushed { .. }
            | EventKind::EventsInjected { .. } => {}
        }
    }

    fn take(&mut self, worker: Option<usize>, activity: &Activity, at: DateTime<Utc>) {
        let work = match worker {
            Some(worker) => self.workers.get_mut(&worker).filter(|it| it.criterion.is_some()),
            None => Some(self.own_or(at)),
        };
        if let Some(work) = work {
            work.heard = at;
            work.take(activity);
        }
    }

    /// How full the fullest context of an agent at work is, in percent.
    pub fn context(&self) -> Option<u64> {
        let all = self.workers.values().chain(&self.own).filter_map(|work| work.context);
        all.filter_map(|it| it.used.saturating_mul(100).checked_div(it.size)).max()
    }

    /// Does everyone who has work wait?
    pub fn waits(&self) -> bool {
        let mut all = self.workers.values().chain(&self.own).map(|work| &work.doing).peekable();
        all.peek().is_some() && all.all(|it| matches!(it, Doing::Waiting { .. } | Doing::Idle))
    }

    /// The agent was heard of, in a turn in the run's own tree. What a worker's turn was comes
    /// when its work lands, long after it happened.
    fn turn(&mut self, at: DateTime<Utc>, change: impl FnOnce(&mut Work)) {
        let of_a_worker = self.view.current.as_ref().is_some_and(|it| it.worker.is_some());
        if let Some(own) = self.own.as_mut().filter(|_| !of_a_worker) {
            own.heard = at;
            change(own);
        }
    }

    fn own_or(&mut self, at: DateTime<Utc>) -> &mut Work {
        self.own.get_or_insert_with(|| Work::new(None, 1, at, Doing::Step("proving")))
    }

    fn step(&mut self, step: &'static str) {
        if let Some(own) = &mut self.own {
            own.does(Doing::Step(step));
        }
    }

    fn rest(&mut self, worker: usize, criterion: &CriterionKey, at: DateTime<Utc>) {
        let is_its = |work: &&mut Work| work.criterion.as_ref() == Some(criterion);
        if let Some(work) = self.workers.get_mut(&worker).filter(is_its) {
            *work = Work::new(None, 1, at, Doing::Idle);
        }
    }
}
