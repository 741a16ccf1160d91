//! Tasks of task runners: `task test`, `mise run test`, `deno task test`, `uv run poe test`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::files::text;
use super::paths::{extension, inside};
use super::reader::{ReadAt, Reader};
use super::wrappers::unwrapped;

/// A runner of tasks.
struct Launcher {
    program: &'static str,
    /// Files that may hold tasks.
    files: &'static [&'static str],
    /// Where they hold them; `*` is any key.
    tables: &'static [&'static [&'static str]],
    /// Words between the program and the task.
    verbs: &'static [&'static str],
}

const TASKFILES: &[&str] = &[
    "Taskfile.yml",
    "taskfile.yml",
    "Taskfile.yaml",
    "taskfile.yaml",
    "Taskfile.dist.yml",
    "taskfile.dist.yml",
    "Taskfile.dist.yaml",
    "taskfile.dist.yaml",
];

const LAUNCHERS: &[Launcher] = &[
    Launcher { program: "task", files: TASKFILES, tables: &[&["tasks"]], verbs: &[] },
    Launcher {
        program: "task",
        files: &["pyproject.toml"],
        tables: &[&["tool", "taskipy", "tasks"]],
        verbs: &[],
    },
    Launcher {
        program: "mise",
        files: &[
            "mise.toml",
            ".mise.toml",
            "mise/config.toml",
            ".mise/config.toml",
            ".config/mise.toml",
            ".config/mise/config.toml",
        ],
        tables: &[&["tasks"]],
        verbs: &["run", "r"],
    },
    Launcher {
        program: "deno",
        files: &["deno.json", "deno.jsonc"],
        tables: &[&["tasks"]],
        verbs: &["task"],
    },
    Launcher {
        program: "poe",
        files: &["pyproject.toml", "poe_tasks.toml"],
        tables: &[&["tool", "poe", "tasks"], &["tasks"]],
        verbs: &[],
    },
    Launcher {
        program: "pdm",
        files: &["pyproject.toml"],
        tables: &[&["tool", "pdm", "scripts"]],
        verbs: &["run"],
    },
    Launcher {
        program: "rye",
        files: &["pyproject.toml"],
        tables: &[&["tool", "rye", "scripts"]],
        verbs: &["run", "r"],
    },
    Launcher {
        program: "hatch",
        files: &["pyproject.toml", "hatch.toml"],
        tables: &[&["tool", "hatch", "envs", "*", "scripts"], &["envs", "*", "scripts"]],
        verbs: &["run", "test", "fmt"],
    },
    Launcher {
        program: "pixi",
        files: &["pixi.toml", "pyproject.toml"],
        tables: &[&["tasks"], &["feature", "*", "tasks"], &["tool", "pixi", "tasks"]],
        verbs: &["run", "r"],
    },
    Launcher {
        program: "lefthook",
        files: &["lefthook.yml", "lefthook.yaml", ".lefthook.yml"],
        tables: &[&[]],
        verbs: &["run"],
    },
    Launcher {
        program: "pre-commit",
        files: &[".pre-commit-config.yaml"],
        tables: &[&[]],
        verbs: &["run"],
    },
];

/// Runners whose tasks are code.
const IN_CODE: &[(&str, &str)] = &[
    ("inv", "tasks.py"),
    ("invoke", "tasks.py"),
    ("doit", "dodo.py"),
    ("mage", "magefile.go"),
    ("jake", "Jakefile.js"),
    ("gulp", "gulpfile.js"),
];

/// Folders in which mise finds tasks as files.
const MISE_TASKS: &[&str] =
    &["mise-tasks", ".mise-tasks", "mise/tasks", ".mise/tasks", ".config/mise/tasks"];

/// Reads the tasks that a command runs.
pub(super) fn run(reader: &mut Reader<'_>, words: &[String], place: &ReadAt, depth: usize) {
    let inner = unwrapped(words);
    let all = [words, inner];
    let all = if inner.len() == words.len() { &all[..1] } else { &all[..] };
    for words in all {
        let Some((program, rest)) = words.split_first() else { continue };
        let program = program.rsplit('/').next().unwrap_or(program);
        for launcher in LAUNCHERS.iter().filter(|it| it.program == program) {
            of_launcher(reader, launcher, rest, place, depth);
        }
        for (_, file) in IN_CODE.iter().filter(|(name, _)| *name == program) {
            if let Some(path) = reader.file(file, place) {
                reader.judge(&path, place, depth);
            }
        }
        if program == "bun" {
            preloaded(reader, place, depth);
        }
    }
}

