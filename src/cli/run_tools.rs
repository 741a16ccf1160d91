//! The run's own MCP server: memory and the tools of providers, for the agent.
//!
//! Invariant: each session has its own address and token; the run's gate decides and records each
//! call.

mod blocked;
mod offer;
mod server;
mod session;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agent::{Gate, OfferedServer};
use crate::mcp::{MemorySources, MemoryTools};
use crate::sys::depth::Depth;

use self::offer::Offer;
pub(super) use self::offer::ProviderSource;
use self::server::RunServer;

/// Starts the server if it has tools: memory, or a gateway, whose providers may come at any time.
/// Without a port, the run continues without its tools, and the returned text says so.
pub(super) async fn start(
    memory: Option<MemorySources>,
    providers: Option<ProviderSource>,
    depth: Depth,
    gate: &Arc<Gate>,
    (scratch, progress): (&Path, PathBuf),
) -> Result<Option<OfferedServer>, String> {
    if memory.is_none() && providers.is_none() {
        return Ok(None);
    }
    let tools = |sources| MemoryTools::new(sources, Arc::clone(gate.redactor()), depth.number());
    let started = match Offer::new(memory.map(tools), providers, progress) {
        Ok(offer) => RunServer::start(Arc::new(offer), Arc::clone(gate)).await,
        Err(error) => Err(error),
    };
    let config = scratch.join("mcp.json");
    match started {
        Ok(server) => Ok(Some(OfferedServer { server: Arc::new(server), config })),
        Err(error) => Err(format!("the agent gets no memory and no provider tools: {error}")),
    }
}
