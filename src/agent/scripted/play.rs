//! Plays one turn: the steps in order, each action asked for and then really performed.
//!
//! Invariant: an action that was not allowed is not performed, unless the script says
//! `ask: never` or `ask: after`. `agent` picks the turn and answers the prompt.

use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use serde_json::Value;

use super::action::{self, ScriptedAction};
use super::faults;
use super::prompt_context::PromptContext;
use super::script::{Ask, ErrorReply, OnReject, ProcessEnd, ScriptStep, TurnScript};
use super::session::ScriptedSession;
use super::shapes;
use crate::agent::acp::serve::{RpcError, ServeError, Wire};

/// How a turn ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PlayedEnd {
    /// With a stop reason.
    Stop(String),
    /// With an error.
    Refuse(RpcError),
    /// With the process.
    Die(ProcessEnd),
}

/// Everything a turn needs.
pub(super) struct Stage<'a> {
    pub(super) wire: &'a Wire,
    pub(super) session: &'a ScriptedSession,
    pub(super) scene: &'a PromptContext,
    pub(super) turn: &'a TurnScript,
    pub(super) pace: Duration,
}

/// The result of an action.
enum Acted {
    Done,
    Rejected,
}

impl From<&ErrorReply> for RpcError {
    fn from(error: &ErrorReply) -> Self {
        Self { code: error.code, message: error.message.clone(), data: error.data.clone() }
    }
}

impl Stage<'_> {
    /// Plays the turn to its end.
    ///
    /// # Errors
    /// If the client is gone.
    pub(super) async fn play(&self) -> Result<PlayedEnd, ServeError> {
        for step in &self.turn.steps {
            // Even a zero timer takes a millisecond.
            if !self.pace.is_zero() {
                tokio::time::sleep(self.pace).await;
            }
            if let Some(end) = self.step(step).await? {
                return Ok(end);
            }
        }
        Ok(PlayedEnd::Stop("end_turn".to_owned()))
    }

    /// Plays one step; `Some` if it ends the turn. Boxed, because steps contain steps.
    fn step<'a>(
        &'a self,
        step: &'a ScriptStep,
    ) -> BoxFuture<'a, Result<Option<PlayedEnd>, ServeError>> {
        Box::pin(async move {
            match step {
                ScriptStep::Say(text) => self.send(&shapes::said(&self.scene.fill(text))).await,
                ScriptStep::Think(text) => {
                    self.send(&shapes::thought(&self.scene.fill(text))).await
                }
                ScriptStep::Plan(entries) => {
                    let entries: Vec<String> =
                        entries.iter().map(|entry| self.scene.fill(entry)).collect();
                    self.send(&shapes::plan(&entries)).await;
                }
                ScriptStep::Usage(tokens) => {
                    let used = self.session.use_tokens(*tokens);
                    self.send(&shapes::context(used.input)).await;
                }
                ScriptStep::Sleep(millis) => {
                    tokio::time::sleep(Duration::from_millis(*millis)).await
                }
                ScriptStep::Read(_)
                | ScriptStep::Write(_)
                | ScriptStep::Edit(_)
                | ScriptStep::Run(_)
                | ScriptStep::Tick(_)
                | ScriptStep::Progress(_)
                | ScriptStep::Commit(_) => return self.act(step).await,
                ScriptStep::Together(steps) => {
                    let ends = join_all(steps.iter().map(|step| self.step(step))).await;
                    for end in ends {
                        if let Some(end) = end? {
                            return Ok(Some(end));
                        }
                    }
                }
                ScriptStep::AskOnly(step) => {
                    if let Some(action) = self.prepare(&step.0) {
                        self.send(&shapes::began(&action.call)).await;
                        self.ask(&action).await?;
                    }
                }
                ScriptStep::Hang => std::future::pending().await,
                ScriptStep::Die(ending) => return Ok(Some(PlayedEnd::Die(*ending))),
                ScriptStep::Flood(flood) => {
                    faults::flood(self.wire, &self.session.id, *flood).await
                }
                ScriptStep::Line(text) => self.wire.bytes(format!("{text}\n").into_bytes()).await,
                ScriptStep::Raw(text) => self.wire.bytes(text.clone().into_bytes()).await,
                ScriptStep::Hex(bytes) => self.wire.bytes(bytes.0.clone()).await,
                ScriptStep::Deep(brackets) => {
                    let brackets = usize::try_from(*brackets).unwrap_or(usize::MAX);
                    self.wire.bytes(format!("{}\n", "[".repeat(brackets)).into_bytes()).await;
                }
                ScriptStep::Update(update) => self.send(update).await,
                ScriptStep::Error(error) => return Ok(Some(PlayedEnd::Refuse(error.into()))),
                ScriptStep::Stop(reason) => return Ok(Some(PlayedEnd::Stop(reason.clone()))),
                ScriptStep::Spawn(spawn) => {
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

    fn prepare(&self, step: &ScriptStep) -> Option<ScriptedAction> {
        let id = self.turn.call_id.clone().unwrap_or_else(|| self.session.next_call());
        action::prepare(step, self.scene, &id)
    }

    /// Announces an action, asks for it, performs it and reports the result.
    async fn act(&self, step: &ScriptStep) -> Result<Option<PlayedEnd>, ServeError> {
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
                        Ok(Some(PlayedEnd::Stop("end_turn".to_owned())))
                    }
                }
            }
        }
    }

    async fn decide_and_do(&self, action: &ScriptedAction) -> Result<Acted, ServeError> {
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

    async fn report(&self, action: &ScriptedAction, result: Result<Value, String>) {
        let update = match result {
            Ok(output) => shapes::completed(&action.call, &output),
            Err(why) => shapes::failed(&action.call, "failure", &why),
        };
        self.send(&update).await;
    }

    /// Are all its requests allowed?
    async fn allowed(&self, action: &ScriptedAction) -> Result<bool, ServeError> {
        for request in &action.requests {
            let pending = self.wire.ask(self.request(action, request)).await?;
            let selected = pending.selected().await;
            if !selected.is_some_and(|option| option.starts_with("allow")) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Asks without waiting for the answer.
    async fn ask(&self, action: &ScriptedAction) -> Result<(), ServeError> {
        for request in &action.requests {
            // Keep the request pending; its answer is never read.
            self.session.keep(self.wire.ask(self.request(action, request)).await?);
        }
        Ok(())
    }

    fn request(&self, action: &ScriptedAction, request: &shapes::ScriptedRequest) -> Value {
        let usual = shapes::usual_options();
        let options = self.turn.options.as_ref().unwrap_or(&usual);
        shapes::permission(&self.session.id, &action.call, request, options)
    }
}
