//! MCP servers, with clients written by others: the official SDK, its conformance suite, and the
//! real Copilot CLI. `tests/run` downloads them; without them these tests are skipped, and with
//! RALPH_TEST_REAL=required they fail.

#[expect(dead_code, reason = "other test programs look at more")]
#[path = "../support/copilot.rs"]
mod copilot;
#[path = "../support/downloads.rs"]
mod downloads;
#[path = "../support/mcp.rs"]
mod mcp;
#[expect(dead_code, reason = "other test programs look at more")]
#[path = "../support/model.rs"]
mod model;
#[expect(dead_code, reason = "other test programs look at more")]
#[path = "../support/repo.rs"]
mod repo;

mod http;
mod install;
mod lessons;
mod orchestrate;
mod real;
mod robust;
mod run;
mod stdio;

/// A task of one criterion.
const TASK: &str = "# Demo\n\n- [ ] a is there\n  - verify: `test -e a.txt`\n";

/// An agent that does it.
const HONEST: &str = r#"
turns:
- steps:
  - say: Working.
  - write: {path: a.txt, text: a}
  - tick: "{criterion}"
  - progress: did it
  - commit: "{criterion}"
"#;
