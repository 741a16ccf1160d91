//! The names of the commands, and command lines that messages tell the user to type.

use std::borrow::Cow;
use std::path::Path;

use clap::CommandFactory as _;

use super::args::Cli;
use crate::engine::NextCommands;

/// The command that works on a task, from the user's folder. A task with the name of a command
/// needs `run`.
pub(super) fn start_command(directory: Option<&Path>, task: &str) -> String {
    let run = if is_command(task) { "run " } else { "" };
    format!("ralph-copilot {}{run}{}", in_directory(directory), quoted(task))
}

/// The same with the flags of a run.
pub(super) fn again_command(directory: Option<&Path>, task: &str, flags: &[String]) -> String {
    let flag = |word: &String| match word.split_once('=') {
        Some((name @ ("--sandbox" | "--gateway"), value)) => format!(" {name}={}", quoted(value)),
        Some((name, value)) => format!(" {name} {}", quoted(value)),
        None => format!(" {word}"),
    };
    start_command(directory, task) + &flags.iter().map(flag).collect::<String>()
}

/// The command that takes held work; its criterion follows.
pub(super) fn accept_command(directory: Option<&Path>, task: &str) -> String {
    format!("ralph-copilot {}accept {}", in_directory(directory), quoted(task))
}

/// The command that ticks a criterion by hand; its line follows.
pub(super) fn tick_command(directory: Option<&Path>, task: &str) -> String {
    format!("ralph-copilot {}tick {}", in_directory(directory), quoted(task))
}

/// The commands that a run names at its end.
pub(super) fn next_commands(
    directory: Option<&Path>,
    task: &str,
    log_in: Option<&'static str>,
    flags: Vec<String>,
) -> NextCommands {
    let there = in_directory(directory);
    NextCommands {
        start: again_command(directory, task, &flags),
        flags,
        retry: format!("ralph-copilot {there}retry {}", quoted(task)),
        review: format!("git {there}log --oneline"),
        look: format!(
            "git {there}status; git {there}diff; ralph-copilot {there}status {task}; ralph-copilot \
             {there}log {task}",
            task = quoted(task)
        ),
        tick: tick_command(directory, task),
        accept: accept_command(directory, task),
        pr: Some(format!("ralph-copilot {there}pr {}", quoted(task))),
        land: None,
        log_in,
    }
}

/// The command that lands a bundle, as the user types it in their folder.
pub(super) fn land_command(directory: Option<&Path>, file: &Path) -> String {
    let there = in_directory(directory);
    format!("ralph-copilot {there}land {}", quoted(&file.to_string_lossy()))
}

/// Is this a branch that others branch off, so that no pull request comes from it?
pub(super) fn is_default(branch: &str) -> bool {
    matches!(branch.strip_prefix("refs/heads/").unwrap_or(branch), "main" | "master" | "trunk")
}

/// `-C DIR ` if the user named a folder: git and this program both take it.
fn in_directory(directory: Option<&Path>) -> String {
    directory
        .map_or_else(String::new, |folder| format!("-C {} ", quoted(&folder.to_string_lossy())))
}

/// A word as a shell takes it.
pub(super) fn quoted(word: &str) -> Cow<'_, str> {
    shlex::try_quote(word).unwrap_or(Cow::Borrowed(word))
}

/// Whether a word is the name of a command.
pub(super) fn is_command(word: &str) -> bool {
    // Built, it has the parser's own `help` too.
    let mut cli = Cli::command();
    cli.build();
    cli.find_subcommand(word).is_some()
}

/// The command that a word is a misspelling of.
pub(super) fn nearest_command(word: &str) -> Option<String> {
    let mut cli = Cli::command();
    cli.build();
    let names = cli.get_subcommands().filter(|it| !it.is_hide_set()).map(clap::Command::get_name);
    nearest(word, names).map(str::to_owned)
}

/// The name that a word is probably a misspelling of. Two swapped letters count as one mistake,
/// and a third of the letters may be wrong.
pub(super) fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let most = word.chars().count().max(3) / 3;
    let distances = names
        .into_iter()
        .map(|name| (strsim::osa_distance(word, name), name.len().abs_diff(word.len()), name));
    distances.min().filter(|(distance, ..)| *distance <= most).map(|(.., name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelled_command_is_recognized() {
        for (word, meant) in [
            ("stauts", Some("status")),
            ("statsu", Some("status")),
            ("hlep", Some("help")),
            ("lgo", Some("log")),
            ("chek", Some("check")),
            ("cehck", Some("check")),
            ("doctr", Some("doctor")),
            ("polciy", Some("policy")),
            ("login-form", None),
            ("page", None),
            ("frobnicate", None),
            ("x", None),
        ] {
            assert_eq!(nearest_command(word).as_deref(), meant, "{word}");
        }
    }
}
