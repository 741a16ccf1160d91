//! A file of test code, and the changes with which its tests expect something else.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::flips::Flip;
use super::paths::extension;
use super::patterns::regex;
use super::programs::lists;

/// The code, and the changes in it, which go by their number: first those of assertions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::verify) struct TestCode {
    pub(super) code: String,
    pub(super) flips: Vec<Flip>,
    /// Changes of calls of a helper that asserts. With a change of the helper, they mean nothing.
    pub(super) calls: Vec<Flip>,
    /// The changes of each test that its framework calls by itself.
    pub(super) tests: Vec<Range<usize>>,
    /// Where the code of each test begins.
    pub(super) heads: Vec<usize>,
}

/// What fails where a failure is planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::verify) enum PlantedFailure {
    /// The test, by its name.
    OfTest,
    /// Its process, whatever catches errors there.
    OfProcess,
}

impl TestCode {
    /// Code without assertions.
    pub(super) fn plain(code: String) -> Self {
        Self { code, flips: Vec::new(), calls: Vec::new(), tests: Vec::new(), heads: Vec::new() }
    }

    /// The changes of assertions.
    pub(in crate::verify) fn assertions(&self) -> Vec<usize> {
        (0..self.flips.len()).collect()
    }

    /// The number of changes.
    pub(in crate::verify) fn len(&self) -> usize {
        self.flips.len() + self.calls.len()
    }

    fn flip(&self, at: usize) -> Option<&Flip> {
        self.flips.get(at).or_else(|| self.calls.get(at.checked_sub(self.flips.len())?))
    }

    /// The most changes in one test.
    pub(in crate::verify) fn most(&self) -> usize {
        self.tests.iter().map(Range::len).max().unwrap_or_default()
    }

    /// One change in each test, the `at`th or the last, and those outside of tests if a test has
    /// none of its own.
    pub(in crate::verify) fn of_each_test(&self, at: usize) -> Vec<usize> {
        let inside = self.tests.iter().filter(|test| !test.is_empty());
        let mut found: Vec<usize> =
            inside.map(|test| (test.start + at).min(test.end - 1)).collect();
        if self.tests.iter().any(Range::is_empty) {
            let outside = |at: &usize| !self.tests.iter().any(|test| test.contains(at));
            found.extend((0..self.flips.len()).filter(outside));
        }
        found
    }

    /// The round in which a change is the only one of its test.
    pub(in crate::verify) fn round_of(&self, at: usize) -> Option<usize> {
        let test = self.tests.iter().find(|test| test.contains(&at))?;
        Some(at - test.start)
    }

    /// The code with some of the changes.
    pub(in crate::verify) fn with(&self, some: &[usize]) -> String {
        let mut new = self.code.clone();
        let mut some: Vec<&Flip> = some.iter().filter_map(|at| self.flip(*at)).collect();
        some.sort_by_key(|flip| flip.at.start);
        for Flip { at, text } in some.into_iter().rev() {
            new.replace_range(at.clone(), text);
        }
        new
    }

    /// The line of a change, from 1.
    pub(in crate::verify) fn line(&self, at: usize) -> u64 {
        let start = self.flip(at).map_or(0, |flip| flip.at.start);
        self.code[..start].matches('\n').count() as u64 + 1
    }

    /// The code with a failure before the statement of each of some changes, where it is clear where
    /// that begins, and where nothing in its line decides whether it is reached.
    pub(in crate::verify) fn failing_before(
        &self,
        path: &Path,
        some: &[usize],
        failure: PlantedFailure,
    ) -> Option<String> {
        let clear = some.iter().filter_map(|at| {
            let flip = self.flip(*at)?;
            let rest = self.code[flip.at.end..].lines().next().unwrap_or_default();
            let before = self.before(flip.at.start);
            let is_plain = (CONDITION.is_match(before) || !DEPENDS.is_match(before))
                && !DEPENDS_ON_REST.is_match(rest);
            is_plain.then(|| self.line_start(flip.at.start))
        });
        self.planted((path, failure), clear.collect())
    }

