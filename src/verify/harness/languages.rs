//! What the arguments of an interpreter run: a script, code, a module, or the standard input.

use super::options::{OptionSyntax, leading};
use super::programs::{self, Program, lists, name_of};

/// How an interpreter takes its arguments.
struct Language {
    names: &'static str,
    syntax: OptionSyntax,
    /// Options whose value is code.
    code: &'static str,
    /// Options whose value is a module that is run.
    module: &'static str,
    /// Options whose value is the script.
    file: &'static str,
    /// Options that make it a reader of files.
    parses: &'static str,
    /// Options whose value is a module that is loaded first.
    loads: &'static str,
}

const fn row(names: &'static str, valued: &'static str, glued: &'static str) -> Language {
    let syntax = OptionSyntax { valued, glued, ..OptionSyntax::NONE };
    Language { names, syntax, code: "", module: "", file: "", parses: "", loads: "" }
}

const fn long(long: &'static str, language: Language) -> Language {
    Language { syntax: OptionSyntax { long, ..language.syntax }, ..language }
}

/// `-name` is a long name.
const fn worded(language: Language) -> Language {
    Language { syntax: OptionSyntax { words: true, ..language.syntax }, ..language }
}

const SHELL: Language = Language {
    syntax: OptionSyntax {
        valued: "oO",
        long: "rcfile init-file init-command",
        shell: true,
        ..OptionSyntax::NONE
    },
    code: "c command",
    parses: "n no-execute",
    ..row("", "", "")
};

const NODE: &str = "e p pe eval print r require import loader experimental-loader preload env-file \
                    env-file-if-exists config import-map C conditions input-type test-reporter \
                    test-reporter-destination test-name-pattern P project O compilerOptions cwd \
                    cert lock location seed";

const LANGUAGES: &[Language] = &[
    // What follows the code or the module belongs to it.
    Language {
        syntax: OptionSyntax {
            valued: "cmWXQ",
            long: "check-hash-based-pycs module",
            last: "cm",
            ..OptionSyntax::NONE
        },
        code: "c",
        module: "m module",
        ..row("python pypy", "", "")
    },
    Language {
        code: "e p pe eval print",
        parses: "c check",
        loads: "r require import loader experimental-loader preload",
        ..long(NODE, worded(row("node nodejs tsx ts-node", "erpCPO", "")))
    },
    Language { loads: "preload require", ..long(NODE, row("deno bun", "c", "")) },
    Language { code: "e E", parses: "c", loads: "M m", ..row("perl", "eEI", "MmiFCxdDV") },
    Language {
        code: "e",
        parses: "c",
        loads: "r require",
        ..long("encoding require external-encoding", row("ruby", "eIrCE", "KFixTW"))
    },
    Language {
        code: "r R B E run process-code process-begin process-end",
        file: "f F file process-file",
        parses: "l syntax-check",
        ..long(
            "run process-code process-begin process-end file process-file php-ini define \
             zend-extension docroot server",
            row("php", "rRBEfFcdzStg", ""),
        )
    },
    Language { code: "e", loads: "l", ..row("lua luajit", "elWj", "O") },
    Language {
        code: "e E eval print",
        loads: "L load",
        ..long("eval print load project sysimage threads procs", row("julia", "eELpPtJHC", ""))
    },
    Language {
        file: "m module",
        ..long(
            "cp classpath class-path p module-path m module add-modules source jar",
            worded(row("java", "pmd", "")),
        )
    },
    Language { code: "c", file: "s", loads: "l", ..row("guile", "cslLexC", "") },
    Language { code: "c", file: "f", ..row("expect", "cf", "") },
    Language {
        code: "c e eval print E Command command",
        file: "File file f S",
        loads: "r require l load M",
        ..long(
            "c e eval print E Command command File file f S r require l load M I L o O X W d cp \
             classpath path pa pz",
            worded(row("", "ceEFfSrlLMIoOXWd", "")),
        )
    },
];

/// What is run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Started<'w> {
    /// Code, and the words after it.
    Code(Vec<&'w str>, &'w [String]),
    /// A module of Python, and its arguments.
    Module(&'w str, &'w [String]),
    /// A script, and its arguments.
    Script(&'w str, &'w [String]),
    /// Files are only parsed.
    Parsed(&'w [String]),
    /// Tests are run.
    Tests(&'w [String]),
    /// The program comes from the standard input.
    Input,
}

/// The arguments of an interpreter.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InterpreterArguments<'w> {
    pub(super) started: Started<'w>,
    /// Values of options that may be files.
    pub(super) values: Vec<&'w str>,
    /// Modules that are loaded first.
    pub(super) loads: Vec<&'w str>,
    /// Folders in which modules are looked for.
    pub(super) folders: Vec<&'w str>,
    /// A shell's options that change how its text is read: `set -e`, `set -o pipefail`.
    pub(super) set: String,
}

/// A program's name without its version: `python3.12` is `python`.
pub(super) fn bare(program: &str) -> &str {
    name_of(program).trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-')
}

fn language(program: &str) -> &'static Language {
    static SHELLS: Language = SHELL;
    if programs::program(program) == Program::Shell {
        return &SHELLS;
    }
    let name = bare(program);
    let known = LANGUAGES.iter().find(|it| lists(it.names, name));
    known.unwrap_or(&LANGUAGES[LANGUAGES.len() - 1])
}

