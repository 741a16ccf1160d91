//! The comparison in a shell line: the program, and its expected output.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use super::grep_text::{GrepSyntax, matching};
use crate::verify::classify::SourceTree;
use crate::verify::classify::shell::{ShellCommand, Use, scan};
use crate::verify::classify::wrappers::unwrapped;

/// A program whose output a check compares with a literal.
#[derive(Clone, Debug)]
pub(super) struct Comparison {
    /// The command that is run.
    pub(super) command: ShellCommand,
    /// The expected output.
    pub(super) wanted: String,
    /// The file that is to hold it, if it is not there.
    pub(super) snapshot: Option<String>,
}

/// The first label of a `case`.
static LABEL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"\bcase\s+.+?\s+in\s+\(?(?<label>"[^"]*"|'[^']*'|[^\s()|]+)"#).expect("a pattern")
});

/// A literal that output must not differ from: `if [ "$out" != 42 ]; then exit 1`.
static DIFFERS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?<value>\S+)\s+(?<operator>!=|-ne)\s+(?<label>"[^"$`\n]+"|'[^'\n]+'|[^\s"'$`\]|;&]+)\s*\]{0,2}\s*(?:;\s*then\b|;?\s*\n\s*then\b|&&\s*(?:\{|exit|return|fail|die))"#,
    )
    .expect("a pattern")
});

/// Programs that pass on, make up, or compare text, and are not the work.
const TOOLS: [&str; 42] = [
    ":", "[", "[[", "awk", "basename", "cat", "cd", "cmp", "comm", "cut", "date", "diff",
    "dirname", "echo", "egrep", "exit", "false", "fgrep", "find", "for", "git", "grep", "head",
    "jq", "ls", "mktemp", "paste", "printf", "pwd", "read", "realpath", "rg", "sed", "seq", "set",
    "sort", "tail", "tee", "test", "tr", "true", "uniq",
];

/// The comparison of shell lines, if they run one program with the same arguments: a program that
/// always prints one text meets no two others.
pub(super) fn comparison(start: &dyn SourceTree, lines: &[&str]) -> Option<Comparison> {
    let (mut wanted, mut programs, mut inputs, mut snapshot) =
        (Vec::new(), Vec::new(), BTreeSet::new(), None);
    for line in lines {
        let commands = scan(line);
        let counts = commands.iter().any(|it| it.words == ["wc", "-l"]);
        let counted = commands.iter().find_map(counted);
        for command in &commands {
            let found = compared(start, command, &commands, &mut snapshot);
            wanted.extend(found.into_iter().map(|it| match &counted {
                Some(text) => many(it, text),
                None if counts => many(it, "x"),
                None => it,
            }));
            let words = unwrapped(&command.words);
            let program = words.first().map_or("", String::as_str);
            if (command.compared || command.usage == Use::Output)
                && !program.is_empty()
                && program != "wc"
                && !TOOLS.contains(&program)
            {
                let mut program = command.clone();
                program.words = words.to_vec();
                let piped = commands.iter().take_while(|it| it.words != command.words);
                let piped = piped.filter(|it| it.pipeline == command.pipeline);
                let piped: Vec<Vec<String>> = piped.map(|it| it.words.clone()).collect();
                let input = (program.stdin.clone(), program.document.clone(), piped);
                inputs.insert((program.words.clone(), input));
                programs.push(program);
            }
        }
        let labels = LABEL.captures_iter(line).map(|it| unquoted(&it["label"]).replace('*', ""));
        wanted.extend(labels.map(Some));
        // Not the number of arguments or an exit status.
        let is_output = |it: &regex::Captures<'_>| {
            !["$#", "$?", "${#"].iter().any(|name| it["value"].contains(name))
                && (&it["operator"], &it["label"]) != ("-ne", "0")
        };
        let differs = DIFFERS.captures_iter(line).filter(is_output);
        wanted.extend(differs.map(|it| Some(unquoted(&it["label"]))));
    }
    let command = programs.into_iter().next()?;
    if wanted.is_empty() || inputs.len() > 1 {
        return None;
    }
    // `app --help | grep -q one && app --help | grep -q two`: it prints all of it.
    let mut wanted: Vec<String> = wanted.into_iter().collect::<Option<_>>()?;
    wanted.dedup();
    Some(Comparison { command, wanted: wanted.join("\n"), snapshot })
}

