//! Tasks that clients may run: those that the human named when the server started, as they were.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::cli::context::TaskContext;
use crate::cli::failure::Failure;
use crate::mcp::ToolAnswer;
use crate::model::Task;
use crate::task;

/// The tasks by the names that the human used.
#[derive(Debug, Default)]
pub(super) struct AllowedTasks(Vec<AllowedTask>);

#[derive(Debug)]
struct AllowedTask {
    named: String,
    file: PathBuf,
    digest: String,
}

impl AllowedTasks {
    /// Reads the tasks; one that is missing or invalid is an error of the start.
    pub(super) fn read(directory: Option<&Path>, names: &[String]) -> Result<Self, Failure> {
        let tasks = names.iter().map(|named| {
            let at = TaskContext::find(directory, named)?;
            let digest = open_digest(&at.usable()?);
            Ok(AllowedTask { named: named.clone(), file: at.folder.task_file, digest })
        });
        Ok(Self(tasks.collect::<Result<_, Failure>>()?))
    }

    /// Whether a task may run now. Returns the digest that the run has to find, too: TASK.md may
    /// change before it is read there.
    pub(super) fn check(&self, named: &str) -> Result<&str, ToolAnswer> {
        let Some(task) = self.0.iter().find(|task| task.named == named) else {
            let names: Vec<&str> = self.0.iter().map(|task| task.named.as_str()).collect();
            let allowed = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(ToolAnswer::error(format!(
                "task `{named}` may not be run from here; allowed: {allowed}. The human names \
                 tasks with `mcp serve --allow-task TASK`"
            )));
        };
        match fs::read(&task.file) {
            Ok(bytes) if open_digest(&task::parse("", &bytes)) == task.digest => Ok(&task.digest),
            Ok(_) => Err(ToolAnswer::error(has_changed(&task.file))),
            Err(error) => {
                Err(ToolAnswer::error(format!("cannot read {}: {error}", task.file.display())))
            }
        }
    }
}

/// The digest of TASK.md without its ticks, which a run makes.
pub(in crate::cli) fn open_digest(task: &Task) -> String {
    let mut bytes = task.source.clone().into_bytes();
    for criterion in &task.criteria {
        if let Some(mark) = bytes.get_mut(criterion.mark) {
            *mark = b' ';
        }
    }
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Why a task that was allowed does not run.
pub(in crate::cli) fn has_changed(file: &Path) -> String {
    let file = file.display();
    format!("{file} has changed since the server started: restart the server to allow it as it is")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_no_change_and_everything_else_is() {
        let of = |text: &str| open_digest(&task::parse("", text.as_bytes()));
        let open = of("# T\n\n- [ ] one\n- [ ] two\n");
        assert_eq!(of("# T\n\n- [x] one\n- [X] two\n"), open);
        assert_ne!(of("# T\n\n- [x] one\n- [x] three\n"), open);
    }
}
