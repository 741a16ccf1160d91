//! `ralph-copilot gateway` as a process, with clients written by others: `websockets` from PyPI,
//! `ws` and the MCP SDK from npm. `tests/support/gateway-clients` and `mcp-packages` download
//! them; without them these tests are skipped, and with RALPH_TEST_REAL=required they fail.

#[path = "../support/downloads.rs"]
mod downloads;
#[path = "../support/mcp.rs"]
#[expect(dead_code, reason = "other test programs look at more")]
mod mcp_client;
#[path = "../support/repo.rs"]
#[expect(dead_code, reason = "other test programs look at more")]
mod repo;

mod call;
mod connections;
mod docs;
mod frames;
mod mcp;
mod place;
mod providers;
mod run;
mod token_file;
