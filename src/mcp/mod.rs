//! MCP servers: tools offered to agents and to other programs.
//!
//! Invariant: only `server`, `stdio`, `lines` and `http` name the MCP library; a tool is a [`Tool`],
//! a [`Call`] and a [`ToolAnswer`]. The commands that start a server live in `cli`.

mod arguments;
mod code_result;
mod http;
mod lines;
mod listen;
mod memory;
mod server;
mod stdio;
mod tools;

pub use arguments::{Arguments, schema};
pub use code_result::{call_line, code_log, code_summary, ended, went_well};
pub use http::{Endpoint, Endpoints, local_only, router};
pub use listen::LoopbackPort;
pub use memory::{MemoryPlace, MemorySources, MemoryTools, usual_places};
pub use stdio::{McpError, serve_stdio};
pub use tools::{
    Call, Progress, ProgressStep, TOOL_NAMES, Tool, ToolAnswer, Toolbox, Tools, bounded,
};
