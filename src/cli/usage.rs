//! Hints for usage errors that the parser cannot give.

use super::args::Cli;
use super::command_names::{is_command, nearest_command, start_command};
use super::context::TaskContext;
use std::ffi::OsString;
use std::path::Path;

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Adds cases that the parser does not detect: the first word is not a command, although the parser
/// only reports conflicting arguments; or the first word is also the name of a task.
pub(super) fn with_tip(
    mut error: clap::Error,
    directory: Option<&Path>,
    words: &[OsString],
) -> clap::Error {
    let tip = |error: &mut clap::Error, tip: String| {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    };
    let first = words.get(1).and_then(|word| word.to_str()).filter(|word| !word.starts_with('-'));
    let Some(first) = first else { return error };
    if error.use_stderr()
        && is_command(first)
        && let Some(task) = task_of_that_name(directory, first)
    {
        tip(&mut error, task);
        return error;
    }
    let given = |kind| error.get(kind).map(ToString::to_string);
    let is_repeated = given(ContextKind::InvalidArg) == given(ContextKind::PriorArg);
    if error.kind() != ErrorKind::ArgumentConflict || is_repeated || is_command(first) {
        return error;
    }
    let meant = nearest_command(first);
    let meant = meant.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
    Cli::command().error(ErrorKind::InvalidSubcommand, format!("unknown command `{first}`{meant}"))
}

/// The hint for a command whose name is also the name of a task.
pub(super) fn task_of_that_name(directory: Option<&Path>, command: &str) -> Option<String> {
    let there = TaskContext::find(directory, command).is_ok();
    there.then(|| {
        let start = start_command(directory, command);
        format!("`{command}` is a command; to work on the task of that name: `{start}`")
    })
}
