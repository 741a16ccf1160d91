//! Manifests: the parts that say how things run are put back, and the rest is kept.
//!
//! What was there at the start comes back if it changed or went. What is new stays, so that the work
//! may add dependencies, entry points, targets, and sources.

use std::path::Path;

use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::Value;
use toml_edit::{DocumentMut, Item, Table};

use super::makefile::{self, Chunk, LineKind};
use super::paths::{extension, file_name};
use crate::shell::lists;

/// Tables of TOML that say how things run. `*` is every member of the start.
const TOML_PARTS: [&[&str]; 9] = [
    &["lints"],
    &["workspace", "lints"],
    &["profile", "*"],
    &["patch", "*"],
    &["test", "*"],
    &["bench", "*"],
    &["lib", "test"],
    &["lib", "doctest"],
    &["lib", "harness"],
];

/// Tools of `pyproject.toml` that build a package. Every other table below `tool` configures one
/// that tests or lints.
const BUILDERS: &str = "
    flit hatch maturin meson-python pdm poetry scikit-build setuptools setuptools_scm
    setuptools-scm towncrier uv
";

/// Members of `package.json` and `composer.json` that say how things run.
const JSON_PARTS: &str = "
    ava babel c8 cypress eslintConfig eslintIgnore jest lint-staged mocha nyc overrides
    playwright prettier resolutions scripts standard tap vitest xo
";

/// Targets and variables of makefiles that change how every recipe runs.
const SPECIAL: [&str; 6] = [".IGNORE", ".SILENT", ".ONESHELL", "SHELL", "MAKEFLAGS", ".SHELLFLAGS"];

/// The current text with the start's parts; nothing if they are the same. A text that cannot be read
/// is put back whole.
pub(super) fn put_back(path: &Path, start: &str, now: &str) -> Option<String> {
    let merged = match (file_name(path), extension(path)) {
        (_, "json") => json(start, now),
        (_, "toml") => tables(start, now),
        (_, "cfg" | "ini") => Some(sections(start, now)),
        _ => Some(make(start, now)),
    };
    match merged {
        Some(text) => (text != now).then_some(text),
        None => Some(start.to_owned()),
    }
}

fn json(start: &str, now: &str) -> Option<String> {
    let options = jsonc_parser::ParseOptions::default();
    let old: Value = jsonc_parser::parse_to_serde_value::<Value>(start, &options).ok()?;
    let new: Value = jsonc_parser::parse_to_serde_value(now, &options).ok()?;
    let root = CstRootNode::parse(now, &options).ok()?;
    let object = root.object_value()?;
    let (old, new) = (old.as_object()?, new.as_object()?);
    let is_part = |key: &&String| lists(JSON_PARTS, key);
    let mut changed = false;
    for key in old.keys().filter(is_part) {
        let (was, is) = (&old[key], new.get(key));
        match (was.as_object(), is.and_then(Value::as_object)) {
            // A new script stays.
            (Some(was), Some(is)) => {
                for (name, value) in was.iter().filter(|(name, value)| is.get(*name) != Some(value))
                {
                    set(&object.object_value(key)?, name, value);
                    changed = true;
                }
            }
            _ if is != Some(was) => {
                set(&object, key, was);
                changed = true;
            }
            _ => {}
        }
    }
    // New configuration of a runner, such as `jest`, does not stay.
    let is_new = |key: &&String| !old.contains_key(*key) && *key != "scripts" && is_part(key);
    for key in new.keys().filter(is_new).filter(|key| new[*key].is_object() || new[*key].is_array())
    {
        object.get(key)?.remove();
        changed = true;
    }
    Some(if changed { root.to_string() } else { now.to_owned() })
}