/// The text that `grep -c` counts in output.
fn counted(command: &ShellCommand) -> Option<String> {
    let grep = grep(command).filter(|grep| grep.files.is_empty())?;
    let counts = |word: &String| {
        word == "--count" || word.starts_with('-') && !word.starts_with("--") && word.contains('c')
    };
    command.words.iter().any(counts).then_some(grep.text)
}

/// As many lines as a number says.
fn many(number: Option<String>, line: &str) -> Option<String> {
    let number: usize = number?.trim().parse().ok()?;
    Some(vec![line; number.min(1000)].join("\n"))
}

/// What a command compares output with; `None` for a value that the line does not show.
fn compared(
    start: &dyn SourceTree,
    command: &ShellCommand,
    line: &[ShellCommand],
    snapshot: &mut Option<String>,
) -> Vec<Option<String>> {
    let Some((program, arguments)) = unwrapped(&command.words).split_first() else {
        return Vec::new();
    };
    let is_output = |name: &String| {
        line.iter().any(|it| it.outputs.iter().any(|to| to == name.trim_start_matches("./")))
    };
    let held = |name: &str| {
        let bytes = start.read(Path::new(name.trim_start_matches("./")))?;
        Some(String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned())
    };
    match program.as_str() {
        "test" | "[" | "[[" => {
            // `$(cat answer.txt)`
            let shown = || {
                let mut cats = line.iter().filter(|it| it.usage == Use::Output);
                cats.find_map(|it| match it.words.as_slice() {
                    [cat, file] if cat == "cat" => held(file),
                    _ => None,
                })
            };
            arguments.windows(3).filter_map(|words| tested(words, shown)).collect()
        }
        "diff" | "cmp" | "comm" => {
            let operands = arguments.iter().chain(&command.stdin);
            let files =
                operands.filter(|it| !it.is_empty() && !it.starts_with('-') && !is_output(it));
            let files: Vec<&String> = files.collect();
            if let [only] = files.as_slice()
                && !only.contains('$')
                && held(only).is_none()
            {
                *snapshot = Some((*only).clone());
                return vec![Some("x".to_owned())];
            }
            let echoed = line.iter().filter(|it| it.usage == Use::Output).filter_map(echoed);
            let document = command.document.iter().map(|text| text.trim_end().to_owned());
            let shown = files.is_empty().then(|| echoed.chain(document)).into_iter().flatten();
            files.iter().map(|name| held(name)).chain(shown.map(Some)).collect()
        }
        _ => match grep(command) {
            Some(grep) if !grep.absent && grep.files.iter().all(is_output) => {
                vec![Some(grep.text).filter(|text| !text.contains('$'))]
            }
            _ => Vec::new(),
        },
    }
}

/// The text that `echo` or `printf` writes.
fn echoed(command: &ShellCommand) -> Option<String> {
    let (program, words) = command.words.split_first()?;
    let words: Vec<&str> = words.iter().map(String::as_str).filter(|it| *it != "-n").collect();
    let text = words.join(" ");
    let is_known = ["echo", "printf"].contains(&program.as_str()) && !text.contains(['$', '%']);
    is_known.then(|| text.replace("\\n", "\n").trim_end().to_owned())
}

