//! Tests that expect something else, so that a check has to fail.
//!
//! A literal of an asserting line changes: a number, a quoted text, `true`. Lines are chosen that
//! mention what the work changed. Only plain equality counts, where another literal cannot hold.
//! Invariant: pure. Not in this file: the runs.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::files::{EntryKind, SourceTree, text};
use super::judges::judges;
use super::paths::{extension, sounds_in};
use super::question::{HarnessQuestion, PutBack, TreeEdit};
use super::rust_items;
use super::table::{Role, has_code, language};

/// How many test files are read.
const MOST_FILES: usize = 24;
/// How many lines are offered.
const MOST_LINES: usize = 6;

/// The changes with which a check must fail.
#[derive(Debug, Default)]
pub(in crate::verify) struct Mutants {
    /// Files that the check compares with what a program makes, with other content.
    pub(in crate::verify) data: Vec<TreeEdit>,
    /// Asserting lines, the best first.
    pub(in crate::verify) lines: Vec<Mutant>,
    /// New tests that assert nothing.
    pub(in crate::verify) empty: Vec<PathBuf>,
}

/// An asserting line.
#[derive(Debug)]
pub(in crate::verify) struct Mutant {
    pub(in crate::verify) path: PathBuf,
    /// From 1.
    pub(in crate::verify) line: u64,
    /// Does it mention what the work changed?
    pub(in crate::verify) is_about_the_work: bool,
    /// The file with another literal, one for each of the line.
    pub(in crate::verify) changed: Vec<String>,
    /// The file with a failure before the line.
    pub(in crate::verify) failing: String,
    kind: EntryKind,
}

impl Mutant {
    /// A file of this code, with another size in each run: what is made of it may be kept by its
    /// size and its time.
    pub(in crate::verify) fn edit(&self, code: &str, run: usize) -> TreeEdit {
        let bytes = (code.to_owned() + &"\n".repeat(run + 1)).into_bytes();
        TreeEdit::Write { path: self.path.clone(), kind: self.kind, bytes }
    }
}

/// A check, and what is known of it.
pub(in crate::verify) struct AskedCheck<'a> {
    pub(in crate::verify) command: &'a str,
    /// Endings of the files that its runners run; empty if it has no known runner.
    pub(in crate::verify) endings: &'a [&'a str],
    /// Its tests are those of the work: at the start it had none.
    pub(in crate::verify) is_new: bool,
}

/// The changes for a check.
pub(in crate::verify) fn mutants(
    question: &HarnessQuestion<'_>,
    found: &PutBack,
    asked: &AskedCheck<'_>,
) -> Mutants {
    let trees = Trees { question, found, is_new: asked.is_new };
    let named = judges(trees.tree(), question.table, &[asked.command]);
    let data = named.compared.iter().filter(|path| !named.subjects.contains(*path));
    let data = data.filter_map(|path| trees.other_data(path)).collect();
    let words = Words::of(question, found);
    let files = trees.files(&named.files, asked, &words);
    let mut lines: Vec<(usize, Mutant)> = Vec::new();
    for (path, rank) in files.into_iter().take(MOST_FILES) {
        let Some((kind, code)) = trees.content(&path) else { continue };
        let found = mutants_of(&path, kind, &code, &words).into_iter();
        lines.extend(found.map(|(score, it)| (score + rank, it)));
    }
    // A script that a check runs may be all that the work is.
    let is_test =
        |path: &&PathBuf| question.table.role(path) == Some(Role::Tests) || sounds_in(path);
    let tests = found.changed.iter().filter(|path| has_code(path)).filter(is_test);
    let tests = tests.filter(|path| !question.start.paths().contains_key(*path));
    let asserts_nothing =
        |path: &&PathBuf| text(question.now, path).is_some_and(|code| !ASSERTS.is_match(&code));
    let empty = tests.filter(asserts_nothing).cloned().collect();
    lines.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let lines = lines.into_iter().take(MOST_LINES).map(|(_, it)| it).collect();
    Mutants { data, lines, empty }
}