fn set(object: &CstObject, key: &str, value: &Value) {
    match object.get(key) {
        Some(member) => member.set_value(input(value)),
        None => drop(object.append(key, input(value))),
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(it) => CstInputValue::Bool(*it),
        Value::Number(it) => CstInputValue::Number(it.to_string()),
        Value::String(it) => CstInputValue::String(it.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(items) => {
            CstInputValue::Object(items.iter().map(|(key, it)| (key.clone(), input(it))).collect())
        }
    }
}

fn tables(start: &str, now: &str) -> Option<String> {
    let old: DocumentMut = start.parse().ok()?;
    let mut new: DocumentMut = now.parse().ok()?;
    let mut paths: Vec<Vec<String>> = Vec::new();
    for part in TOML_PARTS {
        let path: Vec<String> = part.iter().map(|&it| it.to_owned()).collect();
        match part.split_last() {
            Some((&"*", above)) => {
                let above: Vec<String> = above.iter().map(|&it| it.to_owned()).collect();
                let known = item(old.as_item(), &above);
                match known.and_then(Item::as_table_like) {
                    Some(table) => paths.extend(
                        table.iter().map(|(key, _)| [&above[..], &[key.to_owned()]].concat()),
                    ),
                    None if known.is_some() => paths.push(above),
                    None => {}
                }
            }
            Some(_) | None => paths.push(path),
        }
    }
    let tools = |document: &DocumentMut| -> Vec<String> {
        let table = item(document.as_item(), &["tool".to_owned()]);
        let table = table.and_then(Item::as_table_like);
        table.into_iter().flat_map(|it| it.iter().map(|(key, _)| key.to_owned())).collect()
    };
    let all = tools(&old).into_iter().chain(tools(&new));
    let tools = all.filter(|name| !lists(BUILDERS, name));
    paths.extend(tools.map(|name| vec!["tool".to_owned(), name]));
    let (was, is): (toml::Value, toml::Value) =
        (toml::from_str(start).ok()?, toml::from_str(now).ok()?);
    let mut changed = false;
    for path in paths {
        if value(&was, &path) != value(&is, &path) {
            changed = true;
            let part = item(old.as_item(), &path).cloned();
            restore(&mut new, &path, part);
        }
    }
    Some(if changed { new.to_string() } else { now.to_owned() })
}

fn item<'i>(root: &'i Item, path: &[String]) -> Option<&'i Item> {
    path.iter().try_fold(root, |item, key| item.as_table_like()?.get(key))
}

fn value<'v>(root: &'v toml::Value, path: &[String]) -> Option<&'v toml::Value> {
    path.iter().try_fold(root, |value, key| value.get(key))
}

fn restore(document: &mut DocumentMut, path: &[String], was: Option<Item>) {
    let Some((key, above)) = path.split_last() else { return };
    let mut at = document.as_item_mut();
    for part in above {
        let Some(table) = at.as_table_like_mut() else { return };
        if table.get(part).is_none() {
            let mut fresh = Table::new();
            fresh.set_implicit(true);
            table.insert(part, Item::Table(fresh));
        }
        let Some(next) = table.get_mut(part) else { return };
        at = next;
    }
    let Some(table) = at.as_table_like_mut() else { return };
    match was {
        Some(was) => drop(table.insert(key, was)),
        None => drop(table.remove(key)),
    }
}

/// Sections of `setup.cfg` and `tox.ini`; those that describe the package are the product's.
fn sections(start: &str, now: &str) -> String {
    let parts = |text: &str| {
        let mut found: Vec<(String, String)> = vec![(String::new(), String::new())];
        for line in text.split_inclusive('\n') {
            if line.starts_with('[') {
                found.push((line.trim().to_owned(), String::new()));
            }
            if let Some((_, body)) = found.last_mut() {
                body.push_str(line);
            }
        }
        found
    };
    let describes = |name: &str| {
        ["[metadata", "[options", "[bdist", "[build"].iter().any(|it| name.starts_with(it))
    };
    let (old, new) = (parts(start), parts(now));
    let mut text = String::new();
    for (name, body) in &new {
        match old.iter().find(|(known, _)| known == name) {
            _ if describes(name) => text.push_str(body),
            Some((_, was)) => text.push_str(was),
            None => {}
        }
    }
    let gone = old.iter().filter(|(name, _)| !new.iter().any(|(it, _)| it == name));
    text.extend(gone.map(|(_, body)| body.as_str()));
    text
}

