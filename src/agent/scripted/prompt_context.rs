//! The context of a turn: the prompt's criterion, its task folder and its checkbox.
//!
//! Invariant: everything is found by comparing literal text, never by a pattern. This is a
//! deliberately simple reader of TASK.md; the runner's own lives in `task`.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// The values of a prompt that a script can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PromptContext {
    /// The session's folder.
    pub(super) cwd: PathBuf,
    /// The criterion in focus; empty if the prompt names none.
    pub(super) criterion: String,
    /// The task's folder, relative to `cwd`, if one was found.
    pub(super) folder: Option<PathBuf>,
    /// Today, as `2026-11-21`.
    pub(super) date: String,
    /// What a commit's message begins with, if the prompt says it.
    pub(super) prefix: Option<String>,
}

/// The criterion on the last line of the form `Focus on: …`.
pub(super) fn focus_of(prompt: &str) -> Option<&str> {
    prompt.lines().rev().find_map(|line| line.strip_prefix("Focus on:")).map(str::trim)
}

/// What the prompt says that a commit's message begins with: `git commit -m 'PREFIX[criterion]`.
pub(super) fn prefix_of(prompt: &str) -> Option<&str> {
    let mut commands = prompt.split("git commit -m '").skip(1);
    commands
        .find_map(|rest| rest.lines().next()?.split_once("[criterion]"))
        .map(|(prefix, _)| prefix)
}

/// The task's name, if the prompt contains `for task: NAME`.
fn task_of(prompt: &str) -> Option<&str> {
    let (_, rest) = prompt.split_once("for task: ")?;
    rest.lines().next()?.split_whitespace().next()
}

/// The task's folder, relative to `cwd`: the one that the prompt names, else the only one
/// whose TASK.md has a box with the text of the criterion.
pub(super) fn folder_of(cwd: &Path, prompt: &str, criterion: &str) -> Option<PathBuf> {
    let mut folders = Vec::new();
    for parent in [".ralph/active", "tasks"] {
        let Ok(entries) = std::fs::read_dir(cwd.join(parent)) else { continue };
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        folders.extend(names.into_iter().map(|name| Path::new(parent).join(name)));
    }
    folders.push(PathBuf::new());
    folders.retain(|folder| cwd.join(folder).join("TASK.md").is_file());
    let name = task_of(prompt);
    if let Some(named) = folders.iter().find(|folder| folder.file_name() == name.map(AsRef::as_ref))
    {
        return Some(named.clone());
    }
    folders.into_iter().find(|folder| {
        std::fs::read_to_string(cwd.join(folder).join("TASK.md"))
            .is_ok_and(|source| box_of(&source, criterion).is_some())
    })
}

/// A checkbox in a TASK.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CheckBox<'a> {
    /// Byte offset of the one byte between the brackets.
    pub(super) mark: usize,
    /// Its line, without the line's end.
    pub(super) line: &'a str,
}

/// The first open box with this text, else the first ticked one.
pub(super) fn box_of<'a>(source: &'a str, criterion: &str) -> Option<CheckBox<'a>> {
    let mut ticked = None;
    let mut start = 0;
    for whole in source.split_inclusive('\n') {
        let line = whole.trim_end_matches(['\n', '\r']);
        if let Some((at, text)) = after_marker(line)
            && text.trim() == criterion
        {
            let found = CheckBox { mark: start + at, line };
            if source.as_bytes()[found.mark] == b' ' {
                return Some(found);
            }
            ticked = ticked.or(Some(found));
        }
        start += whole.len();
    }
    ticked
}

/// The offset of the mark in a line like `  - [ ] text` or `1. [x] text`, and the text.
fn after_marker(line: &str) -> Option<(usize, &str)> {
    let item = line.trim_start_matches([' ', '\t', '>', '\u{feff}']);
    let rest = item.strip_prefix(['-', '*', '+']).or_else(|| {
        item.trim_start_matches(|digit: char| digit.is_ascii_digit()).strip_prefix(['.', ')'])
    })?;
    let boxed = rest.trim_start().strip_prefix('[')?;
    let text = boxed.strip_prefix([' ', 'x', 'X'])?.strip_prefix("] ")?;
    Some((line.len() - boxed.len(), text))
}

