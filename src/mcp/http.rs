//! MCP over http: one endpoint a session, below `/mcp/`.
//!
//! Invariant: an endpoint answers requests that carry its own bearer token, name a loopback
//! address in their Host header, and come from no web page.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use axum::{Extension, Router};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::session::{SessionId, SessionManager as _};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::listen::HttpConnection;
use super::server::Server;
use super::tools::Tools;

/// How long a client may be silent: as long as an agent thinks between two calls, or waits for one.
/// Its endpoint ends before that.
const SILENCE: Duration = Duration::from_secs(24 * 3600);

/// MCP sessions at an endpoint. An agent opens one, and another when it connects again; one more
/// than this ends the one that was used longest ago.
const MOST_CLIENTS: usize = 16;

/// The header that names a client's MCP session.
const CLIENT: &str = "mcp-session-id";

/// The sessions that are served; they come and go.
pub trait Endpoints: Send + Sync + 'static {
    /// The endpoint of a session, if there is such a session.
    fn find(&self, session: &str) -> Option<Arc<Endpoint>>;
}

type Service = StreamableHttpService<Server, LocalSessionManager>;

/// A session's tools and its token. Dropping it ends its clients' streams and cancels their
/// calls.
pub struct Endpoint {
    token: [u8; 32],
    service: Service,
    clients: Arc<Clients>,
    _ended: DropGuard,
}

impl Endpoint {
    /// An endpoint for those who know `token`.
    pub fn new(token: &str, tools: Arc<dyn Tools>) -> Self {
        let ended = CancellationToken::new();
        let config =
            StreamableHttpServerConfig::default().with_cancellation_token(ended.child_token());
        let of_server = ended.clone();
        let clients = Arc::new(Clients { sessions: clients(), used: Mutex::default() });
        let service = StreamableHttpService::new(
            move || Ok(Server::new(Arc::clone(&tools), of_server.child_token())),
            Arc::clone(&clients.sessions),
            config,
        );
        Self { token: digest(token), service, clients, _ended: ended.drop_guard() }
    }

