//! Judges that load the product into their own process: whether they run to their end.
//!
//! Code under test can end the process with 0 before anything is compared. So such a judge runs once
//! more with a failure as its last line: if the check is green all the same, that line is never
//! reached. Not in this file: the runs, and their result.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::files::{EntryKind, SourceTree, text};
use super::paths::{extension, file_name, inside};
use super::patterns::regex;
use super::programs::{self, Program, name_of};
use super::question::{JudgeEnd, MarkedCheck, TreeEdit};
use super::shell::{ShellCommand, Use, scan};
use super::sources;

/// A language whose scripts run from top to bottom.
struct Script {
    /// The statement that fails.
    fails: &'static str,
    /// The text before the first statement.
    head: &'static str,
    /// A last line after which a statement is no statement.
    closed: &'static str,
}

fn script(path: &Path, code: &str) -> Option<Script> {
    let row = |fails, head, closed| Some(Script { fails, head, closed });
    let first = code.lines().next().unwrap_or_default();
    let shebang = if first.starts_with("#!") { first } else { "" };
    match extension(path) {
        "sh" | "bash" | "zsh" | "ksh" => row("exit 97", "", "<<"),
        "py" => row("import sys; sys.exit(97)", "", "\u{0}"),
        "js" | "cjs" | "mjs" => row("process.exit(97);", "", "\u{0}"),
        "php" => row("exit(97);", "<?php ", "?>"),
        "rb" => row("exit 97", "", "__END__"),
        "pl" | "t" => row("exit 97;", "", "__END__"),
        "tcl" => row("exit 97", "", "\u{0}"),
        "lua" => row("os.exit(97)", "", "\u{0}"),
        "" if shebang.contains("python") => row("import sys; sys.exit(97)", "", "\u{0}"),
        "" if shebang.contains("node") => row("process.exit(97);", "", "\u{0}"),
        "" if shebang.ends_with("sh") => row("exit 97", "", "<<"),
        _ => None,
    }
}

/// The judges of a check among the scripts that it runs: those that load files of the repository, and
/// the line itself if it sources one.
pub(super) fn ends<'p>(
    now: &dyn SourceTree,
    check: &str,
    scripts: impl Iterator<Item = &'p PathBuf>,
) -> Vec<JudgeEnd> {
    /// Each costs a run.
    const MOST: usize = 3;
    let line = (SOURCES.is_match(check) && !ends_itself(check)).then(|| {
        let with = |command| MarkedCheck { command, edit: None };
        let name = format!("`{check}`");
        JudgeEnd {
            check: check.to_owned(),
            name,
            at_start: with(format!("exit 97\n{check}")),
            at_end: with(format!("{check}\nexit 97")),
        }
    });
    let commands = scan(check);
    let line = line.or_else(|| inline(now, check, &commands)).or_else(|| doctest(check, &commands));
    // A failure after the last line changes nothing where only the output counts.
    let is_captured = |path: &&PathBuf| {
        let name = file_name(path);
        let names = |it: &ShellCommand| it.words.iter().any(|word| word.ends_with(name));
        commands.iter().any(|it| it.usage == Use::Output && names(it))
    };
    let fed = fed(now, &commands);
    let scripts = scripts.filter(|path| !is_captured(path)).cloned().chain(fed);
    let scripts: BTreeSet<PathBuf> = scripts.collect();
    let ends = scripts.iter().flat_map(|path| [end(now, check, path), compared(now, check, path)]);
    line.into_iter().chain(ends.flatten()).take(MOST).collect()
}

/// Scripts that an interpreter gets on its standard input: `python3 < check.py`.
fn fed(now: &dyn SourceTree, commands: &[ShellCommand]) -> Vec<PathBuf> {
    let reads = |it: &ShellCommand| {
        let program = it.words.first().map_or("", |word| name_of(word));
        matches!(programs::program(program), Program::Shell | Program::Interpreter)
            && it.words.iter().skip(1).all(|word| word == "-")
    };
    let names = commands.iter().filter(|it| reads(it)).flat_map(|reader| {
        let shown = commands.iter().filter(|it| {
            it.pipeline == reader.pipeline && it.words.first().is_some_and(|word| word == "cat")
        });
        shown.flat_map(|it| it.words.iter().skip(1)).chain(&reader.stdin)
    });
    let there = names.filter_map(|name| inside(Path::new(""), name));
    there.filter(|path| now.paths().contains_key(path)).collect()
}

