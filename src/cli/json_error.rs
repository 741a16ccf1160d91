//! The JSON that a command with `--json` prints if it fails: the reason and the hints, in the
//! shape of its usual output. The same is on standard error, for people.
//!
//! Not in this file: the output of commands that succeed, and `recipe`, whose JSON has a field for
//! errors.

use super::check;
use super::command_names::is_command;
use super::failure::Failure;
use super::print::{say_json, say_line};
use crate::model::ExitCode;
use std::ffi::OsString;

use serde_json::json;

/// The output of a command with `--json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JsonShape {
    /// `check`: always its own object.
    Task,
    /// Events, one a line.
    Lines,
    /// One object.
    Object,
}

/// A command that was asked for JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JsonError(JsonShape);

impl JsonError {
    /// Looks at the words alone, since the parser may not have understood them.
    pub(super) fn by(words: &[OsString]) -> Option<Self> {
        let mut typed = words.iter().skip(1).take_while(|word| *word != "--");
        // The cheap test comes first, because every call of a hook's process passes here.
        if !typed.any(|word| word == "--json") {
            return None;
        }
        Some(Self(match words.get(1)?.to_str()? {
            "check" => JsonShape::Task,
            "log" | "run" | "demo" | "gateway" | "orchestrate" => JsonShape::Lines,
            "plan" | "report" | "status" | "list" | "land" | "init" | "retry" | "accept"
            | "tick" | "verify" | "rehearse" | "doctor" | "policy" | "hooks" => JsonShape::Object,
            other if is_command(other) => return None,
            // Without a command it is a run.
            _ => JsonShape::Lines,
        }))
    }

    /// Prints why it cannot be done. `task` is the one that was named, as far as is known.
    pub(super) fn answer(self, task: Option<&str>, failure: &Failure) {
        match self.0 {
            JsonShape::Task => say_json(&check::refused(task, failure)),
            JsonShape::Lines => line(failure),
            JsonShape::Object => say_json(&json!({ "error": {
                "exit_code": failure.code.number(),
                "reason": failure.reason(),
                "hints": failure.hints,
            } })),
        }
    }
}

/// One line in place of the event stream.
pub(super) fn line(failure: &Failure) {
    let value = json!({
        "event": "refused",
        "exit_code": failure.code.number(),
        "reason": failure.reason(),
        "hints": failure.hints,
    });
    say_line(&value);
}

/// The error of the argument parser, in its own words.
pub(super) fn misunderstood(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    // The rest is for people: tips, usage, and a pointer to help.
    let reason = text.split("\n\n").next().unwrap_or(&text);
    let reason = reason.strip_prefix("error: ").unwrap_or(reason).trim().to_owned();
    let tips = text.lines().filter_map(|line| line.trim().strip_prefix("tip: "));
    let failure = Failure::new(ExitCode::Usage, reason).hints(tips.map(str::to_owned));
    failure.hint("`--help` lists the commands and options")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_asked_for_by_a_word_of_the_command_s_own() {
        for (words, asked) in [
            ("r check demo --json", Some(JsonShape::Task)),
            ("r check --json", Some(JsonShape::Task)),
            ("r check demo", None),
            ("r check demo -- --json", None),
            ("r status --json demo --nope", Some(JsonShape::Object)),
            ("r run --json", Some(JsonShape::Lines)),
            ("r demo-task --json", Some(JsonShape::Lines)),
            ("r --json demo-task", Some(JsonShape::Lines)),
            ("r log --json", Some(JsonShape::Lines)),
            ("r recipe run x --json", None),
            ("r policy check --json -- ls", Some(JsonShape::Object)),
            ("r policy check -- ls --json", None),
            ("r", None),
        ] {
            let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            assert_eq!(JsonError::by(&words), asked.map(JsonError), "{words:?}");
        }
    }
}
