//! Expected values: files that a text of shell compares with what a program makes.
//!
//! A comparison has sides. If one of them is what a program prints or writes, the files of the others
//! say what it should be, and belong to the harness. Two files that are only read may both be the
//! work. The cases that a loop goes through belong to the harness, too.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::awk;
use super::expand::globbed;
use super::expected_code;
use super::origin::Origin;
use super::origins::{MOST_DEPTH, Origins};
use super::programs::{self, Program, lists, name_of};
use super::reader::{ReadAt, Reader};
use super::shell::{Flow, Into, ShellCommand};
use super::showing;
use super::wrappers::unwrapped;

/// The files of the start that are expected values or cases in a text.
pub(super) struct Expected {
    /// All of them.
    pub(super) all: BTreeSet<PathBuf>,
    /// Those whose every word a comparison looks at.
    pub(super) compared: BTreeSet<PathBuf>,
}

/// Finds them.
pub(super) fn files(
    reader: &Reader<'_>,
    commands: &[ShellCommand],
    flow: &Flow,
    place: &ReadAt,
) -> Expected {
    let origins = Origins::new(reader, commands, flow, place);
    let (mut found, mut compared) = (BTreeSet::new(), BTreeSet::new());
    let runs = (0..commands.len()).any(|at| origins.of_command(at, 2).made);
    found.extend(expected(&origins.of_cases()));
    let counts = commands.iter().any(|it| it.words.first().is_some_and(|word| word == "wc"));
    for (at, command) in commands.iter().enumerate() {
        let named: Vec<PathBuf> = expected(&sides(&origins, at)).collect();
        if is_whole(command) && !counts {
            compared.extend(named.iter().cloned());
        }
        found.extend(named);
        if let Some(cases) = cases(&origins, flow, at).filter(|it| !it.made) {
            let is_plain = || plain(&origins, at);
            found.extend(cases.files.into_iter().filter(|_| runs || is_plain()));
        }
    }
    let inputs: Vec<PathBuf> = commands
        .iter()
        .filter(|command| command.is_loop())
        .flat_map(|command| inputs(reader, command, place, &found))
        .collect();
    found.extend(inputs);
    Expected { all: found, compared }
}

/// Whether a comparison looks at all of its sides. A search may be for words that are forbidden.
fn is_whole(command: &ShellCommand) -> bool {
    let words = unwrapped(&command.words);
    words.first().is_some_and(|word| !lists("grep egrep fgrep rg join paste", name_of(word)))
}

/// The files that a loop goes through, if what it compares is beside them: `samples/a.in` and
/// `samples/a.out`.
fn inputs(
    reader: &Reader<'_>,
    command: &ShellCommand,
    place: &ReadAt,
    expected: &BTreeSet<PathBuf>,
) -> Vec<PathBuf> {
    let values = command.assignments.iter().map(|(_, value)| value);
    let names = values.filter_map(|value| globbed(reader.start, &place.folder, value)).flatten();
    let files: Vec<PathBuf> = names.filter_map(|name| reader.file(&name, place)).collect();
    let beside = |path: &PathBuf| {
        expected.contains(path) || {
            let stem = path.with_extension("");
            expected.iter().any(|other| other.with_extension("") == stem)
        }
    };
    if files.iter().any(beside) { files } else { Vec::new() }
}

/// The files of the sides that no program makes, if another side is made.
fn expected(sides: &[Origin]) -> impl Iterator<Item = PathBuf> {
    let is_made = sides.iter().any(|side| side.made);
    let others = sides.iter().filter(|side| is_made && !side.made);
    others.flat_map(|side| side.files.iter().cloned()).collect::<Vec<_>>().into_iter()
}