    /// The code with a failure before each assertion, and one for whoever loads the file.
    pub(in crate::verify) fn failing(&self, path: &Path) -> Option<String> {
        const LOADED: &str = "py js cjs mjs jsx ts cts mts tsx rb";
        let before = self.failing_before(path, &self.assertions(), PlantedFailure::OfProcess);
        if !lists(LOADED, extension(path)) {
            return before;
        }
        let fails = ends(path).or_else(|| fails(path))?;
        Some(format!("{}\n{fails}\n", before.as_ref().unwrap_or(&self.code)))
    }

    /// The code with a failure before the statement around a change, if nothing in that statement
    /// decides whether the assertion is reached: it stands in loops and functions without a name.
    pub(in crate::verify) fn failing_around(&self, path: &Path, at: usize) -> Option<String> {
        let flip = self.flip(at)?;
        let test = self.heads.partition_point(|head| *head <= flip.at.start).checked_sub(1);
        let head = test.map(|test| self.line_start(self.heads[test]));
        let own = self.before(flip.at.start);
        let is_plain = CONDITION.is_match(own) || !DECIDES.is_match(own);
        let mut indent = indent_of(own);
        let own_start = self.line_start(flip.at.start);
        let is_callback = CALLBACK.is_match(own) && head != Some(own_start);
        let is_callback = is_callback && !(test.is_none() && NAMED.is_match(own));
        let mut outermost = is_callback.then_some((own_start, is_plain));
        let (mut is_reached, mut is_inside) = (is_plain, test.is_none() && indent == 0);
        for start in self.line_starts(head, flip.at.start) {
            let line = self.code[start..].lines().next().unwrap_or_default();
            if line.trim().is_empty() {
                continue;
            }
            let is_around = indent_of(line) < indent;
            if is_around
                && head.is_some_and(|head| indent_of(line) <= indent_of(&self.code[head..]))
            {
                // Helpers may stand behind a test, and attributes above its head.
                let mut above = self.code[head.unwrap_or_default()..start].lines();
                is_inside = above.all(|line| line.trim_start().starts_with(['@', '#', '[']));
                break;
            }
            let is_named = test.is_none() && NAMED.is_match(line);
            is_reached &= !LEAVES.is_match(line);
            if is_around {
                is_reached &= !(is_named || DECIDES.is_match(line));
                indent = indent_of(line);
                outermost = Some((start, is_reached));
            }
            if indent == 0 {
                is_inside = test.is_none();
                break;
            }
        }
        let (start, _) = outermost.filter(|(_, is_reached)| *is_reached && is_inside)?;
        self.planted((path, PlantedFailure::OfProcess), [start].into())
    }

    /// The starts of the lines above a place, upward, as far as a line.
    fn line_starts(&self, from: Option<usize>, to: usize) -> impl Iterator<Item = usize> {
        let to = self.line_start(to);
        let from = from.unwrap_or_default();
        let ends = self.code[from..to].match_indices('\n').map(|(at, _)| from + at + 1);
        let starts: Vec<usize> = std::iter::once(from).chain(ends).filter(|at| *at < to).collect();
        starts.into_iter().rev()
    }

    fn line_start(&self, at: usize) -> usize {
        self.code[..at].rfind('\n').map_or(0, |end| end + 1)
    }

    /// What stands before a place in its line.
    fn before(&self, at: usize) -> &str {
        &self.code[self.line_start(at)..at]
    }

    /// The code with a failure before the lines that begin at some places, if a statement can stand
    /// there.
    fn planted(
        &self,
        (path, failure): (&Path, PlantedFailure),
        lines: BTreeSet<usize>,
    ) -> Option<String> {
        let fails = match failure {
            PlantedFailure::OfTest => fails(path)?,
            PlantedFailure::OfProcess => ends(path).or_else(|| fails(path))?,
        };
        let mut new = self.code.clone();
        let clear = |start: &usize| {
            let line = self.code[*start..].trim_start();
            let above = self.code[..*start].trim_end().lines().next_back().unwrap_or_default();
            !GOES_ON.is_match(above) && !line.starts_with(['.', ')', ']', '|', '&', '+', ','])
        };
        for start in lines.into_iter().filter(clear).rev() {
            let line = &self.code[start..];
            let indent = &line[..indent_of(line)];
            new.insert_str(start, &format!("{indent}{fails}\n"));
        }
        (new != self.code).then_some(new)
    }
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// What stands before an assertion that is not reached each time, or not at once.
static DEPENDS: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"=>|\s->|&&|\|\||\s\?\s|\b(?:if|elif|else|elsif|unless|when|case|catch|except|rescue|and",
        r"|or|function|func|fn|fun|sub|def|lambda|yield)\b",
    ))
});

