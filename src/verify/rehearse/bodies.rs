//! Functions of compiled languages whose body is one constant: those of the sources, and new ones
//! that a test calls.
//!
//! Invariant: pure. A signature that exists is kept, so that callers still compile.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::languages::Language;
use super::operands::inside;

/// The one value that a test wants of a function.
#[derive(Clone, Debug)]
pub(super) struct Constant {
    pub(super) name: String,
    /// As the language writes it.
    pub(super) value: String,
    pub(super) language: Language,
    /// The code of the test.
    pub(super) test: String,
}

/// The changed sources: each function that a test wants a constant of returns it.
pub(super) fn with_constants(
    sources: &[(&Path, String)],
    constants: &[Constant],
) -> Vec<(PathBuf, String)> {
    let mut changed = BTreeMap::<PathBuf, String>::new();
    for constant in constants {
        let mut is_there = false;
        for (path, old) in sources {
            let text = changed.get(*path).unwrap_or(old);
            if is_of(constant.language, path)
                && let Some(text) = replaced(text, constant, path)
            {
                is_there = true;
                changed.insert((*path).to_owned(), text);
            }
        }
        if !is_there && let Some((path, old, new)) = added(sources, constant) {
            let text = changed.entry(path).or_insert(old);
            *text = format!("{text}\n{new}");
        }
    }
    let tidy = |(path, text): (PathBuf, String)| {
        let text =
            if path.extension().is_some_and(|it| it == "go") { imports(&text) } else { text };
        (path, text)
    };
    changed.into_iter().map(tidy).collect()
}

/// Is a file written in the language, or in one that looks like it?
fn is_of(language: Language, path: &Path) -> bool {
    let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    match language {
        Language::Go => extension == "go",
        Language::Rust => extension == "rs",
        Language::C => ["c", "cc", "cpp", "cxx", "h", "hpp", "java"].contains(&extension),
        _ => false,
    }
}

/// A source with another body of one function.
fn replaced(text: &str, constant: &Constant, path: &Path) -> Option<String> {
    let name = &constant.name;
    let head = match constant.language {
        Language::Go => format!(r"(?m)^func\s+(?:\([^)]*\)\s*)?{name}\("),
        Language::Rust => format!(r"\bfn\s+{name}\s*(?:<[^>]*>)?\("),
        _ => format!(r"(?m)^[ \t]*(?:[\w<>\[\]*&:]+\s+)+[*&]?{name}\("),
    };
    let head = Regex::new(&head).ok()?.find_iter(text).find(|head| {
        let first = head.as_str().split_whitespace().next().unwrap_or_default();
        !["return", "else", "new"].contains(&first)
    })?;
    let end = head.end() + inside(&text[head.end()..]).len() + 1;
    let open = end + text.get(end..)?.find(['{', ';'])?;
    if !text[open..].starts_with('{') {
        return None;
    }
    let result = text[end..open].trim().trim_start_matches("->").trim();
    let body = inside(&text[open + 1..]);
    let value = returned(constant, result)?;
    let close = open + 1 + body.len();
    let is_java = path.extension().is_some_and(|it| it == "java");
    let value = match constant.language {
        Language::Rust => value,
        Language::C if is_java && value.starts_with('{') => return None,
        _ => format!("return {value}{}", if constant.language == Language::C { ";" } else { "" }),
    };
    Some(format!("{} {value} {}", &text[..=open], text.get(close..)?))
}

/// The constant as a result of this type.
fn returned(constant: &Constant, result: &str) -> Option<String> {
    let value = &constant.value;
    let owned = |text: &str| {
        static TEXT: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r#""(?:[^"\\]|\\.)*"(?:\.\w+\(\))?"#).expect("a pattern"));
        TEXT.replace_all(text, |it: &regex::Captures<'_>| match it[0].ends_with(')') {
            true => it[0].to_owned(),
            false => format!("{}.into()", &it[0]),
        })
        .into_owned()
    };
    match constant.language {
        Language::Go if result.is_empty() => None,
        Language::Go if result.starts_with('(') => {
            let others = result.matches(',').count();
            Some(format!("{value}{}", ", nil".repeat(others)))
        }
        Language::Rust if result.contains("String") => Some(owned(value)),
        _ => Some(value.clone()),
    }
}

