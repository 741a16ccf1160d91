//! The agent's side of the protocol, for the scripted agent.
//!
//! The SDK frames requests, responses and ids. Incoming messages are only enqueued, so no
//! handler ever waits. All output goes through one ordered `Output`, so the caller can put
//! bytes between the frames that no well-behaved agent would send. The caller decides how and
//! when to answer each [`Incoming`].

mod output;

use std::path::PathBuf;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    CancelNotification, CloseSessionRequest, ContentBlock, InitializeRequest, NewSessionRequest,
    PromptRequest, RequestPermissionOutcome, RequestPermissionResponse, SetSessionModeRequest,
};
use agent_client_protocol::v1::{ConnectionTo, Dispatch, Responder, SentRequest};
use agent_client_protocol::{Agent, Client, Error, Lines, UntypedMessage, on_receive_dispatch};
use futures::StreamExt;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_util::codec::{FramedRead, LinesCodec};

use output::Output;

/// A failure of the connection to the client.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The client went away, or sent something that is not JSON-RPC.
    #[error("the connection to the client broke: {0}")]
    Connection(Error),
}

/// A message from the client, in order of arrival.
#[derive(Debug)]
pub enum Incoming {
    /// `initialize`.
    Initialize(ReplyHandle),
    /// `session/new`.
    NewSession {
        /// The session's working folder.
        cwd: PathBuf,
        /// Takes the answer.
        reply: ReplyHandle,
    },
    /// `session/prompt`.
    Prompt {
        /// The session.
        session: String,
        /// All text blocks, joined.
        text: String,
        /// Takes the answer.
        reply: ReplyHandle,
    },
    /// `session/cancel`.
    Cancel {
        /// The session.
        session: String,
    },
    /// `session/set_mode`.
    SetMode {
        /// The session.
        session: String,
        /// The mode's id.
        mode: String,
        /// Takes the answer.
        reply: ReplyHandle,
    },
    /// `session/close`.
    Close {
        /// The session.
        session: String,
        /// Takes the answer.
        reply: ReplyHandle,
    },
}

/// A request that is waiting for its answer.
#[derive(Debug)]
pub struct ReplyHandle(Responder<Value>);

/// A JSON-RPC error as an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    /// JSON-RPC's code.
    pub code: i32,
    /// The error message.
    pub message: String,
    /// More details, or `null`.
    pub data: Value,
}

/// The sending side of the connection.
#[derive(Clone)]
pub struct Wire {
    connection: ConnectionTo<Client>,
    output: Output,
}

/// A permission request that is sent and not yet answered.
#[derive(Debug)]
pub struct Pending(SentRequest<Value>);

impl Pending {
    /// Waits for the option that the client selects. Any other answer (cancelled, an error,
    /// nonsense, a lost client) is `None`, which is not permission.
    pub async fn selected(self) -> Option<String> {
        let answer = self.0.block_task().await.ok()?;
        let answer: RequestPermissionResponse = serde_json::from_value(answer).ok()?;
        match answer.outcome {
            RequestPermissionOutcome::Selected(selected) => Some(selected.option_id.to_string()),
            _ => None,
        }
    }
}

impl Wire {
    /// Sends one `session/update`, valid or not.
    pub async fn update(&self, session: &str, update: &Value) {
        self.bytes(update_line(session, update)).await;
    }

    /// Sends raw bytes between two frames.
    pub async fn bytes(&self, bytes: Vec<u8>) {
        self.output.raw(bytes).await;
    }

    /// Sends a permission request; returns when it is written.
    ///
    /// # Errors
    /// If the client is gone.
    pub async fn ask(&self, params: Value) -> Result<Pending, ServeError> {
        let request = UntypedMessage::new("session/request_permission", params)
            .map_err(ServeError::Connection)?;
        let ticket = self.output.ticket();
        let sent = self.connection.send_request(request);
        self.output.written(ticket).await;
        Ok(Pending(sent))
    }

    /// Answers a request; returns when the answer is written.
    ///
    /// # Errors
    /// If the client is gone.
    pub async fn answer(
        &self,
        reply: ReplyHandle,
        answer: Result<Value, RpcError>,
    ) -> Result<(), ServeError> {
        let ticket = self.output.ticket();
        let answer = answer.map_err(|refusal| {
            let error = Error::new(refusal.code, refusal.message);
            if refusal.data.is_null() { error } else { error.data(refusal.data) }
        });
        reply.0.respond_with_result(answer).map_err(ServeError::Connection)?;
        self.output.written(ticket).await;
        Ok(())
    }

    /// Ends all output: returns when everything sent so far has reached the operating system,
    /// and drops anything later. The SDK answers a request when it is dropped, which a dying
    /// process would not do.
    pub async fn seal(&self) {
        self.output.seal().await;
    }