/// What stands before the condition of a failure.
static CONDITION: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^[ \t]*if[ \t]*(?:\(?[ \t]*(?:[^;\n]*;[ \t]*)?|(?:\[\[?|test)[ \t][^;&|]*)$")
});

/// A line that decides whether what is inside of it is reached, or that is there for a failure.
static DECIDES: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"&&|\|\||\s\?\s|(?:^|[^$.\w])(?:if|elif|else|elsif|unless|when|case|match|switch|select|default|try|catch",
        r"|except|rescue|ensure|finally|while|until|class|suppress|warns|\w*[rR]aises?\w*|throws?)\b",
        // A callback with an error and more is called in any case.
        r"|\.catch\b|\bErr\b|(?i:['\x22]\w*(?:err|fail|abort|close)\w*['\x22]|\bon_?(?:err|fail)\w*",
        r"|\bfor\s+\w*(?:err|warn|fail|problem)\w*",
        r"|\(\$?(?:e|ex|exc|err|error|problem|failure)(?:[ :][^,)]*)?\)",
        r"|reject|never|unexpected|timeout|skip|mock|fake|stub)",
    ))
});

/// A function without a name, in the line of an assertion.
static CALLBACK: LazyLock<Regex> =
    LazyLock::new(|| regex(r"=>|\bfunction\s*\(|\bfunc\(|\blambda\b|\{\s*\|"));

/// A function with a name, which may not be called.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"\b(?:def|fn|sub|fun|macro_rules!)\s|\b(?:function|func)\s+[\w(]+\s*\w*\(|#\s*define\b",
        r"|\b(?:const|let|var)\s+\w+\s*=|^\w+\s*\(\)|^(?:[\w*&:<>]+\s+)+\*?\w+\([^;]*\)\s*\{?\s*$",
    ))
});

/// A line after which the rest may not be reached.
static LEAVES: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"\b(?:return|continue|break|throw|raise|exit|todo|xfail|pending)\b|(?i:skip)")
});

/// `assert x if y`
static DEPENDS_ON_REST: LazyLock<Regex> = LazyLock::new(|| regex(r"\s(?:if|unless)\s"));

/// The end of a line whose statement goes on in the next one.
static GOES_ON: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?:[,(\[=+.?&\\]|[ |]\||->|=>|\b(?:and|or|not))$"));

/// A statement that ends the process, so that no code can catch it.
fn ends(path: &Path) -> Option<&'static str> {
    Some(match extension(path) {
        "py" => "import os; os._exit(97)",
        "js" | "cjs" | "mjs" => "process.reallyExit(97);",
        "rs" => "if std::hint::black_box(true) { std::process::abort() }",
        "rb" => "exit!(97)",
        "php" => "exit(97);",
        "java" => "Runtime.getRuntime().halt(97);",
        "kt" => "Runtime.getRuntime().halt(97)",
        "pl" | "t" => "require POSIX; POSIX::_exit(97);",
        _ => return None,
    })
}

/// A statement that fails, after which another one may stand.
fn fails(path: &Path) -> Option<&'static str> {
    Some(match extension(path) {
        "py" => "raise SystemError('planted')",
        "js" | "cjs" | "mjs" | "jsx" | "ts" | "cts" | "mts" | "tsx" => {
            "if (true) throw new Error('planted');"
        }
        "rs" => "if std::hint::black_box(true) { panic!(\"planted\") }",
        "go" => "if true { panic(\"planted\") }",
        "rb" => "raise 'planted'",
        "php" => "if (true) throw new \\Error('planted');",
        "java" => "if (true) throw new RuntimeException(\"planted\");",
        "kt" | "scala" => "if (true) throw RuntimeException(\"planted\")",
        "cs" => "if (true) throw new System.Exception(\"planted\");",
        "pl" | "t" => "die 'planted';",
        "c" | "cc" | "cpp" | "cxx" => "{ volatile char *planted = 0; *planted = 0; }",
        "sh" | "bash" | "zsh" | "ksh" => "exit 97",
        "bats" => "false",
        _ => return None,
    })
}
