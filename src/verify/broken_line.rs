//! Checks whose own line cannot run, whatever the work is: the shell cannot read it, or does not
//! know a program of it.
//!
//! Invariant: pure. Scripts and recipes that a check runs may be the work, so that only what the
//! check's own shell says counts.

use std::sync::LazyLock;

use regex::Regex;

use crate::model::{CheckResult, CheckStatus};

/// How the shell that reads a check begins its lines, and what follows.
static SHELL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:\S*/)?(?:ba|da|a|k)?sh: (?:-c: )?(?:line )?(?:\d+: )?(?<says>.+)$")
        .expect("a pattern")
});

/// The line in which the shell says that it cannot read the check. It has run nothing, so that it
/// has said nothing else.
pub(super) fn syntax_error(check: &CheckResult) -> Option<&str> {
    if !matches!(check.status, CheckStatus::Failed(_)) {
        return None;
    }
    let says = |line: &str| Some(SHELL.captures(line)?.name("says")?.as_str().to_lowercase());
    let is_error = |line: &&str| {
        says(line).is_some_and(|it| {
            it.starts_with("syntax error") || it.starts_with("unexpected eof while looking for")
        })
    };
    let mut lines = check.output.lines().map(str::trim).filter(|line| !line.is_empty());
    let found = lines.clone().find(is_error)?;
    lines.all(|line| says(line).is_some()).then_some(found)
}

/// A program of the check's own line that the shell does not know, although the line needs it: not
/// one that another one stands in for, and not a function that the line loads.
pub(super) fn unknown_program(check: &CheckResult) -> Option<String> {
    let line = &check.command;
    if ["PATH=", "||", ". ", "source ", "eval "].iter().any(|it| line.contains(it)) {
        return None;
    }
    let says = |line: &str| Some(SHELL.captures(line.trim())?.name("says")?.as_str().to_owned());
    let ends = [": command not found", ": not found"];
    let mut missing = check
        .output
        .lines()
        .filter_map(says)
        .filter_map(|says| ends.iter().find_map(|it| says.strip_suffix(it)).map(str::to_owned));
    let first = |part: &str| part.split_whitespace().next().map(str::to_owned);
    let programs: Vec<_> = line.split(['|', ';', '&']).filter_map(first).collect();
    missing.find(|name| !name.contains('/') && programs.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn red(command: &str, code: i32, output: &str) -> CheckResult {
        CheckResult {
            output: output.into(),
            ..CheckResult::new(command, CheckStatus::Failed(code))
        }
    }

    #[test]
    fn only_the_shell_of_the_check_itself_says_that_its_line_is_broken() {
        for (output, is_so) in [
            ("/bin/sh: 1: Syntax error: Unterminated quoted string\n", true),
            ("sh: 2: Syntax error: end of file unexpected (expecting \"fi\")", true),
            ("sh: -c: line 1: syntax error near unexpected token `)'\nsh: -c: line 1: `a )'", true),
            ("/bin/sh: line 1: unexpected EOF while looking for matching `\"'", true),
            ("sh: syntax error: unterminated quoted string", true),
            ("scripts/run.sh: 3: Syntax error: \"fi\" unexpected", false),
            ("sh: 1: Syntax error: \"fi\" unexpected\nmake: *** [Makefile:2: lint] Error 2", false),
            ("SyntaxError: invalid syntax", false),
            ("", false),
        ] {
            assert_eq!(syntax_error(&red("x", 2, output)).is_some(), is_so, "{output}");
        }
    }

    #[test]
    fn a_program_that_the_line_needs_and_the_shell_does_not_know_is_named() {
        for (command, output, name) in [
            ("grpe a | grep -q x", "/bin/sh: 1: grpe: not found", Some("grpe")),
            ("ls && tets -f one", "sh: line 1: tets: command not found", Some("tets")),
            ("gtimeout 5 sh x || sh x", "sh: 1: gtimeout: not found", None),
            ("make lint | grep -q ok", "/bin/sh: 1: lnit: not found", None),
            (". ./lib.sh && greet | grep -q hi", "sh: 1: greet: not found", None),
            ("./app | grep -q hi", "sh: 1: ./app: not found", None),
            ("sh run.sh | grep -q hi", "run.sh: 1: greet: not found", None),
        ] {
            assert_eq!(unknown_program(&red(command, 1, output)).as_deref(), name, "{command}");
        }
    }
}