/// The trees, and what the tests are taken from.
struct Trees<'a> {
    question: &'a HarnessQuestion<'a>,
    found: &'a PutBack,
    is_new: bool,
}

impl Trees<'_> {
    fn tree(&self) -> &dyn SourceTree {
        if self.is_new { self.question.now } else { self.question.start }
    }

    fn is_changed(&self, path: &Path) -> bool {
        self.found.changed.iter().any(|it| it == path)
    }

    /// A file as the check finds it.
    fn content(&self, path: &Path) -> Option<(EntryKind, String)> {
        let edit = self.found.edits.iter().find(|edit| edit.path() == path);
        match edit.filter(|_| !self.is_new) {
            Some(TreeEdit::Write { kind, bytes, .. }) => {
                Some((*kind, String::from_utf8(bytes.clone()).ok()?))
            }
            Some(TreeEdit::Remove { .. }) => None,
            None => {
                let kind = self.question.now.paths().get(path)?.kind;
                Some((kind, text(self.question.now, path)?))
            }
        }
    }

    /// The files that may hold the tests of a check, the likeliest first, with their rank.
    fn files(
        &self,
        named: &BTreeSet<PathBuf>,
        asked: &AskedCheck<'_>,
        words: &Words,
    ) -> Vec<(PathBuf, usize)> {
        let is_test = |path: &&PathBuf| {
            let (role, ending) = (self.question.table.role(path), extension(path));
            let inside = ending == "rs" && role.is_none();
            asked.endings.contains(&ending) && (role == Some(Role::Tests) || inside)
        };
        let all = self.question.now.paths().keys();
        let all = all.filter(|path| named.contains(*path) || is_test(path));
        let rank = |path: &PathBuf| {
            let stem = path.file_stem().and_then(|it| it.to_str()).unwrap_or_default();
            let about = words.stems.iter().any(|it| stem.contains(it.as_str()));
            let changed = self.is_new && self.is_changed(path);
            4 * usize::from(named.contains(path))
                + 2 * usize::from(about)
                + 4 * usize::from(changed)
        };
        let mut files: Vec<(PathBuf, usize)> = all.map(|path| (path.clone(), rank(path))).collect();
        files.sort_by_key(|(_, rank)| std::cmp::Reverse(*rank));
        files
    }

    /// Expected output with another letter or digit.
    fn other_data(&self, path: &Path) -> Option<TreeEdit> {
        let (kind, code) = self.content(path)?;
        let at = code.rfind(|c: char| c.is_ascii_alphanumeric())?;
        let other = if code[at..].starts_with(['x', 'X', '7']) { "3" } else { "7" };
        let mut bytes = code.into_bytes();
        bytes.splice(at..=at, other.bytes());
        Some(TreeEdit::Write { path: path.to_owned(), kind, bytes })
    }
}

/// The names that the work is about.
#[derive(Default)]
struct Words {
    names: BTreeSet<String>,
    /// Names of its files.
    stems: Vec<String>,
}

impl Words {
    /// The words of lines that the work added, and the names of the definitions around them.
    fn of(question: &HarnessQuestion<'_>, found: &PutBack) -> Self {
        static NAME: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"[A-Za-z_]\w{2,}").expect("a valid pattern"));
        static DEFINES: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"\b(?:def|fn|func|function|class|sub|struct|impl|const|let|var|type)\s+(\w+)|^(\w+)\s*\(\)")
                .expect("a valid pattern")
        });
        let mut words = Self::default();
        for path in found.product.iter().map(TreeEdit::path) {
            let stem = path.file_stem().and_then(|it| it.to_str()).unwrap_or_default();
            if stem.len() > 2 {
                words.stems.push(stem.to_owned());
            }
            let old = text(question.start, path).unwrap_or_default();
            let new = text(question.now, path).unwrap_or_default();
            let known: BTreeSet<&str> = old.lines().collect();
            let mut around = None;
            for line in new.lines() {
                if let Some(found) = DEFINES.captures(line) {
                    around = found.get(1).or(found.get(2)).map(|it| it.as_str());
                }
                if !known.contains(line) {
                    words.names.extend(around.map(str::to_owned));
                    words.names.extend(NAME.find_iter(line).map(|it| it.as_str().to_owned()));
                }
            }
        }
        words
    }

    fn count(&self, line: &str) -> usize {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let words = line.split(|c: char| !is_word(c)).filter(|word| word.len() > 1);
        words.filter(|word| self.names.contains(*word)).count().min(4)
    }
}

