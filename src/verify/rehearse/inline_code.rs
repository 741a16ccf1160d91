//! Code in a check's line (`python3 -c`, `node -e`): the function that it calls, and the value that
//! it compares with.
//!
//! Invariant: pure. A call counts if its result is compared with a literal, or printed, as a whole.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use crate::verify::harness::SourceTree;
use crate::verify::harness::shell::ShellCommand;

/// A language whose code may stand in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Python,
    Node,
}

/// Code in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InlineCode {
    language: Language,
    pub(super) code: String,
}

/// A call and its expected result, as the language writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InlineCall {
    function: String,
    wanted: String,
}

/// A literal.
const VALUE: &str = r#"-?\d+(?:\.\d+)?|'[^']*'|"[^"]*"|`[^`]*`|True|False|None|true|false|null|\[[^\]]*\]|\{[^}]*\}"#;
/// A function, called.
const CALLED: &str = r"(?<function>[A-Za-z_$][\w$.]*)\([^()]*\)";

static COMPARED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    patterns(&[
        // sq(7) == 49
        &format!(r"\b{CALLED}\s*[=!]==?\s*(?<wanted>{VALUE})"),
        // 49 == sq(7)
        &format!(r"(?<wanted>{VALUE})\s*[=!]==?\s*{CALLED}"),
        // assert.equal(sq(7), 49)
        &format!(r"\b(?:assert|t)\.\w*[eE]qual\(\s*{CALLED}\s*,\s*(?<wanted>{VALUE})\s*[,)]"),
    ])
});

static PRINTED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    patterns(&[
        &format!(r"\bprint\(\s*{CALLED}\s*\)"),
        &format!(r"\b(?:console\.log|process\.stdout\.write)\(\s*(?:String\()?{CALLED}\)?\s*\)"),
    ])
});

/// `from app import sq`, `import app as a`
static PYTHON: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(?:from\s+(?<from>[\w.]+)\s+import\s+(?<names>[\w, ]+)|import\s+(?<module>[\w.]+)(?:\s+as\s+(?<name>\w+))?)").expect("a pattern")
});

/// `const {sq} = require('./app.js')`, `import {sq} from './app.js'`
static NODE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?:(?:const|let|var)\s+(?<names>\{[^}]*\}|\w+)\s*=\s*require\(|\bimport\s+(?<imported>\{[^}]*\}|\w+|\*\s+as\s+\w+)\s+from\s*)\s*['"`](?<path>\.{1,2}/[^'"`]+)['"`]"#)
        .expect("a pattern")
});

/// `require('./app')`
static LOADED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"\b(?:require|import)\s*\(\s*['"`](?<path>\.{1,2}/[^'"`]+)['"`]"#)
        .expect("a pattern")
});

/// Modules that come with Python: a check does not mean a file of the same name in the tree.
const OWN: [&str; 12] = [
    "collections",
    "datetime",
    "io",
    "json",
    "math",
    "os",
    "pathlib",
    "re",
    "shutil",
    "subprocess",
    "sys",
    "time",
];

fn patterns(texts: &[&str]) -> Vec<Regex> {
    texts.iter().map(|text| Regex::new(text).expect("a pattern")).collect()
}

impl InlineCode {
    /// The code that a command runs, if it stands in its line.
    pub(super) fn of(command: &ShellCommand) -> Option<Self> {
        let mut words = command.words.iter().skip_while(|word| Self::language(word).is_none());
        let language = Self::language(words.next()?)?;
        let options: &[&str] = match language {
            Language::Python => &["-c"],
            Language::Node => &["-e", "--eval", "-p", "--print", "-pe"],
        };
        let mut rest = words.skip_while(|word| !options.contains(&word.as_str()));
        let prints = rest.next()?.contains('p');
        let code = rest.next()?;
        let code = if prints { format!("console.log({code})") } else { code.clone() };
        let code = if language == Language::Node { with_names(&code) } else { code };
        Some(Self { language, code })
    }

