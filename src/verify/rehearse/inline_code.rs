//! Code of a check: in its line (`python3 -c`, `node -e`), or in a test file.
//!
//! Invariant: pure.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::grep_text::{GrepSyntax, matching};
use super::languages::Language;
use crate::verify::classify::shell::ShellCommand;

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

/// A function, called.
const CALLED: &str =
    r#"(?:[\w$.]*\.)?(?<function>[A-Za-z_$][\w$]*)\((?:[^()'"]|'[^']*'|"[^"]*")*\)"#;

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
        let Some(at) = rest.iter().position(|word| options.contains(&word.as_str())) else {
            let is_input = rest.iter().all(|word| word.starts_with('-'));
            let document = command.document.as_ref().filter(|_| is_input)?;
            let code =
                if language == Language::Node { with_names(document) } else { document.clone() };
            return Some(Self { language, code, folder: PathBuf::new(), is_inline: true });
        };
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

    /// The code of a file in a compiled language; Java is read as C.
    pub(super) fn of_compiled(path: &Path, text: &str) -> Option<Self> {
        let is_java = path.extension().is_some_and(|it| it == "java" || it == "cpp" || it == "cc");
        let language = if is_java { Language::C } else { Language::of(path, Some(text))? };
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let code = text.to_owned();
        language.is_compiled().then_some(Self { language, code, folder, is_inline: false })
    }

    /// The function whose result is all that it prints.
    pub(super) fn printed(&self) -> Option<String> {
        let mut found = PRINTED.iter().flat_map(|pattern| pattern.captures_iter(&self.code));
        let (only, none) = (found.next()?, found.next());
        none.is_none().then(|| only["function"].to_owned())
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
    use crate::verify::classify::shell::scan;

    fn code(line: &str) -> InlineCode {
        scan(line).iter().find_map(InlineCode::of).unwrap_or_else(|| panic!("no code: {line}"))
    }

    #[test]
    fn a_call_that_is_all_that_is_printed_is_found() {
        for line in [
            "python3 -c 'from app import sq; print(sq(7))'",
            "node -e \"console.log(sq(7))\"",
            "node -p 'sq(7)'",
            "python3 - <<'END'\nfrom app import sq\nprint(sq(7))\nEND",
        ] {
            assert_eq!(code(line).printed().as_deref(), Some("sq"), "{line}");
        }
        for line in ["python3 -c 'print(sq(7), sq(2))'", "python3 -c 'print(sq(7)); print(sq(2))'"]
        {
            assert_eq!(code(line).printed(), None, "{line}");
        }
    }
}
