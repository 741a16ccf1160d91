//! Tests that changed files defined at the start and define no more, by their names.
//!
//! Invariant: pure, and only for messages: no verdict rests on it. Not in this file: which tests
//! ran.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::SourceTree;
use super::table::has_code;

/// The definition of a test, in the common languages.
static TEST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        // `#[test]`, `@Test`, `[Fact]` above a function of any name.
        r"(?m)^[ \t]*(?:#\[[\w:]*test\b.*?\]|@\w*Test\b.*?|\[(?:Fact|Theory|Test\w*)\b.*?\])",
        r"(?:\s*(?:#\[|@|\[).*?)*?\s*(?:\w+\s+)*?(?:fn|fun|void|Task)\s+(?<marked>\w+|`[^`\n]+`)",
        // `def test_a`, `func TestA`, `test_a() {`.
        r"|^[ \t]*(?:\w+\s+)*?(?:def|fn|func|fun|function|sub|void)\s+(?<named>\w*[tT]est\w*)",
        r"|^(?<shell>test\w*)\s*\(\)",
        // `it('a', …)`, `t.Run("a", …)`, `test "a" do`, `@test "a" {`, `TEST(A, a)`.
        r"|\b(?:it|test|specify|Run|TEST\w*)(?:\.\w+)*\(\s*(?:'(?<one>[^'\n]+)'",
        "|\"(?<two>[^\"\n]+)\"|`(?<tick>[^`\n]+)`)",
        r"|^[ \t]*@?(?:it|test|specify)\s+(?:'(?<block>[^'\n]+)'|",
        "\"(?<text>[^\"\n]+)\"",
        r").*(?:\bdo|\{)\s*$|^TEST\w*\((?<pair>\s*\w+\s*,\s*\w+\s*)\)",
    ))
    .expect("a valid pattern")
});

/// The names of tests that a tree has no more, in the order of their files: of those that are given,
/// else of all. A test that moved to another one is still there.
pub(in crate::verify) fn missing_tests(
    start: &dyn SourceTree,
    now: &dyn SourceTree,
    files: &[PathBuf],
) -> Vec<String> {
    let names = |from: &dyn SourceTree, other: &dyn SourceTree| -> Vec<String> {
        let changed = |path: &&Path| from.paths().get(*path) != other.paths().get(*path);
        let among = |path: &&PathBuf| has_code(path) && (files.is_empty() || files.contains(path));
        let found = from.paths().keys().filter(among).map(PathBuf::as_path).filter(changed);
        let texts = found.filter_map(|path| String::from_utf8(from.read(path)?).ok());
        texts.flat_map(|text| TEST.captures_iter(&text).map(name).collect::<Vec<_>>()).collect()
    };
    let mut there: BTreeMap<String, usize> = BTreeMap::new();
    names(now, start).into_iter().for_each(|name| *there.entry(name).or_default() += 1);
    let mut all = names(start, now);
    all.retain(|name| match there.get_mut(name) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    });
    all
}

fn name(found: regex::Captures<'_>) -> String {
    let name = found.iter().skip(1).flatten().next().map_or("", |it| it.as_str());
    name.trim_matches(['`', ' ']).to_owned()
}
