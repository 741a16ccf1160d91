//! Tasks that clients may run: those that the human named when the server started, as they were.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::context::TaskContext;
use crate::cli::failure::Failure;
use crate::mcp::ToolAnswer;
use crate::model::ExitCode;
use crate::task;

/// The tasks by the names that the human used.
#[derive(Debug, Default)]
pub(super) struct AllowedTasks(Vec<AllowedTask>);

#[derive(Debug)]
struct AllowedTask {
    named: String,
    file: PathBuf,
    /// TASK.md without its ticks, which a run makes.
    text: Vec<u8>,
}

impl AllowedTasks {
    /// Reads the tasks; one that is missing or invalid is an error of the start.
    pub(super) fn read(directory: Option<&Path>, names: &[String]) -> Result<Self, Failure> {
        let tasks = names.iter().map(|named| {
            let at = TaskContext::find(directory, named)?;
            at.usable()?;
            let file = at.folder.task_file.clone();
            let bytes = fs::read(&file).map_err(|error| {
                Failure::new(ExitCode::Invalid, format!("cannot read {}: {error}", file.display()))
            })?;
            Ok(AllowedTask { named: named.clone(), file, text: unticked(bytes) })
        });
        Ok(Self(tasks.collect::<Result<_, Failure>>()?))
    }

    /// Whether a task may run now.
    pub(super) fn check(&self, named: &str) -> Result<(), ToolAnswer> {
        let Some(task) = self.0.iter().find(|task| task.named == named) else {
            let names: Vec<&str> = self.0.iter().map(|task| task.named.as_str()).collect();
            let allowed = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(ToolAnswer::error(format!(
                "task `{named}` may not be run from here; allowed: {allowed}. The human names \
                 tasks with `mcp serve --allow-task TASK`"
            )));
        };
        match fs::read(&task.file) {
            Ok(bytes) if unticked(bytes.clone()) == task.text => Ok(()),
            Ok(_) => Err(ToolAnswer::error(format!(
                "{} has changed since the server started: restart the server to allow it as it is",
                task.file.display()
            ))),
            Err(error) => {
                Err(ToolAnswer::error(format!("cannot read {}: {error}", task.file.display())))
            }
        }
    }
}

/// The bytes of TASK.md with every criterion open.
fn unticked(mut bytes: Vec<u8>) -> Vec<u8> {
    for criterion in task::parse("", &bytes).criteria {
        if let Some(mark) = bytes.get_mut(criterion.mark) {
            *mark = b' ';
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_no_change_and_everything_else_is() {
        let of = |text: &str| unticked(text.as_bytes().to_vec());
        let open = "# T\n\n- [ ] one\n- [ ] two\n";
        assert_eq!(of("# T\n\n- [x] one\n- [X] two\n"), open.as_bytes());
        assert_ne!(of("# T\n\n- [x] one\n- [x] three\n"), open.as_bytes());
    }
}
