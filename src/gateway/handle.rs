//! The gateway as its host holds it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::dispatch::CallRequest;
use super::event::{CallOutcome, GatewayEvent};
use super::ids::{CallKey, ConnectionId};
use super::limits::{CLOSE_TIME, UNHANDLED_SIZE};
use super::owner::{Input, Owner, SessionHandle};
use super::problem::{CallFailure, FailureCode};
use super::session::{SessionInfo, SessionTool};
use super::token::GatewayToken;

/// Events that wait for the host.
const WAITING_EVENTS: usize = 32;

/// A running gateway. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Gateway(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    inputs: mpsc::UnboundedSender<Input>,
    budget: Arc<Semaphore>,
    stop: CancellationToken,
    tasks: TaskTracker,
    last_connection: AtomicU64,
    last_call: AtomicU64,
}

/// A call that was made. Dropping it cancels the call.
#[derive(Debug)]
pub struct GatewayCall {
    gateway: Gateway,
    key: CallKey,
    outcome: oneshot::Receiver<CallOutcome>,
}

impl Gateway {
    /// Starts the owner of a new table, without any listener. The host must read the events:
    /// a full queue stops the gateway until it does.
    pub fn start(token: GatewayToken) -> (Self, mpsc::Receiver<GatewayEvent>) {
        let (inputs, of_owner) = mpsc::unbounded_channel();
        let (sender, events) = mpsc::channel(WAITING_EVENTS);
        let stop = CancellationToken::new();
        let tasks = TaskTracker::new();
        tasks.spawn(Owner::new(token, sender).run(of_owner, stop.clone()));
        let shared = Shared {
            inputs,
            budget: Arc::new(Semaphore::new(UNHANDLED_SIZE >> 10)),
            stop,
            tasks,
            last_connection: AtomicU64::new(0),
            last_call: AtomicU64::new(0),
        };
        (Self(Arc::new(shared)), events)
    }

    /// Puts a session on the list; none if its id is on it already.
    pub async fn open(&self, info: SessionInfo) -> Option<SessionHandle> {
        self.ask(|reply| Input::Open(info, reply)).await.flatten()
    }

    /// The ids of the sessions on the list.
    pub async fn sessions(&self) -> Vec<String> {
        self.ask(Input::Sessions).await.unwrap_or_default()
    }

    /// The tools of a session on the list; none if the session does not exist.
    pub async fn tools(&self, session: &str) -> Option<Vec<SessionTool>> {
        let session = session.to_owned();
        self.ask(|reply| Input::Tools(session, reply)).await.flatten()
    }

    /// Tells the session's providers that no worker has a turn. `false` if the session does not
    /// exist.
    pub async fn idle(&self, session: &str) -> bool {
        let session = session.to_owned();
        self.ask(|reply| Input::Idle(session, reply)).await.unwrap_or(false)
    }

    /// Starts an iteration of a session: events can be injected again.
    pub fn start_iteration(&self, session: &str) {
        self.tell(Input::Iteration(session.to_owned()));
    }

    /// Takes a session off the list and asks its providers to leave. The returned receiver is
    /// notified when they are gone, at the deadline at the latest; none if the session does not
    /// exist.
    pub async fn end(&self, session: &str, deadline: Duration) -> Option<oneshot::Receiver<()>> {
        let session = session.to_owned();
        self.ask(|reply| Input::End(session, deadline, reply)).await.flatten()
    }

    /// Makes a call. Calls go out in the order in which they are made.
    pub fn call(&self, request: CallRequest) -> GatewayCall {
        let key = CallKey(self.0.last_call.fetch_add(1, Ordering::Relaxed) + 1);
        let (reply, outcome) = oneshot::channel();
        self.tell(Input::Call(key, request, reply));
        GatewayCall { gateway: self.clone(), key, outcome }
    }

    /// Cancels a call. A finished call is not changed.
    pub fn cancel(&self, key: CallKey) {
        self.tell(Input::Cancel(key));
    }

    /// Closes every connection and waits for that, but not for long.
    pub async fn stop(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        // A connection that hangs ends with the program.
        drop(tokio::time::timeout(CLOSE_TIME + CLOSE_TIME, self.0.tasks.wait()).await);
    }

    /// Cancelled when the gateway stops.
    pub(super) fn stopped(&self) -> &CancellationToken {
        &self.0.stop
    }

    /// The tasks that [`Gateway::stop`] waits for.
    pub(super) fn tasks(&self) -> &TaskTracker {
        &self.0.tasks
    }

    pub(super) fn next_connection(&self) -> ConnectionId {
        ConnectionId(self.0.last_connection.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Permission to hand over something of this size.
    pub(super) async fn budget(&self, size: usize) -> Option<tokio::sync::OwnedSemaphorePermit> {
        let permits = u32::try_from((size >> 10) + 1).ok()?;
        Arc::clone(&self.0.budget).acquire_many_owned(permits).await.ok()
    }

    /// Sends a request. After the gateway has stopped, it is not received.
    pub(super) fn tell(&self, input: Input) {
        drop(self.0.inputs.send(input));
    }

    async fn ask<T>(&self, input: impl FnOnce(oneshot::Sender<T>) -> Input) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.tell(input(reply));
        answer.await.ok()
    }
}

impl GatewayCall {
    /// The argument of [`Gateway::cancel`].
    pub fn key(&self) -> CallKey {
        self.key
    }

    /// Waits for the end. `cancel` cancels the call, which then ends at once.
    pub async fn outcome(mut self, cancel: &CancellationToken) -> CallOutcome {
        let outcome = tokio::select! {
            outcome = &mut self.outcome => outcome,
            () = cancel.cancelled() => {
                self.gateway.cancel(self.key);
                (&mut self.outcome).await
            }
        };
        let stopped = || CallFailure::new(FailureCode::Disconnected, "the gateway has stopped");
        outcome.unwrap_or_else(|_| Err(stopped()))
    }
}

impl Drop for GatewayCall {
    fn drop(&mut self) {
        self.gateway.cancel(self.key);
    }
}
