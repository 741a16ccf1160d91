//! The MCP server over a set of tools, for any transport.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, ListToolsResult, MetaObject, PaginatedRequestParams, ProgressNotificationParam,
    ProgressToken, ProtocolVersion, ServerCapabilities, ServerConfig, Tool as WireTool,
    ToolAnnotations,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, RoleServer};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::tools::{Call, Progress, ProgressStep, Tool, ToolAnswer, Tools};

/// Steps of progress that wait for a slow client.
const BUFFERED_STEPS: usize = 16;

/// Longest name of a tool in an error, in characters.
const LONGEST_NAME: usize = 200;

/// The delay of an answer after the last step before it: a client that reads both at once, as the
/// official one does, forgets the step.
const APART: Duration = Duration::from_millis(20);

/// One client's server.
pub(super) struct Server {
    tools: Arc<dyn Tools>,
    /// Cancelled when the client has gone.
    ended: CancellationToken,
    /// Ends the announcements when the server is dropped.
    dropped: DropGuard,
}

impl Server {
    pub(super) fn new(tools: Arc<dyn Tools>, ended: CancellationToken) -> Self {
        Self { tools, ended, dropped: CancellationToken::new().drop_guard() }
    }

    /// Runs a call to its end, and passes its progress on in order.
    async fn run(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Option<ToolAnswer> {
        let (sender, mut steps) = mpsc::channel(BUFFERED_STEPS);
        let token = context.meta.get_progress_token();
        let cancel = context.ct.clone();
        let call = Call {
            name: request.name.into_owned(),
            arguments: request.arguments.unwrap_or_default(),
            cancel: cancel.clone(),
            progress: if token.is_some() { Progress::into(sender) } else { Progress::default() },
        };
        let mut answer = self.tools.call(call);
        let mut told = None;
        let answer = loop {
            tokio::select! {
                biased;
                Some(step) = steps.recv() => {
                    send(&context.peer, token.as_ref(), step).await;
                    told = Some(Instant::now());
                }
                answer = &mut answer => break answer,
                () = self.ended.cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
            }
        };
        while let Ok(step) = steps.try_recv() {
            send(&context.peer, token.as_ref(), step).await;
            told = Some(Instant::now());
        }
        if let Some(told) = told {
            sleep_until(told + APART).await;
        }
        answer
    }
}

/// Sends a step of progress; a client that has gone misses it.
async fn send(peer: &Peer<RoleServer>, token: Option<&ProgressToken>, step: ProgressStep) {
    let Some(token) = token else { return };
    let mut params =
        ProgressNotificationParam::new(token.clone(), step.done).with_message(step.message);
    params.total = step.total;
    let _gone = peer.notify_progress(params).await;
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = if self.tools.changed().is_some() {
            ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build()
        } else {
            ServerCapabilities::builder().enable_tools().build()
        };
        let this = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(this)
    }

    /// Versions with an `initialize` handshake: later ones have no session that
    /// `tools/list_changed` could reach.
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.tools.list().into_iter().map(wire_tool).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let unknown = format!("unknown tool: {}", shown_name(&request.name));
        let answer = self.run(request, &context).await;
        let answer = answer.ok_or_else(|| ErrorData::invalid_params(unknown, None))?;
        Ok(wire_answer(answer).into())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let Some(mut changed) = self.tools.changed() else { return };
        // Earlier changes are in the first list.
        changed.mark_unchanged();
        let dropped = self.dropped.token().clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = dropped.cancelled() => return,
                    change = changed.changed() => if change.is_err() { return },
                }
                if context.peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
        });
    }
}

/// A name as an error shows it.
fn shown_name(name: &str) -> &str {
    name.char_indices().nth(LONGEST_NAME).map_or(name, |(end, _)| &name[..end])
}

fn wire_tool(tool: Tool) -> WireTool {
    let annotations = ToolAnnotations::new().read_only(tool.read_only);
    WireTool::new(tool.name, tool.description, tool.input_schema).with_annotations(annotations)
}

fn wire_answer(answer: ToolAnswer) -> CallToolResult {
    let content = vec![ContentBlock::text(answer.text)];
    let result = if answer.is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    };
    let meta = answer.error_code.map(|code| {
        let mut meta = MetaObject::new();
        meta.insert("errorCode".to_owned(), Value::String(code));
        meta
    });
    result.with_meta(meta)
}