/// The value that `test ONE = OTHER` wants: the one that is a literal, or else what the line shows.
fn tested(words: &[String], shown: impl Fn() -> Option<String>) -> Option<Option<String>> {
    let [one, operator, other] = words else { return None };
    let more = match operator.as_str() {
        "=" | "==" | "-eq" | "-ge" => 0,
        "-gt" => 1,
        _ => return None,
    };
    let is_known = |word: &String| !word.contains(['$', '`']);
    let literal = match (is_known(one), is_known(other)) {
        (true, true) => return None,
        (false, false) => return Some(shown()),
        (true, false) => one,
        (false, true) => other,
    };
    if more == 0 {
        return Some(Some(literal.clone()));
    }
    Some(literal.parse::<i64>().ok().map(|number| (number + more).to_string()))
}

/// The literals that lines compare with.
pub(super) fn literals(scanned: &[ShellCommand]) -> Vec<String> {
    let tests = scanned.iter().filter(|it| {
        it.words.first().is_some_and(|program| ["test", "[", "[["].contains(&program.as_str()))
    });
    let found = tests.flat_map(|it| it.words.windows(3).filter_map(|words| tested(words, || None)));
    found.flatten().collect()
}

/// The only literal that lines compare with.
pub(super) fn literal(scanned: &[ShellCommand]) -> Option<Value> {
    let found = literals(scanned);
    let [only] = found.as_slice() else { return None };
    Some(only.parse().map_or_else(|_| json!(only), |number: i64| json!(number)))
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
    /// It looks through folders.
    pub(super) is_recursive: bool,
}

/// The text that a grep, or a pattern of `awk` or `sed`, looks for.
pub(super) fn grep(command: &ShellCommand) -> Option<Grep> {
    let words = unwrapped(&command.words);
    let is_git = words.first()? == "git";
    let (program, arguments) = words[usize::from(is_git)..].split_first()?;
    let program = program.rsplit('/').next()?;
    if !["grep", "egrep", "fgrep", "rg", "awk", "sed"].contains(&program) {
        return None;
    }
    let (options, pattern, operands) = split(program, arguments);
    let mut operands = operands.into_iter();
    let pattern = pattern.or_else(|| operands.next())?;
    let text = match program {
        "awk" | "sed" => {
            let inner = pattern.split('/').nth(1)?;
            let syntax = if program == "awk" { GrepSyntax::Extended } else { GrepSyntax::Basic };
            matching(inner, syntax)?
        }
        _ => matching(pattern, pattern_of(program, &options))?,
    };
    let short =
        |letter: char| options.iter().any(|it| !it.starts_with("--") && it.contains(letter));
    let mut files: Vec<String> = operands.map(str::to_owned).collect();
    files.extend(command.stdin.iter().cloned());
    let absent = command.conditional || short('L') || short('v');
    let is_recursive = is_git || program == "rg" || short('r') || short('R');
    if files.is_empty() && is_recursive && command.usage == Use::Status {
        files.push(".".to_owned());
    }
    Some(Grep { text, files, absent, is_recursive })
}

/// The options, the pattern of `-e`, and the operands.
fn split<'w>(
    program: &str,
    arguments: &'w [String],
) -> (Vec<&'w str>, Option<&'w str>, Vec<&'w str>) {
    let (mut options, mut pattern, mut operands) = (Vec::new(), None, Vec::new());
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        let letters = word.strip_prefix('-').filter(|it| !it.is_empty() && !it.starts_with('-'));
        match letters {
            _ if word == "--" => operands.extend(rest.by_ref()),
            Some(letters) if program != "awk" && letters.ends_with('e') => {
                options.push(word);
                pattern = pattern.or(rest.next());
            }
            Some("F" | "v") if program == "awk" => {
                rest.next();
            }
            Some("A" | "B" | "C" | "m") if program != "awk" => {
                rest.next();
            }
            Some(_) => options.push(word),
            None if word.starts_with("--") => options.push(word),
            None => operands.push(word),
        }
    }
    (options, pattern, operands)
}

fn unquoted(word: &str) -> String {
    let inner =
        ['"', '\''].iter().find_map(|quote| word.strip_prefix(*quote)?.strip_suffix(*quote));
    inner.unwrap_or(word).to_owned()
}
