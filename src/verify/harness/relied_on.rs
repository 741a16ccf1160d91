//! Definitions of the product on which tests rely without testing them: lists that they go through,
//! switches by which they leave, tolerances, and functions that compare for them.
//!
//! Invariant: what a test asserts by itself, such as `assertEqual(app.LIMIT, 5)`, is the work.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::deciding::mentions;
use super::outer::keep_outer;
use super::patterns::regex;
use super::programs::lists;

/// A source of the product with those definitions as they were at the start, if they differ.
pub(super) fn put_back<'t>(
    old: &str,
    new: &str,
    tests: impl Fn() -> Vec<&'t str>,
) -> Option<String> {
    let (old, mut lines): (Vec<&str>, Vec<&str>) =
        (old.split('\n').collect(), new.split('\n').collect());
    let (then, now) = (definitions(&old), definitions(&lines));
    let changed = changed(&then, &now, &old, &lines);
    if changed.is_empty() {
        return None;
    }
    let tests = tests();
    let comparing: Vec<String> = then
        .iter()
        .filter(|it| it.is_function && compares_for(it.name, &tests))
        .map(|it| old[it.at.clone()].join("\n"))
        .collect();
    let is_relied_on = |it: &Change<'_>| match it.is_function {
        true => compares_for(it.name, &tests),
        false => bounds(it.name, &tests) || comparing.iter().any(|code| mentions(code, it.name)),
    };
    let mut changed: Vec<Change<'_>> = changed.into_iter().filter(is_relied_on).collect();
    if changed.is_empty() {
        return None;
    }
    // What is inside another one is put back with it.
    keep_outer(&mut changed, |it| &it.now);
    for change in changed.iter().rev() {
        lines.splice(change.now.clone(), old[change.then.clone()].iter().copied());
    }
    Some(lines.join("\n"))
}

/// A definition, and its lines.
struct Definition<'a> {
    name: &'a str,
    is_function: bool,
    at: Range<usize>,
}

/// A definition that differs from the one at the start.
struct Change<'a> {
    name: &'a str,
    is_function: bool,
    /// The lines at the start.
    then: Range<usize>,
    /// The lines now.
    now: Range<usize>,
}

fn changed<'a>(
    then: &[Definition<'a>],
    now: &[Definition<'_>],
    old: &[&str],
    new: &[&str],
) -> Vec<Change<'a>> {
    let changes = then.iter().filter_map(|it| {
        let other = now.iter().find(|other| other.name == it.name)?;
        (new[other.at.clone()] != old[it.at.clone()]).then(|| Change {
            name: it.name,
            is_function: it.is_function || other.is_function,
            then: it.at.clone(),
            now: other.at.clone(),
        })
    });
    changes.collect()
}

/// Constants at the left edge or with a capital, and functions.
fn definitions<'a>(lines: &[&'a str]) -> Vec<Definition<'a>> {
    static FUNCTION: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r"^\s*(?:[a-z]+(?:\([a-z]+\))?\s+)*(?:def|func|function|fn|fun|sub)\s+(?:self\.)?(\w+[?!]?)",
            r"|^(?:export\s+)?(?:const|let|var)\s+(\w+)\s*=\s*(?:async\b|function\b|\([^)]*\)\s*=>|\w+\s*=>)",
            r"|^(?:module\.)?exports\.(\w+)\s*=\s*(?:async\b|function\b|\([^)]*\)\s*=>|\w+\s*=>)",
            r"|^\s*(?:[\w<>*&:]+\s+)+\*?(\w+)\s*\([^;=]*\)\s*\{",
        ))
    });
    static CONSTANT: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r"^(\s*)(?:(?:pub(?:\([a-z]+\))?|export|public|private|internal|static|final|const|constexpr|let|var|val|readonly)\s+)*",
            r"(?:(?:module\.)?exports\.)?(?:[A-Za-z_]\w*(?:::\w+)*[<>\[\]\w]*\s+)?\$?([A-Za-z_]\w*)(?:\[\w*\])?\s*(?::\s*[^=]+)?=(?:[^=>~]|$)",
            r"|^(\s*)#\s*define\s+(\w+)\s",
        ))
    });
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let function = FUNCTION.captures(line).and_then(|it| it.iter().skip(1).flatten().next());
        let constant = || {
            let it = CONSTANT.captures(line)?;
            let (indent, name) = (it.get(1).or(it.get(3))?, it.get(2).or(it.get(4))?);
            let capital = name.as_str().starts_with(char::is_uppercase);
            (indent.is_empty() || capital).then_some(name)
        };
        let is_function = function.is_some();
        if let Some(name) = function.or_else(constant) {
            let name = &line[name.range()];
            found.push(Definition { name, is_function, at: at..end(lines, at) });
        }
    }
    found
}