    /// Compares digests: how long it takes says nothing about the token.
    fn admits(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = given.and_then(|value| value.split_once(' '));
        given.is_some_and(|(scheme, token)| {
            scheme.eq_ignore_ascii_case("bearer") && digest(token.trim()) == self.token
        })
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// The clients of an endpoint.
struct Clients {
    sessions: Arc<LocalSessionManager>,
    /// Their MCP sessions, the one that was used longest ago first.
    used: Mutex<VecDeque<SessionId>>,
}

impl Clients {
    /// Notes that a session was used, and ends those that are too many.
    async fn note(&self, headers: &HeaderMap) {
        let Some(id) = headers.get(CLIENT).and_then(|id| id.to_str().ok()) else { return };
        let id: SessionId = id.into();
        if !self.sessions.has_session(&id).await.unwrap_or(false) {
            return;
        }
        let too_many: Vec<SessionId> = {
            let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            used.retain(|other| *other != id);
            used.push_back(id);
            let too_many = used.len().saturating_sub(MOST_CLIENTS);
            used.drain(..too_many).collect()
        };
        for old in too_many {
            if let Err(error) = self.sessions.close_session(&old).await {
                tracing::debug!(%error, "an old MCP session did not end");
            }
        }
    }
}

fn clients() -> Arc<LocalSessionManager> {
    let mut config = SessionConfig::default();
    config.keep_alive = Some(SILENCE);
    let mut clients = LocalSessionManager::default();
    clients.session_config = config;
    Arc::new(clients)
}

/// The routes of all sessions: `/mcp/<session>`.
pub fn router(endpoints: Arc<dyn Endpoints>) -> Router {
    Router::new()
        .route("/mcp/{session}", any(answer))
        .with_state(endpoints)
        .layer(middleware::from_fn(local_only))
}

async fn answer(
    State(endpoints): State<Arc<dyn Endpoints>>,
    Path(session): Path<String>,
    connection: Option<Extension<HttpConnection>>,
    request: Request,
) -> Response {
    let Some(endpoint) = endpoints.find(&session) else {
        return (StatusCode::NOT_FOUND, "no such session\n").into_response();
    };
    if !endpoint.admits(request.headers()) {
        return (StatusCode::UNAUTHORIZED, "wrong bearer token\n").into_response();
    }
    if let Some(Extension(connection)) = connection {
        connection.vouch();
    }
    let (service, clients) = (endpoint.service.clone(), Arc::clone(&endpoint.clients));
    // A request in flight does not keep a session alive.
    drop(endpoint);
    handle(service, &clients, request).await
}

async fn handle(service: Service, clients: &Clients, request: Request) -> Response {
    clients.note(request.headers()).await;
    let answer = service.handle(request).await;
    clients.note(answer.headers()).await;
    answer.map(Body::new)
}

/// Refuses requests that a web page could have caused: those with an Origin, and those without
/// exactly one Host that is a loopback name.
pub async fn local_only(request: Request, next: Next) -> Response {
    let headers = request.headers();
    if headers.contains_key(ORIGIN) {
        return (StatusCode::FORBIDDEN, "web pages have no access\n").into_response();
    }
    let mut hosts = headers.get_all(HOST).iter();
    let (host, more) = (hosts.next().and_then(|host| host.to_str().ok()), hosts.next());
    if more.is_some() || !host.is_some_and(is_loopback) {
        return (StatusCode::FORBIDDEN, "the Host header must name this machine\n").into_response();
    }
    next.run(request).await
}

/// A loopback name, and behind it nothing or a port: no user, which a host never has.
fn is_loopback(host: &str) -> bool {
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|name| {
        let (start, rest) = host.split_at_checked(name.len()).unwrap_or_default();
        start.eq_ignore_ascii_case(name) && (rest.is_empty() || is_port(rest))
    })
}

fn is_port(text: &str) -> bool {
    let digits = text.strip_prefix(':').unwrap_or_default();
    digits.bytes().all(|digit| digit.is_ascii_digit()) && digits.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use axum::http::header::{ACCEPT, CONTENT_TYPE};
    use http_body_util::BodyExt as _;
    use serde_json::{Value, json};

    use super::*;
    use crate::mcp::{Call, Tool, ToolAnswer};

    struct NoTools;

    #[async_trait::async_trait]
    impl Tools for NoTools {
        fn list(&self) -> Vec<Tool> {
            Vec::new()
        }

        async fn call(&self, _: Call) -> Option<ToolAnswer> {
            None
        }
    }

    /// The status of a message to an endpoint, and the session that the answer names.
    async fn send(endpoint: &Endpoint, session: Option<&str>, message: Value) -> (u16, String) {
        let mut request = Request::post("/mcp/s")
            .header(HOST, "localhost")
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        if let Some(session) = session {
            request = request.header(CLIENT, session);
        }
        let request = request.body(Body::from(message.to_string())).expect("a request");
        let answer = handle(endpoint.service.clone(), &endpoint.clients, request).await;
        let named = answer.headers().get(CLIENT).and_then(|value| value.to_str().ok());
        let told = (answer.status().as_u16(), named.unwrap_or_default().to_owned());
        answer.into_body().collect().await.expect("a body");
        told
    }

    #[test]
    fn a_host_is_a_loopback_name_with_or_without_a_port() {
        for host in ["localhost", "LocalHost:1", "127.0.0.1:65535", "[::1]", "[::1]:9400"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            "localhost:",
            "localhost:99999",
            "localhost:+1",
            "localhost:1:2",
            "localhost.evil.example",
            "localhost@evil.example",
            "user@localhost",
            "user@localhost:1",
            " localhost",
            "localhost/",
            "::1",
            "127.0.0.2",
            "é",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    fn hello() -> Value {
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}})
    }

    #[tokio::test]
    async fn a_client_that_connects_again_and_again_ends_the_sessions_that_rest() {
        let endpoint = Endpoint::new("t", Arc::new(NoTools));
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
        let mut sessions = Vec::new();
        for number in 0..4 * MOST_CLIENTS {
            let (status, session) = send(&endpoint, None, hello()).await;
            assert_eq!(status, 200);
            send(&endpoint, Some(&session), initialized.clone()).await;
            sessions.push(session);
            // The first one is at work.
            let worked = send(&endpoint, Some(&sessions[0]), list.clone()).await.0;
            assert_eq!(worked, 200, "{number}");
        }
        assert_eq!(endpoint.clients.sessions.sessions.read().await.len(), MOST_CLIENTS);
        assert_eq!(send(&endpoint, Some(&sessions[1]), list).await.0, 404);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_may_be_silent_for_hours() {
        let endpoint = Endpoint::new("t", Arc::new(NoTools));
        let (status, session) = send(&endpoint, None, hello()).await;
        assert_eq!(status, 200);
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        send(&endpoint, Some(&session), initialized).await;
        tokio::time::sleep(Duration::from_secs(6 * 3600)).await;
        let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
        assert_eq!(send(&endpoint, Some(&session), list).await.0, 200);
    }
}
