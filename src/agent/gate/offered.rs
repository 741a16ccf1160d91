//! Calls of the tools that the run's own MCP server offers.
//!
//! Invariant: such a call is decided once, by the layer that sees it first. The server runs it with
//! that decision, or decides if no layer before it did. With an agent whose hook sees every call, a
//! call that the hook did not decide never runs.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Gate, State};
use crate::agent::OfferedTools;
use crate::guard::{OfferedKind, OfferedTool};
use crate::model::{Asked, AuditEntry, Decision, HookType, SessionId, ToolRequest};

/// Longest name of a tool in the journal, the audit, and answers. Models take 64 characters.
const LONGEST_NAME: usize = 200;

/// ACP's kind for all other tools.
const OTHER: &str = "other";

impl Gate {
    /// Sets the tools that the run's own server offers. There is one server in a run.
    pub fn offer(&self, tools: Arc<dyn OfferedTools>) {
        if self.offered.set(tools).is_err() {
            tracing::error!("the gate has a server already");
        }
    }

    /// The request under the name that rules, journal and audit have for an offered tool, if it
    /// is one of those: the CLI puts the server's name before the tool's.
    pub(super) fn as_offered(&self, request: &ToolRequest) -> Option<(ToolRequest, OfferedTool)> {
        let tool = self.offered_tool(&request.tool)?;
        Some((ToolRequest { tool: tool.name.clone(), ..request.clone() }, tool))
    }

    /// The offered tool that an agent calls by this name.
    pub(super) fn offered_tool(&self, name: &str) -> Option<OfferedTool> {
        let offered = self.offered.get()?;
        let bare = name.strip_prefix(offered.server())?.strip_prefix(['-', '/'])?;
        Some(offered.find(bare))
    }

    /// A permission request under the name of the offered tool that its title names. The request
    /// itself names none. Where there is a hook, it must have allowed that tool.
    pub fn named_by_title(&self, request: ToolRequest, title: Option<&str>) -> ToolRequest {
        let (Some(offered), Some(title)) = (self.offered.get(), title) else { return request };
        if request.tool != OTHER {
            return request;
        }
        let server = offered.server();
        let bare = [format!("{server}-"), format!("{server}_"), format!("mcp__{server}__")]
            .iter()
            .find_map(|prefix| title.strip_prefix(prefix.as_str()))
            .unwrap_or(title);
        let tool = offered.find(bare);
        let state = self.state();
        let known = tool.kind != OfferedKind::Gone
            && (!state.hooked || state.decisions.was_allowed_by_hook(&tool.name, &request.input));
        if known { ToolRequest { tool: format!("{server}-{bare}"), ..request } } else { request }
    }

    /// A tool's name, without secrets and cut if it is too long to be one.
    pub fn shown_name<'n>(&self, name: &'n str) -> Cow<'n, str> {
        if name.chars().nth(LONGEST_NAME).is_none() {
            return Cow::Borrowed(name);
        }
        let name = self.redactor.redact_str(name);
        let mut shown: String = name.chars().take(LONGEST_NAME).collect();
        shown.push('…');
        Cow::Owned(shown)
    }

    /// The request under a name that can be recorded.
    pub(super) fn with_short_name<'r>(&self, request: &'r ToolRequest) -> Cow<'r, ToolRequest> {
        match self.shown_name(&request.tool) {
            Cow::Borrowed(_) => Cow::Borrowed(request),
            Cow::Owned(tool) => Cow::Owned(ToolRequest { tool, ..request.clone() }),
        }
    }

    /// Decides whether the server runs a call of the tool `name`. A decision that the call has
    /// already counts, once.
    pub fn admit(&self, session: &SessionId, name: &str, input: &Value) -> Decision {
        let request = ToolRequest {
            session: session.clone(),
            call: None,
            tool: self
                .offered
                .get()
                .map_or_else(|| name.to_owned(), |offered| format!("{}-{name}", offered.server())),
            input: input.clone(),
            asked: Asked::Server,
        };
        if let Some((named, _)) = self.as_offered(&request) {
            let mut state = self.state();
            if !state.is_over(session.as_str()) {
                let vouched_by = if state.hooked { Asked::Hook } else { Asked::Permission };
                if state.decisions.claim(&named, vouched_by) {
                    return Decision::allow("tool.decided", "it was allowed before");
                }
            }
        }
        self.decide(&request)
    }

    /// Records the result of a call that the server ran.
    pub fn record_served(
        &self,
        session: &SessionId,
        tool: &str,
        input: &Value,
        output: Value,
        took: Duration,
    ) {
        {
            let mut state = self.state();
            state.last = Some(Instant::now());
            state.decisions.note_served(tool, input);
        }
        self.audit(&AuditEntry {
            tool: Some(tool.to_owned()),
            input: Some(input.clone()),
            output: Some(output),
            elapsed: Some(took),
            ..AuditEntry::new(HookType::PostToolUse, Some(session.clone()))
        });
    }

    /// Cancelled when the turn is over.
    pub fn turn(&self) -> CancellationToken {
        self.state().turn.clone()
    }

    /// The denial of arguments that hold a value from a file with secrets or from the environment:
    /// a provider's program is outside every sandbox.
    pub(super) fn known_secret(&self, tool: &OfferedTool, input: &Value) -> Option<Decision> {
        let text = input.to_string();
        let holds = tool.kind == OfferedKind::Provider
            && self.redactor.without_known_values(&text) != text.as_str();
        holds.then(|| {
            let reason = "Denied (secret.value): the arguments hold the value of a secret. Nothing \
                          was run.";
            Decision::deny("secret.value", reason)
        })
    }
}

impl State {
    /// Is nothing allowed any more in this session or this turn?
    fn is_over(&self, session: &str) -> bool {
        self.resting || self.focus.is_none() || self.sessions.is_closed(session)
    }
}
