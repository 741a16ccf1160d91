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
        _ => make(start, now),
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

/// The makefile, if it only adds to that of the start: words of variables, things that a target
/// needs or is built from, and targets and variables of other names.
fn make(start: &str, now: &str) -> Option<String> {
    let (old, new) = (makefile::parse(start), makefile::parse(now));
    let has_all = |old: &[String], new: &[String]| old.iter().all(|word| new.contains(word));
    let grew = |was: &Chunk, is: &Chunk| match (&was.kind, &is.kind) {
        (
            LineKind::Rule { targets, needs, recipe },
            LineKind::Rule { targets: own, needs: more, recipe: other },
        ) => targets == own && has_all(needs, more) && only_adds_flags(recipe, other),
        (LineKind::Variable { name, value }, LineKind::Variable { name: own, value: more }) => {
            name == own && has_all(&makefile::words(value), &makefile::words(more))
        }
        _ => was.text == is.text,
    };
    let names = |chunk: &Chunk| match &chunk.kind {
        LineKind::Rule { targets, recipe, .. } if !recipe.is_empty() => targets.clone(),
        LineKind::Variable { name, .. } => vec![name.clone()],
        LineKind::Rule { .. } | LineKind::Other(_) => Vec::new(),
    };
    let known: Vec<String> = old.iter().flat_map(names).collect();
    let is_other = |it: &Chunk| {
        let is_special = SPECIAL.iter().any(|name| it.text.trim_start().starts_with(name));
        !is_special && !names(it).iter().any(|name| known.contains(name))
    };
    let is_kept = |was: &Chunk| new.iter().any(|is| grew(was, is));
    let is_right = |is: &Chunk| is_other(is) || old.iter().any(|was| grew(was, is));
    (old.iter().all(is_kept) && new.iter().all(is_right)).then(|| now.to_owned())
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
    fn a_makefile_may_only_add_to_that_of_the_start() {
        let start = "OBJS = a.o\nFLAGS = -Wall -Werror\n\ncheck: $(OBJS)\n\tsh test.sh\n";
        let built = "a: a.o\n\tcc -o $@ a.o\n";
        for (start, now) in [
            (start, format!("{start}\nx: y\n\ttrue\nNEW = 1\n.PHONY: check\n")),
            (start, start.replace("= a.o", "= a.o b.o").replace("(OBJS)\n", "(OBJS) b.o\n")),
            (built, built.replace("a.o\n\t", "a.o b.o\n\t")),
            (built, built.replace("$@ a.o", "$@ a.o b.o $(LIBS)")),
        ] {
            assert_eq!(back("Makefile", start, &now), None, "{now}");
        }
        for now in [
            start.replace(" -Werror", ""),
            start.replace("sh test.sh", "true"),
            start.replace("test.sh", "test.sh -list"),
            start.replace("test.sh", "test.sh || true"),
            start.replace("check: $(OBJS)\n\tsh test.sh\n", ""),
            format!("{start}\ncheck:\n\ttrue\n"),
            format!("{start}\nOBJS =\n"),
            format!("{start}\n.IGNORE:\n"),
        ] {
            assert_eq!(back("Makefile", start, &now).as_deref(), Some(start), "{now}");
        }
    }
}
