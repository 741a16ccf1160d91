//! Programs that do as little as possible, one row for each language.
//!
//! Invariant: pure.

use std::path::Path;

use regex::Regex;

/// A language that a cheat can be written in.
#[derive(Debug)]
pub(super) struct Language {
    /// Extensions, and parts of a first line `#!…`.
    names: &'static [&'static str],
    /// The mark of a comment.
    pub(super) comment: &'static str,
    /// Its sources are compiled.
    is_compiled: bool,
    /// A program that ends with 0.
    pub(super) nothing: &'static str,
    /// A program that prints a text: `{raw}`, or `{double}` in quotes.
    prints: &'static str,
    /// The head of a test, what an empty body holds, and what closes it on the same line.
    head: Option<(&'static str, &'static str, &'static str)>,
}

const SCRIPT: Language = Language {
    names: &["sh", "bash", "dash", "zsh", "ksh"],
    comment: "#",
    is_compiled: false,
    nothing: "exit 0\n",
    prints: "cat <<'END_OF_TEXT'\n{raw}\nEND_OF_TEXT\nexit 0\n",
    head: None,
};

const LANGUAGES: &[Language] = &[
    SCRIPT,
    Language {
        names: &["py", "python"],
        nothing: "import os\nos._exit(0)\n",
        prints: "print({double})\nraise SystemExit(0)\n",
        head: Some((r"(?m)^[ \t]*(?:async )?def test(?:[_A-Z]\w*)?\(.*\).*:", " pass", "")),
        ..SCRIPT
    },
    Language {
        names: &["js", "mjs", "cjs", "ts", "mts", "tsx", "jsx", "node"],
        comment: "//",
        nothing: "process.exit(0)\n",
        prints: "console.log({double})\nprocess.exit(0)\n",
        head: Some((
            r#"\b(?:test|it)\(\s*(?:"[^"\n]*"|'[^'\n]*'|`[^`\n]*`)\s*,[^{\n]*\{"#,
            "",
            "});",
        )),
        ..SCRIPT
    },
    Language {
        names: &["rb", "ruby"],
        nothing: "exit!(0)\n",
        prints: "puts {double}\nexit(0)\n",
        head: Some((r"(?m)^[ \t]*(?:def test_\w+|(?:it|specify|test)\b.*\bdo)$", "", "")),
        ..SCRIPT
    },
    Language {
        names: &["php"],
        comment: "//",
        nothing: "<?php exit(0);\n",
        prints: "<?php echo <<<'END'\n{raw}\n\nEND;\nexit(0);\n",
        head: Some((r"\bfunction test\w*\([^)]*\)[^{]*\{", " $this->assertTrue(true);", "}")),
        ..SCRIPT
    },
    Language {
        names: &["c", "cc", "cpp", "cxx"],
        comment: "//",
        is_compiled: true,
        nothing: "int main(void) { return 0; }\n",
        prints: "#include <stdio.h>\nint main(void) { puts({double}); return 0; }\n",
        head: None,
    },
    Language {
        names: &["go"],
        comment: "//",
        is_compiled: true,
        nothing: "package main\n\nfunc main() {}\n",
        prints: "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println({double}) }\n",
        head: Some((r"(?m)^func Test\w+\(\w+ \*testing\.T\) \{", "", "}")),
    },
    Language {
        names: &["rs"],
        comment: "//",
        is_compiled: true,
        nothing: "fn main() {}\n",
        prints: "fn main() { println!(\"{}\", {double}); }\n",
        head: Some((r"#\[(?:\w+::)?test\](?:\s*#\[.*\])*\s*(?:async )?fn \w+\(\) \{", "", "}")),
    },
    Language {
        names: &["java"],
        comment: "//",
        is_compiled: true,
        nothing: "",
        prints: "public class {file} {\n    public static void main(String[] all) {\n        \
                 System.out.println({double});\n    }\n}\n",
        head: Some((r"@Test\b[^;{}]*?\bvoid\s+\w+\([^)]*\)[^;{}]*\{", "", "}")),
    },
];

