//! Code of a check (`python3 -c`, `node -e`, a test file): the functions that it calls, and the values
//! that it compares with.
//!
//! Invariant: pure. A call counts if its result is compared with a literal, or printed, as a whole.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::grep_text::{GrepSyntax, matching};
use super::languages::Language;
use crate::verify::harness::shell::ShellCommand;

/// Code that decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InlineCode {
    pub(super) language: Language,
    pub(super) code: String,
    /// The folder that its relative names begin in.
    pub(super) folder: PathBuf,
    /// It stands in a line, so that its modules are those of the root.
    pub(super) is_inline: bool,
}

/// A call and its expected result, as the language writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InlineCall {
    pub(super) function: String,
    pub(super) wanted: String,
}

/// A literal.
const VALUE: &str = r#"-?\d+(?:\.\d+)?|'[^']*'|"[^"]*"|`[^`]*`|True|False|None|true|false|null|nil|\[(?:[^\[\]]|\[[^\[\]]*\])*\]|\{[^{}]*\}"#;
/// A function, called.
const CALLED: &str = r#"(?<function>[A-Za-z_$][\w$.]*)\((?:[^()'"]|'[^']*'|"[^"]*")*\)"#;

static COMPARED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    patterns(&[
        // sq(7) == 49
        &format!(r"\b{CALLED}\s*[=!]==?\s*(?<wanted>{VALUE})"),
        // 49 == sq(7)
        &format!(r"(?<wanted>{VALUE})\s*[=!]==?\s*{CALLED}"),
        // assert.equal(sq(7), 49), self.assertEqual(sq(7), 49)
        &format!(r"\w(?:[eE]quals?|[sS]ame)\(\s*{CALLED}\s*,\s*(?<wanted>{VALUE})\s*[,)]"),
        &format!(r"\bequal\(\s*{CALLED}\s*,\s*(?<wanted>{VALUE})\s*[,)]"),
        // assert_equal 49, sq(7)
        &format!(r"\w(?:[eE]quals?|[sS]ame)[ (]\s*(?<wanted>{VALUE})\s*,\s*{CALLED}"),
        // expect(sq(7)).toBe(49), expect(sq(7)).to eq(49)
        &format!(r"\bexpect\(\s*{CALLED}\s*\)\.to[\w ]*\((?<wanted>{VALUE})\)"),
    ])
});

static PRINTED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    patterns(&[
        &format!(r"\bprint\(\s*{CALLED}\s*\)"),
        &format!(r"\b(?:console\.log|process\.stdout\.write)\(\s*(?:String\()?{CALLED}\)?\s*\)"),
        &format!(r"\b(?:puts|echo|p)[ (]\s*{CALLED}\)?\s*(?:;|$)"),
    ])
});

fn patterns(texts: &[&str]) -> Vec<Regex> {
    texts.iter().map(|text| Regex::new(text).expect("a pattern")).collect()
}

impl InlineCode {
    /// The code that a command runs, if it stands in its line.
    pub(super) fn of(command: &ShellCommand) -> Option<Self> {
        let mut words = command.words.iter().skip_while(|word| interpreter(word).is_none());
        let language = interpreter(words.next()?)?;
        let options: &[&str] = match language {
            Language::Python => &["-c"],
            Language::Node => &["-e", "--eval", "-p", "--print", "-pe"],
            Language::Php => &["-r"],
            _ => &["-e", "-E", "-ne", "-pe", "-nE", "-lne", "-n0e", "-0ne"],
        };
        let rest: Vec<&String> = words.collect();
        let at = rest.iter().position(|word| options.contains(&word.as_str()))?;
        let code = (*rest.get(at + 1)?).clone();
        let code = match language {
            Language::Node if rest[at].contains('p') => with_names(&format!("console.log({code})")),
            Language::Node => with_names(&code),
            Language::Ruby => {
                let loaded = rest[..at].iter().filter_map(|word| word.strip_prefix("-r"));
                let loaded: String = loaded.map(|name| format!("require '{name}'; ")).collect();
                loaded + &code
            }
            _ => code,
        };
        Some(Self { language, code, folder: PathBuf::new(), is_inline: true })
    }

    /// The code of a file.
    pub(super) fn of_file(path: &Path, text: &str) -> Option<Self> {
        let language = Language::of(path, Some(text))?;
        let known = [Language::Python, Language::Node, Language::Ruby, Language::Php];
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let code = if language == Language::Node { with_names(text) } else { text.to_owned() };
        known.contains(&language).then_some(Self { language, code, folder, is_inline: false })
    }

