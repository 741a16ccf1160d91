//! Recipes of makefiles, scripts of `package.json`, and tasks of task runners, as lines of shell.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::files::{SourceTree, text};
use super::makefile;
use super::paths::{extension, inside};
use crate::shell::name_of;

/// The files in which task runners look for tasks.
const TASKS: [(&str, &[&str]); 9] = [
    (
        "task",
        &["Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "Taskfile.dist.yml", "pyproject.toml"],
    ),
    ("mise", &["mise.toml", ".mise.toml", ".config/mise.toml"]),
    ("deno", &["deno.json", "deno.jsonc"]),
    ("poe", &["pyproject.toml", "poe_tasks.toml"]),
    ("pdm", &["pyproject.toml"]),
    ("rye", &["pyproject.toml"]),
    ("hatch", &["pyproject.toml", "hatch.toml"]),
    ("pixi", &["pixi.toml", "pyproject.toml"]),
    ("composer", &["composer.json"]),
];

/// The lines that words run by name, and the folder in which they run.
pub(super) fn of(tree: &dyn SourceTree, words: &[String], folder: &Path) -> Vec<(String, PathBuf)> {
    let Some((first, rest)) = words.split_first() else { return Vec::new() };
    let name = name_of(first);
    let folder = elsewhere(rest, folder);
    let operands: Vec<&str> = operands(rest);
    let lines = match name {
        "make" | "gmake" | "bmake" | "remake" => of_make(tree, rest, &operands, &folder).0,
        "npm" | "pnpm" | "yarn" | "bun" => of_package(tree, &operands, &folder),
        "node" if rest.first().is_some_and(|it| it == "--run") => {
            of_package(tree, &operands, &folder)
        }
        "just" => of_just(tree, &operands, &folder),
        _ => {
            let known = TASKS.iter().find(|(program, _)| *program == name);
            let files = known.map_or(&[][..], |(_, files)| files);
            let files = files.iter().filter_map(|file| inside(&folder, file));
            files
                .filter_map(|path| parsed(&path, &text(tree, &path)?))
                .flat_map(|value| {
                    operands.iter().flat_map(|name| tasks(&value, name)).collect::<Vec<_>>()
                })
                .collect()
        }
    };
    lines.into_iter().map(|line| (line, folder.clone())).collect()
}

/// The folder that an option names.
fn elsewhere(words: &[String], folder: &Path) -> PathBuf {
    let at =
        words.iter().position(|it| matches!(it.as_str(), "-C" | "--prefix" | "--cwd" | "--dir"));
    let named = at.and_then(|at| words.get(at + 1)).map(String::as_str);
    let glued = || words.iter().find_map(|word| word.strip_prefix("--prefix="));
    let found = named.or_else(glued).and_then(|name| inside(folder, name));
    found.unwrap_or_else(|| folder.to_owned())
}

fn operands(words: &[String]) -> Vec<&str> {
    let mut found = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-C" | "-f" | "--prefix" | "--cwd" | "--dir" | "-j" => drop(words.next()),
            _ if word.starts_with('-') || word.contains('=') => {}
            _ => found.push(word.as_str()),
        }
    }
    found
}

fn of_make(
    tree: &dyn SourceTree,
    words: &[String],
    targets: &[&str],
    folder: &Path,
) -> (Vec<String>, Vec<String>) {
    let file = words.iter().position(|word| word == "-f").and_then(|at| words.get(at + 1));
    let names = ["GNUmakefile", "makefile", "Makefile"];
    let names = file.map(String::as_str).into_iter().chain(names);
    let mut code = names.filter_map(|name| text(tree, &inside(folder, name)?));
    let Some(code) = code.next() else { return (Vec::new(), Vec::new()) };
    let mut chunks = makefile::parse(&code);
    for name in makefile::includes(&chunks) {
        let part = inside(folder, &name).and_then(|path| text(tree, &path));
        chunks.extend(part.iter().flat_map(|code| makefile::parse(code)));
    }
    let mut wanted: Vec<String> = targets.iter().map(|&it| it.to_owned()).collect();
    if wanted.is_empty() {
        wanted.extend(makefile::first_target(&chunks));
    }
    let (mut lines, mut done) = (Vec::new(), Vec::new());
    while let Some(target) = wanted.pop() {
        if done.contains(&target) {
            continue;
        }
        let (recipe, needs) = makefile::recipe(&chunks, &target);
        wanted.extend(needs);
        if !recipe.is_empty() {
            lines.push(recipe);
        }
        done.push(target);
    }
    (lines, done)
}

/// The files whose presence keeps the recipes of targets from running.
pub(super) fn targets(tree: &dyn SourceTree, words: &[String], folder: &Path) -> Vec<PathBuf> {
    let Some((first, rest)) = words.split_first() else { return Vec::new() };
    if !name_of(first).ends_with("make") {
        return Vec::new();
    }
    let folder = elsewhere(rest, folder);
    let (_, targets) = of_make(tree, rest, &operands(rest), &folder);
    let plain = targets.iter().filter(|name| !name.contains(['$', '%', '.']));
    plain.map(|name| folder.join(name)).collect()
}

/// `npm test`, `npm run check`, with the scripts that run before and after.
fn of_package(tree: &dyn SourceTree, operands: &[&str], folder: &Path) -> Vec<String> {
    let name = match operands {
        ["run" | "run-script", name, ..] | [name, ..] => *name,
        [] => return Vec::new(),
    };
    let name = if name == "t" || name == "tst" { "test" } else { name };
    let path = folder.join("package.json");
    let Some(value) = text(tree, &path).and_then(|code| parsed(&path, &code)) else {
        return Vec::new();
    };
    let script = |name: String| Some(value.get("scripts")?.get(name)?.as_str()?.to_owned());
    ["pre", "", "post"].iter().filter_map(|when| script(format!("{when}{name}"))).collect()
}

fn of_just(tree: &dyn SourceTree, operands: &[&str], folder: &Path) -> Vec<String> {
    let mut code = ["justfile", "Justfile", ".justfile"].iter();
    let Some(code) = code.find_map(|name| text(tree, &folder.join(name))) else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    let mut is_wanted = false;
    for line in code.lines() {
        if !line.starts_with([' ', '\t']) {
            let head = line.trim_start_matches('@').split([':', ' ']).next().unwrap_or_default();
            let first = operands.is_empty() && lines.is_empty() && line.contains(':');
            is_wanted = !head.is_empty() && (operands.contains(&head) || first);
        } else if is_wanted {
            lines.push(line.trim().trim_start_matches(['@', '-']).to_owned());
        }
    }
    vec![lines.join("\n")]
}

/// The texts below every key of a name: `tasks.check`, `scripts.check`.
fn tasks(value: &Value, name: &str) -> Vec<String> {
    let Value::Object(members) = value else { return Vec::new() };
    let of = |(key, value): (&String, &Value)| {
        if key == name { texts(value) } else { tasks(value, name) }
    };
    members.iter().flat_map(of).collect()
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(line) => vec![line.trim_start_matches('@').to_owned()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(items) => items.values().flat_map(texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// A file as a value; its comments are left out.
pub(super) fn parsed(path: &Path, code: &str) -> Option<Value> {
    match extension(path) {
        "toml" => toml::from_str(code).ok(),
        "yml" | "yaml" => serde_saphyr::from_str(code).ok(),
        _ => jsonc_parser::parse_to_serde_value(code, &jsonc_parser::ParseOptions::default()).ok(),
    }
}
