//! `POST /call`: a call by hand, from `gateway call`. Both ends live here.
//!
//! It is for whoever has the provider's token; agents use MCP. A call that was never made is a
//! [`DirectError`], and one that was made and has no result is a [`DirectAnswer::Failed`].

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest as _, State};
use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::{HeaderMap, Request, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Extension, Router, middleware};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use crate::mcp::local_only;

use super::dispatch::CallRequest;
use super::event::CallOutcome;
use super::handle::Gateway;
use super::limits::SOCKET_SIZE;
use super::problem::FailureCode;
use super::server::Caller;
use super::token::GatewayToken;

/// A call by hand.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DirectCall {
    /// The session's id; not needed if there is only one session.
    pub session: Option<String>,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub args: Map<String, Value>,
    /// The call's time in milliseconds, instead of the tool's.
    pub timeout: Option<u64>,
}

/// The result of the call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum DirectAnswer {
    /// It failed.
    Failed {
        /// The code.
        error_code: String,
        /// Why.
        error: String,
    },
    /// The result.
    Done {
        /// The data.
        data: Value,
    },
}

/// A call that did not reach the gateway, or that it refused.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum DirectError {
    #[error("cannot connect to 127.0.0.1:{port}: {source}")]
    Connect { port: u16, source: std::io::Error },
    #[error("the gateway rejected the token")]
    Unauthorized,
    #[error("{0}")]
    NoSession(String),
    #[error("{0}")]
    Unacceptable(String),
    #[error("the program on 127.0.0.1:{port} is not a gateway: {why}")]
    NotAGateway { port: u16, why: String },
    #[error("the token cannot be sent: {0}")]
    Token(#[from] axum::http::Error),
}

/// The route.
pub fn direct_route(gateway: Gateway, token: GatewayToken) -> Router {
    Router::new()
        .route("/call", post(answer))
        .layer(DefaultBodyLimit::max(SOCKET_SIZE))
        .layer(middleware::from_fn(local_only))
        .with_state(Arc::new((gateway, token)))
}

async fn answer(
    State(state): State<Arc<(Gateway, GatewayToken)>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    request: axum::extract::Request,
) -> Response {
    let (gateway, token) = &*state;
    let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.strip_prefix("Bearer "));
    if !given.is_some_and(|given| token.is(given)) {
        return (StatusCode::UNAUTHORIZED, "wrong token\n").into_response();
    }
    // Only now the rest of the body is read.
    caller.vouch();
    let body = match Bytes::from_request(request, &()).await {
        Ok(body) => body,
        Err(rejection) => return rejection.into_response(),
    };
    let call: DirectCall = match serde_json::from_slice(&body) {
        Ok(call) => call,
        Err(error) => return (StatusCode::BAD_REQUEST, format!("{error}\n")).into_response(),
    };
    let session = match chosen(call.session, gateway.sessions().await) {
        Ok(session) => session,
        Err(refusal) => return refusal.into_response(),
    };
    let timeout = call.timeout.map(Duration::from_millis);
    let request = CallRequest { session, tool: call.tool, args: call.args, label: None, timeout };
    // If the other side hangs up, this is dropped, which cancels the call.
    let outcome = gateway.call(request).outcome(&CancellationToken::new()).await;
    axum::body::Body::from(serde_json::to_vec(&direct(outcome)).unwrap_or_default()).into_response()
}

/// The session that is named, or the only one.
fn chosen(named: Option<String>, mut open: Vec<String>) -> Result<String, (StatusCode, String)> {
    let there = || open.join(", ");
    match named {
        _ if open.is_empty() => {
            Err((StatusCode::CONFLICT, "the gateway has no session\n".to_owned()))
        }
        Some(named) if open.contains(&named) => Ok(named),
        Some(named) => {
            let text = format!("the gateway has no session `{named}`; its sessions: {}\n", there());
            Err((StatusCode::CONFLICT, text))
        }
        None if open.len() == 1 => Ok(open.remove(0)),
        None => {
            let text = format!("name a session with --session; the sessions: {}\n", there());
            Err((StatusCode::BAD_REQUEST, text))
        }
    }
}

fn direct(outcome: CallOutcome) -> DirectAnswer {
    match outcome {
        Ok(data) => DirectAnswer::Done { data: Arc::unwrap_or_clone(data) },
        Err(failure) => DirectAnswer::Failed {
            error_code: failure.code.name().to_owned(),
            error: failure.message,
        },
    }
}

/// Makes a call over the port of a gateway. Dropping the future cancels it.
///
/// # Errors
/// If no gateway answers, or it does not accept the request.
pub async fn call_directly(
    port: u16,
    token: &str,
    call: &DirectCall,
) -> Result<DirectAnswer, DirectError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let stream = TcpStream::connect(address).await;
    let stream = stream.map_err(|source| DirectError::Connect { port, source })?;
    let (sender, connection) = match http1::handshake(TokioIo::new(stream)).await {
        Ok(both) => both,
        Err(error) => return lost(port, &error),
    };
    let body = serde_json::to_vec(call).unwrap_or_default();
    let request = Request::post("/call")
        .header(HOST, address.to_string())
        .header(AUTHORIZATION, format!("Bearer {token}"))
        .body(Full::new(Bytes::from(body)))?;
    let exchange = async {
        // Dropped at the end, which ends the connection.
        let mut sender = sender;
        let answer = sender.send_request(request).await?;
        let status = answer.status();
        Ok::<_, hyper::Error>((status, answer.into_body().collect().await?.to_bytes()))
    };
    // The exchange waits for the connection, and notices its end.
    let (answer, _connection) = futures::join!(exchange, connection);
    match answer {
        Ok((status, body)) => read_answer(port, status, &body),
        Err(error) => lost(port, &error),
    }
}

/// The connection ended before the answer. The provider may have got the call.
fn lost(port: u16, error: &hyper::Error) -> Result<DirectAnswer, DirectError> {
    if error.is_parse() {
        return Err(DirectError::NotAGateway { port, why: error.to_string() });
    }
    Ok(DirectAnswer::Failed {
        error_code: FailureCode::Disconnected.name().to_owned(),
        error: format!("the connection to the gateway ended before the result: {error}"),
    })
}

fn read_answer(port: u16, status: StatusCode, body: &[u8]) -> Result<DirectAnswer, DirectError> {
    let text = || String::from_utf8_lossy(body).trim().to_owned();
    let other = |why: String| Err(DirectError::NotAGateway { port, why });
    match status {
        StatusCode::OK => serde_json::from_slice(body).or_else(|error| other(error.to_string())),
        StatusCode::UNAUTHORIZED => Err(DirectError::Unauthorized),
        StatusCode::CONFLICT => Err(DirectError::NoSession(text())),
        StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE => {
            Err(DirectError::Unacceptable(text()))
        }
        status => other(format!("it answered {status}")),
    }
}