/// Recipes of targets of the start, and variables that lost a word.
fn make(start: &str, now: &str) -> String {
    let (old, new) = (makefile::parse(start), makefile::parse(now));
    let rule = |chunk: &Chunk| match &chunk.kind {
        LineKind::Rule { targets, recipe, .. } => Some((targets.clone(), recipe.clone())),
        LineKind::Variable { .. } | LineKind::Blank | LineKind::Other => None,
    };
    let variable = |chunk: &Chunk| match &chunk.kind {
        LineKind::Variable { name, value } => Some((name.clone(), value.clone())),
        LineKind::Rule { .. } | LineKind::Blank | LineKind::Other => None,
    };
    let known_rules: Vec<_> = old.iter().filter_map(|it| Some((rule(it)?, it))).collect();
    let known_variables: Vec<_> = old.iter().filter_map(|it| Some((variable(it)?, it))).collect();
    let mut changed = false;
    let mut text = String::new();
    let mut add = |chunk: &str| {
        text.push_str(chunk);
        text.push('\n');
    };
    for chunk in &new {
        if old.iter().any(|was| was.text == chunk.text) {
            add(&chunk.text);
            continue;
        }
        if SPECIAL.iter().any(|name| chunk.text.trim_start().starts_with(name)) {
            changed = true;
            continue;
        }
        if let Some((targets, recipe)) = rule(chunk) {
            let was = known_rules.iter().find(|((names, body), _)| {
                names.iter().any(|name| targets.contains(name)) && !body.is_empty()
            });
            if let Some(((_, body), was)) = was
                && *body != recipe
                && !only_adds_flags(body, &recipe)
            {
                changed = true;
                // New things that it needs may be built first.
                let head = chunk.text.lines().next().unwrap_or_default();
                let recipe: Vec<&str> = was.text.lines().skip(1).collect();
                match recipe.is_empty() {
                    true => add(&was.text),
                    false => add(&format!("{head}\n{}", recipe.join("\n"))),
                }
                continue;
            }
        }
        if let Some((name, value)) = variable(chunk) {
            let words = makefile::words(&value);
            let was = known_variables.iter().filter(|((known, _), _)| *known == name);
            let lost = was.clone().find(|((_, value), was)| {
                !new.iter().any(|it| it.text == was.text)
                    && makefile::words(value).iter().any(|word| !words.contains(word))
            });
            if let Some((_, was)) = lost {
                changed = true;
                add(&was.text);
                continue;
            }
        }
        add(&chunk.text);
    }
    for ((targets, _), was) in &known_rules {
        let is_there = |chunk: &Chunk| {
            rule(chunk).is_some_and(|(names, _)| names.iter().any(|name| targets.contains(name)))
        };
        if !new.iter().any(is_there) {
            changed = true;
            add(&was.text);
        }
    }
    if changed { text } else { now.to_owned() }
}