/// A script of JavaScript that fails after each comparison. If it is green all the same, none was
/// made: its promise was never kept, or its callback never called.
fn compared(now: &dyn SourceTree, check: &str, path: &Path) -> Option<JudgeEnd> {
    static COMPARES: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"\b(?:a|t|assert)(?:\.strict)?(?:\.(?:deep|not|loose)?\w*[eE]qual|\.ok|\.match)?\(")
    });
    let kind = now.paths().get(path)?.kind;
    let code = text(now, path).filter(|_| matches!(extension(path), "js" | "cjs" | "mjs"))?;
    let Script { fails, .. } = script(path, &code)?;
    let (mut marked_code, mut from) = (String::new(), 0);
    for call in COMPARES.find_iter(&code) {
        let end = call.end() + closing(&code[call.end()..], ('(', ')'))? + 1;
        if code[end..].starts_with(';') && end >= from {
            marked_code.push_str(&code[from..=end]);
            marked_code.push_str(fails);
            from = end + 1;
        }
    }
    if from == 0 {
        return None;
    }
    marked_code.push_str(&code[from..]);
    let at_start = format!("{}{fails}\n", first_line(&code));
    Some(marked(check, (path, kind), at_start, marked_code))
}

/// The line with which a script names its interpreter.
fn first_line(code: &str) -> String {
    let first = code.lines().next().filter(|line| line.starts_with("#!"));
    first.map(|line| format!("{line}\n")).unwrap_or_default()
}

/// Code in the line itself, such as `python3 -c 'import app; assert app.square(7) == 49'`.
fn inline(now: &dyn SourceTree, check: &str, commands: &[ShellCommand]) -> Option<JudgeEnd> {
    static CODE: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r"\b(python[0-9.]*|node|ruby|perl|php)\b[^\n;&|'\x22]*[ \t]-[cer][ \t]+",
            r"(?:'([^']*)'|\x22((?:[^\x22\\]|\\.)*)\x22)"
        ))
    });
    let found = CODE.captures(check)?;
    let (program, code) = (&found[1], found.get(2).or_else(|| found.get(3))?);
    let runs = |it: &ShellCommand| it.words.first().is_some_and(|word| word.ends_with(program));
    if commands.iter().any(|it| it.usage == Use::Output && runs(it)) {
        return None;
    }
    let ends = match program {
        "perl" => perl_ends_itself(code.as_str()),
        _ => ends_itself(code.as_str()),
    };
    let loads = matches!(program, "perl" | "ruby" | "php")
        || sources::line_loads_something(now, program, code.as_str());
    if ends || !loads {
        return None;
    }
    let fails = match program {
        "node" => "process.exit(97);",
        "ruby" => "exit 97",
        "perl" | "php" => "exit(97);",
        _ => "import sys; sys.exit(97)",
    };
    let (before, after) = (&check[..code.start()], &check[code.end()..]);
    let with = |code: String| MarkedCheck { command: format!("{before}{code}{after}"), edit: None };
    Some(JudgeEnd {
        check: check.to_owned(),
        name: format!("`{check}`"),
        // A module that an option loads may end the process before any code.
        at_start: MarkedCheck {
            command: CODE.replace(check, "sh -c 'exit 97'").into_owned(),
            edit: None,
        },
        at_end: with(format!("{}\n{fails}", code.as_str())),
    })
}

