//! Reports of a gateway, for the journal and the agent.
//!
//! Invariant: all that is kept here is bounded. A text is redacted whole and cut afterwards.
//! Nothing is recorded after [`Feed::close`], and nothing after a failure of the journal.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::budget::KeepBudget;
use crate::engine::InjectedEvent;
use crate::events::Emitter;
use crate::gateway::{CallOutcome, GatewayEvent, PushedEvent, plain_text};
use crate::guard::Redactor;
use crate::model::{EventKind, EventLevel, Record as _, RecordError};
use crate::report::count;

/// Longest text of an event for the agent, in bytes.
const INJECTED: usize = 4 << 10;
/// The longest text that is redacted, in bytes. It is far more than the part that is kept, so that
/// no half secret at its end is kept.
const LOOKED_AT: usize = 64 << 10;
/// Most events that wait for the agent: those of two iterations.
const WAITING: usize = 10;
/// Most events of an iteration that people are shown.
const SURFACED: u32 = 50;
/// Most providers that are counted one by one.
const COUNTED: usize = 100;

/// The events of a run's gateway.
pub(in crate::cli) struct Feed {
    events: Arc<Emitter>,
    redactor: Arc<Redactor>,
    began: Instant,
    state: Mutex<FeedState>,
}

#[derive(Default)]
struct FeedState {
    budget: KeepBudget,
    /// The same for events other than pushed ones.
    besides: KeepBudget,
    waiting: VecDeque<InjectedEvent>,
    surfaced: u32,
    /// Bound providers by their ids.
    bound: BTreeMap<String, String>,
    /// Events for the agent that it never gets, by provider.
    missed: BTreeMap<String, u64>,
    /// Events over the budget, by provider.
    dropped: BTreeMap<String, u64>,
    broken: Option<RecordError>,
    closed: bool,
}

impl Feed {
    pub(super) fn new(events: Arc<Emitter>, redactor: Arc<Redactor>) -> Self {
        Self { events, redactor, began: Instant::now(), state: Mutex::default() }
    }

    /// The redaction of the run.
    pub(super) fn redactor(&self) -> &Arc<Redactor> {
        &self.redactor
    }

    /// Records the gateway's reports until it stops.
    pub(super) fn record_all(&self, mut events: mpsc::Receiver<GatewayEvent>) {
        while let Some(event) = events.blocking_recv() {
            // Without this the gateway would wait for its events to be read.
            if catch_unwind(AssertUnwindSafe(|| self.take(event))).is_err() {
                tracing::error!("an event of a provider could not be recorded");
            }
        }
    }

    fn take(&self, event: GatewayEvent) {
        let kind = match event {
            GatewayEvent::Bound { provider, provider_id, .. } => {
                self.lock().bound.insert(provider_id.clone(), provider.clone());
                EventKind::ProviderBound { provider, id: provider_id }
            }
            GatewayEvent::Unbound { provider, provider_id, reason, .. } => {
                self.lock().bound.remove(&provider_id);
                EventKind::ProviderLeft { provider, id: provider_id, reason: reason.to_owned() }
            }
            GatewayEvent::Called { .. } => return,
            GatewayEvent::Ended { id, tool, outcome, .. } => called(id, tool, &outcome),
            GatewayEvent::ToolsChanged { tools, .. } => EventKind::ToolsChanged { tools },
            GatewayEvent::Pushed(push) => return self.pushed(push),
        };
        // A provider that comes and goes without end does not fill the journal.
        let size = match &kind {
            EventKind::ToolsChanged { tools } => tools.iter().map(String::len).sum(),
            _ => 0,
        };
        let kept = self.lock().besides.takes(size, self.began.elapsed());
        if kept {
            self.tell(kind);
        }
    }

