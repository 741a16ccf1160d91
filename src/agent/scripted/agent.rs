//! The agent's main loop: handles the client's messages and picks the turn that answers a
//! prompt.
//!
//! Invariant: the loop never waits for a turn. Turns run on their own tasks, so a cancel is
//! always heard. `play` plays a turn.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::json;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::play::{PlayedEnd, Stage};
use super::prompt_context::{self, PromptContext};
use super::script::{AgentScript, Deaf, DeathMoment, ProcessEnd, TurnScript};
use super::session::ScriptedSession;
use super::uses::Uses;
use super::{AgentExit, ScriptedError, faults, shapes};
use crate::agent::acp::serve::{Incoming, ReplyHandle, RpcError, ServeError, Wire};

/// One agent process.
pub(super) struct ScriptedAgent {
    script: AgentScript,
    wire: Wire,
    uses: Uses,
    sessions: HashMap<String, Arc<ScriptedSession>>,
    /// Nanoseconds since 1970: ids of sessions differ from one process to the next, also where
    /// process ids do not.
    started: u128,
    opened: u32,
    turns: JoinSet<Result<Option<ProcessEnd>, ServeError>>,
}

impl ScriptedAgent {
    /// Creates the agent.
    ///
    /// # Errors
    /// If the script's memory cannot be read.
    pub(super) fn new(script: AgentScript, wire: Wire) -> Result<Self, ScriptedError> {
        let uses = Uses::open(script.memory.clone())?;
        Ok(Self {
            script,
            wire,
            uses,
            sessions: HashMap::new(),
            started: SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos(),
            opened: 0,
            turns: JoinSet::new(),
        })
    }

    /// Runs until the client hangs up or the script ends the process.
    ///
    /// # Errors
    /// If the client is gone in the middle of a frame, or the memory cannot be written.
    pub(super) async fn live(
        mut self,
        mut incoming: UnboundedReceiver<Incoming>,
    ) -> Result<AgentExit, ScriptedError> {
        if let Some(banner) = &self.script.banner {
            self.wire.bytes(format!("{banner}\n").into_bytes()).await;
        }
        let wire = self.wire.clone();
        let hears_eof = !self.script.ignore.contains(&Deaf::Eof);
        let ending = loop {
            tokio::select! {
                // Messages sent before the end of stdin are still handled.
                biased;
                Some(message) = incoming.recv() => {
                    if let Some(ending) = self.hear(message).await? {
                        break ending;
                    }
                }
                Some(turn) = self.turns.join_next() => {
                    let ending = turn.map_err(ScriptedError::Turn)??;
                    let ending = match ending {
                        Some(ending) => Some(ending),
                        None => self.dies(DeathMoment::TurnEnded).await?,
                    };
                    if let Some(ending) = ending {
                        break ending;
                    }
                }
                () = wire.hung_up(), if hears_eof => return Ok(AgentExit::HungUp),
            }
        };
        self.turns.shutdown().await;
        match ending {
            ProcessEnd::Exit(code) => return Ok(AgentExit::Exit(code)),
            ProcessEnd::Kill => faults::kill_myself(),
            ProcessEnd::CloseStdout => faults::close_stdout(&self.script.ignore),
        }
        // Reached only if the system refused.
        Ok(AgentExit::Exit(u8::MAX))
    }

    /// Handles one message; `Some` if the process ends with it.
    async fn hear(&mut self, message: Incoming) -> Result<Option<ProcessEnd>, ScriptedError> {
        match message {
            Incoming::Initialize(reply) => {
                if let Some(ending) = self.dies(DeathMoment::Initialize).await? {
                    return Ok(Some(ending));
                }
                self.wire.answer(reply, Ok(shapes::initialized())).await?;
                self.dies(DeathMoment::Initialized).await
            }
            Incoming::NewSession { cwd, reply } => {
                if let Some(ending) = self.dies(DeathMoment::SessionNew).await? {
                    return Ok(Some(ending));
                }
                self.open(cwd, reply).await?;
                self.dies(DeathMoment::SessionReady).await
            }
            Incoming::Prompt { session, text, reply } => {
                if let Some(ending) = self.dies(DeathMoment::Prompt).await? {
                    return Ok(Some(ending));
                }
                self.prompt(&session, &text, reply).await?;
                Ok(None)
            }
            Incoming::Cancel { session } => {
                if let Some(ending) = self.dies(DeathMoment::Cancel).await? {
                    return Ok(Some(ending));
                }
                if !self.script.ignore.contains(&Deaf::Cancel)
                    && let Some(session) = self.sessions.get(&session)
                {
                    session.cancel();
                }
                Ok(None)
            }
            Incoming::SetMode { session, mode, reply } => {
                let answer = match shapes::mode_of(&mode) {
                    Some(mode) if self.sessions.contains_key(&session) => {
                        self.wire.update(&session, &shapes::mode_changed(mode)).await;
                        Ok(json!({}))
                    }
                    _ => Err(unknown("no such session or mode")),
                };
                self.wire.answer(reply, answer).await?;
                Ok(None)
            }
            Incoming::Close { session, reply } => {
                let answer = match self.sessions.remove(&session) {
                    Some(session) => {
                        session.cancel();
                        Ok(json!({}))
                    }
                    None => Err(unknown("no such session")),
                };
                self.wire.answer(reply, answer).await?;
                Ok(None)
            }
        }
    }

