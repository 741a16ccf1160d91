//! Code in a line of shell that reads expected values: `python3 -c 'assert … == open("f").read()'`.

use std::sync::LazyLock;

use regex::Regex;

use super::calls;
use super::conventions::SOURCES;
use super::languages::{self, Started};
use super::origin::Origin;
use super::paths::extension;
use super::patterns::regex;
use super::programs::name_of;
use super::reader::{ReadAt, Reader};
use super::shell::ShellCommand;
use super::showing;
use super::sources;

/// Code that an interpreter runs, and the words after it.
pub(super) struct Code<'w> {
    text: String,
    operands: &'w [String],
}

/// The code in the arguments or in the document of an interpreter.
pub(super) fn code<'w>(
    program: &str,
    arguments: &'w [String],
    command: &ShellCommand,
) -> Option<Code<'w>> {
    match languages::arguments(program, arguments).started {
        Started::Code(codes, operands) => Some(Code { text: codes.join("\n"), operands }),
        Started::Input => {
            let text = command.document.clone()?;
            Some(Code { text, operands: &[] })
        }
        Started::Module(..) | Started::Script(..) | Started::Parsed(_) | Started::Tests(_) => None,
    }
}

impl Code<'_> {
    /// Does it read its standard input?
    pub(super) fn reads_input(&self) -> bool {
        static INPUT: LazyLock<Regex> = LazyLock::new(|| {
            regex(
                r"(?i)stdin|<>|\binput\(|\bgets\b|ARGF|readFileSync\(0|\$<|php://input|/dev/fd/0|\$_\b",
            )
        });
        INPUT.is_match(&self.text)
    }

    /// Does it compare anything?
    pub(super) fn compares(&self) -> bool {
        static COMPARES: LazyLock<Regex> = LazyLock::new(|| {
            regex(
                r"[=!]==?|\b(?:assert\w*|eq|ne|is|in|exit|die|raise|throw|abort|unless|cmp|equals?)\b|[eE]qual",
            )
        });
        COMPARES.is_match(&self.text)
    }
}

/// The origin of what the code itself works with: the files that it names, and what it loads or
/// starts of the work.
pub(super) fn reads(reader: &Reader<'_>, place: &ReadAt, program: &str, code: &Code<'_>) -> Origin {
    let mut origin = Origin::default();
    let mut rest = code.text.clone();
    for start in calls::starts(program, &code.text) {
        let mut words = start.line.split_whitespace();
        let name = words.next().map_or("", name_of);
        if showing::shows(name) {
            let words: Vec<String> = words.map(str::to_owned).collect();
            let files = showing::files(name, &words).into_iter();
            origin.files.extend(files.filter_map(|name| reader.file(name, place)));
        } else {
            origin.made = true;
        }
        for word in start.line.split_whitespace() {
            rest = rest.replace(&format!("\"{word}\""), "").replace(&format!("'{word}'"), "");
        }
    }
    origin.made |= NETWORK.is_match(&code.text);
    let code_only = DATA.replace_all(&code.text, "");
    origin.made |= sources::line_loads_something(reader.start, program, &code_only);
    if !READS.is_match(&code.text) {
        return origin;
    }
    let literals = LITERALS.captures_iter(&rest).filter_map(|it| it.get(1).or(it.get(2)));
    let literals = literals.map(|it| it.as_str().trim_start_matches('<').trim().to_owned());
    let operands = code.operands.iter().filter(|_| ARGUMENTS.is_match(&code.text));
    for name in literals.chain(operands.cloned()) {
        if let Some(path) = reader.file(&name, place).filter(|it| !SOURCES.contains(&extension(it)))
        {
            origin.files.insert(path);
        }
    }
    origin
}

/// Data that code loads like a module.
static DATA: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"(?:require|import)\s*\(?\s*["'][^"']*\.json["']"#));

static NETWORK: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\burlopen|\brequests\.|\bfetch\(|\bhttps?\b|\bsocket\b|Net::HTTP"));

static READS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(?:open\w*|read\w*|load\w*|slurp|path|file\w*|require|include|foreach|cat)\b|<>|readFile|File\.|IO\.|ARGF|parse",
    )
});

static LITERALS: LazyLock<Regex> = LazyLock::new(|| regex(r#""([^"\n]*)"|'([^'\n]*)'"#));

/// The words after the code.
static ARGUMENTS: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\bargv\b|\bARGV\b|ARGF|<>|\$\d|commandArgs|\bargs\b"));
