//! `ralph-copilot gateway` as a process, with clients written by others: `websockets` from PyPI,
//! `ws` and the MCP SDK from npm. `tests/support/gateway-clients` downloads them; without them
//! these tests are skipped, and with RALPH_TEST_REAL=required they fail.

mod call;
mod connections;
mod docs;
mod frames;
mod mcp;
mod place;
mod providers;
mod token_file;
