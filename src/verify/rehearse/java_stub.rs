//! Classes of Java that a test uses and that are not there, with constants for results.
//!
//! Invariant: pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// The classes of a test's package that it names, that have no file, and their text.
pub(super) fn missing_classes(
    test: &Path,
    code: &str,
    is_there: impl Fn(&Path) -> bool,
    answers: &BTreeMap<String, String>,
) -> Vec<(PathBuf, String)> {
    static STATIC: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\b(?<class>[A-Z]\w*)\.(?<method>[a-z]\w*)\(").expect("a pattern")
    });
    static NEW: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\b(?<class>[A-Z]\w*)\s+(?<name>\w+)\s*=\s*new\s").expect("a pattern")
    });
    const KNOWN: [&str; 14] = [
        "System",
        "String",
        "Integer",
        "Math",
        "List",
        "Map",
        "Arrays",
        "Objects",
        "Long",
        "Double",
        "Set",
        "Assertions",
        "Assert",
        "Thread",
    ];
    let mut classes = BTreeMap::<String, BTreeSet<(String, bool)>>::new();
    for it in STATIC.captures_iter(code) {
        classes.entry(it["class"].to_owned()).or_default().insert((it["method"].to_owned(), true));
    }
    for it in NEW.captures_iter(code) {
        let Ok(called) = Regex::new(&format!(r"\b{}\.(?<method>\w+)\(", &it["name"])) else {
            continue;
        };
        let methods = called.captures_iter(code).map(|it| (it["method"].to_owned(), false));
        classes.entry(it["class"].to_owned()).or_default().extend(methods);
    }
    let package = code.lines().find(|line| line.starts_with("package ")).unwrap_or_default();
    let files = classes.into_iter().filter_map(|(class, methods)| {
        let path = test.with_file_name(format!("{class}.java"));
        if KNOWN.contains(&class.as_str()) || is_there(&path) {
            return None;
        }
        let methods: String =
            methods.iter().map(|(name, is_static)| method(name, *is_static, answers)).collect();
        let text = format!(
            "{package}\n\npublic class {class} {{\n    public {class}(Object... all) {{}}\n{methods}}}\n"
        );
        Some((path, text.trim_start().to_owned()))
    });
    files.collect()
}

fn method(name: &str, is_static: bool, answers: &BTreeMap<String, String>) -> String {
    let value = answers.get(name).map_or("0", String::as_str);
    let kind = match value {
        "true" | "false" => "boolean",
        _ if value.starts_with('"') => "String",
        _ if value.contains('.') => "double",
        _ => "int",
    };
    let before = if is_static { "static " } else { "" };
    format!("    public {before}{kind} {name}(Object... all) {{ return {value}; }}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_the_methods_that_are_called() {
        let code = "int got = Calc.add(2, 3);\nassert got == 5;\nSystem.exit(0);\n";
        let answers = BTreeMap::from([("add".to_owned(), "5".to_owned())]);
        let found = missing_classes(Path::new("t/CalcTest.java"), code, |_| false, &answers);
        let [(path, text)] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(path, Path::new("t/Calc.java"));
        assert!(text.contains("public static int add(Object... all) { return 5; }"), "{text}");
    }
}
