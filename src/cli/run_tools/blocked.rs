//! `report_blocked`: the tool with which an agent says that its criterion cannot be met.
//!
//! Invariant: it adds the line to progress.md that the agent could write itself, and nothing else.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::mcp::{Call, Tool, ToolAnswer};
use crate::model::Blocked;

/// The tool's name.
pub(super) const NAME: &str = "report_blocked";

/// The tool.
pub(super) fn tool() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "kind": { "type": "string", "enum": ["contradiction", "missing", "decision"] },
            "reason": { "type": "string", "description": "One line. For `missing`, the program's name." },
        },
        "required": ["kind", "reason"],
    });
    Tool {
        name: NAME.to_owned(),
        description: "Say that the criterion cannot be met as written: it contradicts its check, \
                      something is missing on this machine, or a decision is the human's. Change \
                      nothing else, and end your turn. It costs nothing."
            .to_owned(),
        input_schema: schema.as_object().cloned().unwrap_or_default(),
        read_only: false,
    }
}

/// Adds the line to progress.md.
pub(super) fn report(progress: &Path, call: &Call) -> ToolAnswer {
    let text = |name| call.arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let line = format!("BLOCKED: {}: {}", text("kind"), text("reason").replace(['\n', '\r'], " "));
    if Blocked::said(&line).is_none() {
        return ToolAnswer::error(
            "`kind` is contradiction, missing, or decision; `reason` says why",
        );
    }
    let file = OpenOptions::new().create(true).append(true).open(progress);
    match file.and_then(|mut file| file.write_all(format!("\n{line}\n").as_bytes())) {
        Ok(()) => ToolAnswer::text("Noted. Change nothing else, and end your turn."),
        Err(error) => ToolAnswer::error(format!("progress.md cannot be written: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_the_line_that_an_agent_could_write() {
        let dir = tempfile::tempdir().expect("a folder");
        let progress = dir.path().join("progress.md");
        std::fs::write(&progress, "- no last newline").expect("written");
        let call = |kind: &str, reason: &str| Call {
            name: NAME.to_owned(),
            arguments: json!({"kind": kind, "reason": reason}).as_object().cloned().expect("one"),
            cancel: Default::default(),
            progress: Default::default(),
        };
        assert!(report(&progress, &call("lazy", "no")).is_error);
        assert!(report(&progress, &call("missing", " ")).is_error);
        assert!(!report(&progress, &call("missing", "two\nlines")).is_error);
        let text = std::fs::read_to_string(&progress).expect("read");
        assert_eq!(text, "- no last newline\nBLOCKED: missing: two lines\n");
    }
}