/// A line that compares in any language.
static ASSERTS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)assert|expect|should|equal|fail|raise|throw|panic|exit[ (]+[1-9$]|set -e|check|",
        r"verify|return[ (]+-?[1-9]|require\(|\bdiff\b|// (?:unordered )?output:|",
        r"\bcmp|\[ |\btest |\bgrep|\bis\(|\bok\(|\bmust|unwrap|==|!=|\bdie\b|t\.Error|t\.Fatal",
    ))
    .expect("a valid pattern")
});

/// What stands below a condition that must not hold.
static FAILS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)fail|exit|throw|error|fatal|raise|die\b|return (?:1|false)|abort|panic")
        .expect("a valid pattern")
});

/// The asserting lines of a file with their scores.
fn mutants_of(path: &Path, kind: EntryKind, code: &str, words: &Words) -> Vec<(usize, Mutant)> {
    let Some(language) = language(path, code).filter(|it| !it.fails.is_empty()) else {
        return Vec::new();
    };
    let inside = (extension(path) == "rs").then(|| rust_items::spans(code));
    let (mut found, mut at, mut before) = (Vec::new(), 0, "");
    let all: Vec<&str> = code.lines().collect();
    for (number, line) in code.split_inclusive('\n').enumerate() {
        let place = at..at + line.len();
        at = place.end;
        let text = line.trim_end();
        let is_test = inside.as_ref().is_none_or(|spans| {
            spans.iter().any(|it| it.contains(&place.start)) || is_of_tests(path)
        });
        let fails = !text.trim_start().starts_with("if")
            || all.iter().skip(number).take(3).any(|line| FAILS.is_match(line));
        let is_statement = begins_statement(before, language.comment.as_str(), text);
        let (literals, builds) = match is_test && fails && is_statement {
            true => literals(text),
            false => Default::default(),
        };
        if !text.trim().is_empty() {
            before = text;
        }
        if literals.is_empty() {
            continue;
        }
        let with = |range: &Range<usize>, other: &str| {
            let range = place.start + range.start..place.start + range.end;
            let mut changed = code.to_owned();
            changed.replace_range(range, other);
            changed
        };
        let changed = literals.iter().rev().map(|(range, other)| with(range, other)).collect();
        let indent = &text[..text.len() - text.trim_start().len()];
        let failing =
            format!("{}{indent}{}\n{}", &code[..place.start], language.fails, &code[place.start..]);
        let score = words.count(text);
        let is_about_the_work = score > 0;
        let (line, path) = (number as u64 + 1, path.to_owned());
        let mutant = Mutant { path, line, is_about_the_work, changed, failing, kind };
        // What is compared with a value of the product's own decides itself whether it is equal.
        found.push((2 * score + usize::from(builds), mutant));
    }
    // The last line that mentions the work is the most special one.
    found.reverse();
    found
}

/// Is a Rust file one of tests as a whole?
fn is_of_tests(path: &Path) -> bool {
    path.iter().any(|part| part == "tests") || path.to_string_lossy().ends_with("tests.rs")
}

