//! `setup.cfg` and `tox.ini`: the sections of tools that test and check are the start's.

use super::manifests::{Manifests, Merged};
use super::parts::{Fate, Part, merged, squeezed};

/// First words of the sections of tools.
const TOOLS: [&str; 19] = [
    "aliases",
    "bandit",
    "behave",
    "coverage",
    "doc8",
    "flake8",
    "green",
    "isort",
    "mypy",
    "nosetests",
    "pep8",
    "pycodestyle",
    "pydocstyle",
    "pylint",
    "pytest",
    "testenv",
    "tool",
    "tox",
    "unittest",
];

/// Puts back the sections of tools.
pub(super) fn put_back(_: &Manifests<'_>, start: Option<&str>, now: &str) -> Merged {
    match merged(&sections(start.unwrap_or_default()), sections(now)) {
        Merged::Text(text) if start.is_none() && text.trim().is_empty() => Merged::Gone,
        other => other,
    }
}

fn sections(code: &str) -> Vec<Part> {
    let mut texts: Vec<String> = vec![String::new()];
    for line in code.split_inclusive('\n') {
        if line.starts_with('[') {
            texts.push(String::new());
        }
        if let Some(last) = texts.last_mut() {
            last.push_str(line);
        }
    }
    texts.iter().filter(|text| !text.is_empty()).map(|text| section(text)).collect()
}

fn section(text: &str) -> Part {
    let name = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let Some((name, _)) = name else { return Part::blank(text) };
    let first = name.split([':', '-', '.', ' ', '_']).next().unwrap_or(name);
    // An entry point of pytest is a plugin that it loads unasked.
    let plugin = squeezed(text).contains("pytest11=");
    let fate = if TOOLS.contains(&first) || plugin { Fate::Fixed } else { Fate::Free };
    Part::new(text, name, fate)
}
