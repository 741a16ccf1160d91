//! The MCP endpoints of a gateway without a run: `/mcp/<session>`, one for each session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use axum::extract::{Request, State};
use axum::http::header::AUTHORIZATION;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::{Extension, Router};
use tokio::sync::watch;

use crate::guard::Redactor;
use crate::mcp::{Call, Endpoint, Endpoints, Tool, ToolAnswer, Tools, bounded, router};

use super::dispatch::CallRequest;
use super::event::CallOutcome;
use super::handle::Gateway;
use super::owner::SessionHandle;
use super::plain_text::plain_text;
use super::server::Caller;
use super::session::SessionTool;
use super::token::GatewayToken;

/// The endpoints of a gateway's sessions.
pub struct GatewayEndpoints {
    gateway: Gateway,
    token: GatewayToken,
    redactor: Arc<Redactor>,
    open: Mutex<HashMap<String, Arc<Endpoint>>>,
}

impl GatewayEndpoints {
    /// Endpoints for those who know `token`. Results pass `redactor`.
    pub fn new(gateway: Gateway, token: GatewayToken, redactor: Arc<Redactor>) -> Arc<Self> {
        Arc::new(Self { gateway, token, redactor, open: Mutex::default() })
    }

    /// The routes of all sessions.
    pub fn routes(self: &Arc<Self>) -> Router {
        let endpoints: Arc<dyn Endpoints> = Arc::clone(self) as Arc<dyn Endpoints>;
        router(endpoints).layer(middleware::from_fn_with_state(self.token.clone(), vouch))
    }

    /// Opens the endpoint of a session.
    pub fn open(&self, session: &str, handle: SessionHandle) {
        let tools = ProviderTools {
            gateway: self.gateway.clone(),
            session: session.to_owned(),
            handle,
            redactor: Arc::clone(&self.redactor),
        };
        let endpoint = Endpoint::new(self.token.expose(), Arc::new(tools));
        self.lock().insert(session.to_owned(), Arc::new(endpoint));
    }

    /// Takes the endpoint of a session away. Calls in flight go on until the result is dropped.
    pub fn close(&self, session: &str) -> Option<Arc<Endpoint>> {
        self.lock().remove(session)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Endpoint>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Endpoints for GatewayEndpoints {
    fn find(&self, session: &str) -> Option<Arc<Endpoint>> {
        self.lock().get(session).cloned()
    }
}

/// A connection with the right token may stay; the endpoint judges its requests.
async fn vouch(
    State(token): State<GatewayToken>,
    Extension(caller): Extension<Caller>,
    request: Request,
    next: Next,
) -> Response {
    let given = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.split_once(' ')).map(|(_, token)| token.trim());
    if given.is_some_and(|given| token.is(given)) {
        caller.vouch();
    }
    next.run(request).await
}

/// A session's tools, as an agent sees them.
struct ProviderTools {
    gateway: Gateway,
    session: String,
    handle: SessionHandle,
    redactor: Arc<Redactor>,
}

#[async_trait]
impl Tools for ProviderTools {
    fn list(&self) -> Vec<Tool> {
        self.handle.tools.borrow().iter().map(listed).collect()
    }

    async fn call(&self, call: Call) -> Option<ToolAnswer> {
        let request = CallRequest {
            session: self.session.clone(),
            tool: call.name,
            args: call.arguments,
            label: None,
            timeout: None,
        };
        let outcome = self.gateway.call(request).outcome(&call.cancel).await;
        Some(answer(&outcome, &self.redactor))
    }

    fn changed(&self) -> Option<watch::Receiver<u64>> {
        Some(self.handle.announced.clone())
    }
}

/// A provider's tool as agents see it. Its claims about its tools' effects are not believed.
pub fn listed(tool: &SessionTool) -> Tool {
    Tool {
        name: tool.tool.name.clone(),
        description: tool.tool.description.clone(),
        input_schema: tool.tool.parameters.clone(),
        read_only: false,
    }
}

/// The outcome as an agent reads it: redacted, then cut. An unlisted tool is a failed call like
/// any other, since tools come and go.
pub fn answer(outcome: &CallOutcome, redactor: &Redactor) -> ToolAnswer {
    let (text, code) = match outcome {
        Ok(data) => match data.as_str() {
            Some(text) => (redactor.redact_str(text).into_owned(), None),
            None => (redactor.redact_json(data).to_string(), None),
        },
        Err(failure) => {
            let text = plain_text(&failure.to_string());
            (redactor.redact_str(&text).into_owned(), Some(failure.code))
        }
    };
    let error_code = code.map(|code| code.name().to_owned());
    ToolAnswer { text: bounded(&text), is_error: code.is_some(), error_code }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::{CallFailure, FailureCode};
    use serde_json::json;

    fn text(data: serde_json::Value) -> String {
        answer(&Ok(Arc::new(data)), &Redactor::default()).text
    }

    #[test]
    fn text_is_as_it_is_and_everything_else_is_json() {
        assert_eq!(text(json!("Hello, \"A\"")), "Hello, \"A\"");
        assert_eq!(text(json!({"a": [1, null]})), r#"{"a":[1,null]}"#);
        assert_eq!(text(json!(null)), "null");
    }

    #[test]
    fn results_are_redacted_and_then_cut() {
        let token = "ghp_dmbhDBzVmevP3MnvMPnHF9I4SGTVWM9bdvtH";
        assert_eq!(text(json!(format!("key {token}"))), "key [REDACTED]");
        let long = format!("{} {token}", "x".repeat(9_995));
        assert_eq!(text(json!(long)), format!("{} [RED\n[truncated]", "x".repeat(9_995)));
        assert_eq!(text(json!("é".repeat(10_000))), "é".repeat(10_000));
    }

    #[test]
    fn a_failure_has_its_code_twice() {
        let message = "no\u{1b}\u{202e} tool".into();
        let failure = CallFailure { code: FailureCode::NotFound, message };
        let answer = answer(&Err(failure), &Redactor::default());
        assert_eq!(answer.text, "NOT_FOUND: no tool");
        assert_eq!((answer.is_error, answer.error_code.as_deref()), (true, Some("NOT_FOUND")));
    }
}
