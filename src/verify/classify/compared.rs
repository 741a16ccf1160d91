//! Whose output is compared, and whose exit status therefore does not decide.
//!
//! It fails closed: output counts as compared only if the text shows the comparison.

use std::sync::LazyLock;

use regex::Regex;

use super::paths::sounds_like_a_check;
use super::programs::{self, Program};
use crate::shell::{Capture, Flow, ShellCommand, Target, commands, name_of, unwrapped, uses};

/// The simple commands of a line in order, inner ones included.
pub(in crate::verify) fn scan(text: &str) -> Vec<ShellCommand> {
    let (mut found, flow) = commands(text);
    settle(&mut found, &flow);
    found
}

/// Says of each command whether its output is compared.
fn settle(found: &mut [ShellCommand], flow: &Flow) {
    loop {
        let settled = Settled { found, flow };
        let open = |at: &usize| !found[*at].compared;
        let more: Vec<usize> =
            (0..found.len()).filter(open).filter(|at| settled.is_compared(*at)).collect();
        if more.is_empty() {
            break;
        }
        more.iter().for_each(|at| found[*at].compared = true);
    }
    let both = (0..found.len()).filter(|at| goes_both_ways(found, *at));
    let both: Vec<usize> = both.chain(of_other_status(found)).collect();
    for at in both {
        found[at].both_ways = true;
        found[at].compared = true;
    }
}

/// Whether a script must succeed here and fail there, or the other way around: its exit status is
/// what the check compares.
fn goes_both_ways(found: &[ShellCommand], at: usize) -> bool {
    let script = |command: &ShellCommand| {
        let words = unwrapped(&command.words);
        let program = words.first()?;
        let is_path = program.contains('/');
        let runs = matches!(programs::program(program), Program::Shell | Program::Interpreter);
        let options = words.iter().skip(1).take_while(|word| word.starts_with('-')).count();
        let end = if is_path { 1 } else { options + 2 };
        (is_path || runs).then(|| words.iter().take(end).cloned().collect())
    };
    let one: Option<Vec<String>> = script(&found[at]);
    let must_fail = found[at].must_fail;
    one.is_some() && found.iter().any(|it| it.must_fail != must_fail && script(it) == one)
}

/// Commands whose exit status is compared with another than 0: `app x; test $? -eq 4`,
/// `app x; rc=$?; [ "$rc" = 64 ]`. No script that judges has to end like that.
fn of_other_status(found: &[ShellCommand]) -> Vec<usize> {
    let before = |at: usize| (0..at).rev().find(|at| !found[*at].words.is_empty());
    let asks = |command: &ShellCommand| {
        let words = unwrapped(&command.words);
        let is_test = matches!(words.first().map(String::as_str), Some("test" | "[" | "[["));
        let equal = words.iter().position(|word| matches!(word.as_str(), "-eq" | "=" | "=="))?;
        let (one, other) = (words.get(equal.checked_sub(1)?)?, words.get(equal + 1)?);
        let is_other = other.parse::<u8>().is_ok_and(|code| code > 0);
        (is_test && is_other).then(|| one.clone())
    };
    let subject = |at: usize| {
        let asked = asks(&found[at])?;
        if asked == "$?" {
            return before(at);
        }
        let sets = |it: &ShellCommand| {
            it.assignments.iter().any(|(name, value)| value == "$?" && uses(&asked, name))
        };
        before((0..at).rev().find(|at| sets(&found[*at]))?)
    };
    (0..found.len()).filter_map(subject).collect()
}

/// Whether a command compares what it gets, by its program.
fn compares(command: &ShellCommand) -> bool {
    const COMPARERS: [&str; 17] = [
        "awk", "cmp", "comm", "diff", "egrep", "expr", "fgrep", "gawk", "grep", "join", "jq",
        "mawk", "read", "rg", "sdiff", "xmllint", "yq",
    ];
    const OPERATORS: [&str; 10] = ["=", "==", "!=", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
    let Some((program, arguments)) = unwrapped(&command.words).split_first() else { return false };
    if only_asks_for_success(program, arguments) {
        return false;
    }
    match name_of(program) {
        "test" | "[" | "[[" | "((" => {
            arguments.iter().any(|word| OPERATORS.contains(&word.as_str()))
        }
        "git" => arguments.iter().any(|word| matches!(word.as_str(), "diff" | "grep" | "status")),
        "sort" => arguments.iter().any(|it| ["-c", "-C", "--check"].contains(&it.as_str())),
        name if COMPARERS.contains(&name) => true,
        name => match programs::program(name) {
            Program::Shell | Program::Interpreter => arguments
                .iter()
                .find(|word| !word.starts_with('-'))
                .is_some_and(|word| !word.contains("/dev/") && !word.starts_with('$')),
            Program::Other => name.contains('/') || sounds_like_a_check(name),
            Program::Source
            | Program::Eval
            | Program::Text
            | Program::Runner
            | Program::Entry
            | Program::Looks => false,
        },
    }
}

/// Whether a comparison looks for nothing but what a script says of itself: `grep -q PASS`,
/// `[ "$x" = OK ]`.
fn only_asks_for_success(program: &str, arguments: &[String]) -> bool {
    let values = || arguments.iter().filter(|word| !word.starts_with('-'));
    match name_of(program) {
        "grep" | "egrep" | "fgrep" | "rg" => values().next().is_some_and(|text| is_claim(text)),
        "test" | "[" | "[[" => {
            let odd = |word: &&String| !word.is_empty() && !word.contains(['$', '=', ']', '!']);
            let mut literals = values().filter(odd).peekable();
            literals.peek().is_some() && literals.all(|text| is_claim(text))
        }
        _ => false,
    }
}

/// Programs that only show, keep, or run what they get.
fn only_shows(command: &ShellCommand) -> bool {
    let shows = [
        ".", ":", "[", "[[", "bash", "cat", "echo", "eval", "exit", "export", "false", "head",
        "local", "printf", "python3", "return", "set", "sh", "source", "tail", "tee", "test",
        "true",
    ];
    unwrapped(&command.words).first().is_none_or(|program| shows.contains(&name_of(program)))
}

struct Settled<'a> {
    found: &'a [ShellCommand],
    flow: &'a Flow,
}