/// The sides of a comparison.
fn sides(origins: &Origins<'_>, at: usize) -> Vec<Origin> {
    let command = &origins.commands[at];
    let words = unwrapped(&command.words);
    let from = command.words.len() - words.len();
    let Some((word, arguments)) = words.split_first() else { return Vec::new() };
    let name = name_of(word);
    let operand = |name: &str| origins.of_file(name, at, MOST_DEPTH);
    let held =
        || (from + 1..=command.words.len()).map(|word| origins.of_word(at, word, MOST_DEPTH));
    let input = || origins.input(at, MOST_DEPTH);
    match name {
        "test" | "[" | "[[" | "((" | "expr" => compared_words(origins, at, from),
        "git" if !arguments.iter().any(|word| word == "--no-index") => Vec::new(),
        "diff" | "cmp" | "comm" | "sdiff" | "colordiff" | "paste" | "join" => {
            held().chain(showing::files(name, arguments).into_iter().map(operand)).collect()
        }
        "git" => showing::files("diff", &arguments[1..]).into_iter().map(operand).collect(),
        "grep" | "egrep" | "fgrep" | "rg" => searched(origins, at, arguments),
        _ if programs::program(word) == Program::Interpreter => {
            let Some(code) = expected_code::code(name, arguments, command) else {
                return Vec::new();
            };
            if !code.compares() {
                return Vec::new();
            }
            let read = expected_code::reads(origins.reader(), origins.place(), name, &code);
            // What it starts or loads is made; the files beside that are not.
            let made = Origin { made: read.made, files: BTreeSet::new() };
            let files = Origin { made: false, files: read.files };
            let input = code.reads_input().then(input);
            held().chain([made, files]).chain(input).collect()
        }
        _ if showing::mixes(name) => {
            let operands = showing::files(name, arguments).into_iter().map(operand);
            let named = showing::named_files(name, arguments);
            let named = named.iter().map(|name| operand(name));
            let code = arguments.iter().filter(|_| name.ends_with("awk"));
            let captured = code.clone().any(|code| awk::captures(code)).then(Origin::made);
            let read = code.flat_map(|code| awk::files(code)).map(|name| operand(&name));
            let read = read.collect::<Vec<_>>();
            held()
                .chain(operands)
                .chain(named)
                .chain([input()])
                .chain(captured)
                .chain(read)
                .collect()
        }
        // The input of `sha256sum -c` has the sums.
        _ if name.ends_with("sum") && arguments.iter().any(|it| it == "-c" || it == "--check") => {
            vec![Origin::made(), input()]
        }
        // `sh -c '[ "$(sh app.sh)" = "$1" ]' _ "$(cat want)"`
        _ if programs::program(word) == Program::Shell && origins.runs_in_code(name, arguments) => {
            let set = command.assignments.iter();
            let set = set.map(|(name, _)| origins.of_text(&format!("${name}"), MOST_DEPTH));
            held().chain(set).chain([Origin::made()]).collect()
        }
        // A function or a script of its own gets both: `same "$(sh app.sh)" "$(cat want)"`.
        _ if command.decides && !showing::shows(name) && takes_values(word) => {
            // Bats has what it ran in a variable.
            let ran =
                || origins.commands.iter().any(|it| it.words.first().is_some_and(|it| it == "run"));
            let implied = (name.starts_with("assert_") && ran()).then(Origin::made);
            held().chain(implied).collect()
        }
        _ => Vec::new(),
    }
}

/// May the words of a program be values that it compares?
fn takes_values(word: &str) -> bool {
    match programs::program(word) {
        Program::Shell | Program::Other => !lists("printf echo export local declare", word),
        Program::Interpreter
        | Program::Source
        | Program::Eval
        | Program::Text
        | Program::Runner
        | Program::Entry
        | Program::Looks => false,
    }
}

