//! The comparison in a shell line: the program, and its expected output.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::grep_text::{GrepSyntax, matching};
use crate::verify::harness::shell::ShellCommand;

/// A program whose output a check compares with a literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Comparison {
    /// The command that is run.
    pub(super) command: String,
    /// The expected output.
    pub(super) wanted: String,
}

static CAPTURED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        // test "$(sh sq.sh 7)" = 49
        r#"(?:\[\[?|\btest)\s+"?(?:\$\((?<command>(?:[^()'"]|'[^']*'|"[^"]*")+)\)|`(?<old>[^`]+)`)"?\s+(?:==?|-eq)\s+(?<wanted>"[^"]*"|'[^']*'|[^\s;&|\]]+)"#,
        // test 49 = "$(sh sq.sh 7)"
        r#"(?:\[\[?|\btest)\s+(?<wanted>"[^"$]*"|'[^']*'|[^\s;&|\]$"]+)\s+(?:==?|-eq)\s+"?(?:\$\((?<command>(?:[^()'"]|'[^']*'|"[^"]*")+)\)|`(?<old>[^`]+)`)"?"#,
    ]
    .map(|text| Regex::new(text).expect("a pattern"))
    .to_vec()
});

/// `sh greet.sh Ada | grep -q Hello`
static PIPED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?:^|&&|;|\()\s*(?<command>(?:[^|&;()'"]|'[^']*'|"[^"]*")+?)\s*\|\s*(?<grep>[ef]?grep)\s+(?<options>(?:-\w+\s+)*)(?<wanted>"[^"]*"|'[^']*'|[^\s;&|]+)\s*(?:$|&&|;|\)|>)"#)
        .expect("a pattern")
});

/// The comparisons of a line with literals.
pub(super) fn comparisons(line: &str) -> Vec<Comparison> {
    let mut found = Vec::new();
    for pattern in CAPTURED.iter() {
        for captured in pattern.captures_iter(line) {
            let command = captured.name("command").or_else(|| captured.name("old"));
            let Some((command, wanted)) = command.zip(captured.name("wanted")) else { continue };
            let wanted = unquoted(wanted.as_str());
            if !wanted.contains('$') {
                found.push(Comparison { command: command.as_str().to_owned(), wanted });
            }
        }
    }
    found.extend(PIPED.captures_iter(line).filter_map(|captured| piped(&captured)));
    found
}

fn piped(captured: &Captures<'_>) -> Option<Comparison> {
    let options = captured.name("options").map_or("", |it| it.as_str());
    if options.contains('v') || options.contains('c') {
        return None;
    }
    let how = pattern_of(&captured["grep"], &[options]);
    let wanted = matching(&unquoted(&captured["wanted"]), how)?;
    Some(Comparison { command: captured["command"].to_owned(), wanted })
}

/// How a grep reads its pattern, by its name and options.
pub(super) fn pattern_of(program: &str, options: &[&str]) -> GrepSyntax {
    let short = |letter: char| {
        options.iter().any(|word| {
            word.split(' ')
                .any(|it| it.starts_with('-') && !it.starts_with("--") && it.contains(letter))
        })
    };
    let long = |name: &str| options.contains(&name);
    if program == "fgrep" || short('F') || long("--fixed-strings") {
        GrepSyntax::Fixed
    } else if ["egrep", "rg"].contains(&program)
        || short('E')
        || short('P')
        || long("--extended-regexp")
    {
        GrepSyntax::Extended
    } else {
        GrepSyntax::Basic
    }
}

/// The text and the files of a grep in a line.
pub(super) struct Grep {
    /// Text that it finds.
    pub(super) text: String,
    /// The files it looks in.
    pub(super) files: Vec<String>,
    /// It must not find it: the files are to be without it.
    pub(super) absent: bool,
}

/// The text that a grep looks for.
pub(super) fn grep(command: &ShellCommand) -> Option<Grep> {
    let (program, arguments) = command.words.split_first()?;
    let program = program.rsplit('/').next()?;
    if !["grep", "egrep", "fgrep", "rg"].contains(&program) {
        return None;
    }
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (options, operands): (Vec<&str>, Vec<&str>) =
        words.iter().copied().partition(|word| word.starts_with('-') && word.len() > 1);
    let mut operands = operands.into_iter();
    let text = matching(operands.next()?, pattern_of(program, &options))?;
    let short =
        |letter: char| options.iter().any(|it| !it.starts_with("--") && it.contains(letter));
    let mut files: Vec<String> = operands.map(str::to_owned).collect();
    files.extend(command.stdin.iter().cloned());
    Some(Grep { text, files, absent: command.conditional || short('L') || short('v') })
}

fn unquoted(word: &str) -> String {
    let inner =
        ['"', '\''].iter().find_map(|quote| word.strip_prefix(*quote)?.strip_suffix(*quote));
    inner.unwrap_or(word).to_owned()
}
