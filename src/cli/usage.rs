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
    let is_extra = matches!(error.kind(), ErrorKind::ArgumentConflict | ErrorKind::UnknownArgument);
    if is_extra && let Some(error) = detached(words) {
        return error;
    }
    if error.kind() != ErrorKind::ArgumentConflict || is_command(first) {
        return error;
    }
    let meant = nearest_command(first);
    let meant = meant.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
    Cli::command().error(ErrorKind::InvalidSubcommand, format!("unknown command `{first}`{meant}"))
}

/// The error for an option whose value is attached with `=`, if one stands behind it as a word.
fn detached(words: &[OsString]) -> Option<clap::Error> {
    const ATTACHED: [&str; 2] = ["--gateway", "--sandbox"];
    words.windows(2).find_map(|pair| {
        let [option, value] = [pair[0].to_str()?, pair[1].to_str()?];
        (ATTACHED.contains(&option) && !value.starts_with('-')).then(|| {
            let what = format!("`{option} {value}` is two words: write `{option}={value}`");
            Cli::command().error(ErrorKind::InvalidValue, what)
        })
    })
}

/// The hint for a command whose name is also the name of a task.
pub(super) fn task_of_that_name(directory: Option<&Path>, command: &str) -> Option<String> {
    let there = TaskContext::find(directory, command).is_ok();
    there.then(|| {
        let start = start_command(directory, command);
        format!("`{command}` is a command; to work on the task of that name: `{start}`")
    })
}