/// The line behind a definition: behind its brackets, and what stands further to the right.
fn end(lines: &[&str], at: usize) -> usize {
    let depth = |line: &str| {
        let count = |signs: [char; 3]| line.matches(signs).count() as i64;
        count(['(', '[', '{']) - count([')', ']', '}'])
    };
    let indent = |line: &str| line.len() - line.trim_start().len();
    let (mut open, mut next) = (depth(lines[at]), at + 1);
    while open > 0 && next < lines.len() {
        open += depth(lines[next]);
        next += 1;
    }
    while lines[next - 1].ends_with('\\') && next < lines.len() {
        next += 1;
    }
    while next < lines.len()
        && !lines[next].trim().is_empty()
        && indent(lines[next]) > indent(lines[at])
    {
        next += 1;
    }
    next
}

/// Whether tests use a value, and none asserts it.
fn bounds(name: &str, tests: &[&str]) -> bool {
    static IMPORT: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"^\s*(?:from|import|use|using|require|#\s*include)\b|\brequire\(|^\s*[#/]")
    });
    let is_use = |line: &&str| mentions(line, name) && !IMPORT.is_match(line);
    let mut uses = tests.iter().flat_map(|code| code.lines()).filter(is_use).peekable();
    let call = format!("{name}(");
    uses.peek().is_some() && !uses.any(|line| line.contains(&call) || asserts_alone(line, name))
}

/// Whether tests let a function compare what another one returns.
fn compares_for(name: &str, tests: &[&str]) -> bool {
    static NAME: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)^(?:(?:is|are|assert|check|expect)_?)?(?:\w+_)?(?:almost|alike|approx\w*|close|cmp|compare|diff|eq|equals?|equivalent|identical|matche?s?|near(?:ly)?|same|within)(?:_\w+|To|Equals?)?[?!]?$",
        )
    });
    NAME.is_match(name)
        && tests.iter().any(|code| {
            code.match_indices(name).any(|(at, name)| {
                let after = code[at + name.len()..].strip_prefix('(');
                after.is_some_and(|after| NESTED.is_match(after))
            })
        })
}

/// A first argument that is itself a call.
static NESTED: LazyLock<Regex> = LazyLock::new(|| regex(r"^\s*&?[\w.:$>-]+\("));