/// Does a line begin and end a statement, so that another one can stand before it?
fn begins_statement(before: &str, comment: &str, line: &str) -> bool {
    let before = before.trim_end();
    let continues = before.ends_with(['(', '[', ',', '=', '.', '+', '&', '|', '\\', '?']);
    let opens = line.ends_with(['{', ':']) || line.ends_with("then") || line.ends_with("do");
    let count = |signs: [char; 2]| line.matches(signs).count();
    let is_whole = opens || count(['(', '[']) == count([')', ']']);
    let text = line.trim_start();
    !continues && is_whole && (comment.is_empty() || !text.starts_with(comment)) && compares(text)
}

/// Is a line a plain equality, which cannot hold with another literal?
fn compares(line: &str) -> bool {
    static HEAD: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"^(?:await\s+)?[\w.:$>-]*?(?i:assert|expect|equal|check|verify|compare|cmp_ok|same|require|is\b|eq\b)",
            r"\w*!?[\s(.]|^\[\[?\s|^test\s|^if\b.*!=",
        ))
        .expect("a valid pattern")
    });
    static EQUALS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"==|(?i:equal|same)|\b(?:eq|is)\b|_eq|\.toBe\(|\s=\s|\s-eq\s|^if\b.*!=",
            r"|^(?:check|expect|assert|verify|compare)\w*\s|^(?:check|verify|compare)\w*\(",
        ))
        .expect("a valid pattern")
    });
    static OTHER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"\s[<>]=?\s|\s-[gln][et]\s|(?i:not|unequal|contain|includ|match|throw|raise|reject|almost|",
            r"close|delta|approx|greater|less|truthy|falsy|refute|differ|\bne\b|isinstance|\bany\b|",
            r"within|near|regex|like)|\bin\b|\bor\b|\|\|\s*[^\s{fe]|\]\s*&&",
        ))
        .expect("a valid pattern")
    });
    let is_if = line.starts_with("if ") || line.starts_with("if(");
    let unequal = line.contains("!=") && !is_if;
    HEAD.is_match(line) && EQUALS.is_match(line) && !OTHER.is_match(line) && !unequal
}

/// The literals of a line that may be what it expects, each with another one. None if all of them
/// are arguments of what is tested. Also says whether a value is built from one of them.
fn literals(line: &str) -> (Vec<(Range<usize>, String)>, bool) {
    static LITERAL: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r#""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"#,
            r"|\b\d+(?:\.\d+)?\b|\b(?:true|false|True|False)\b",
        ))
        .expect("a valid pattern")
    });
    static CALLED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^[ \t]*(?:await\s+)?[\w.:$>-]+!?\(").expect("a valid pattern")
    });
    let line = line.split(" || ").next().unwrap_or(line);
    let base = usize::from(CALLED.is_match(line));
    let (mut found, mut builds_one) = (Vec::new(), false);
    // For each open parenthesis: does it count? That of a constructor builds what is expected.
    let (mut open, mut seen, mut commas): (Vec<bool>, usize, usize) = (Vec::new(), 0, 0);
    for literal in LITERAL.find_iter(line) {
        for (at, c) in line[seen..literal.start()].char_indices() {
            match c {
                '(' => open.push(!builds(line, seen + at)),
                ')' => drop(open.pop()),
                ',' if open.len() == base => commas += 1,
                _ => {}
            }
        }
        seen = literal.end();
        let depth = open.iter().filter(|counts| **counts).count();
        let is_text = literal.as_str().starts_with(['"', '\'']);
        // The message of an assertion, or the label of a case.
        let rest = line[literal.end()..].trim_start();
        let is_last = rest.trim_start_matches([')', ';', ',']).is_empty();
        let is_message = is_text && is_last && open.len() == base && commas > base;
        let is_label = is_text && commas == 0 && base == 1 && top_commas(rest) >= 2;
        if is_message || is_label {
            continue;
        }
        let before = line[..literal.start()].chars().next_back().unwrap_or(' ');
        let after = line[literal.end()..].chars().next().unwrap_or(' ');
        let odd =
            before.is_alphanumeric() || matches!(before, '_' | '.' | '$' | '`' | '#' | '{' | '-');
        let is_index = before == '['
            && line[..literal.start() - 1]
                .ends_with(|c: char| c.is_alphanumeric() || ")]_".contains(c));
        let odd = odd && !matches!(literal.as_str().chars().next(), Some('"' | '\''));
        if depth > base || odd || is_index || after.is_alphanumeric() || after == '.' {
            continue;
        }
        builds_one |= open.len() > base;
        found.extend(other(literal.as_str()).map(|it| (literal.range(), it)));
    }
    // What is expected may be computed: `sq(n) == n * n`.
    static COMPUTED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?:,|==|=)\s*\(*\w+\)*(?:\s*[*+]\s*\w+)+\s*(?P<end>[);,]*)(?:$|,)")
            .expect("a valid pattern")
    });
    if let Some(end) =
        COMPUTED.captures(line).and_then(|it| it.name("end")).filter(|_| found.is_empty())
    {
        found.push((end.start()..end.start(), " + 1".to_owned()));
    }
    (found, builds_one)
}