/// `python3 -m doctest FILE`, which prints nothing if all is well: the same module runs, and fails
/// after it.
fn doctest(check: &str, commands: &[ShellCommand]) -> Option<JudgeEnd> {
    static MODULE: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(?<python>\bpython[0-9.]*[^\n;&|'\x22]*[ \t])-m[ \t]+doctest\b"));
    let found = MODULE.captures(check)?;
    let runs = |it: &ShellCommand| it.words.iter().any(|word| word == "doctest");
    if commands.iter().any(|it| it.usage == Use::Output && runs(it)) {
        return None;
    }
    let with = |code: &str| {
        let command = MODULE.replace(check, format!("${{python}}-c '{code}'")).into_owned();
        MarkedCheck { command, edit: None }
    };
    Some(JudgeEnd {
        check: check.to_owned(),
        name: format!("`{}`", found[0].trim()),
        at_start: with("import sys; sys.exit(97)"),
        at_end: with("import doctest, sys; doctest._test(); sys.exit(97)"),
    })
}

/// Compiled programs that judge: their `main` fails at its end, or at its beginning.
pub(super) fn of_programs<'p>(
    start: &dyn SourceTree,
    check: &str,
    tests: impl Iterator<Item = &'p PathBuf>,
) -> Vec<JudgeEnd> {
    const MOST: usize = 3;
    tests.filter_map(|path| of_program(start, check, path)).take(MOST).collect()
}

/// Whether a check uses only what its programs print, not their status: `./tap | grep -c ^ok`.
pub(super) fn only_prints(check: &str) -> bool {
    let commands = scan(check);
    let runs = |it: &&ShellCommand| {
        it.words.first().is_some_and(|word| {
            let name = name_of(word);
            word.contains('/') && !word.ends_with("cc")
                || programs::lists(
                    "make gmake ninja just java ctest cmake go cargo npm sh bash",
                    name,
                )
        })
    };
    // `make tap && ./tap | grep ok` only builds first.
    let builds = |it: &ShellCommand| {
        let made = it.words.iter().skip(1).filter(|word| !word.starts_with('-'));
        matches!(it.words.first().map(String::as_str), Some("make" | "gmake" | "ninja"))
            && made.clone().next().is_some()
            && made.into_iter().all(|target| {
                commands.iter().any(|other| {
                    other.words.first().is_some_and(|word| word.ends_with(&format!("/{target}")))
                })
            })
    };
    let mut runs = commands.iter().filter(runs).filter(|it| !builds(it)).peekable();
    runs.peek().is_some()
        && runs.all(|it| it.usage != Use::Status && it.outputs.is_empty() && !it.decides)
}

/// Is this a source file of a compiled program?
pub(super) fn is_compiled(path: &Path) -> bool {
    matches!(extension(path), "c" | "cc" | "cpp" | "cxx" | "java" | "go" | "rs")
}

fn of_program(start: &dyn SourceTree, check: &str, path: &Path) -> Option<JudgeEnd> {
    static MAIN: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(?s)(\bmain\s*\([^)]*\)\s*\{)(.*)\breturn\s+([^;]+);(\s*\}\s*)$"));
    static RETURNS: LazyLock<Regex> = LazyLock::new(|| regex(r"\breturn\s+(?:0|[A-Za-z_])"));
    let kind = start.paths().get(path)?.kind;
    let code = text(start, path)?;
    if let Some((head, fails)) = main_of(extension(path)) {
        let (at_start, at_end) = braced_main(head, &code, fails)?;
        return Some(marked(check, (path, kind), at_start, at_end));
    }
    let main = MAIN.captures(&code)?;
    if RETURNS.is_match(&main[2]) || ends_itself(&main[2]) {
        return None;
    }
    let at_start = MAIN.replace(&code, "${1} return 97;${2}return ${3};${4}").into_owned();
    let at_end = MAIN.replace(&code, "${1}${2}(void)(${3}); return 97;${4}").into_owned();
    Some(marked(check, (path, kind), at_start, at_end))
}

/// A program with a failure at the start of its `main`, and at its end.
fn braced_main(head: &Regex, code: &str, fails: &str) -> Option<(String, String)> {
    static LAST_EXIT: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(?:System\.exit|os\.Exit|exit)\([^;\n]*\);?\s*$"));
    let body = head.find(code)?.end();
    let end = body + closing(&code[body..], ('{', '}'))?;
    let end = LAST_EXIT.find(&code[body..end]).map_or(end, |exit| body + exit.start());
    if ends_itself(&code[body..end]) {
        return None;
    }
    let with = |at: usize| format!("{}{fails}{}", &code[..at], &code[at..]);
    Some((with(body), with(end)))
}