/// A function that the sources do not have: its file, the file's old text, and the new one's.
fn added(sources: &[(&Path, String)], constant: &Constant) -> Option<(PathBuf, String, String)> {
    let Constant { name, value, test, .. } = constant;
    let called = Regex::new(&format!(r"\b{name}\(")).ok()?.find(test)?;
    let before = &test[..called.start()];
    if before.ends_with('.') {
        // A method, or a function of another package.
        return None;
    }
    let is_rust = constant.language == Language::Rust;
    let kind = kind(value, is_rust)?;
    match constant.language {
        Language::Go => {
            let package = test.lines().find(|line| line.starts_with("package "))?;
            let package = package.trim_end_matches("_test");
            let path = sources.iter().find(|(path, text)| {
                is_of(Language::Go, path) && text.lines().any(|line| line == package)
            });
            let path = path.map_or(PathBuf::from("rehearsal.go"), |(path, _)| {
                path.with_file_name("rehearsal.go")
            });
            let pair = Regex::new(&format!(r"\w+\s*,\s*\w+\s*:?=\s*{name}\(")).ok()?;
            let (kind, value) = match pair.is_match(test) {
                true => (format!("({kind}, error)"), format!("{value}, nil")),
                false => (kind, value.clone()),
            };
            let new = format!("func {name}(_ ...any) {kind} {{ return {value} }}\n");
            Some((path, format!("{package}\n"), new))
        }
        Language::Rust => {
            let (path, old) = sources.iter().find(|(path, _)| path.ends_with("src/lib.rs"))?;
            let count = super::operands::parts(inside(&test[called.end()..])).len();
            let arguments = vec!["_: impl Sized"; count].join(", ");
            let new = format!("pub fn {name}({arguments}) -> {kind} {{ {value} }}\n");
            let module =
                Regex::new(&format!(r"\b\w+::(?<module>\w+)::(?:\{{[^}}]*)?\b{name}\b")).ok()?;
            let new = match module.captures(test) {
                Some(it) if !old.contains(&format!("mod {}", &it["module"])) => {
                    format!("pub mod {} {{ {new} }}\n", &it["module"])
                }
                Some(_) => return None,
                None => new,
            };
            Some(((*path).to_owned(), old.clone(), new))
        }
        _ => None,
    }
}

/// The type of a literal.
fn kind(value: &str, is_rust: bool) -> Option<String> {
    let of = |rust: &str, go: &str| Some(if is_rust { rust } else { go }.to_owned());
    match value {
        "true" | "false" => of("bool", "bool"),
        _ if value.parse::<i64>().is_ok() => of("i32", "int"),
        _ if value.parse::<f64>().is_ok() => of("f64", "float64"),
        _ if value.starts_with('"') && value.ends_with('"') => of("&'static str", "string"),
        _ if value.starts_with('"') || value.starts_with("String") => of("String", "string"),
        _ if !is_rust => Some(value.split('{').next()?.to_owned()),
        _ if value.starts_with("Ok(Default") => Some("Result<(), String>".to_owned()),
        _ => {
            let inner = value.split_once(['(', '['])?.1.trim_end_matches([')', ']']);
            let inner = kind(inner.split(',').next()?.trim(), true)?;
            match value.split(['(', '!']).next()? {
                "Some" => Some(format!("Option<{inner}>")),
                "Ok" => Some(format!("Result<{inner}, String>")),
                "vec" => Some(format!("Vec<{inner}>")),
                _ => None,
            }
        }
    }
}

/// A Go source without imports that it no longer uses.
pub(super) fn imports(text: &str) -> String {
    static LINE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"^\s*(?:import\s+)?(?<name>\w+\s+)?"(?<path>[\w./-]+)"\s*$"#)
            .expect("a pattern")
    });
    let is_used = |line: &&str| {
        let Some(it) = LINE.captures(line) else { return true };
        let last = it["path"].rsplit('/').next().unwrap_or_default().to_owned();
        let name = it.name("name").map_or(last, |name| name.as_str().trim().to_owned());
        name == "_" || text.contains(&format!("{name}."))
    };
    let lines = text.lines().filter(is_used).map(|line| format!("{line}\n"));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(language: Language, path: &str, old: &str, value: &str, test: &str) -> String {
        let constant = Constant {
            name: "retry".to_owned(),
            value: value.to_owned(),
            language,
            test: test.to_owned(),
        };
        let changed = with_constants(&[(Path::new(path), old.to_owned())], &[constant]);
        changed.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn a_function_returns_the_constant() {
        for (language, path, old, value, wanted) in [
            (
                Language::Go,
                "a.go",
                "package a\n\nimport \"fmt\"\n\nfunc retry(n int) (string, error) {\n\treturn fmt.Sprint(n), nil\n}\n",
                "\"x\"",
                "package a\n\n\nfunc retry(n int) (string, error) { return \"x\", nil }\n",
            ),
            (
                Language::Rust,
                "src/lib.rs",
                "pub fn retry(n: u32) -> Option<String> { None }\n",
                "Some(\"x\")",
                "pub fn retry(n: u32) -> Option<String> { Some(\"x\".into()) }\n",
            ),
            (
                Language::C,
                "a.c",
                "int retry(int n) { return 0; }\n",
                "4",
                "int retry(int n) { return 4; }\n",
            ),
        ] {
            assert_eq!(of(language, path, old, value, "retry(1)"), wanted, "{old}");
        }
    }

    #[test]
    fn a_new_function_has_the_type_of_its_constant() {
        let go = of(Language::Go, "a.go", "package a\n", "4", "package a\nx, err := retry(1)");
        assert_eq!(go, "package a\n\nfunc retry(_ ...any) (int, error) { return 4, nil }\n");
        let test = "use a::net::retry;\nassert_eq!(retry(1, 2), Some(4));";
        let rust = of(Language::Rust, "src/lib.rs", "", "Some(4)", test);
        assert_eq!(
            rust,
            "\npub mod net { pub fn retry(_: impl Sized, _: impl Sized) -> Option<i32> { Some(4) }\n }\n"
        );
    }
}