    fn pushed(&self, push: PushedEvent) {
        let metadata = push.metadata.map(Value::Object);
        let more = metadata.as_ref().map_or(0, |it| it.to_string().len());
        let size = push.text.len() + push.stream.len() + more;
        let for_agent = push.level == EventLevel::Inject;
        let mut state = self.lock();
        if !state.budget.takes(size, self.began.elapsed()) {
            let first = add(&mut state.dropped, &push.provider) == 1;
            if for_agent {
                add(&mut state.missed, &push.provider);
            }
            drop(state);
            if first {
                self.notice(format!(
                    "the provider {} pushes more than a run keeps: some of its events are only \
                     counted",
                    push.provider
                ));
            }
            return;
        }
        let surfaced = push.level != EventLevel::Keep && state.surfaced < SURFACED;
        state.surfaced += u32::from(surfaced);
        let injected = push.injected.is_some() && state.waiting.len() < WAITING;
        if for_agent && !injected {
            add(&mut state.missed, &push.provider);
        }
        drop(state);
        // A text that is only kept is data.
        let shown = push.level != EventLevel::Keep;
        let mut text = if shown { plain_text(&push.text) } else { push.text };
        text.truncate(text.floor_char_boundary(LOOKED_AT.min(text.len())));
        let left_out = || Value::String(format!("[… {more} bytes left out …]"));
        let metadata = metadata.map(|it| if more > LOOKED_AT { left_out() } else { it });
        let waits = injected.then(|| InjectedEvent {
            provider: push.provider.clone(),
            stream: plain_text(&push.stream),
            text: self.for_agent(&text),
        });
        // It is on file before the agent can get it.
        self.tell(EventKind::EventPushed {
            provider: push.provider,
            stream: push.stream,
            level: push.level,
            text,
            metadata,
            surfaced,
            injected,
        });
        self.lock().waiting.extend(waits);
    }

    /// The text as the agent gets it: redacted, then cut.
    fn for_agent(&self, text: &str) -> String {
        let mut text = self.redactor.redact_str(text).into_owned();
        text.truncate(text.floor_char_boundary(INJECTED.min(text.len())));
        text
    }

    /// Records an event. A failure is kept for the loop, which ends the run.
    pub(super) fn tell(&self, kind: EventKind) {
        // Failing is all that this needs to return to the loop.
        drop(self.record(kind));
    }

    /// Records a notice.
    pub(super) fn notice(&self, message: String) {
        self.tell(EventKind::Notice { message });
    }

    /// Records an event.
    pub(super) fn record(&self, kind: EventKind) -> Result<(), RecordError> {
        let mut state = self.lock();
        if state.closed {
            return Ok(());
        }
        // Under the lock, so that nothing follows the end.
        self.events.record(kind).inspect_err(|error| {
            state.closed = true;
            let source = std::io::Error::new(error.source.kind(), error.source.to_string());
            state.broken = Some(RecordError { path: error.path.clone(), source });
        })
    }

    pub(super) fn begin_iteration(&self) {
        self.lock().surfaced = 0;
    }

    pub(super) fn take_events(&self) -> Vec<InjectedEvent> {
        self.lock().waiting.drain(..).collect()
    }

    pub(super) fn put_back(&self, events: Vec<InjectedEvent>) {
        let mut state = self.lock();
        for event in events.into_iter().rev() {
            state.waiting.push_front(event);
        }
        while state.waiting.len() > WAITING {
            if let Some(event) = state.waiting.pop_back() {
                add(&mut state.missed, &event.provider);
            }
        }
    }

    /// The names of the providers that are bound.
    pub(super) fn bound(&self) -> Vec<String> {
        self.lock().bound.values().cloned().collect()
    }

    /// Why an event could not be recorded, once.
    pub(super) fn broken(&self) -> Option<RecordError> {
        self.lock().broken.take()
    }

    /// Ends the feed. Returns notices about events that were not delivered.
    pub(super) fn close(&self) -> Vec<String> {
        let mut state = self.lock();
        state.closed = true;
        let left = std::mem::take(&mut state.waiting);
        for event in left {
            add(&mut state.missed, &event.provider);
        }
        [
            (&state.missed, "did not reach the agent"),
            (&state.dropped, "were over the limit and were dropped"),
        ]
        .into_iter()
        .filter(|(counts, _)| !counts.is_empty())
        .map(|(counts, what)| {
            let each = counts.iter().map(|(provider, number)| format!("{provider}: {number}"));
            let number = count(counts.values().sum(), "event");
            format!("{number} from providers {what} ({})", each.collect::<Vec<_>>().join(", "))
        })
        .collect()
    }

    fn lock(&self) -> MutexGuard<'_, FeedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts one more; returns the count.
fn add(counts: &mut BTreeMap<String, u64>, provider: &str) -> u64 {
    let others = counts.len() >= COUNTED && !counts.contains_key(provider);
    let name = if others { "others" } else { provider };
    let number = counts.entry(name.to_owned()).or_default();
    *number += 1;
    *number
}

fn called(id: Option<String>, tool: String, outcome: &CallOutcome) -> EventKind {
    let (error, bytes) = match outcome {
        Ok(data) => (None, data.as_str().map_or_else(|| data.to_string().len(), str::len)),
        Err(failure) => (Some(plain_text(&failure.to_string())), 0),
    };
    EventKind::ProviderCalled { id, tool, error, bytes }
}

#[cfg(test)]
mod tests;