    /// How the process ends here, if the script says so; then nothing more is written.
    async fn dies(&mut self, phase: DeathMoment) -> Result<Option<ProcessEnd>, ScriptedError> {
        match &self.script.die {
            Some(death) if death.at == phase && self.uses.allows("die", death.times) => {
                self.uses.take("die")?;
                self.wire.seal().await;
                Ok(Some(death.by))
            }
            _ => Ok(None),
        }
    }

    async fn open(&mut self, cwd: PathBuf, reply: ReplyHandle) -> Result<(), ServeError> {
        if let Some(error) = &self.script.session_error {
            return self.wire.answer(reply, Err(error.into())).await;
        }
        if !cwd.is_dir() {
            let message = format!("Internal error: {} is not a folder", cwd.display());
            let refusal = RpcError { code: -32603, message, data: json!(null) };
            return self.wire.answer(reply, Err(refusal)).await;
        }
        self.opened += 1;
        let id = format!("scripted-{}-{}", self.started, self.opened);
        self.wire.update(&id, &shapes::commands()).await;
        let answer = shapes::session(&id, self.script.mode);
        self.sessions.insert(id.clone(), Arc::new(ScriptedSession::new(id, cwd)));
        self.wire.answer(reply, Ok(answer)).await
    }

    /// Starts the turn that matches the prompt.
    async fn prompt(
        &mut self,
        id: &str,
        text: &str,
        reply: ReplyHandle,
    ) -> Result<(), ScriptedError> {
        let Some(session) = self.sessions.get(id).cloned() else {
            return Ok(self.wire.answer(reply, Err(unknown("no such session"))).await?);
        };
        let criterion = session.focus(prompt_context::focus_of(text));
        let folder = match &self.script.task {
            Some(folder) => Some(folder.clone()),
            None => prompt_context::folder_of(&session.cwd, text, &criterion),
        };
        let date = chrono::Local::now().format("%F").to_string();
        let prefix = prompt_context::prefix_of(text).map(str::to_owned);
        let scene = PromptContext { cwd: session.cwd.clone(), criterion, folder, date, prefix };
        let turn = self.choose(&scene.criterion)?;
        let pace = Duration::from_millis(self.script.pace);
        // Before the task is spawned, so that the next cancel finds the turn.
        let cancel = session.begin_turn();
        let wire = self.wire.clone();
        self.turns.spawn(take_turn(wire, session, scene, turn, pace, cancel, reply));
        Ok(())
    }

    /// The first rule that matches and is not used up, else a turn without steps.
    fn choose(&mut self, criterion: &str) -> Result<TurnScript, ScriptedError> {
        let fits = |(number, turn): &(usize, &TurnScript)| {
            turn.matches.as_ref().is_none_or(|text| criterion.contains(text.as_str()))
                && self.uses.allows(&turn_name(*number), turn.times)
        };
        let Some((number, turn)) = self.script.turns.iter().enumerate().find(fits) else {
            return Ok(TurnScript::default());
        };
        self.uses.take(&turn_name(number))?;
        Ok(turn.clone())
    }
}

fn turn_name(number: usize) -> String {
    format!("turn {number}")
}

fn unknown(message: &str) -> RpcError {
    RpcError { code: -32602, message: format!("Invalid params: {message}"), data: json!(null) }
}

/// Plays a turn and answers its prompt; `Some` if the process ends instead.
async fn take_turn(
    wire: Wire,
    session: Arc<ScriptedSession>,
    scene: PromptContext,
    turn: TurnScript,
    pace: Duration,
    cancel: CancellationToken,
    reply: ReplyHandle,
) -> Result<Option<ProcessEnd>, ServeError> {
    let stage = Stage { wire: &wire, session: &session, scene: &scene, turn: &turn, pace };
    let end = tokio::select! {
        biased;
        () = cancel.cancelled() => PlayedEnd::Stop("cancelled".to_owned()),
        end = stage.play() => end?,
    };
    match end {
        PlayedEnd::Die(ending) => {
            // Before the reply is dropped.
            wire.seal().await;
            return Ok(Some(ending));
        }
        PlayedEnd::Refuse(refusal) => wire.answer(reply, Err(refusal)).await?,
        PlayedEnd::Stop(reason) => {
            wire.answer(reply, Ok(shapes::turn_ended(&reason, session.used()))).await?;
        }
    }
    Ok(None)
}
