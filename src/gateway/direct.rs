//! `POST /call`: a call by hand, from `gateway call`. Both ends live here.
//!
//! It is for whoever has the provider's token; agents use MCP.

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

/// What came of it.
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
pub enum DirectError {
    /// Nothing listens there.
    #[error("cannot connect to 127.0.0.1:{port}: {source}")]
    Connect {
        /// The port.
        port: u16,
        /// The cause.
        source: std::io::Error,
    },
    /// The connection broke.
    #[error("the gateway's answer is incomplete: {0}")]
    Broken(#[from] hyper::Error),
    /// The gateway refused.
    #[error("the gateway answered {status}: {text}")]
    Refused {
        /// The http status.
        status: StatusCode,
        /// What it said.
        text: String,
    },
    /// What came is no answer of a gateway.
    #[error("what listens there is no gateway: {0}")]
    NotAGateway(#[from] serde_json::Error),
    /// The request cannot be made of this token.
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
    let session = match call.session {
        Some(session) => session,
        None => match <[String; 1]>::try_from(gateway.sessions().await) {
            Ok([only]) => only,
            Err(all) => {
                let text = match all.as_slice() {
                    [] => "the gateway has no session\n".to_owned(),
                    all => {
                        format!("name a session with --session; there are: {}\n", all.join(", "))
                    }
                };
                return (StatusCode::BAD_REQUEST, text).into_response();
            }
        },
    };
    let timeout = call.timeout.map(Duration::from_millis);
    let request = CallRequest { session, tool: call.tool, args: call.args, label: None, timeout };
    // If the other side hangs up, this is dropped, which cancels the call.
    let outcome = gateway.call(request).outcome(&CancellationToken::new()).await;
    axum::body::Body::from(serde_json::to_vec(&direct(outcome)).unwrap_or_default()).into_response()
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
/// If there is no gateway, or it does not accept the request.
pub async fn call_directly(
    port: u16,
    token: &str,
    call: &DirectCall,
) -> Result<DirectAnswer, DirectError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let stream = TcpStream::connect(address).await;
    let stream = stream.map_err(|source| DirectError::Connect { port, source })?;
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let request = Request::post("/call")
        .header(HOST, address.to_string())
        .header(AUTHORIZATION, format!("Bearer {token}"))
        .body(Full::new(Bytes::from(serde_json::to_vec(call)?)))?;
    let exchange = async {
        // Dropped at the end, which ends the connection.
        let mut sender = sender;
        let answer = sender.send_request(request).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        if status != StatusCode::OK {
            let text = String::from_utf8_lossy(&body).trim().to_owned();
            return Err(DirectError::Refused { status, text });
        }
        Ok(serde_json::from_slice(&body)?)
    };
    // The exchange waits for what the connection does, and learns of its end.
    let (answer, _connection) = futures::join!(exchange, connection);
    answer
}