/// The place of the bracket that closes an open one.
fn closing(code: &str, (open, close): (char, char)) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (1_usize, false, false);
    for (at, c) in code.char_indices() {
        match c {
            _ if std::mem::take(&mut escaped) => {}
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            _ if c == open => depth += 1,
            _ if c == close => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// The head of a program's `main`, and a statement that fails in the middle of it, too.
fn main_of(extension: &str) -> Option<(&'static Regex, &'static str)> {
    static JAVA: LazyLock<Regex> =
        LazyLock::new(|| regex(r"\b(?:[a-z]+ )*void main\([^)]*\)[^{\n;]*\{"));
    static GO: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)^func main\(\)\s*\{"));
    static RUST: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)^fn main\(\)\s*\{"));
    match extension {
        // Compilers reject a statement after one without a condition.
        "java" => Some((&JAVA, "\nif (true) System.exit(97);\n")),
        "go" => Some((&GO, "\nif true { panic(97) }\n")),
        "rs" => Some((&RUST, "\nif true { std::process::exit(97) }\n")),
        _ => None,
    }
}

/// A check whose script fails at its start, and at its end.
fn marked(
    check: &str,
    (path, kind): (&Path, EntryKind),
    at_start: String,
    at_end: String,
) -> JudgeEnd {
    let with = |code: String| {
        let edit = TreeEdit::Write { path: path.to_owned(), kind, bytes: code.into_bytes() };
        MarkedCheck { command: check.to_owned(), edit: Some(edit) }
    };
    let name = format!("`{}`", file_name(path));
    JudgeEnd { check: check.to_owned(), name, at_start: with(at_start), at_end: with(at_end) }
}

fn end(now: &dyn SourceTree, check: &str, path: &Path) -> Option<JudgeEnd> {
    let kind = now.paths().get(path)?.kind;
    let EntryKind::Regular { .. } = kind else { return None };
    let code = text(now, path)?;
    let script = script(path, &code)?;
    let (body, last) = without_exit(&code);
    let is_perl = matches!(extension(path), "pl" | "t");
    let body_ends = if is_perl { perl_ends_itself(body) } else { ends_itself(body) };
    if code.contains(script.closed) || body_ends || !loads(now, path, &code) {
        return None;
    }
    let at_start = format!("{}{}{}\n", first_line(&code), script.head, script.fails);
    let at_end = format!("{body}\n{last}{}\n", script.fails);
    Some(marked(check, (path, kind), at_start, at_end))
}

/// Code without the exit that is its last line, and what that line would compute first:
/// `sys.exit(main())` runs the checks.
fn without_exit(code: &str) -> (&str, String) {
    static LAST: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r"\n([ \t]*)(?:(?:sys\.|process\.|os\.)?exit|raise SystemExit)\b[ \t]*",
            r"(?:\((.*)\)|[^\n(]*);?[ \t]*\n*$",
        ))
    });
    let Some(found) = LAST.captures(code) else { return (code, String::new()) };
    let indent = &found[1];
    let status = found.get(2).map_or("", |it| it.as_str().trim());
    if !indent.is_empty() && status.starts_with(|c: char| c.is_ascii_digit() && c != '0') {
        // `if slow: sys.exit(1)`: what follows the condition is the end.
        return (code, String::new());
    }
    let call = found.get(2).map(|it| it.as_str()).filter(|it| it.contains('('));
    let call = call.map(|it| format!("({it}); ")).unwrap_or_default();
    (&code[..found.get(0).map_or(0, |it| it.start())], format!("{indent}{call}"))
}

fn loads(now: &dyn SourceTree, path: &Path, code: &str) -> bool {
    match extension(path) {
        "sh" | "bash" | "zsh" | "ksh" => SOURCES.is_match(code),
        "" => SOURCES.is_match(code) || code.contains("python") || code.contains("node"),
        // These load in too many ways to tell.
        "tcl" | "pl" | "t" | "rb" | "php" | "lua" => true,
        _ => sources::loads_something(now, path),
    }
}