    fn language(word: &str) -> Option<Language> {
        let name = word.rsplit('/').next()?;
        match name {
            "node" | "nodejs" => Some(Language::Node),
            _ if name.starts_with("python") => Some(Language::Python),
            _ => None,
        }
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

    /// A function that it imports, to do nothing.
    pub(super) fn imported(&self) -> Option<InlineCall> {
        let names = PYTHON.captures_iter(&self.code).find_map(|it| it.name("names"))?;
        let function = names.as_str().split([',', ' ']).next()?.to_owned();
        Some(InlineCall { function, wanted: "None".to_owned() })
    }

    /// The file of a called function, and a program in which every function returns the expected
    /// value.
    pub(super) fn stub(
        &self,
        tree: &dyn SourceTree,
        call: &InlineCall,
    ) -> Option<(PathBuf, String)> {
        let InlineCall { function, wanted } = call;
        let first = function.split('.').next()?;
        match self.language {
            Language::Python => {
                let path = self.python_module(tree, first)?;
                let text = format!("def __getattr__(name):\n    return lambda *a, **k: {wanted}\n");
                Some((path, text))
            }
            Language::Node => {
                let it = NODE.captures_iter(&self.code).find(|it| {
                    let names = it.name("names").or_else(|| it.name("imported"));
                    names.is_some_and(|names| has_word(names.as_str(), first))
                })?;
                let (path, name) = (node_module(tree, &it["path"])?, function.rsplit('.').next()?);
                let text = match it.name("imported") {
                    Some(_) => format!(
                        "export const {name} = () => ({wanted});\nexport default () => ({wanted});\n"
                    ),
                    None => format!(
                        "const stub = () => ({wanted});\n\
                         module.exports = new Proxy(stub, {{ get: () => stub }});\n"
                    ),
                };
                Some((path, text))
            }
        }
    }

    /// Files of modules that it loads and that are not there.
    pub(super) fn missing_modules(&self, tree: &dyn SourceTree) -> Vec<PathBuf> {
        let path = |it: regex::Captures<'_>| match self.language {
            Language::Python => {
                let module = it.name("from").or_else(|| it.name("module"))?.as_str();
                let own = OWN.contains(&module.split('.').next().unwrap_or_default());
                (!own).then(|| PathBuf::from(format!("{}.py", module.replace('.', "/"))))
            }
            Language::Node => node_module(tree, &it["path"]),
        };
        let pattern = if self.language == Language::Python { &PYTHON } else { &LOADED };
        let found = pattern.captures_iter(&self.code).filter_map(path);
        found.filter(|path| !tree.paths().contains_key(path)).collect()
    }

    /// The file of the module that a Python name comes from.
    fn python_module(&self, tree: &dyn SourceTree, name: &str) -> Option<PathBuf> {
        let module = PYTHON.captures_iter(&self.code).find_map(|it| {
            if let (Some(from), Some(names)) = (it.name("from"), it.name("names")) {
                return has_word(names.as_str(), name).then(|| from.as_str().to_owned());
            }
            let module = it.name("module")?.as_str();
            let known = it.name("name").map_or(module, |name| name.as_str());
            (known.split('.').next() == Some(name)).then(|| module.to_owned())
        })?;
        let path = module.replace('.', "/");
        let files = [format!("{path}.py"), format!("src/{path}.py"), format!("{path}/__init__.py")];
        let there = files.iter().find(|file| tree.paths().contains_key(Path::new(file)));
        let own = OWN.contains(&module.split('.').next().unwrap_or_default());
        there.or_else(|| files.first().filter(|_| !own)).map(PathBuf::from)
    }
}

/// `require('./app.js').sq(7)`, with a name for the module.
fn with_names(code: &str) -> String {
    static USED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"require\((?<path>"[^"]*"|'[^']*'|`[^`]*`)\)(?<rest>[.(])"#)
            .expect("a pattern")
    });
    let Some(path) = USED.captures(code).map(|it| it["path"].to_owned()) else {
        return code.to_owned();
    };
    format!("const module_ = require({path}); {}", USED.replace_all(code, "module_$rest"))
}

/// The file that a relative `require` or `import` in the root means.
fn node_module(tree: &dyn SourceTree, path: &str) -> Option<PathBuf> {
    let path = path.strip_prefix("./")?;
    let files = ["", ".js", ".mjs", ".cjs", "/index.js"].map(|end| format!("{path}{end}"));
    let there = files.iter().find(|file| tree.paths().contains_key(Path::new(file)));
    let has_extension = Path::new(path).extension().is_some();
    there.or_else(|| files.get(usize::from(!has_extension))).map(PathBuf::from)
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).any(|it| it == word)
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