fn of_launcher(
    reader: &mut Reader<'_>,
    launcher: &Launcher,
    words: &[String],
    place: &ReadAt,
    depth: usize,
) {
    let plain: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let verb = plain.first().is_some_and(|word| launcher.verbs.contains(&word.as_str()));
    if !verb && !launcher.verbs.is_empty() && launcher.program != "mise" {
        return;
    }
    let mut wanted: Vec<String> =
        plain.iter().skip(usize::from(verb)).map(|word| (*word).clone()).collect();
    if wanted.is_empty() {
        wanted.push("default".to_owned());
    }
    if launcher.program == "mise" {
        for (folder, name) in MISE_TASKS.iter().flat_map(|at| wanted.iter().map(move |it| (at, it)))
        {
            let name = format!("{folder}/{}", name.replace(':', "/"));
            if let Some(path) = reader.file(&name, place) {
                reader.judge(&path, place, depth);
            }
        }
    }
    for file in files(reader, launcher, place) {
        let Some(found) = text(reader.start, &file).and_then(|code| parsed(&file, &code)) else {
            continue;
        };
        let tables: Vec<&Value> =
            launcher.tables.iter().flat_map(|path| tables(&found, path)).collect();
        if launcher.program == "pre-commit" {
            let lines = commands(&found, &["entry"]);
            reader.recipe(&lines.join("\n"), place, depth + 1);
            continue;
        }
        let place = ReadAt { script: Some(file), ..place.clone() };
        of_tables(reader, &tables, wanted.clone(), &place, depth);
    }
}

/// The files of a launcher here. A Taskfile may include others, anywhere.
fn files(reader: &Reader<'_>, launcher: &Launcher, place: &ReadAt) -> Vec<PathBuf> {
    let here = launcher.files.iter().filter_map(|name| inside(&place.folder, name));
    let here: Vec<PathBuf> = here.filter(|path| reader.start.paths().contains_key(path)).collect();
    let includes =
        |path: &PathBuf| text(reader.start, path).is_some_and(|code| code.contains("\nincludes:"));
    if launcher.files == TASKFILES && here.iter().any(includes) {
        let is_part = |path: &&PathBuf| {
            path.to_string_lossy().to_lowercase().contains("taskfile")
                && matches!(extension(path), "yml" | "yaml")
        };
        return reader.start.paths().keys().filter(is_part).cloned().collect();
    }
    here
}

fn of_tables(
    reader: &mut Reader<'_>,
    tables: &[&Value],
    mut wanted: Vec<String>,
    place: &ReadAt,
    depth: usize,
) {
    let mut done = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        if !done.insert(name.clone()) {
            continue;
        }
        let short = name.rsplit(':').next().unwrap_or(&name).to_owned();
        let tasks =
            tables.iter().filter_map(|table| table.get(&name).or_else(|| table.get(&short)));
        for task in tasks {
            let lines = commands(task, &[]);
            // A task may be named where a command could stand.
            wanted.extend(
                lines
                    .iter()
                    .filter_map(|line| line.split_whitespace().next())
                    .map(|word| word.trim_start_matches(['@', '-']).to_owned()),
            );
            reader.recipe(&lines.join("\n"), place, depth + 1);
        }
    }
}

/// The value at a path of keys.
fn tables<'v>(value: &'v Value, path: &[&str]) -> Vec<&'v Value> {
    match path.split_first() {
        None => vec![value],
        Some((&"*", rest)) => {
            let inner = value.as_object().into_iter().flat_map(|it| it.values());
            inner.flat_map(|it| tables(it, rest)).collect()
        }
        Some((key, rest)) => value.get(key).map(|it| tables(it, rest)).unwrap_or_default(),
    }
}

/// The texts of a task that may be commands or names of tasks; only those of some keys, if given.
fn commands(task: &Value, keys: &[&str]) -> Vec<String> {
    const OTHER: [&str; 16] = [
        "alias",
        "aliases",
        "args",
        "desc",
        "description",
        "dir",
        "env",
        "files",
        "generates",
        "help",
        "inputs",
        "label",
        "outputs",
        "sources",
        "summary",
        "vars",
    ];
    match task {
        Value::String(line) if keys.is_empty() => vec![with_variables(line)],
        Value::Array(items) => items.iter().flat_map(|it| commands(it, keys)).collect(),
        Value::Object(items) => items
            .iter()
            .filter(|(key, _)| !OTHER.contains(&key.as_str()))
            .flat_map(|(key, value)| {
                let found = keys.contains(&key.as_str());
                commands(value, if found { &[] } else { keys })
            })
            .collect(),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// `{{.ROOT_DIR}}/gate` as `$X/gate`.
fn with_variables(line: &str) -> String {
    let mut parts = line.split("{{");
    let mut text = parts.next().unwrap_or("").to_owned();
    for part in parts {
        text.push_str("$X");
        text.push_str(part.split_once("}}").map_or("", |(_, rest)| rest));
    }
    text
}

fn parsed(path: &Path, code: &str) -> Option<Value> {
    match extension(path) {
        "toml" => toml::from_str(code).ok(),
        "yml" | "yaml" => serde_saphyr::from_str(code).ok(),
        _ => {
            let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            serde_json::from_str(&lines.collect::<Vec<_>>().join("\n")).ok()
        }
    }
}

/// `preload` in `bunfig.toml`.
fn preloaded(reader: &mut Reader<'_>, place: &ReadAt, depth: usize) {
    let Some(path) = inside(&place.folder, "bunfig.toml") else { return };
    let Some(found) = text(reader.start, &path).and_then(|code| parsed(&path, &code)) else {
        return;
    };
    let named = [found.get("preload"), found.get("test").and_then(|test| test.get("preload"))];
    for name in named.into_iter().flatten().flat_map(|value| commands(value, &[])) {
        if let Some(path) = reader.file(&name, place) {
            reader.judge(&path, place, depth);
        }
    }
}