/// Reads the arguments of an interpreter.
pub(super) fn arguments<'w>(program: &str, words: &'w [String]) -> InterpreterArguments<'w> {
    let language = language(program);
    let (given, mut rest) = leading(language.syntax, words);
    let mut found = InterpreterArguments {
        started: Started::Input,
        values: Vec::new(),
        loads: Vec::new(),
        folders: Vec::new(),
        set: String::new(),
    };
    let (mut codes, mut file, mut module) = (Vec::new(), None, None);
    let mut parses = false;
    for (name, value) in &given {
        parses |= lists(language.parses, name);
        let Some(value) = *value else { continue };
        match *name {
            _ if lists(language.code, name) => codes.push(value),
            _ if lists(language.module, name) => module = Some(value),
            _ if lists(language.file, name) => file = Some(value),
            _ if lists(language.loads, name) => found.loads.push(value),
            "I" => found.folders.push(value),
            _ => {}
        }
        if !lists(language.code, name) && !lists(language.module, name) {
            found.values.push(value);
        }
    }
    if language.syntax.shell {
        return shell(&given, rest, parses, found);
    }
    // `deno run -A x`, `dart run x`: the word after the name is no file.
    if let Some((verb, after)) = rest.split_first()
        && let Some(started) = verbs(program, verb, after)
    {
        found.started = started;
        return found;
    }
    if given.iter().any(|(name, _)| *name == "test") && bare(program).starts_with("node") {
        found.started = Started::Tests(rest);
        return found;
    }
    let first = rest.first().map(String::as_str).filter(|first| *first != "-");
    found.started = match (codes.is_empty(), file, first) {
        _ if module.is_some() => Started::Module(module.unwrap_or_default(), rest),
        _ if parses => Started::Parsed(rest),
        (false, _, _) => Started::Code(codes, rest),
        (true, Some(file), _) => Started::Script(file, rest),
        (true, None, Some(first)) => {
            rest = &rest[1..];
            Started::Script(first, rest)
        }
        (true, None, None) => Started::Input,
    };
    found
}

/// A shell runs its first operand: a script, or with `-c` a text.
fn shell<'w>(
    given: &[(&'w str, Option<&'w str>)],
    rest: &'w [String],
    parses: bool,
    found: InterpreterArguments<'w>,
) -> InterpreterArguments<'w> {
    let has = |names: &str| given.iter().any(|(name, _)| lists(names, name));
    let sets = |option: &str| given.iter().any(|(_, value)| *value == Some(option));
    let errexit = if has("e") || sets("errexit") { "set -e\n" } else { "" };
    let pipefail = if sets("pipefail") { "set -o pipefail\n" } else { "" };
    let rest = rest.strip_prefix(["-".to_owned()].as_slice()).unwrap_or(rest);
    let started = match rest.split_first() {
        _ if parses || sets("noexec") => Started::Parsed(rest),
        Some((text, after)) if has("c command") => Started::Code(vec![text], after),
        _ if has("s") => Started::Input,
        Some((script, after)) => Started::Script(script, after),
        None => Started::Input,
    };
    InterpreterArguments { started, set: format!("{errexit}{pipefail}"), ..found }
}

/// A subcommand that runs a file, code, or tests.
fn verbs<'w>(program: &str, verb: &str, after: &'w [String]) -> Option<Started<'w>> {
    if !lists("deno bun dart crystal", bare(program)) {
        return None;
    }
    let (given, rest) = leading(language(program).syntax, after);
    let code = given.iter().find_map(|(name, value)| value.filter(|_| *name == "eval"));
    Some(match (verb, code, rest.split_first()) {
        ("check" | "lint" | "fmt" | "analyze" | "format", ..) => Started::Parsed(rest),
        ("test" | "spec" | "bench", ..) => Started::Tests(rest),
        (_, Some(code), _) => Started::Code(vec![code], rest),
        ("eval", _, Some((code, rest))) => Started::Code(vec![code], rest),
        ("run" | "x" | "serve", _, Some((script, rest))) => Started::Script(script, rest),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_run_is_told_from_options() {
        for (line, expected) in [
            ("sh -e -u x", "script x"),
            ("bash -e -u -o pipefail x a", "script x"),
            ("bash -oe pipefail x", "script x"),
            ("bash --norc +x -- x", "script x"),
            ("bash -c -e x", "code x"),
            ("bash -euxo pipefail -c x", "code x"),
            ("sh -en x", "parsed x"),
            ("sh -es x", "input"),
            ("sh - x", "script x"),
            ("python3 -O -B x", "script x"),
            ("python3 -W error -Xdev x", "script x"),
            ("/usr/bin/python3.12 -Im x y", "module x y"),
            ("python3 -mx y", "module x y"),
            ("python3 -c x -m y", "code x"),
            ("python3 -", "input"),
            ("perl -Mx -lne y", "code y"),
            ("perl -Ilib -w x", "script x"),
            ("ruby -W0 -r x y", "script y"),
            ("ruby -wc y", "parsed y"),
            ("node -r x -pe y", "code y"),
            ("node --eval=y", "code y"),
            ("node --test x", "tests x"),
            ("deno run -A x", "script x"),
            ("deno eval x", "code x"),
            ("php -d a=b -f x", "script x"),
            ("guile -e main -s x", "script x"),
            ("Rscript -e x", "code x"),
        ] {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let found = match arguments(&words[0], &words[1..]).started {
                Started::Code(codes, _) => format!("code {}", codes.join(" ")),
                Started::Module(name, rest) => format!("module {name} {}", rest.join(" ")),
                Started::Script(name, _) => format!("script {name}"),
                Started::Parsed(rest) => format!("parsed {}", rest.join(" ")),
                Started::Tests(rest) => format!("tests {}", rest.join(" ")),
                Started::Input => "input".to_owned(),
            };
            assert_eq!(found.trim(), expected, "{line}");
        }
    }
}