/// Shell text that sources a file.
static SOURCES: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?m)(?:^|[;&|({]|\b(?:then|do|else))[ \t]*(?:\.|source)[ \t]+[^\s=]"));

/// Whether code may end well before its last line: by an exit whose status is 0, or is not in the
/// text.
pub(super) fn ends_itself(code: &str) -> bool {
    ENDS_ITSELF.is_match(code)
}

/// The same for Perl, whose `die` is a failure.
fn perl_ends_itself(code: &str) -> bool {
    ends_itself(&code.replace("die", ""))
}

static ENDS_ITSELF: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"\b(?:exit|_exit|quit|die|SystemExit)\b[ \t]*(?:\([ \t]*[(!\[+~]|\(?[ \t]*",
        r#"(?:0\b|[;)}\n#&|]|$|["']?\$|-?[A-Za-z_]\w*(?:[^\w"']|$)))"#,
        r"|\bexec\b|\bos\.exec|\breallyExit\b|(?m)^return\b",
    ))
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::harness::tests::tree::Planted;

    #[test]
    fn an_exit_of_its_own_is_told_from_a_failure() {
        let own = [
            "exit 0",
            "exit",
            "exit $s",
            "exit \"$s\"",
            "sys.exit(main())",
            "process.exit(failed ? 1 : 0)",
        ];
        assert_eq!(own.map(ends_itself), [true; 6]);
        let computed = ["exit((f(2) === 4) ? 0 : 1);", "exit(!f(2));", "sys.exit([0, 1][f(2)])"];
        assert_eq!(computed.map(ends_itself), [true; 3]);
        let fails =
            ["exit 1", "sys.exit(1)", "raise SystemExit(f\"{a}\")", "exit(1);", "die(\"x\")"];
        assert_eq!(fails.map(ends_itself), [false; 5]);
    }

    #[test]
    fn a_last_exit_is_taken_off_and_what_it_runs_stays() {
        for (code, body, last) in [
            ("a\nexit $failed\n", "a", ""),
            ("a\nexit\n", "a", ""),
            ("a\nif x:\n    sys.exit(main())\n", "a\nif x:", "    (main()); "),
            ("a\nif x:\n    sys.exit(1)\n", "a\nif x:\n    sys.exit(1)\n", ""),
            ("a\nexit($failed);\n", "a", ""),
            ("a\nprocess.exit(failed ? 1 : 0);", "a", ""),
            ("a\nraise SystemExit(run(x))\n", "a", "(run(x)); "),
            ("a\nexit 0\nb\n", "a\nexit 0\nb\n", ""),
        ] {
            assert_eq!(without_exit(code), (body, last.to_owned()), "{code}");
        }
    }

    #[test]
    fn a_main_fails_at_its_start_or_end() {
        for (extension, head, body, last) in [
            ("java", "class A {\n    public static void main(String[] args) {", " f(\"}\"); ", ""),
            ("java", "class A { static void main(String[] a) {", " f(); ", "System.exit(n);\n"),
            ("go", "package main\n\nfunc main() {", "\n\tf()\n", "os.Exit(bad)\n"),
            ("rs", "fn main() {", "\n    assert_eq!(sq(3), 9);\n", ""),
        ] {
            let (pattern, fails) = main_of(extension).expect("a language");
            let code = format!("{head}{body}{last}}}\n}}\n");
            let (start, end) = braced_main(pattern, &code, fails).expect("a main");
            assert_eq!(start, format!("{head}{fails}{body}{last}}}\n}}\n"));
            assert_eq!(end, format!("{head}{body}{fails}{last}}}\n}}\n"));
        }
        let (java, fails) = main_of("java").expect("a language");
        assert_eq!(braced_main(java, "class A { int f() { return 1; } }", fails), None);
    }

    #[test]
    fn a_line_that_sources_is_told_from_one_that_does_not() {
        let sources = [". ./lib.sh && f", "a; source lib", "if x; then . y; fi"];
        assert_eq!(sources.map(|line| SOURCES.is_match(line)), [true; 3]);
        let others = ["sh -n lib.sh", "cd . && make", "test . = x", "find . -name x"];
        assert_eq!(others.map(|line| SOURCES.is_match(line)), [false; 4]);
    }

    #[test]
    fn comparisons_in_javascript_that_may_never_be_made() {
        let start = Planted::of(&[
            (
                "ck.js",
                "const a = require('assert');\n(async () => { a.equal(await sq(3), 9); })();\n",
            ),
            ("none.js", "if (sq(3) !== 9) process.exit(1);\n"),
            ("arrow.js", "sq(3, (e, r) => a.equal(r, 9));\n"),
        ]);
        let marked = compared(&start, "node ck.js", Path::new("ck.js")).expect("a comparison");
        let Some(TreeEdit::Write { bytes, .. }) = marked.at_end.edit else { panic!("no edit") };
        let text = String::from_utf8(bytes).expect("text");
        assert!(text.contains("a.equal(await sq(3), 9);process.exit(97); })();"), "{text}");
        assert_eq!(compared(&start, "node none.js", Path::new("none.js")), None);
        assert!(compared(&start, "node arrow.js", Path::new("arrow.js")).is_none());
    }

    #[test]
    fn a_doctest_fails_after_its_module() {
        let of = |check: &str| doctest(check, &scan(check)).map(|it| it.at_end.command);
        assert_eq!(
            of("cd a && python3 -B -m doctest sq.py").as_deref(),
            Some(
                "cd a && python3 -B -c 'import doctest, sys; doctest._test(); sys.exit(97)' sq.py"
            )
        );
        assert_eq!(of("python3 -m doctest -v sq.py | grep -q 'Test passed'"), None);
        assert_eq!(of("python3 -m unittest"), None);
    }

    #[test]
    fn scripts_on_standard_input_are_judges() {
        let start = Planted::of(&[("ck.py", "import sq\n"), ("a.txt", "1\n")]);
        for (check, is_fed) in [
            ("python3 - < ck.py", true),
            ("cat ck.py | python3", true),
            ("python3 app.py < a.txt", false),
            ("cat a.txt | sort", false),
        ] {
            assert_eq!(!fed(&start, &scan(check)).is_empty(), is_fed, "{check}");
        }
    }
}
