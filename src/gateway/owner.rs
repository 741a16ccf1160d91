//! The task that owns the table: everything comes to it as an [`Input`], in order.
//!
//! Invariant: large data holds a permit of a shared budget until it was handled. So a slow host or
//! provider slows down the others, and no queue grows.

use std::collections::HashMap;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::close::CloseReason;
use super::dispatch::CallRequest;
use super::event::{CallOutcome, GatewayEvent};
use super::frame::ProviderFrame;
use super::ids::{CallKey, ConnectionId, SessionKey};
use super::outbox::Outbox;
use super::session::{SessionInfo, SessionTool};
use super::table::{Effect, GatewayTable};
use super::token::GatewayToken;

/// The inputs of a gateway.
#[derive(Debug)]
pub(super) enum Input {
    Arrived(ConnectionId, Outbox),
    Vouched(ConnectionId),
    Said(ConnectionId, ProviderFrame, OwnedSemaphorePermit),
    Heard(ConnectionId, OwnedSemaphorePermit),
    Gone(ConnectionId),
    Open(SessionInfo, oneshot::Sender<Option<SessionHandle>>),
    Idle(String, oneshot::Sender<bool>),
    Iteration(String),
    End(String, Duration, oneshot::Sender<Option<oneshot::Receiver<()>>>),
    Sessions(oneshot::Sender<Vec<String>>),
    Tools(String, oneshot::Sender<Option<Vec<SessionTool>>>),
    Call(CallKey, CallRequest, oneshot::Sender<CallOutcome>),
    Cancel(CallKey),
}

/// A session's tools, as they are now.
#[derive(Clone, Debug)]
pub struct SessionHandle {
    /// The tools, by name. They change before a provider learns that it is bound.
    pub tools: watch::Receiver<Vec<SessionTool>>,
    /// Changes when agents are to be told that the tools changed.
    pub announced: watch::Receiver<u64>,
}

/// A session's ends of a [`SessionHandle`].
struct Published {
    id: String,
    tools: watch::Sender<Vec<SessionTool>>,
    announced: watch::Sender<u64>,
    /// Told when the session is over.
    over: Option<oneshot::Sender<()>>,
}

/// The owner's own data.
pub(super) struct Owner {
    table: GatewayTable,
    start: Instant,
    outboxes: HashMap<ConnectionId, Outbox>,
    sessions: HashMap<SessionKey, Published>,
    waiting: HashMap<CallKey, oneshot::Sender<CallOutcome>>,
    events: mpsc::Sender<GatewayEvent>,
}

impl Owner {
    pub(super) fn new(token: GatewayToken, events: mpsc::Sender<GatewayEvent>) -> Self {
        Self {
            table: GatewayTable::new(token),
            start: Instant::now(),
            outboxes: HashMap::new(),
            sessions: HashMap::new(),
            waiting: HashMap::new(),
            events,
        }
    }

    /// Handles inputs until `stop`; then every connection is closed.
    pub(super) async fn run(
        mut self,
        mut inputs: mpsc::UnboundedReceiver<Input>,
        stop: CancellationToken,
    ) {
        loop {
            let due = self.table.next_due().map(|due| self.start + due);
            let timer = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = stop.cancelled() => break,
                input = inputs.recv() => match input {
                    Some(input) => self.handle(input),
                    None => break,
                },
                () = timer => self.table.tick(self.start.elapsed()),
            }
            self.act().await;
        }
        let all: Vec<ConnectionId> = self.outboxes.keys().copied().collect();
        let now = self.start.elapsed();
        for id in all {
            self.table.close(id, CloseReason::SessionEnded, now);
        }
        self.act().await;
    }

    fn handle(&mut self, input: Input) {
        let now = self.start.elapsed();
        match input {
            Input::Arrived(id, outbox) => {
                self.outboxes.insert(id, outbox);
                self.table.arrive(id, now);
            }
            Input::Vouched(id) => self.table.vouch(id),
            Input::Said(id, frame, _permit) => self.table.frame(id, frame, now),
            Input::Heard(id, _permit) => self.table.heard(id, now),
            Input::Gone(id) => {
                self.outboxes.remove(&id);
                self.table.gone(id, now);
            }
            Input::Open(info, reply) => drop(reply.send(self.open(info))),
            Input::Idle(id, reply) => drop(reply.send(self.table.idle(&id))),
            Input::Iteration(id) => drop(self.table.start_iteration(&id)),
            Input::End(id, deadline, reply) => {
                let key = self.table.end(&id, deadline, now);
                let session = key.and_then(|key| self.sessions.get_mut(&key));
                let over = session.map(|session| {
                    let (sender, over) = oneshot::channel();
                    session.over = Some(sender);
                    over
                });
                drop(reply.send(over));
            }
            Input::Sessions(reply) => drop(reply.send(self.table.session_ids())),
            Input::Tools(id, reply) => drop(reply.send(self.table.tools_of(&id))),
            Input::Call(key, request, reply) => {
                self.waiting.insert(key, reply);
                self.table.call(key, request, now);
            }
            Input::Cancel(key) => self.table.cancel(key),
        }
    }

    fn open(&mut self, info: SessionInfo) -> Option<SessionHandle> {
        let id = info.id.clone();
        let key = self.table.open(info)?;
        let (tools, of_tools) = watch::channel(Vec::new());
        let (announced, of_announced) = watch::channel(0);
        self.sessions.insert(key, Published { id, tools, announced, over: None });
        Some(SessionHandle { tools: of_tools, announced: of_announced })
    }

    /// Executes the table's effects until there are no more.
    async fn act(&mut self) {
        loop {
            let effects = self.table.take_effects();
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                self.effect(effect).await;
            }
        }
    }

    async fn effect(&mut self, effect: Effect) {
        match effect {
            Effect::Send(to, text) => {
                let outbox = self.outboxes.get(&to);
                if outbox.is_some_and(|outbox| !outbox.send(text)) {
                    self.table.overflow(to, self.start.elapsed());
                }
            }
            Effect::Ping(to) => {
                if let Some(outbox) = self.outboxes.get(&to) {
                    outbox.ping();
                }
            }
            Effect::Admit(id) => {
                if let Some(outbox) = self.outboxes.get(&id) {
                    outbox.read_limit().lift();
                }
            }
            Effect::Close(id, reason) => {
                if let Some(outbox) = self.outboxes.remove(&id) {
                    outbox.close(reason);
                }
            }
            Effect::Settle(key, outcome) => {
                if let Some(reply) = self.waiting.remove(&key) {
                    drop(reply.send(outcome));
                }
            }
            Effect::Listed(key) => {
                if let Some(session) = self.sessions.get(&key) {
                    session.tools.send_replace(self.table.tools(key));
                }
            }
            Effect::Report(event) => {
                if let GatewayEvent::ToolsChanged { session: id, .. } = &event {
                    let mut sessions = self.sessions.values();
                    // The one on the list; another of that id may still be ending.
                    let open = |it: &&Published| it.over.is_none() && it.id == *id;
                    if let Some(session) = sessions.find(open) {
                        session.announced.send_modify(|version| *version += 1);
                    }
                }
                // A host that does not listen to events any more misses them.
                drop(self.events.send(event).await);
            }
            Effect::SessionOver(key) => {
                let over = self.sessions.remove(&key).and_then(|session| session.over);
                if let Some(over) = over {
                    let _nobody_waits = over.send(());
                }
            }
        }
    }
}
