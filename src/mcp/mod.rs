//! MCP servers: tools offered to agents and to other programs.
//!
//! Invariant: only `server`, `stdio` and `http` name the MCP library; a tool is a [`Tool`], a
//! [`Call`] and a [`ToolAnswer`]. The commands that start a server live in `cli`.

mod http;
mod server;
mod stdio;
mod tools;

pub use http::{Endpoint, Endpoints, local_only, router};
pub use stdio::{McpError, serve_stdio};
pub use tools::{Call, Progress, ProgressStep, Tool, ToolAnswer, Tools};