impl Settled<'_> {
    fn is_compared(&self, at: usize) -> bool {
        let command = &self.found[at];
        let after = || self.found.iter().skip(at + 1);
        let piped =
            |pipeline: usize| after().any(|it| it.pipeline == pipeline && self.compares(it));
        let reads = |file: &String| after().any(|it| mentions(it, file) && self.compares(it));
        let captured = |capture: &Capture| {
            !capture.status
                && capture.commands.contains(&at)
                && match &capture.into {
                    Target::Variable(name) => self.is_variable_compared(name, 4),
                    Target::Word(by, _) => self.found.get(*by).is_some_and(|by| {
                        self.compares(by) || by.words.is_empty() || !only_shows(by)
                    }),
                    Target::Case => true,
                    Target::Pipeline(pipeline) => piped(*pipeline),
                }
        };
        piped(command.pipeline)
            || command.outputs.iter().any(reads)
            || self.flow.captures.iter().any(captured)
            || command.function.as_deref().is_some_and(|name| self.is_function_compared(name))
            // Bats keeps the output of what `run` runs.
            || (command.words.first().is_some_and(|word| word == "run")
                && ["output", "lines"].iter().any(|name| self.is_variable_compared(name, 1)))
    }

    fn compares(&self, command: &ShellCommand) -> bool {
        let name = command.words.first().map_or("", String::as_str);
        let body = |it: &&ShellCommand| !name.is_empty() && it.function.as_deref() == Some(name);
        command.compared || compares(command) || self.found.iter().filter(body).any(compares)
    }

    fn is_variable_compared(&self, name: &str, depth: usize) -> bool {
        if depth == 0 {
            return false;
        }
        let follows = |command: &ShellCommand| {
            let kept = command.words.is_empty() || command.is_loop();
            let mut values = command.assignments.iter().filter(|_| kept);
            values.any(|(to, value)| {
                to != name && uses(value, name) && self.is_variable_compared(to, depth - 1)
            })
        };
        let used = |command: &ShellCommand| {
            let text = command.document.iter();
            let mut words = command.words.iter().chain(&command.stdin).chain(text);
            words.any(|word| uses(word, name)) && self.compares(command)
        };
        self.flow.cases.iter().any(|word| uses(word, name))
            || self.found.iter().any(|command| used(command) || follows(command))
    }

    /// Whether all that calls a function compares its output.
    fn is_function_compared(&self, name: &str) -> bool {
        let calls = |command: &&ShellCommand| {
            unwrapped(&command.words).first().is_some_and(|word| word == name)
        };
        let mut calls = self.found.iter().filter(calls).peekable();
        calls.peek().is_some() && calls.all(|command| command.compared)
    }
}

/// Whether a command reads a file.
fn mentions(command: &ShellCommand, file: &str) -> bool {
    let words = command.words.iter().skip(1).chain(&command.stdin);
    words.map(String::as_str).any(|word| word.trim_start_matches("./") == file)
}

/// Is a text or a pattern only a script's word on whether all is well? A lower-case `ok` may be a
/// program's answer.
fn is_claim(text: &str) -> bool {
    static FILLING: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?i)^(?:all|every|tests?|checks?|result|build|done|no|0|zero|is|are|the|a|z|ok|not|errors?|status)$",
        )
        .expect("valid")
    });
    static SAYS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"^(?:OK|GREEN|SUCCESS|SUCCESSFUL|SUCCEEDED|VERIFIED|(?i:pass|passes|passed|passing|fail|fails|failed|failure|failures))$",
        )
        .expect("valid")
    });
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let says = |word: &&str| SAYS.is_match(word);
    let none = ["no errors", "0 errors", "all ok", "zero errors"];
    (words.iter().any(says) || none.contains(&text.to_lowercase().trim()))
        && words.iter().all(|word| says(word) || FILLING.is_match(word))
}