/// The smallest content that the kind of a new file allows.
pub(super) fn smallest(path: &Path) -> String {
    let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    let text = match (extension, Language::of(path, None)) {
        ("json", _) => "{}",
        ("xml" | "html" | "svg", _) => "<a/>",
        ("yml" | "yaml", _) => "a: 1",
        ("toml", _) => "a = 1",
        ("ini" | "cfg", _) => "[a]\na = 1",
        ("css", _) => "a {}",
        ("sql", _) => "-- x",
        ("php", _) => "<?php // x",
        ("ts" | "mts" | "mjs", _) => "export {}",
        (_, Some(language)) if language.is_compiled => language.nothing.trim_end(),
        (_, Some(language)) => return format!("{} x\n", language.comment),
        (_, None) => "# x",
    };
    format!("{text}\n")
}

impl Language {
    /// By the extension, or by the first line of the existing file.
    pub(super) fn of(path: &Path, text: Option<&str>) -> Option<&'static Self> {
        let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
        let shebang = text.and_then(|text| text.lines().next()?.strip_prefix("#!"));
        let started = shebang.unwrap_or_default().split(['/', ' ']);
        let mut names = started.map(|it| it.trim_end_matches('3')).chain([extension]);
        names.find_map(|name| LANGUAGES.iter().find(|it| it.names.contains(&name)))
    }

    /// Does a program start in a file with this text?
    pub(super) fn is_compiled_program(&self, text: &str) -> bool {
        self.is_compiled && text.contains(" main(")
    }

    /// A source without content. It still compiles.
    pub(super) fn emptied(&self, old: &str) -> String {
        let package = old.lines().find(|line| self.is_compiled && line.starts_with("package "));
        match self.is_compiled_program(old) {
            true => self.nothing.to_owned(),
            false => package.map(|line| format!("{line}\n")).unwrap_or_default(),
        }
    }

    /// A program that prints a text.
    pub(super) fn prints(&self, path: &Path, text: &str) -> String {
        let program = self.prints.replace("{file}", &stem(path));
        let program = program.replace("{double}", &serde_json::json!(text).to_string());
        program.replace("{raw}", text)
    }

    /// The text with tests of the same names and empty bodies. A body's lines are indented.
    pub(super) fn hollow(&self, text: &str) -> String {
        let indent = |line: &str| line.len() - line.trim_start().len();
        let (mut new, mut from) = (String::new(), 0);
        let Some((head, filler, close)) = self.head else { return text.to_owned() };
        for head in Regex::new(head).expect("a pattern").find_iter(text) {
            // A test inside of the last one.
            if head.start() < from {
                continue;
            }
            let (before, after) = text.split_at(head.end());
            let (rest, below) = after.split_once('\n').unwrap_or((after, ""));
            new.push_str(&text[from..head.end()]);
            new.push_str(filler);
            from = head.end() + rest.len();
            if !rest.trim().is_empty() {
                new.push_str(close);
                continue;
            }
            let outer = indent(before.lines().next_back().unwrap_or_default());
            let lines = below.split_inclusive('\n');
            let body = lines.take_while(|line| line.trim().is_empty() || indent(line) > outer);
            new.push('\n');
            from = text.len().min(from + 1 + body.map(str::len).sum::<usize>());
        }
        new + &text[from..]
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_keep_their_names_only() {
        for (path, old, new) in [
            ("a.js", "it('x', () => {\n  f();\n});\n", "it('x', () => {\n});\n"),
            ("a.js", "it('x', () => { f(); });\n", "it('x', () => {});\n"),
            ("a.py", "  def test_x(a):\n    f()\n\n  x = 1\n", "  def test_x(a): pass\n  x = 1\n"),
            ("t.rs", "#[test]\nfn x() { f() }", "#[test]\nfn x() {}"),
            ("t.rb", "  it 'is' do\n    f\n  end\n", "  it 'is' do\n  end\n"),
            ("app.py", "def tested(n):\n", "def tested(n):\n"),
        ] {
            let language = Language::of(Path::new(path), None).expect("a language");
            assert_eq!(language.hollow(old), new, "{path}");
        }
    }
}