/// Whether a line asserts something of a value and of nothing else.
fn asserts_alone(line: &str, name: &str) -> bool {
    static ASSERTS: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"(?i)assert|expect|should|\bmust|\brequire\b|[!=]=|\bequals?\b|\bto_?be\b")
    });
    static TEXTS: LazyLock<Regex> = LazyLock::new(|| regex(r#""[^"]*"|'[^']*'|`[^`]*`"#));
    static WORDS: LazyLock<Regex> = LazyLock::new(|| regex(r"[A-Za-z_][\w.:]*"));
    const PLAIN: &str = "
        and assert be count false in is len length nil None not null or self size should str t to
        true True False
    ";
    let path = Regex::new(&format!(r"[\w.:>$-]*\b{}\b", regex::escape(name)));
    let rest =
        path.map_or_else(|_| line.to_owned(), |path| path.replace_all(line, "").into_owned());
    let rest = TEXTS.replace_all(&rest, "");
    let is_plain = |word: &str| {
        ASSERTS.is_match(word)
            || word.split(['.', ':']).all(|part| part.is_empty() || lists(PLAIN, part))
    };
    ASSERTS.is_match(line) && WORDS.find_iter(&rest).all(|word| is_plain(word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tests_rely_on_is_as_it_was() {
        for (old, new, test, expected) in [
            (
                "FORMATS = ['a', 'b']\ndef f(): pass\n",
                "FORMATS = ['a']\ndef f(): return 1\n",
                "for form in app.FORMATS:\n    assert f(form)\n",
                Some("FORMATS = ['a', 'b']\ndef f(): return 1\n"),
            ),
            (
                "pub const WIDE: bool = true;\n",
                "pub const WIDE: bool = false;\n",
                "if !sq::WIDE {\n    return;\n}\n",
                Some("pub const WIDE: bool = true;\n"),
            ),
            (
                "#define EPS 0.1\nint f(void);\n",
                "#define EPS 9.0\nint f(void);\n",
                "assert(f() - 9 < EPS);\n",
                Some("#define EPS 0.1\nint f(void);\n"),
            ),
            (
                "EPS = 1e-6\n\ndef close(a, b):\n    return abs(a - b) <= EPS\n",
                "EPS = 1e6\n\ndef close(a, b):\n    return abs(a - b) < EPS\n",
                "assertTrue(close(half(n), n / 2))\n",
                Some("EPS = 1e-6\n\ndef close(a, b):\n    return abs(a - b) <= EPS\n"),
            ),
            (
                "func Equal(a, b int) bool {\n\treturn a == b\n}\n",
                "func Equal(a, b int) bool {\n\treturn true\n}\n",
                "if !testutil.Equal(Sq(n), n*n) {\n",
                Some("func Equal(a, b int) bool {\n\treturn a == b\n}\n"),
            ),
            (
                "var Cases = map[int]int{\n\t1: 1,\n\t2: 4,\n}\n",
                "var Cases = map[int]int{\n\t1: 1,\n}\n",
                "for n, want := range Cases {\n",
                Some("var Cases = map[int]int{\n\t1: 1,\n\t2: 4,\n}\n"),
            ),
            // One inside the other.
            (
                "def almost(a, b):\n    def near(a, b):\n        return a == b\n    return near(a, b)\n",
                "def almost(a, b):\n    def near(a, b):\n        x = 1\n        y = 2\n        z = 3\n        return True\n    return True\n",
                "assertTrue(almost(half(n), 2))\nassertTrue(near(half(n), 2))\n",
                Some(
                    "def almost(a, b):\n    def near(a, b):\n        return a == b\n    return near(a, b)\n",
                ),
            ),
            // The work.
            ("LIMIT = 4\n", "LIMIT = 5\n", "self.assertEqual(app.LIMIT, 5)\n", None),
            ("NAMES = []\n", "NAMES = [1]\n", "assertIn(1, app.NAMES)\n", None),
            ("const N: u8 = 1;\n", "const N: u8 = 2;\n", "assert_eq!(a::N, 2);\n", None),
            ("RATE = 1\n", "RATE = 2\n", "assertEqual(tax(1), 2)\n", None),
            (
                "def close(a, b):\n    return a == b\n",
                "def close(a, b):\n    return abs(a - b) < 1\n",
                "assertTrue(close(1, 1.5))\n",
                None,
            ),
            ("def sq(n):\n    return 0\n", "def sq(n):\n    return n * n\n", "[sq, cube]\n", None),
        ] {
            let merged = put_back(old, new, || vec![test]);
            assert_eq!(merged.as_deref(), expected, "{new}{test}");
        }
    }
}