/// Does a recipe only build from more: `$(LDLIBS)`, `-lm`, `b.o`?
fn only_adds_flags(old: &str, new: &str) -> bool {
    let is_flag = |word: &str| {
        let ends = [".o", ".c", ".cc", ".cpp", ".a", ".h"];
        word.starts_with("$(") || word.starts_with("-l") || ends.iter().any(|it| word.ends_with(it))
    };
    let adds = |(old, new): (&str, &str)| {
        let builds = old.contains("$@") || old.contains(" -o ");
        let mut known = old.split_whitespace().peekable();
        let mut rest = new.split_whitespace();
        let fits = rest.all(|word| known.next_if_eq(&word).is_some() || builds && is_flag(word));
        fits && known.peek().is_none()
    };
    old.lines().count() == new.lines().count() && old.lines().zip(new.lines()).all(adds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(path: &str, start: &str, now: &str) -> Option<String> {
        put_back(Path::new(path), start, now)
    }

    #[test]
    fn scripts_of_the_start_come_back_and_dependencies_stay() {
        let start = r#"{"name": "a", "scripts": {"test": "node --test"}, "c8": {"lines": 90}}"#;
        let now = r#"{"name": "b", "scripts": {"test": "true", "more": "x"}, "c8": {"lines": 9},
            "dependencies": {"x": "1"}, "jest": {"bail": 1}}"#;
        let text = back("package.json", start, now).expect("changed");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["scripts"], serde_json::json!({"test": "node --test", "more": "x"}));
        assert_eq!(value["c8"], serde_json::json!({"lines": 90}));
        assert_eq!((&value["name"], &value["jest"]), (&"b".into(), &Value::Null));
        assert_eq!(value["dependencies"]["x"], "1");
        assert_eq!(back("package.json", start, &start.replace("\"a\"", "\"b\"")), None);
        assert_eq!(back("package.json", start, "{").as_deref(), Some(start));
    }

    #[test]
    fn tools_of_pyproject_come_back() {
        let start = "[project]\nname = \"a\"\n\n[tool.coverage.report]\nfail_under = 90\n";
        let now = "[project]\nname = \"a\"\ndependencies = [\"x\"]\n\n[tool.coverage.report]\n\
                   fail_under = 1\n\n[tool.pytest.ini_options]\naddopts = \"-k none\"\n";
        let text = back("pyproject.toml", start, now).expect("changed");
        assert!(text.contains("fail_under = 90") && text.contains("dependencies"), "{text}");
        assert!(!text.contains("addopts"), "{text}");
        let now = start.replace("name = \"a\"", "name = \"b\"");
        assert_eq!(back("pyproject.toml", start, &now), None);
        let now = start.replace("90", "91");
        assert_eq!(back("Cargo.toml", start, &now), Some(start.to_owned()));
    }

    #[test]
    fn recipes_and_values_of_makefiles_come_back_and_new_sources_stay() {
        let start = "OBJS = a.o\nFLAGS = -Wall -Werror\n\ncheck: $(OBJS)\n\tsh test.sh\n";
        let now = "OBJS = a.o b.o\nFLAGS = -Wall\n\ncheck: $(OBJS) b.o\n\ttrue\n\nb.o: b.c\n\tcc -c b.c\n";
        let text = back("Makefile", start, now).expect("changed");
        assert_eq!(
            text,
            "OBJS = a.o b.o\nFLAGS = -Wall -Werror\n\ncheck: $(OBJS) b.o\n\tsh test.sh\n\n\
             b.o: b.c\n\tcc -c b.c\n"
        );
        assert_eq!(back("Makefile", start, &format!("{start}\nx:\n\ttrue\n")), None);
        assert!(back("Makefile", start, &start.replace("test.sh", "test.sh -list")).is_some());
        let built = "a: a.o\n\tcc -o $@ a.o\n";
        assert_eq!(back("Makefile", built, &built.replace("a.o\n\t", "a.o b.o\n\t")), None);
        assert_eq!(back("Makefile", built, &built.replace("$@ a.o", "$@ a.o b.o $(LIBS)")), None);
        assert!(back("Makefile", start, &start.replace("test.sh", "test.sh || true")).is_some());
        assert!(back("Makefile", start, &format!("{start}\n.IGNORE:\n")).is_some());
        assert_eq!(
            back("Makefile", start, "OBJS = a.o\nFLAGS = -Wall -Werror\n")
                .map(|it| { it.contains("sh test.sh") }),
            Some(true)
        );
    }

    #[test]
    fn sections_that_configure_tools_come_back() {
        let start = "[metadata]\nname = a\n[tool:pytest]\naddopts = -q\n";
        let now = "[metadata]\nname = b\n[tool:pytest]\naddopts = -k x\n[flake8]\nignore = E\n";
        assert_eq!(
            back("setup.cfg", start, now).as_deref(),
            Some("[metadata]\nname = b\n[tool:pytest]\naddopts = -q\n")
        );
    }
}
