//! `mcp`: tools for MCP clients, and the entries in their configurations.

mod allowed;
mod child;
mod code_sessions;
mod code_tools;
mod file_tools;
mod install;
mod loop_tools;
pub(super) mod memory;
mod orchestrate;
mod serve;
mod workspace;

use std::path::Path;

pub(super) use self::allowed::{has_changed, open_digest};
use super::args::McpCommand;
use super::failure::Failure;

/// Runs an `mcp` command.
pub(super) fn mcp(directory: Option<&Path>, command: &McpCommand) -> Result<u8, Failure> {
    match command {
        McpCommand::Serve(args) => serve::serve(directory, args),
        McpCommand::Install(args) => install::install(directory, args),
        McpCommand::Uninstall { client } => install::uninstall(directory, *client),
    }
}
