//! All effective parts of a tool's arguments: commands, paths, and addresses, wherever they are.
//! `tools` decides about them.

use serde_json::{Map, Value};

use super::patches::{self, PatchChange};

/// Everything in the arguments that can do something.
#[derive(Debug, Default)]
pub(super) struct ToolInput {
    pub(super) commands: Vec<String>,
    pub(super) paths: Vec<String>,
    pub(super) sources: Vec<String>,
    pub(super) urls: Vec<String>,
    pub(super) folder: Option<String>,
    pub(super) keystrokes: bool,
    /// Variables that a command is started with.
    pub(super) variables: Vec<(String, String)>,
    pub(super) writes: bool,
    /// Whether a file would be deleted.
    pub(super) deletes: bool,
    /// Whether all of the arguments is one patch, as text.
    pub(super) patch: bool,
    pub(super) malformed: bool,
    /// Files that a patch of the tools' own form deletes.
    pub(super) removed: Vec<String>,
    /// Files that a patch names beside the arguments, as written there.
    named: Vec<String>,
}

const COMMANDS: &[&str] = &[
    "command",
    "commands",
    "cmd",
    "script",
    "shellcommand",
    "commandline",
    "command_line",
    "argv",
    "fullcommandtext",
    "full_command",
    "shell_command",
];
const PATHS: &[&str] = &[
    "path",
    "paths",
    "file",
    "files",
    "file_path",
    "filepath",
    "filename",
    "file_name",
    "destination",
    "target",
    "target_file",
    "target_path",
    "directory",
    "dir",
    "folder",
    "to",
    "newpath",
    "new_path",
    "move_path",
    "notebook_path",
    "outputpath",
    "output_path",
    "inputpath",
    "input_path",
    "root",
    "absolute_path",
    "relative_path",
    "relative_workspace_path",
    "dest",
];
const SOURCES: &[&str] = &["source", "from", "oldpath", "old_path", "src"];
const URLS: &[&str] = &["url", "urls", "uri", "href", "endpoint"];
const FOLDERS: &[&str] =
    &["cwd", "workdir", "working_directory", "workingdirectory", "working_dir"];
const CONTENTS: &[&str] = &[
    "content",
    "contents",
    "file_text",
    "old_str",
    "new_str",
    "old_string",
    "new_string",
    "oldtext",
    "newtext",
    "diff",
    "patch",
    "insert_line",
    "insert_text",
    "new_text",
    "new_source",
    "oldstring",
    "newstring",
];

/// Contents as texts; as numbers, the lines around a finding.
const BESIDE: &[&str] = &["before", "after"];

/// Fields that hold a patch.
const PATCHES: &[&str] = &[
    "diff",
    "diffs",
    "input",
    "patch",
    "patches",
    "patch_text",
    "patchtext",
    "unified_diff",
    "unifieddiff",
];

/// Words under `command` that name what an editor does, and are no command.
const EDITOR: &[&str] = &["view", "create", "str_replace", "insert", "undo_edit"];

/// What the fields of a call do, whatever its tool is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldEffect {
    /// They name commands.
    Runs(Vec<String>),
    /// They name files and what becomes of them.
    Writes(Vec<String>),
    /// They name files alone.
    Names(Vec<String>),
    /// They name addresses.
    Fetches,
    /// They name nothing.
    Nothing,
}

/// Reads what a call does from its arguments alone.
pub fn field_effect(input: &Value) -> FieldEffect {
    let parsed: Option<Value> = input.as_str().and_then(|text| serde_json::from_str(text).ok());
    let mut seen = ToolInput::read(parsed.as_ref().unwrap_or(input));
    seen.paths.extend(seen.sources.drain(..).chain(seen.removed.drain(..)));
    let edits = seen.is_editor() && !seen.paths.is_empty();
    match (seen.commands.is_empty() || edits, seen.paths.is_empty(), seen.writes) {
        (false, _, _) => FieldEffect::Runs(seen.commands),
        (true, false, true) => FieldEffect::Writes(seen.paths),
        (true, false, false) => FieldEffect::Names(seen.paths),
        (true, true, _) if !seen.urls.is_empty() => FieldEffect::Fetches,
        (true, true, _) => FieldEffect::Nothing,
    }
}

/// How deep arguments are looked into.
const MOST_DEPTH: usize = 12;

impl ToolInput {
    pub(super) fn read(input: &Value) -> Self {
        let mut seen = Self::default();
        if let Some(text) = input.as_str() {
            seen.patch = true;
            seen.patch(text);
        }
        seen.value(input, 0);
        seen.also_named();
        seen.commands.dedup();
        seen
    }

