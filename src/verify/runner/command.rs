//! The runners that a check's command line starts, and whether their summary can be asked for.

mod options;
pub(in crate::verify) mod words;

pub use self::options::Summary;
use super::report::TestRunner;
use crate::shell::unwrapped;
use crate::shell::{ShellCommand, Use};
use crate::verify::classify::scan;

/// One runner on a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The runner.
    pub runner: TestRunner,
    /// The output that it must print.
    pub summary: Summary,
    /// An option or a `!` allows a run without tests, or with failed ones.
    pub lenient: bool,
    /// An option picks tests by their names.
    pub filtered: bool,
}

/// How deep `sh -c` may nest.
const MOST_DEPTH: usize = 5;

/// The runners that a shell line starts itself. Those that a script, a Makefile, or `npm test`
/// starts are not known.
pub fn invocations(command: &str) -> Vec<Invocation> {
    let mut found = Vec::new();
    read(command, 0, &mut found);
    found
}

fn read(text: &str, depth: usize, found: &mut Vec<Invocation>) {
    let commands = scan(text);
    for (at, command) in commands.iter().enumerate() {
        let words = unwrapped(&command.words);
        if let Some(script) = words::shell_script(words) {
            if depth < MOST_DEPTH {
                let before = found.len();
                read(script, depth + 1, found);
                for inner in &mut found[before..] {
                    inner.summary = outer(command, inner.summary.clone());
                }
            }
            continue;
        }
        let Some((runner, arguments)) = words::runner(words) else { continue };
        let asked = options::asked(runner, &arguments, command);
        let piped = commands.get(at + 1).is_some_and(|next| {
            next.pipeline == command.pipeline && next.words.first().is_none_or(|it| it != "tee")
        });
        let hidden_errors = on_stderr(runner) && discards_errors(text);
        let summary = match asked.summary {
            Summary::Required if piped || hidden_errors => {
                Summary::Silenced("its output goes elsewhere".to_owned())
            }
            summary @ (Summary::Required | Summary::Silenced(_) | Summary::NotRequired) => {
                outer(command, summary)
            }
        };
        let lenient = asked.lenient || command.must_fail;
        let filtered = asked.filtered;
        found.push(Invocation { runner, summary, lenient, filtered });
    }
}

/// The remaining requirement, depending on how the line uses the command's result.
fn outer(command: &ShellCommand, summary: Summary) -> Summary {
    match (command.usage, summary) {
        (Use::Ignored, _) | (_, Summary::NotRequired) => Summary::NotRequired,
        (Use::Status | Use::Output, _) if command.conditional => Summary::NotRequired,
        (Use::Output, Summary::Required) => {
            Summary::Silenced("its output goes elsewhere".to_owned())
        }
        (Use::Status, Summary::Required) if command.discarded => {
            Summary::Silenced("its output goes to /dev/null".to_owned())
        }
        (Use::Status | Use::Output, summary) => summary,
    }
}

/// Runners that print their summary on standard error.
fn on_stderr(runner: TestRunner) -> bool {
    matches!(runner, TestRunner::Unittest | TestRunner::Jest | TestRunner::Nextest)
}

/// Whether a line sends standard error to a file or away.
fn discards_errors(text: &str) -> bool {
    text.match_indices("2>").any(|(at, _)| {
        let rest = text[at + 2..].trim_start_matches('>').trim_start();
        !rest.starts_with('&')
    })
}