    /// Returns when the client has closed its side.
    pub async fn hung_up(&self) {
        self.connection.incoming_closed().await;
    }
}

/// One `session/update` as a line, with its newline.
pub fn update_line(session: &str, update: &Value) -> Vec<u8> {
    let frame = json!({
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": {"sessionId": session, "update": update},
    });
    let mut line = frame.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// Serves one client until `play` returns, and returns its result.
///
/// # Errors
/// If the transport breaks before `play` returns. A client that closes its side is not an
/// error: `play` learns it from [`Wire::hung_up`].
pub async fn serve<R, W, T>(
    stdin: R,
    stdout: W,
    play: impl AsyncFnOnce(Wire, mpsc::UnboundedReceiver<Incoming>) -> T,
) -> Result<T, ServeError>
where
    R: AsyncRead + Send + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (output, writer) = output::open(stdout);
    let (enqueue, incoming) = mpsc::unbounded_channel();
    let lines = FramedRead::new(stdin, LinesCodec::new())
        .map(|line| line.map_err(std::io::Error::other))
        .boxed();
    let result = Agent
        .v1()
        .name("scripted")
        .on_receive_dispatch(
            async move |message: Dispatch, _connection: ConnectionTo<Client>| {
                take(message, &enqueue)
            },
            on_receive_dispatch!(),
        )
        .connect_with(Lines::new(output.sink(), lines), async move |connection| {
            Ok(play(Wire { connection, output }, incoming).await)
        })
        .await
        .map_err(ServeError::Connection);
    writer.finish().await;
    result
}

/// Enqueues a message; an invalid one is answered with an error at once.
fn take(message: Dispatch, queue: &mpsc::UnboundedSender<Incoming>) -> Result<(), Error> {
    let incoming = match message {
        Dispatch::Request(request, responder) => {
            let (method, params) = request.into_parts();
            request_of(&method, params, ReplyHandle(responder))?
        }
        Dispatch::Notification(note) => cancel_of(note),
        Dispatch::Response(result, router) => return router.route_with_result(result),
    };
    if let Some(incoming) = incoming {
        // The receiver is gone once the script has ended.
        let _ = queue.send(incoming);
    }
    Ok(())
}

/// Converts a request; `None` if it has already been answered.
fn request_of(method: &str, params: Value, reply: ReplyHandle) -> Result<Option<Incoming>, Error> {
    match method {
        "initialize" => {
            typed(params, reply, |_: InitializeRequest, reply| Incoming::Initialize(reply))
        }
        "session/new" => typed(params, reply, |new: NewSessionRequest, reply| {
            Incoming::NewSession { cwd: new.cwd, reply }
        }),
        "session/prompt" => typed(params, reply, |prompt: PromptRequest, reply| {
            let text = text_of(&prompt.prompt);
            Incoming::Prompt { session: prompt.session_id.to_string(), text, reply }
        }),
        "session/set_mode" => typed(params, reply, |set: SetSessionModeRequest, reply| {
            let (session, mode) = (set.session_id.to_string(), set.mode_id.to_string());
            Incoming::SetMode { session, mode, reply }
        }),
        "session/close" => typed(params, reply, |close: CloseSessionRequest, reply| {
            Incoming::Close { session: close.session_id.to_string(), reply }
        }),
        _ => {
            reply.0.respond_with_error(Error::method_not_found())?;
            Ok(None)
        }
    }
}

/// Parses the parameters, or answers the request with the parse error.
fn typed<T: DeserializeOwned>(
    params: Value,
    reply: ReplyHandle,
    make: impl FnOnce(T, ReplyHandle) -> Incoming,
) -> Result<Option<Incoming>, Error> {
    match serde_json::from_value(params) {
        Ok(params) => Ok(Some(make(params, reply))),
        Err(error) => {
            reply.0.respond_with_error(Error::invalid_params().data(error.to_string()))?;
            Ok(None)
        }
    }
}

/// Converts `session/cancel`, the only notification that an agent handles.
fn cancel_of(note: UntypedMessage) -> Option<Incoming> {
    let (method, params) = note.into_parts();
    if method != "session/cancel" {
        return None;
    }
    let cancel: CancelNotification = serde_json::from_value(params).ok()?;
    Some(Incoming::Cancel { session: cancel.session_id.to_string() })
}

fn text_of(blocks: &[ContentBlock]) -> String {
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| match block {
            ContentBlock::Text(text) => Some(text.text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n")
}

/// The protocol version that this side supports.
pub fn protocol_version() -> Value {
    json!(ProtocolVersion::V1)
}
