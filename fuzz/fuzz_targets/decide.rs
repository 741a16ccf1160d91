//! Any text as a shell line: decided whatever it is, and what is allowed writes
//! nowhere but below the workspace.
//!
//! `cargo +nightly fuzz run decide`, from the repository's root.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_copilot::guard::{OsFiles, Policy, decide};
use ralph_copilot::model::{Asked, SessionId, ToolRequest};

// A fault of the parser ends its thread and is a denial; only what escapes counts here.
fuzz_target!(init: std::panic::set_hook(Box::new(|_| {})), |line: &str| {
    let policy = Policy::new("/nowhere/repo", "/nowhere/repo/tasks/demo");
    let request = ToolRequest {
        session: SessionId::new("fuzz"),
        call: None,
        tool: "bash".to_owned(),
        input: serde_json::json!({ "command": line }),
        asked: Asked::Hook,
    };
    let decision = decide(&request, &policy, &OsFiles);
    assert!(decision.writes.iter().all(|path| path.starts_with("/nowhere/repo")), "{line:?}");
});
