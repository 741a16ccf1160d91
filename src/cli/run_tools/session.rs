//! One session's tools: each call is decided, run, and recorded.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::blocked;
use super::offer::{Offer, ProviderSource};
use crate::agent::{Gate, OfferedTools as _};
use crate::gateway::{CallRequest, answer};
use crate::guard::OfferedKind;
use crate::mcp::{Call, Tool, ToolAnswer, Tools};
use crate::model::{Decision, SessionId};

/// The tools of one endpoint.
pub(super) struct RunTools {
    offer: Arc<Offer>,
    gate: Arc<Gate>,
    /// The session that the endpoint serves, once it has an id.
    session: Mutex<Option<SessionId>>,
}

impl RunTools {
    pub(super) fn new(offer: Arc<Offer>, gate: Arc<Gate>) -> Self {
        Self { offer, gate, session: Mutex::default() }
    }

    /// Serves the calls of this session from now on.
    pub(super) fn bind(&self, session: &SessionId) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session.clone());
    }

    fn session(&self) -> Option<SessionId> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The decision. It may read files, write the journal, and ask a human: not on this thread.
    async fn decide(&self, session: SessionId, name: String, input: Value) -> Decision {
        let gate = Arc::clone(&self.gate);
        let decided = tokio::task::spawn_blocking(move || gate.admit(&session, &name, &input));
        decided.await.unwrap_or_else(|error| {
            tracing::error!(%error, "the guard failed");
            Decision::deny("guard.fault", "Nothing ran: the guard failed on this call.")
        })
    }

    /// Runs a call of a provider's tool. It ends with the turn.
    async fn of_provider(
        &self,
        providers: &ProviderSource,
        call: Call,
        turn: CancellationToken,
    ) -> ToolAnswer {
        let request = CallRequest {
            session: providers.session.clone(),
            tool: call.name,
            args: call.arguments,
            label: None,
            timeout: None,
        };
        let outcome = providers.gateway.call(request).outcome(&call.cancel);
        tokio::pin!(outcome);
        let outcome = tokio::select! {
            outcome = &mut outcome => outcome,
            () = turn.cancelled() => {
                call.cancel.cancel();
                outcome.await
            }
        };
        answer(&outcome, self.gate.redactor())
    }

    /// Runs a call that was allowed.
    async fn run(&self, kind: OfferedKind, call: Call, turn: CancellationToken) -> ToolAnswer {
        let name = call.name.clone();
        let answered = match (kind, &self.offer.memory, &self.offer.providers) {
            (OfferedKind::Memory, ..) if name == blocked::NAME => {
                Some(blocked::report(&self.offer.progress, &call))
            }
            (OfferedKind::Memory, Some(memory), _) => memory.call(call).await,
            (OfferedKind::Provider, _, Some(providers)) => {
                Some(self.of_provider(providers, call, turn).await)
            }
            (OfferedKind::Memory | OfferedKind::Provider | OfferedKind::Gone, _, _) => None,
        };
        answered.unwrap_or_else(|| ToolAnswer {
            error_code: Some("NOT_FOUND".to_owned()),
            ..ToolAnswer::error(format!(
                "NOT_FOUND: there is no tool `{}`",
                self.gate.redactor().redact_str(&name)
            ))
        })
    }
}

#[async_trait]
impl Tools for RunTools {
    fn list(&self) -> Vec<Tool> {
        self.offer.list()
    }

    async fn call(&self, call: Call) -> Option<ToolAnswer> {
        let Some(session) = self.session() else {
            return Some(ToolAnswer::error("Nothing ran: the session is not open yet."));
        };
        let mut call = call;
        call.name = self.gate.shown_name(&call.name).into_owned();
        let tool = self.offer.find(&call.name);
        let input = Value::Object(call.arguments.clone());
        let turn = self.gate.turn();
        let decision = self.decide(session.clone(), call.name.clone(), input.clone()).await;
        if !decision.allowed() {
            let reason = self.gate.redactor().redact_str(&decision.reason).into_owned();
            return Some(ToolAnswer::error(reason));
        }
        let started = Instant::now();
        // A human may have thought about it while another provider took the name.
        let now = self.offer.find(&call.name);
        let kind = if now == tool { tool.kind } else { OfferedKind::Gone };
        let answer = self.run(kind, call, turn).await;
        let output = match &answer.error_code {
            Some(code) => json!({ "text": answer.text, "errorCode": code }),
            None if answer.is_error => json!({ "text": answer.text, "isError": true }),
            None => Value::String(answer.text.clone()),
        };
        self.gate.record_served(&session, &tool.name, &input, output, started.elapsed());
        Some(answer)
    }

    fn changed(&self) -> Option<watch::Receiver<u64>> {
        self.offer.announced()
    }
}