impl PromptContext {
    /// The task's name: its folder's.
    pub(super) fn task(&self) -> Cow<'_, str> {
        self.folder
            .as_deref()
            .and_then(Path::file_name)
            .map_or(Cow::Borrowed("task"), |name| name.to_string_lossy())
    }

    /// The text with `{task}`, `{folder}`, `{criterion}` and `{date}` filled in. Other braces
    /// stay as they are: shell commands and JSON are full of them.
    pub(super) fn fill(&self, text: &str) -> String {
        self.fill_with(text, str::to_owned)
    }

    /// The same for a shell command: inserted values are quoted, because a criterion's text is
    /// never shell code.
    pub(super) fn fill_command(&self, text: &str) -> String {
        self.fill_with(text, quote)
    }

    fn fill_with(&self, text: &str, write: impl Fn(&str) -> String) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            filled.push_str(&rest[..open]);
            rest = &rest[open..];
            let (name, value) = match rest {
                _ if rest.starts_with("{task}") => ("{task}", self.task()),
                _ if rest.starts_with("{criterion}") => {
                    ("{criterion}", Cow::Borrowed(self.criterion.as_str()))
                }
                _ if rest.starts_with("{folder}") => ("{folder}", self.folder_text()),
                _ if rest.starts_with("{date}") => ("{date}", Cow::Borrowed(self.date.as_str())),
                _ => ("{", Cow::Borrowed("{")),
            };
            if name == "{" {
                filled.push('{');
            } else {
                filled.push_str(&write(&value));
            }
            rest = &rest[name.len()..];
        }
        filled.push_str(rest);
        filled
    }

    fn folder_text(&self) -> Cow<'_, str> {
        self.folder
            .as_deref()
            .filter(|folder| !folder.as_os_str().is_empty())
            .map_or(Cow::Borrowed("."), Path::to_string_lossy)
    }
}

/// The text as one word of a shell line.
pub(super) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene(criterion: &str) -> PromptContext {
        PromptContext {
            cwd: PathBuf::from("/repo"),
            criterion: criterion.to_owned(),
            folder: Some(PathBuf::from("tasks/hello")),
            date: "2026-11-21".to_owned(),
            prefix: None,
        }
    }

    #[test]
    fn the_last_focus_line_counts() {
        assert_eq!(focus_of("Focus on: a\n## Task\nx\nFocus on:  b c \n"), Some("b c"));
        assert_eq!(focus_of("say Focus on: a"), None);
    }

    #[test]
    fn a_box_is_found_by_its_literal_text() {
        let source =
            "\u{feff}# T\r\n- [ ] a.*\r\n  1. [x] twice\r\n  2) [ ] twice\r\n* [X] done\r\n";
        let mark = |text| box_of(source, text).map(|found| (found.mark, found.line));
        assert_eq!(mark("a.*"), Some((11, "- [ ] a.*")));
        assert_eq!(mark("twice").map(|(_, line)| line), Some("  2) [ ] twice"));
        assert_eq!(mark("done").map(|(at, _)| &source[at..=at]), Some("X"));
        assert_eq!(mark("a"), None);
        assert_eq!(box_of("text [ ] a\n-[ ]a\n", "a"), None);
    }

    #[test]
    fn only_our_placeholders_are_filled_and_only_once() {
        let scene = scene("print {date}");
        assert_eq!(
            scene.fill("{task} {folder} {criterion} {date} ${x} {}"),
            "hello tasks/hello print {date} 2026-11-21 ${x} {}"
        );
    }

    #[test]
    fn a_criterion_is_never_shell_code() {
        let scene = scene("it's $(rm -rf x)");
        assert_eq!(scene.fill_command("echo {criterion}"), r"echo 'it'\''s $(rm -rf x)'");
    }
}