    /// Calls whose result it compares.
    pub(super) fn compared(&self) -> Vec<InlineCall> {
        let found = COMPARED.iter().flat_map(|pattern| pattern.captures_iter(&self.code));
        let calls = found.map(|it| InlineCall {
            function: it["function"].to_owned(),
            wanted: it["wanted"].to_owned(),
        });
        calls.collect()
    }

    /// The call whose result is all that it prints, to print this instead.
    pub(super) fn printed(&self, wanted: &str) -> Option<InlineCall> {
        let mut found = PRINTED.iter().flat_map(|pattern| pattern.captures_iter(&self.code));
        let (only, none) = (found.next()?, found.next());
        let quoted = format!("'{}'", wanted.replace('\\', "\\\\").replace('\'', "\\'"));
        none.is_none().then(|| InlineCall { function: only["function"].to_owned(), wanted: quoted })
    }

    /// The texts that stand in it, in quotes or as patterns.
    pub(super) fn texts(&self) -> Vec<String> {
        static TEXT: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r#"'(?<one>[^'\n]+)'|"(?<two>[^"\n]+)"|/(?<pattern>[^/\n]+)/"#)
                .expect("a pattern")
        });
        let found = TEXT.captures_iter(&self.code).filter_map(|it| {
            if let Some(pattern) = it.name("pattern") {
                return matching(pattern.as_str(), GrepSyntax::Extended);
            }
            Some(it.name("one").or(it.name("two"))?.as_str().to_owned())
        });
        found.collect()
    }
}

/// The language of a program that runs code of a line.
fn interpreter(word: &str) -> Option<Language> {
    match word.rsplit('/').next()? {
        "node" | "nodejs" => Some(Language::Node),
        "ruby" => Some(Language::Ruby),
        "perl" => Some(Language::Perl),
        "php" => Some(Language::Php),
        name if name.starts_with("python") => Some(Language::Python),
        _ => None,
    }
}

/// `require('./app.js').sq(7)`, with a name for the module.
fn with_names(code: &str) -> String {
    static USED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"require\((?<path>"\.[^"]*"|'\.[^']*'|`\.[^`]*`)\)(?<rest>[.(])"#)
            .expect("a pattern")
    });
    let Some(path) = USED.captures(code).map(|it| it["path"].to_owned()) else {
        return code.to_owned();
    };
    format!("const module_ = require({path}); {}", USED.replace_all(code, "module_$rest"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::harness::shell::scan;

    fn code(line: &str) -> InlineCode {
        scan(line).iter().find_map(InlineCode::of).unwrap_or_else(|| panic!("no code: {line}"))
    }

    #[test]
    fn calls_that_are_compared_are_found() {
        for (line, function, wanted) in [
            ("python3 -c 'from app import sq; assert sq(7) == 49'", "sq", "49"),
            ("python3 -c 'import app; assert 49 == app.sq(7), 1'", "app.sq", "49"),
            ("python3 -c \"import app, sys; sys.exit(app.hi('a') != 'hi a')\"", "app.hi", "'hi a'"),
            (
                "node -e \"const {sq} = require('./app'); if (sq(7) !== 49) process.exit(1)\"",
                "sq",
                "49",
            ),
            ("node -e \"if (require('./app').sq(7) != 49) throw 1\"", "module_.sq", "49"),
            (
                "node -e \"require('assert'); assert.strictEqual(a.sq(7), [1, 2])\"",
                "a.sq",
                "[1, 2]",
            ),
        ] {
            let call = InlineCall { function: function.into(), wanted: wanted.into() };
            assert_eq!(code(line).compared(), [call], "{line}");
        }
        for line in [
            "python3 -c 'from app import sq; assert all(sq(n) == n * n for n in range(9))'",
            "python3 -c 'from app import sq; print(sq(7))'",
            "node -e 'if (sq(a) !== b) process.exit(1)'",
        ] {
            assert_eq!(code(line).compared(), [], "{line}");
        }
        let both = code("python3 -c 'from app import sq; assert sq(7) == 49 and sq(2) == 4'");
        assert_eq!(both.compared().len(), 2);
    }

    #[test]
    fn a_call_that_is_all_that_is_printed_is_found() {
        for line in [
            "python3 -c 'from app import sq; print(sq(7))'",
            "node -e \"console.log(sq(7))\"",
            "node -p 'sq(7)'",
        ] {
            let call = code(line).printed("49").unwrap_or_else(|| panic!("{line}"));
            assert_eq!((call.function.as_str(), call.wanted.as_str()), ("sq", "'49'"), "{line}");
        }
        for line in ["python3 -c 'print(sq(7), sq(2))'", "python3 -c 'print(sq(7)); print(sq(2))'"]
        {
            assert_eq!(code(line).printed("49"), None, "{line}");
        }
    }
}
