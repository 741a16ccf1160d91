//! Plays one turn: the steps in order, each action asked for and then really done.
//!
//! Invariant: an action that was not allowed is not done, unless the script says `ask: never`
//! or `ask: after`. Which turn is played, and what the answer to the prompt costs, does NOT
//! live here.

use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use serde_json::Value;

use super::action::{self, Action};
use super::faults;
use super::scene::Scene;
use super::script::{Ask, Ending, ErrorReply, OnReject, Step, TurnScript};
use super::session::Session;
use super::shapes;
use crate::agent::acp::serve::{Refusal, ServeError, Wire};

/// How a turn ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TurnEnd {
    /// With a stop reason.
    Stop(String),
    /// With an error.
    Refuse(Refusal),
    /// With the process.
    Die(Ending),
}

/// Everything a turn has to do with.
pub(super) struct Stage<'a> {
    pub(super) wire: &'a Wire,
    pub(super) session: &'a Session,
    pub(super) scene: &'a Scene,
    pub(super) turn: &'a TurnScript,
    pub(super) pace: Duration,
}

/// What became of an action.
enum Acted {
    Done,
    Rejected,
}

impl From<&ErrorReply> for Refusal {
    fn from(error: &ErrorReply) -> Self {
        Self { code: error.code, message: error.message.clone(), data: error.data.clone() }
    }
}

impl Stage<'_> {
    /// Plays it to its end.
    ///
    /// # Errors
    /// If the client is gone.
    pub(super) async fn play(&self) -> Result<TurnEnd, ServeError> {
        for step in &self.turn.steps {
            // A timer takes a millisecond even for nothing.
            if !self.pace.is_zero() {
                tokio::time::sleep(self.pace).await;
            }
            if let Some(end) = self.step(step).await? {
                return Ok(end);
            }
        }
        Ok(TurnEnd::Stop("end_turn".to_owned()))
    }

    /// One step; `Some` if it ends the turn. Boxed, for steps hold steps.
    fn step<'a>(&'a self, step: &'a Step) -> BoxFuture<'a, Result<Option<TurnEnd>, ServeError>> {
        Box::pin(async move {
            match step {
                Step::Say(text) => self.send(&shapes::said(&self.scene.fill(text))).await,
                Step::Think(text) => self.send(&shapes::thought(&self.scene.fill(text))).await,
                Step::Plan(entries) => {
                    let entries: Vec<String> =
                        entries.iter().map(|entry| self.scene.fill(entry)).collect();
                    self.send(&shapes::plan(&entries)).await;
                }
                Step::Usage(tokens) => {
                    let used = self.session.use_tokens(*tokens);
                    self.send(&shapes::context(used.input)).await;
                }
                Step::Sleep(millis) => tokio::time::sleep(Duration::from_millis(*millis)).await,
                Step::Read(_)
                | Step::Write(_)
                | Step::Edit(_)
                | Step::Run(_)
                | Step::Tick(_)
                | Step::Progress(_)
                | Step::Commit(_) => return self.act(step).await,
                Step::Together(steps) => {
                    let ends = join_all(steps.iter().map(|step| self.step(step))).await;
                    for end in ends {
                        if let Some(end) = end? {
                            return Ok(Some(end));
                        }
                    }
                }
                Step::AskOnly(step) => {
                    if let Some(action) = self.prepare(&step.0) {
                        self.send(&shapes::began(&action.call)).await;
                        self.ask(&action).await?;
                    }
                }
                Step::Hang => std::future::pending().await,
                Step::Die(ending) => return Ok(Some(TurnEnd::Die(*ending))),
                Step::Flood(flood) => faults::flood(self.wire, &self.session.id, *flood).await,
                Step::Line(text) => self.wire.bytes(format!("{text}\n").into_bytes()).await,
                Step::Raw(text) => self.wire.bytes(text.clone().into_bytes()).await,
                Step::Hex(bytes) => self.wire.bytes(bytes.0.clone()).await,
                Step::Deep(brackets) => {
                    let brackets = usize::try_from(*brackets).unwrap_or(usize::MAX);
                    self.wire.bytes(format!("{}\n", "[".repeat(brackets)).into_bytes()).await;
                }
                Step::Update(update) => self.send(update).await,
                Step::Error(error) => return Ok(Some(TurnEnd::Refuse(error.into()))),
                Step::Stop(reason) => return Ok(Some(TurnEnd::Stop(reason.clone()))),
                Step::Spawn(spawn) => {
                    if let Err(error) = faults::spawn(spawn, self.scene) {
                        self.send(&shapes::said(&format!("Error: {error}"))).await;
                    }
                }
            }
            Ok(None)
        })
    }

    async fn send(&self, update: &Value) {
        self.wire.update(&self.session.id, update).await;
    }

    fn prepare(&self, step: &Step) -> Option<Action> {
        let id = self.turn.call_id.clone().unwrap_or_else(|| self.session.next_call());
        action::prepare(step, self.scene, &id)
    }

    /// Announces an action, asks, does it, reports it.
    async fn act(&self, step: &Step) -> Result<Option<TurnEnd>, ServeError> {
        let Some(action) = self.prepare(step) else { return Ok(None) };
        self.send(&shapes::began(&action.call)).await;
        match self.decide_and_do(&action).await? {
            Acted::Done => Ok(None),
            Acted::Rejected => {
                let words = "The user rejected this tool call.";
                self.send(&shapes::failed(&action.call, "rejected", words)).await;
                match self.turn.on_reject {
                    OnReject::Continue => Ok(None),
                    OnReject::End => {
                        self.send(&shapes::said("Info: Operation cancelled by user")).await;
                        Ok(Some(TurnEnd::Stop("end_turn".to_owned())))
                    }
                }
            }
        }
    }

    async fn decide_and_do(&self, action: &Action) -> Result<Acted, ServeError> {
        match self.turn.ask {
            Ask::Never => {}
            Ask::Before => {
                if !self.allowed(action).await? {
                    return Ok(Acted::Rejected);
                }
            }
            Ask::Twice => {
                if !self.allowed(action).await? || !self.allowed(action).await? {
                    return Ok(Acted::Rejected);
                }
            }
            Ask::After => {
                let result = action.perform().await;
                let allowed = self.allowed(action).await?;
                if !allowed {
                    return Ok(Acted::Rejected);
                }
                self.report(action, result).await;
                return Ok(Acted::Done);
            }
        }
        self.report(action, action.perform().await).await;
        Ok(Acted::Done)
    }

    async fn report(&self, action: &Action, result: Result<Value, String>) {
        let update = match result {
            Ok(output) => shapes::completed(&action.call, &output),
            Err(why) => shapes::failed(&action.call, "failure", &why),
        };
        self.send(&update).await;
    }

    /// Whether each of its requests is allowed.
    async fn allowed(&self, action: &Action) -> Result<bool, ServeError> {
        for request in &action.requests {
            let pending = self.wire.ask(self.request(action, request)).await?;
            let selected = pending.selected().await;
            if !selected.is_some_and(|option| option.starts_with("allow")) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Asks and does not wait.
    async fn ask(&self, action: &Action) -> Result<(), ServeError> {
        for request in &action.requests {
            // The answer is dropped unread: whoever asked is not interested any more.
            self.session.keep(self.wire.ask(self.request(action, request)).await?);
        }
        Ok(())
    }

    fn request(&self, action: &Action, request: &shapes::Request) -> Value {
        let usual = shapes::usual_options();
        let options = self.turn.options.as_ref().unwrap_or(&usual);
        shapes::permission(&self.session.id, &action.call, request, options)
    }
}