/// The words around each operator of `[`.
fn compared_words(origins: &Origins<'_>, at: usize, from: usize) -> Vec<Origin> {
    const OPERATORS: &str = "= == != =~ -eq -ne -lt -le -gt -ge : < >";
    const BETWEEN: &str = "-a -o ! ( ) ] ]] && ||";
    let words = &origins.commands[at].words;
    let mut found = Vec::new();
    let mut side = Origin::default();
    let mut pair: Vec<Origin> = Vec::new();
    for (place, word) in words.iter().enumerate().skip(from + 1) {
        if lists(BETWEEN, word) {
            pair.push(std::mem::take(&mut side));
            found.extend(together(&mut pair));
        } else if lists(OPERATORS, word) {
            pair.push(std::mem::take(&mut side));
        } else {
            // `$(($(sh sq.sh 12) - $(cat want)))` compares in one word.
            let mut captured = origins.captured(at, place, MOST_DEPTH);
            if captured.len() > 1 {
                pair.append(&mut captured);
            }
            side.join(origins.of_word(at, place, MOST_DEPTH));
        }
    }
    pair.push(side);
    found.extend(together(&mut pair));
    found
}

/// The sides of one comparison, without files if no other side is made.
fn together(pair: &mut Vec<Origin>) -> Vec<Origin> {
    let pair = std::mem::take(pair);
    if pair.iter().any(|side| side.made) { pair } else { Vec::new() }
}

/// The pattern and the text of a search.
fn searched(origins: &Origins<'_>, at: usize, arguments: &[String]) -> Vec<Origin> {
    let command = &origins.commands[at];
    let files = showing::files("grep", arguments);
    let of_file = |name: &str| origins.of_file(name, at, MOST_DEPTH);
    let (mut pattern, mut text) = (Origin::default(), Origin::default());
    for (place, word) in command.words.iter().enumerate() {
        if !files.contains(&word.as_str()) {
            pattern.join(origins.of_word(at, place, MOST_DEPTH));
        }
    }
    for name in showing::named_files("grep", arguments) {
        pattern.join(of_file(&name));
    }
    files.iter().for_each(|name| text.join(of_file(name)));
    let by_xargs = command.words.first().is_some_and(|word| name_of(word) == "xargs");
    let input = origins.input(at, MOST_DEPTH);
    if by_xargs {
        pattern.join(input)
    } else {
        text.join(input)
    }
    vec![pattern, text]
}

/// What a loop, or `xargs`, goes through.
fn cases(origins: &Origins<'_>, flow: &Flow, at: usize) -> Option<Origin> {
    let command = &origins.commands[at];
    let first = command.words.first().map_or("", |word| name_of(word));
    if command.is_loop() {
        let name = command.assignments.first().map(|(name, _)| name.as_str())?;
        let values = command.assignments.iter().map(|(_, value)| value);
        let mut origin = Origin::default();
        values.for_each(|value| origin.join(origins.of_text(value, MOST_DEPTH)));
        for capture in &flow.captures {
            if matches!(&capture.into, Into::Variable(to) if to == name) {
                capture
                    .commands
                    .clone()
                    .for_each(|at| origin.join(origins.of_command(at, MOST_DEPTH)));
            }
        }
        return Some(origin);
    }
    match first {
        "read" if command.stdin.is_empty() => Some(origins.of_read(at, MOST_DEPTH)),
        "xargs" | "gxargs" | "parallel" => {
            let inner = unwrapped(&command.words).first()?;
            if programs::program(inner) == Program::Looks {
                return None;
            }
            let mut origin = origins.input(at, MOST_DEPTH);
            let lists =
                |pair: &[String]| lists("-a --arg-file ::::", &pair[0]).then(|| pair[1].clone());
            let glued = |word: &String| word.strip_prefix("--arg-file=").map(str::to_owned);
            let named = command.words.windows(2).filter_map(lists);
            for name in named.chain(command.words.iter().filter_map(glued)) {
                origin.join(origins.of_file(&name, at, MOST_DEPTH));
            }
            Some(origin)
        }
        _ => None,
    }
}

/// Is the list of a loop all that is in a file?
fn plain(origins: &Origins<'_>, at: usize) -> bool {
    let command = &origins.commands[at];
    let shows = |it: &ShellCommand| it.words.first().is_none_or(|word| name_of(word) == "cat");
    let near = |it: &&ShellCommand| it.pipeline == command.pipeline || command.is_loop();
    let mut before = origins.commands[..at].iter().filter(near);
    before.next_back().is_none_or(shows)
}
