//! `tick`: one byte of TASK.md, by hand.

use std::path::Path;

use serde_json::json;

use super::args::TickArgs;
use super::context::TaskContext;
use super::failure::Failure;
use super::print::{say, say_json};
use crate::model::ExitCode;
use crate::sys::{Durability, FileMode, atomic};
use crate::task::{self, Tick};

/// Ticks a criterion, or takes its tick away.
pub(super) fn tick(directory: Option<&Path>, args: &TickArgs) -> Result<u8, Failure> {
    let at = TaskContext::find(directory, &args.task)?;
    let task = at.load()?;
    let Some(criterion) = task::at_line(&task, args.line) else {
        let lines = task.criteria.iter().take(20).map(|criterion| criterion.line.to_string());
        let lines = lines.collect::<Vec<_>>().join(", ");
        return Err(Failure::new(
            ExitCode::Usage,
            format!("no criterion on line {} of {}", args.line, at.folder.task_file.display()),
        )
        .hint(if lines.is_empty() {
            "the file has no criteria: add a list item with a checkbox, `- [ ] text`".to_owned()
        } else {
            format!("lines with a criterion: {lines}")
        }));
    };
    let to = if args.off { Tick::Open } else { Tick::Done };
    let changed = criterion.checked != (to == Tick::Done);
    if changed {
        let bytes = task::tick(task.source.as_bytes(), criterion.mark, to)?;
        atomic::write(&at.folder.task_file, &bytes, Durability::Machine, FileMode::Umask)?;
    }
    if args.json {
        say_json(&json!({
            "line": criterion.line,
            "text": criterion.key.text,
            "checked": to == Tick::Done,
            "changed": changed,
        }));
    } else {
        let mark = if to == Tick::Done { "x" } else { " " };
        let note = if changed { "" } else { "  (no change)" };
        say(&format!("[{mark}] {}{note}", criterion.key.text));
    }
    Ok(0)
}
