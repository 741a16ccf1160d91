//! The agent's side of the protocol, for the scripted agent.
//!
//! The SDK frames requests, responses and ids; what arrives is only enqueued, so that no
//! handler ever waits. Everything that leaves goes through one `Output`, in order, so that
//! a caller can put bytes between the frames that no well-behaved agent would send.
//! What to answer, and when, does NOT live here: the caller decides on each [`Incoming`].

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

/// Why the connection could not be served to its end.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The client went away, or what it sent is no JSON-RPC.
    #[error("the connection to the client broke: {0}")]
    Connection(Error),
}

/// What the client sent, in the order it came.
#[derive(Debug)]
pub enum Incoming {
    /// `initialize`.
    Initialize(ReplyHandle),
    /// `session/new`.
    NewSession {
        /// The folder that the session works in.
        cwd: PathBuf,
        /// Where the answer goes.
        reply: ReplyHandle,
    },
    /// `session/prompt`.
    Prompt {
        /// The session.
        session: String,
        /// All its text blocks, joined.
        text: String,
        /// Where the answer goes.
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
        /// Where the answer goes.
        reply: ReplyHandle,
    },
    /// `session/close`.
    Close {
        /// The session.
        session: String,
        /// Where the answer goes.
        reply: ReplyHandle,
    },
}

/// A request that waits for its answer.
#[derive(Debug)]
pub struct ReplyHandle(Responder<Value>);

/// A JSON-RPC error as an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    /// JSON-RPC's code.
    pub code: i32,
    /// One sentence.
    pub message: String,
    /// Anything more, `null` for nothing.
    pub data: Value,
}

/// The way out to the client.
#[derive(Clone)]
pub struct Wire {
    connection: ConnectionTo<Client>,
    output: Output,
}

/// A permission request that is written and not yet answered.
#[derive(Debug)]
pub struct Pending(SentRequest<Value>);

impl Pending {
    /// The id of the option that the client selected, once it did. Anything else (cancelled,
    /// an error, no sense, no client any more) is no permission.
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
    /// Sends one `session/update`, whatever it holds.
    pub async fn update(&self, session: &str, update: &Value) {
        self.bytes(update_line(session, update)).await;
    }

    /// Sends bytes as they are, between two frames.
    pub async fn bytes(&self, bytes: Vec<u8>) {
        self.output.raw(bytes).await;
    }

    /// Asks for permission; returns when the request is written.
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

    /// Ends all output: returns when everything sent so far has been handed to the operating
    /// system, and drops what comes after it. The SDK answers a request that is let go of,
    /// which a process that dies does not.
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

/// Serves one client until `play` returns, and hands on what it returned.
///
/// # Errors
/// If the transport breaks before `play` is through. A client that closes its side is no
/// error: `play` sees it with [`Wire::hung_up`].
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

/// Puts one message into the queue; what cannot be understood is answered at once.
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
        // Nobody takes messages any more once the script has ended.
        let _ = queue.send(incoming);
    }
    Ok(())
}

/// A request in our terms; `None` if it has been answered already.
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

/// The parameters as the SDK's type, or an answer that says what is wrong with them.
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

/// The only notification that means something to an agent.
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

/// The number of the protocol's version that this side speaks.
pub fn protocol_version() -> Value {
    json!(ProtocolVersion::V1)
}
