//! The run's own MCP server: memory and the tools of providers, for the agent.
//!
//! Invariant: each session has an address and a token of its own; what a call may do is decided
//! and recorded by the run's gate.

mod offer;
mod server;
mod session;

use std::sync::Arc;

use super::context::TaskContext;
use super::failure::Failure;
use super::mcp::memory;
use crate::agent::Gate;
use crate::config::Settings;
use crate::mcp::MemoryTools;
use crate::sys::depth::Depth;

use self::offer::Offer;
pub(super) use self::offer::ProviderSource;
pub(super) use self::server::RunServer;

/// Starts the server if there is something to offer: memory that exists or that a layer names,
/// or a gateway, whose providers may come at any time. Without a port the run goes on without its
/// tools, and the text says so.
pub(super) async fn start(
    at: &TaskContext,
    settings: &Settings,
    depth: Depth,
    gate: &Arc<Gate>,
    providers: Option<ProviderSource>,
) -> Result<Result<Option<RunServer>, String>, Failure> {
    let sources = memory::sources(at.place.root(), settings)?;
    let memory = (memory::configured(settings) || sources.exist())
        .then(|| MemoryTools::new(sources, Arc::clone(gate.redactor()), depth.number()));
    if memory.is_none() && providers.is_none() {
        return Ok(Ok(None));
    }
    let offer = Offer::new(memory, providers);
    let started = match offer {
        Ok(offer) => RunServer::start(Arc::new(offer), Arc::clone(gate)).await,
        Err(error) => Err(error),
    };
    let failed = |error| format!("the agent gets no memory and no tools of providers: {error}");
    Ok(started.map(Some).map_err(failed))
}