    /// Is there a command, and is each one an editor's word?
    pub(super) fn is_editor(&self) -> bool {
        !self.commands.is_empty()
            && self.commands.iter().all(|command| EDITOR.contains(&command.as_str()))
    }

    fn value(&mut self, value: &Value, depth: usize) {
        if depth > MOST_DEPTH {
            self.malformed = true;
            return;
        }
        match value {
            Value::Object(fields) => {
                let has = |name: &str| fields.keys().any(|key| key.eq_ignore_ascii_case(name));
                self.keystrokes |= has("input")
                    && (has("shellId") || has("shell_id") || has("sessionId") || has("terminalId"));
                let starts = COMMANDS.iter().any(|name| has(name));
                self.keystrokes |= starts
                    && fields.iter().any(|(key, text)| {
                        key.trim().eq_ignore_ascii_case("stdin")
                            && text.as_str() != Some("")
                            && !text.is_null()
                    });
                for (key, field) in fields {
                    // Some tools name the files as keys: `{"changes": {"src/a.rs": …}}`.
                    if key.contains(['/', '\\']) {
                        self.paths.push(key.clone());
                    }
                    let key = key.trim().to_lowercase();
                    let key = key.as_str();
                    if matches!(key, "changes" | "files" | "edits")
                        && let Value::Object(named) = field
                    {
                        self.changes(named, depth + 1);
                    } else if starts && matches!(key, "env" | "environment" | "envs") {
                        self.started_with(field);
                    } else if COMMANDS.contains(&key) {
                        let args = fields.iter().find(|(name, args)| {
                            is_args(name) && !args.is_object() && !std::ptr::eq(*args, field)
                        });
                        self.command(field, args.map(|(_, args)| args));
                    } else if PATHS.contains(&key) || SOURCES.contains(&key) {
                        let mut found = Vec::new();
                        self.strings(field, &mut found, depth + 1);
                        if SOURCES.contains(&key) {
                            self.sources.extend(found)
                        } else {
                            self.paths.extend(found)
                        }
                    } else if URLS.contains(&key) {
                        let mut found = Vec::new();
                        self.strings(field, &mut found, depth + 1);
                        self.urls.extend(found);
                    } else if FOLDERS.contains(&key) {
                        match field.as_str() {
                            Some(folder) if self.folder.is_none() => {
                                self.folder = Some(folder.to_owned())
                            }
                            _ => self.malformed |= !field.is_null(),
                        }
                    } else if PATCHES.contains(&key)
                        && field.as_str().is_some_and(|text| text.contains(patches::BEGIN))
                    {
                        self.patch(field.as_str().unwrap_or_default());
                    } else if CONTENTS.contains(&key)
                        || PATCHES.contains(&key)
                        || BESIDE.contains(&key) && field.is_string()
                    {
                        self.writes |= !PATCHES.contains(&key) || CONTENTS.contains(&key);
                        if PATCHES.contains(&key) {
                            self.patched(field);
                        }
                    } else {
                        self.writes |= key == "edits";
                        self.value(field, depth + 1);
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.value(item, depth + 1)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Files as keys, each with its change.
    fn changes(&mut self, named: &Map<String, Value>, depth: usize) {
        self.writes = true;
        for (name, change) in named {
            if change["type"] == "delete" || change.get("delete").is_some() {
                self.removed.push(name.clone());
            } else {
                self.paths.push(name.clone());
                self.value(change, depth);
            }
        }
    }

    /// The files that a patch of any other form names: a tool may follow it instead of its
    /// arguments.
    fn patched(&mut self, field: &Value) {
        match field {
            Value::String(text) => {
                let named = patches::named(text);
                self.writes |= !named.files.is_empty();
                self.deletes |= named.deletes;
                self.named.extend(named.files);
            }
            Value::Array(items) => items.iter().for_each(|item| self.patched(item)),
            Value::Object(_) => self.value(field, 1),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Adds the files that a patch names, but for those that the arguments name, too.
    fn also_named(&mut self) {
        for named in std::mem::take(&mut self.named) {
            let plain = named.strip_prefix("a/").or_else(|| named.strip_prefix("b/"));
            let same = |path: &String| {
                let bare = path.trim_start_matches("./");
                // The Copilot CLI writes `a` and the absolute path.
                plain.is_some_and(|plain| bare == plain || path.strip_prefix('/') == Some(plain))
                    || bare == named
                    || ["a", "b"].iter().any(|side| named.strip_prefix(side) == Some(path))
            };
            if !self.paths.iter().any(same) {
                self.paths.push(plain.unwrap_or(&named).to_owned());
            }
        }
    }

    /// The files of a patch.
    fn patch(&mut self, text: &str) {
        let Some(files) = patches::read(text) else {
            self.malformed = true;
            return;
        };
        self.writes = true;
        for file in files {
            match file.change {
                PatchChange::Delete => self.removed.push(file.path),
                PatchChange::Update { moved: Some(target), .. } => {
                    self.sources.push(file.path);
                    self.paths.push(target);
                }
                PatchChange::Update { moved: None, .. } | PatchChange::Add(_) => {
                    self.paths.push(file.path)
                }
            }
        }
    }

    fn started_with(&mut self, field: &Value) {
        match field {
            Value::Null => {}
            Value::Object(named) => {
                for (name, value) in named {
                    match value {
                        Value::String(text) => self.variables.push((name.clone(), text.clone())),
                        Value::Number(_) | Value::Bool(_) => {
                            self.variables.push((name.clone(), value.to_string()));
                        }
                        Value::Null | Value::Array(_) | Value::Object(_) => self.malformed = true,
                    }
                }
            }
            Value::Array(_) | Value::String(_) | Value::Number(_) | Value::Bool(_) => {
                self.malformed = true
            }
        }
    }

    /// A command line, a program with its words, or several lines.
    fn command(&mut self, field: &Value, args: Option<&Value>) {
        match (field, args.unwrap_or(&Value::Null)) {
            (Value::Null, _) => {}
            (Value::String(line), Value::Null) => self.commands.push(line.clone()),
            // A tool hands such a line to a shell.
            (Value::String(line), Value::String(rest)) => {
                self.commands.push(format!("{line} {rest}").trim_end().to_owned());
            }
            (Value::String(program), Value::Array(items)) => {
                let all = std::iter::once(field).chain(items);
                match words(all) {
                    // A shell splits a program that has spaces in it.
                    Some(all) if has_space(program) => self.line(program, &all[1..]),
                    Some(all) => self.joined(&all),
                    None => self.malformed = true,
                }
            }
            (Value::Array(items), Value::Null) => match words(items) {
                Some(all) => self.listed(&all),
                None => self.malformed = true,
            },
            (Value::Array(items), Value::Array(rest)) => match words(items.iter().chain(rest)) {
                Some(all) => self.listed(&all),
                None => self.malformed = true,
            },
            (Value::Bool(_) | Value::Number(_) | Value::Object(_), _)
            | (
                Value::String(_) | Value::Array(_),
                Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_),
            ) => self.malformed = true,
        }
    }

    /// A list is one command's words. Where its elements could be whole lines, each of these is
    /// judged as well.
    fn listed(&mut self, all: &[&str]) {
        // No program's name has spaces: these are lines.
        if all.first().is_some_and(|first| has_space(first)) {
            return self.commands.extend(all.iter().map(|&line| line.to_owned()));
        }
        self.joined(all);
        // The words of an option, such as a message, are no line.
        let lines = all.windows(2).filter(|pair| has_space(pair[1]) && !pair[0].starts_with('-'));
        self.commands.extend(lines.map(|pair| pair[1].to_owned()));
        // Only a shell knows these words.
        if all.iter().any(|word| matches!(*word, ";" | "&" | "&&" | "|" | "||")) {
            self.commands.push(all.join(" "));
        }
    }

    fn joined(&mut self, all: &[&str]) {
        match shlex::try_join(all.iter().copied()) {
            Ok(line) => self.commands.push(line),
            Err(_) => self.malformed = true,
        }
    }

    fn line(&mut self, program: &str, args: &[&str]) {
        match shlex::try_join(args.iter().copied()) {
            Ok(args) => self.commands.push(format!("{program} {args}").trim_end().to_owned()),
            Err(_) => self.malformed = true,
        }
    }

    /// Strings in a field that names files; objects in it are looked into.
    fn strings(&mut self, field: &Value, found: &mut Vec<String>, depth: usize) {
        match field {
            Value::String(text) => found.push(text.clone()),
            Value::Array(items) => {
                items.iter().for_each(|item| self.strings(item, found, depth + 1))
            }
            Value::Object(_) => self.value(field, depth + 1),
            Value::Null => {}
            Value::Bool(_) | Value::Number(_) => self.malformed = true,
        }
    }
}

fn words<'a>(items: impl IntoIterator<Item = &'a Value>) -> Option<Vec<&'a str>> {
    items.into_iter().map(Value::as_str).collect()
}

fn has_space(word: &str) -> bool {
    word.contains(char::is_whitespace)
}

/// Does a field of this name hold the words that follow a program?
fn is_args(name: &str) -> bool {
    ["args", "arguments", "argv"].iter().any(|it| name.trim().eq_ignore_ascii_case(it))
}
