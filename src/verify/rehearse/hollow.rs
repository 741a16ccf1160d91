//! Tests with the same names and empty bodies: as many pass, and they test nothing.
//!
//! Invariant: pure. A test whose end cannot be read keeps its body.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use globset::GlobSet;
use regex::Regex;

use super::attack::{Attack, MOST_FILES};
use super::bodies::imports;
use super::cheats::{Cheat, write};
use super::languages::Language;
use super::operands::inside;

impl Attack<'_> {
    /// Empties the bodies of tests that the task allows to change, or that nothing knows as tests.
    pub(super) fn tests_hollowed(&self, may_change: &GlobSet) -> Cheat {
        // Tests inside product files are put back with them.
        let is_inside = |path: &PathBuf| path.extension().is_some_and(|it| it == "rs");
        let is_open = |path: &&PathBuf| {
            may_change.is_match(path) || self.is_product(path) && !is_inside(path)
        };
        let files = self.start.paths().keys().filter(is_open);
        let edits = files.filter_map(|path| {
            let old = self.text(path)?;
            let new = hollow(path, &old);
            (new != old).then(|| write(path.clone(), &new, false))
        });
        Cheat {
            name: "leave the tests their names, and empty their bodies",
            edits: edits.take(MOST_FILES).collect(),
            instead: "take the tests out of `may_change:`, or name them in `protect:`",
        }
    }
}

/// The text with empty tests.
fn hollow(path: &Path, text: &str) -> String {
    let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    match (Language::of(path, None), extension) {
        (Some(Language::Python), _) => indented(text, &PYTHON, "pass"),
        (Some(Language::Ruby), _) => indented(text, &RUBY, ""),
        (Some(Language::Node), _) | (None, "tsx" | "jsx") => callbacks(text),
        (Some(Language::Go), _) => imports(&bodies(text, &GO, "")),
        (Some(Language::Rust), _) => bodies(&text.replace("#[should_panic]\n", ""), &RUST, ""),
        (Some(Language::Php), _) => bodies(text, &PHP, " $this->assertTrue(true); "),
        (None, "java") => bodies(text, &JAVA, ""),
        _ => text.to_owned(),
    }
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern")
}

static PYTHON: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?<indent>\s*)(?:async\s+)?def\s+test(?:[_A-Z]\w*)?\(.*\).*:\s*$"));
static RUBY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"^(?<indent>\s*)(?:def\s+test_\w+|(?:it|specify|test|should)\s*\(?["'].*\bdo)\s*$"#)
});
static GO: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^func Test\w+\(\w+ \*testing\.T\) \{"));
static RUST: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"#\[(?:\w+::)?test\]\s*(?:#\[[^\]]*\]\s*)*(?:async\s+)?fn \w+\(\) \{")
});
static PHP: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\bfunction test\w*\([^)]*\)\s*(?::\s*void\s*)?\{"));
static JAVA: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"@Test\b[^;{}]*?\bvoid\s+\w+\([^)]*\)[^;{}]*\{"));
static NODE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"\b(?:test|it)\(\s*(?<name>"[^"\n]*"|'[^'\n]*'|`[^`\n]*`)\s*,"#));

/// Another body for each function with such a head.
fn bodies(text: &str, head: &Regex, body: &str) -> String {
    let (mut new, mut from) = (String::new(), 0);
    for head in head.find_iter(text) {
        if head.end() < from {
            continue;
        }
        new.push_str(&text[from..head.end()]);
        new.push_str(body);
        from = head.end() + inside(&text[head.end()..]).len();
    }
    new + &text[from..]
}

/// Another body for each function whose lines are indented more than its head.
fn indented(text: &str, head: &Regex, body: &str) -> String {
    let mut new = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        new.push_str(line);
        new.push('\n');
        let Some(found) = head.captures(line) else { continue };
        let indent = &found["indent"];
        let is_inner = |line: &&str| {
            let rest = line.trim_start();
            rest.is_empty() || line.len() - rest.len() > indent.len()
        };
        while lines.next_if(|line| is_inner(line)).is_some() {}
        if !body.is_empty() {
            new.push_str(&format!("{indent}    {body}\n\n"));
        }
    }
    new
}

/// An empty callback for each call of `test` and `it`.
fn callbacks(text: &str) -> String {
    let (mut new, mut from) = (String::new(), 0);
    for call in NODE.captures_iter(text) {
        let (Some(all), Some(name)) = (call.get(0), call.name("name")) else { continue };
        if all.start() < from {
            continue;
        }
        new.push_str(&text[from..name.end()]);
        new.push_str(", () => {}");
        from = all.end() + inside(&text[all.end()..]).len();
    }
    new + &text[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_keep_their_names_only() {
        for (path, old, new) in [
            (
                "a.test.js",
                "test(\"pads\", async () => {\n  eq(f(')'), 1);\n});\nit('x', function () { eq(1) });\n",
                "test(\"pads\", () => {});\nit('x', () => {});\n",
            ),
            (
                "test_a.py",
                "class T:\n    def test_x(self):\n        a = 1\n\n        assert f(a)\n\n    def helper(self):\n        return 1\n",
                "class T:\n    def test_x(self):\n        pass\n\n    def helper(self):\n        return 1\n",
            ),
            (
                "t.rs",
                "#[test]\nfn x() {\n    assert_eq!(f(1), 2);\n}\nfn y() { z() }\n",
                "#[test]\nfn x() {}\nfn y() { z() }\n",
            ),
            (
                "a_test.go",
                "package a\n\nimport (\n\t\"fmt\"\n\t\"testing\"\n)\n\nfunc TestX(t *testing.T) {\n\tfmt.Println(f())\n}\n",
                "package a\n\nimport (\n\t\"testing\"\n)\n\nfunc TestX(t *testing.T) {}\n",
            ),
            (
                "a_test.rb",
                "class T\n  def test_x\n    assert_equal 1, f\n  end\nend\n",
                "class T\n  def test_x\n  end\nend\n",
            ),
            (
                "ATest.php",
                "class ATest { public function testX(): void { $this->assertSame(1, f()); } }\n",
                "class ATest { public function testX(): void { $this->assertTrue(true); } }\n",
            ),
            (
                "ATest.java",
                "class ATest { @Test\n    void x() { assertEquals(1, f()); } }\n",
                "class ATest { @Test\n    void x() {} }\n",
            ),
            ("app.py", "def tested(n):\n    return n\n", "def tested(n):\n    return n\n"),
        ] {
            assert_eq!(hollow(Path::new(path), old), new, "{path}");
        }
    }
}