/// Does the call that opens here build a value rather than work on one? A constructor does, and what
/// stands on both sides.
fn builds(line: &str, open: usize) -> bool {
    let before = &line[..open];
    let name = |c: char| !(c.is_alphanumeric() || c == '_' || c == '.');
    let name = before.rsplit(name).next().unwrap_or_default();
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_type = last.starts_with(|c: char| c.is_uppercase());
    let twice = !name.is_empty() && line.matches(&format!("{name}(")).count() > 1;
    is_type || last == "new" || twice
}

/// The commas of a call that follow in its own parentheses.
fn top_commas(rest: &str) -> usize {
    let (mut depth, mut count) = (0_usize, 0);
    for c in rest.chars() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => break,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => count += 1,
            _ => {}
        }
    }
    count
}

/// Another literal.
fn other(literal: &str) -> Option<String> {
    match literal {
        "true" => return Some("false".to_owned()),
        "false" => return Some("true".to_owned()),
        "True" => return Some("False".to_owned()),
        "False" => return Some("True".to_owned()),
        _ => {}
    }
    if let Some((whole, part)) =
        literal.split_once('.').filter(|_| !literal.starts_with(['"', '\'']))
    {
        let whole: u32 = whole.parse().ok()?;
        return Some(format!("{}.{part}", whole + 1));
    }
    if literal.starts_with(|c: char| c.is_ascii_digit()) {
        let number: u32 = literal.parse().ok().filter(|it| *it < 1_000_000_000)?;
        return Some(if number == 255 { "254".to_owned() } else { (number + 1).to_string() });
    }
    let (text, quote) = literal.split_at(literal.len() - 1);
    // A character of C or Rust stays one.
    match (quote, text.len()) {
        ("'", 2) => Some(if text.ends_with('z') { "'y'".to_owned() } else { "'z'".to_owned() }),
        _ => Some(match text.chars().next_back().and_then(|c| c.to_digit(10)) {
            // What reads it may refuse anything but numbers.
            Some(digit) if text.len() > 1 => {
                let other = if digit == 0 { 1 } else { digit - 1 };
                format!("{}{other}{quote}", &text[..text.len() - 1])
            }
            Some(_) | None => format!("{text}~{quote}"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(path: &str, line: &str) -> Vec<String> {
        let code = format!("{line}\n");
        let words = Words::default();
        let regular = EntryKind::Regular { executable: false };
        let found = mutants_of(Path::new(path), regular, &code, &words);
        found
            .into_iter()
            .flat_map(|(_, it)| it.changed)
            .map(|it| it.trim_end().to_owned())
            .collect()
    }

    #[test]
    fn the_expected_literal_changes_first() {
        for (path, line, other) in [
            ("test_a.py", "assert power(2, 10) == 1024", vec!["assert power(2, 10) == 1025"]),
            (
                "test_a.py",
                "self.assertEqual(slug('A b'), 'a-b')",
                vec!["self.assertEqual(slug('A b'), 'a-b~')"],
            ),
            (
                "a.rb",
                "assert_equal v('1.2'), v('1.2.0')",
                vec!["assert_equal v('1.2'), v('1.2.1')", "assert_equal v('1.1'), v('1.2.0')"],
            ),
            (
                "ATest.php",
                "$this->assertSame(3, add(1, 2));",
                vec!["$this->assertSame(4, add(1, 2));"],
            ),
            ("a.test.js", "assert.equal(add(1, 2), 3);", vec!["assert.equal(add(1, 2), 4);"]),
            ("a.test.js", "expect(add(1, 2)).toBe(3);", vec!["expect(add(1, 2)).toBe(4);"]),
            ("tests/a.rs", "assert_eq!(sq(3), 9);", vec!["assert_eq!(sq(3), 10);"]),
            (
                "a_test.go",
                "if got := Sq(3); got != 9 {\n\tt.Fatal(got)\n}",
                vec!["if got := Sq(3); got != 10 {\n\tt.Fatal(got)\n}"],
            ),
            (
                "run.sh",
                "[ \"$(sh sq.sh 3)\" = 9 ] || exit 1",
                vec![
                    "[ \"$(sh sq.sh 3)\" = 10 ] || exit 1",
                    "[ \"$(sh sq.sh 3)~\" = 9 ] || exit 1",
                ],
            ),
            ("test_a.py", "assert sq(n) == n * n", vec!["assert sq(n) == n * n + 1"]),
            ("tests/a.rs", "assert_eq!(sq(n), n * n);", vec!["assert_eq!(sq(n), n * n + 1);"]),
            ("t.rb", "assert_equal 9, sq(3)", vec!["assert_equal 10, sq(3)"]),
            (
                "t.rb",
                "assert_equal Version.new('1.3'), v.bump",
                vec!["assert_equal Version.new('1.2'), v.bump"],
            ),
            ("a.test.js", "check('adds', add(1, 2), 3)", vec!["check('adds', add(1, 2), 4)"]),
        ] {
            let found = changed(path, line);
            assert_eq!(found.first().map(String::as_str), other.first().copied(), "{line}");
        }
    }

    #[test]
    fn lines_that_may_hold_with_another_literal_are_left_alone() {
        for (path, line) in [
            ("test_a.py", "assert size(3) >= 9"),
            ("test_a.py", "assert 'x' in text(3)"),
            ("test_a.py", "assert clamp(500) == MAX"),
            ("test_a.py", "self.assertNotEqual(sq(3), 8)"),
            ("test_a.py", "# assert sq(3) == 9"),
            ("test_a.py", "    9)"),
            ("test_a.py", "with pytest.raises(ValueError):"),
            ("a.test.js", "test('a', () => assert.equal(add(1, 2), 3));"),
            ("a.test.js", "expect(list).toContain(3);"),
            ("tests/a.rs", "assert!(sq(3) > 8);"),
            ("test_a.py", "assert xs[0] == first"),
            ("test_a.py", "assert sq(3) == nine, 'message'"),
            ("tests/a.rs", "assert_eq!(sq(n), Some(s), \"sq({n})\");"),
            ("run.sh", "[ $fail = 0 ] && echo \"all pass\""),
            ("run.sh", "if [ $# != 0 ]; then\n  verbose=1\nfi"),
        ] {
            assert_eq!(changed(path, line), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn a_failure_stands_before_the_line() {
        let code = "def test_a():\n    x = 1\n    assert sq(3) == 9\n";
        let regular = EntryKind::Regular { executable: false };
        let found = mutants_of(Path::new("test_a.py"), regular, code, &Words::default());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].1.line, 3);
        assert!(found[0].1.failing.contains("    import os; os._exit(97)\n    assert sq(3) == 9"));
    }
}
