//! `tick`: one byte of TASK.md, by hand.

use std::path::Path;

use serde_json::json;

use super::args::TickArgs;
use super::context::TaskContext;
use super::failure::Failure;
use super::named_criterion::named;
use super::print::{complain, say, say_json};
use crate::sys::{Durability, FileMode, atomic};
use crate::task::{self, Tick};

/// Ticks a criterion, or takes its tick away.
pub(super) fn tick(directory: Option<&Path>, args: &TickArgs) -> Result<u8, Failure> {
    let at = TaskContext::find(directory, &args.task)?;
    let task = at.load()?;
    let criterion = named(&task, &args.criterion)?[0];
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
    if changed && at.place.holder().is_some() {
        complain("note: a run is working here; it takes back a tick that it did not prove");
    }
    Ok(0)
}
