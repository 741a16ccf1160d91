//! MCP over http: one endpoint a session, below `/mcp/`.
//!
//! Invariant: an endpoint answers requests that carry its own bearer token, name a loopback
//! address in their Host header, and come from no web page.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::server::Server;
use super::tools::Tools;

/// The sessions that are served; they come and go.
pub trait Endpoints: Send + Sync + 'static {
    /// The endpoint of a session, if there is such a session.
    fn find(&self, session: &str) -> Option<Arc<Endpoint>>;
}

/// A session's tools and its token. Dropping it ends its clients' streams and cancels their
/// calls.
pub struct Endpoint {
    token: [u8; 32],
    service: StreamableHttpService<Server, LocalSessionManager>,
    _ended: DropGuard,
}

impl Endpoint {
    /// An endpoint for those who know `token`.
    pub fn new(token: &str, tools: Arc<dyn Tools>) -> Self {
        let ended = CancellationToken::new();
        let config =
            StreamableHttpServerConfig::default().with_cancellation_token(ended.child_token());
        let of_server = ended.clone();
        let service = StreamableHttpService::new(
            move || Ok(Server::new(Arc::clone(&tools), of_server.child_token())),
            Arc::default(),
            config,
        );
        Self { token: digest(token), service, _ended: ended.drop_guard() }
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
    request: Request,
) -> Response {
    let Some(endpoint) = endpoints.find(&session) else {
        return (StatusCode::NOT_FOUND, "no such session\n").into_response();
    };
    if !endpoint.admits(request.headers()) {
        return (StatusCode::UNAUTHORIZED, "wrong bearer token\n").into_response();
    }
    let service = endpoint.service.clone();
    // A request in flight does not keep a session alive.
    drop(endpoint);
    service.handle(request).await.map(Body::new)
}

/// Refuses requests that a web page could have caused: those with an Origin, and those whose
/// Host is no loopback name.
pub async fn local_only(request: Request, next: Next) -> Response {
    let headers = request.headers();
    if headers.contains_key(ORIGIN) {
        return (StatusCode::FORBIDDEN, "web pages have no access\n").into_response();
    }
    if !headers.get(HOST).and_then(|host| host.to_str().ok()).is_some_and(is_loopback) {
        return (StatusCode::FORBIDDEN, "the Host header must name this machine\n").into_response();
    }
    next.run(request).await
}

fn is_loopback(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    ["localhost", "127.0.0.1", "[::1]"]
        .iter()
        .any(|name| authority.host().eq_ignore_ascii_case(name))
}
