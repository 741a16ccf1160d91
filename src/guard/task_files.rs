//! The two files of a task that the agent may change, and how: TASK.md by one
//! byte, progress.md at its end. Decided on the content that the call would leave.

use serde_json::{Map, Value};

use super::denial::Denial;
use super::files::Files;
use super::patches::{self, Hunk, PatchChange, Patched};
use super::policy::Policy;

/// A file tool's effect on one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    /// The whole content.
    Whole(String),
    /// Replacements, each of a text that stands there once (or everywhere, if so asked).
    Replace(Vec<Replacement>),
    /// A unified diff.
    Diff(String),
    /// Lines in the place of others.
    Lines(Vec<Hunk>),
    /// It cannot be told.
    Unknown,
}

/// One replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Replacement {
    old: String,
    new: String,
    every: bool,
}

impl Edit {
    /// Reads a tool's arguments.
    pub(super) fn read(input: &Value) -> Self {
        let text = |names: &[&str]| {
            names.iter().find_map(|name| input.get(name).and_then(Value::as_str)).map(str::to_owned)
        };
        let patch = input.as_str().map(str::to_owned).or_else(|| text(&["input", "patch"]));
        if let Some(patch) = patch.filter(|patch| patch.contains(patches::BEGIN)) {
            return match patches::read(&patch).as_deref() {
                Some([Patched { change: PatchChange::Add(content), .. }]) => {
                    Self::Whole(content.clone())
                }
                Some([Patched { change: PatchChange::Update { moved: None, hunks }, .. }]) => {
                    Self::Lines(hunks.clone())
                }
                Some(_) | None => Self::Unknown,
            };
        }
        let replacement = |value: &Value| {
            let text = |names: &[&str]| {
                names
                    .iter()
                    .find_map(|name| value.get(name).and_then(Value::as_str))
                    .map(str::to_owned)
            };
            Some(Replacement {
                old: text(&["old_str", "old_string", "oldText", "oldString", "before"])?,
                new: text(&["new_str", "new_string", "newText", "newString", "after"])
                    .unwrap_or_default(),
                every: ["replace_all", "replaceAll"].iter().any(|name| value[*name] == true),
            })
        };
        let ways = [
            "old_str",
            "old_string",
            "oldText",
            "oldString",
            "before",
            "arguments",
            "changes",
            "edits",
            "diff",
            "file_text",
            "content",
            "contents",
            "patch",
        ];
        let seen: Vec<&&str> = ways
            .iter()
            .filter(|way| input.get(way).is_some_and(|value| !value.is_null()))
            .collect();
        if seen.len() != 1 {
            return Self::Unknown;
        }
        // Hermes puts the tool's own fields there.
        if let Some(own) = input.get("arguments") {
            return if own.is_object() { Self::read(own) } else { Self::Unknown };
        }
        // Mistral Vibe lists its replacements there, Codex names its files.
        if let Some(changes) = input.get("changes").filter(|changes| !changes.is_array()) {
            return Self::of_changes(changes);
        }
        if let Some(diff) = text(&["diff"]) {
            return Self::Diff(diff);
        }
        if let Some(whole) = text(&["file_text", "content", "contents"]) {
            return Self::Whole(whole);
        }
        let edits = input.get("edits").or_else(|| input.get("changes"));
        if let Some(edits) = edits.and_then(Value::as_array) {
            return edits
                .iter()
                .map(replacement)
                .collect::<Option<_>>()
                .map_or(Self::Unknown, Self::Replace);
        }
        replacement(input).map_or(Self::Unknown, |one| Self::Replace(vec![one]))
    }

    /// Codex's files by name, of which there is one: `{PATH: {"type": …, "unified_diff": …}}`.
    fn of_changes(changes: &Value) -> Self {
        let mut files = changes.as_object().into_iter().flat_map(Map::values);
        let (Some(change), None) = (files.next(), files.next()) else { return Self::Unknown };
        let text = |name: &str| change.get(name).and_then(Value::as_str).map(str::to_owned);
        match (change["type"].as_str(), &change["move_path"]) {
            (Some("add"), Value::Null) => text("content").map_or(Self::Unknown, Self::Whole),
            (Some("update"), Value::Null) => text("unified_diff").map_or(Self::Unknown, Self::Diff),
            _ => Self::Unknown,
        }
    }

    /// The content after the edit; `None` if it cannot be told.
    fn apply(&self, before: &str) -> Option<String> {
        match self {
            Self::Whole(text) => Some(text.clone()),
            Self::Replace(replacements) => {
                let mut text = before.to_owned();
                for Replacement { old, new, every } in replacements {
                    let times = text.matches(old.as_str()).count();
                    if old.is_empty() || times == 0 || times > 1 && !every {
                        return None;
                    }
                    text = text.replace(old.as_str(), new);
                }
                Some(text)
            }
            Self::Diff(diff) => patched(before, diff),
            Self::Lines(hunks) => patches::apply(before, hunks),
            Self::Unknown => None,
        }
    }
}

/// Applies a unified diff of one file. The tools write diffs of whole lines and
/// may leave the last newline out.
fn patched(before: &str, diff: &str) -> Option<String> {
    let old: Vec<&str> = before.split('\n').collect();
    let mut out: Vec<String> = Vec::new();
    let mut at = 0_usize;
    let mut hunks = 0;
    // A diff may show the lines of a CRLF file without their carriage returns.
    let crlf = before.contains('\n') && !before.replace("\r\n", "").contains('\n');
    let mut lines = diff.trim_start_matches('\n').split('\n').peekable();
    while let Some(line) = lines.next() {
        let Some(header) = line.strip_prefix("@@ -") else {
            if hunks > 0 {
                return None;
            }
            continue;
        };
        hunks += 1;
        let start: usize = header.split([',', ' ']).next()?.parse().ok()?;
        let start = start.saturating_sub(1);
        out.extend(old.get(at..start)?.iter().map(|line| (*line).to_owned()));
        at = start;
        while let Some(line) = lines.peek().copied() {
            if line.starts_with("@@ -") {
                break;
            }
            lines.next();
            if line.is_empty() && lines.peek().is_none() {
                // What follows the last newline is no line.
                break;
            }
            let (sign, text) = match line.chars().next() {
                Some(sign) => (sign, &line[sign.len_utf8()..]),
                None => (' ', ""),
            };
            match sign {
                '+' if crlf && !text.ends_with('\r') => out.push(format!("{text}\r")),
                '+' => out.push(text.to_owned()),
                '\\' => {}
                ' ' | '-' => {
                    // A context line may stand for the end of the file.
                    let known = old.get(at).copied();
                    let same = known.is_some_and(|known| {
                        known.trim_end_matches('\r') == text.trim_end_matches('\r')
                    });
                    if !same {
                        return (known.is_none() && text.is_empty()).then(|| out.join("\n"));
                    }
                    if sign == ' ' {
                        out.push(known?.to_owned());
                    }
                    at += 1;
                }
                _ => return None,
            }
        }
    }
    if hunks == 0 {
        return None;
    }
    out.extend(old.get(at..)?.iter().map(|line| (*line).to_owned()));
    Some(out.join("\n"))
}

/// Refuses every change of TASK.md but the tick of the criterion in focus.
pub(super) fn tick(policy: &Policy, files: &dyn Files, edit: &Edit) -> Result<(), Denial> {
    let refuse = |why: &str| {
        Err(Denial::new(
            "state.task",
            format!("in TASK.md, only the box of the criterion in focus may be ticked: {why}"),
        )
        .instead("change `[ ]` to `[x]` on that one line and nothing else"))
    };
    let Some(focus) = &policy.focus else { return refuse("no criterion is in focus") };
    let Some(Ok(bytes)) = policy.task_file().map(|file| files.read(&file)) else {
        return refuse("it cannot be read");
    };
    let Ok(before) = String::from_utf8(bytes) else { return refuse("it is not UTF-8") };
    let Some(after) = edit.apply(&before) else {
        return refuse("cannot tell what the edit leaves");
    };
    let (before, after) = (before.as_bytes(), after.as_bytes());
    let ticked = before.get(focus.mark) == Some(&b' ')
        && matches!(after.get(focus.mark), Some(b'x' | b'X'))
        && before.len() == after.len()
        && before[..focus.mark] == after[..focus.mark]
        && before[focus.mark + 1..] == after[focus.mark + 1..];
    if ticked || before == after { Ok(()) } else { refuse("this changes something else") }
}

/// Refuses every change of progress.md but an addition at its end.
pub(super) fn append(path: &std::path::Path, files: &dyn Files, edit: &Edit) -> Result<(), Denial> {
    let refuse = || {
        Err(Denial::new("state.progress", "progress.md is append-only")
            .instead("append a line: `echo \"- $(date +%F) what was done\" >> progress.md` in the task's folder"))
    };
    let before = match files.read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(_) => return refuse(),
    };
    match edit.apply(&before) {
        Some(after) if after.starts_with(before.trim_end_matches(['\n', '\r'])) => Ok(()),
        Some(_) | None => refuse(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_diff_gives_what_the_replacement_gives() {
        let before = "# T\n- [ ] one\n- [ ] two\n";
        let diff = "\ndiff --git a/x b/x\nindex 0000000..0000000 100644\n--- a/x\n+++ b/x\n@@ -1,4 +1,4 @@\n # T\n-- [ ] one\n+- [x] one\n - [ ] two\n \n";
        let replace =
            Edit::read(&json!({"path": "x", "old_str": "- [ ] one", "new_str": "- [x] one"}));
        let want = Some("# T\n- [x] one\n- [ ] two\n".to_owned());
        assert_eq!(Edit::read(&json!({"fileName": "x", "diff": diff})).apply(before), want);
        assert_eq!(replace.apply(before), want);
    }

    #[test]
    fn a_diff_may_end_before_the_file_does() {
        let before = "# T\n- [ ] one\na\nb\nc\nd\n- [ ] two\n";
        let diff = "@@ -1,5 +1,5 @@\n # T\n-- [ ] one\n+- [x] one\n a\n b\n c\n";
        let want = Some("# T\n- [x] one\na\nb\nc\nd\n- [ ] two\n".to_owned());
        assert_eq!(Edit::read(&json!({ "fileName": "x", "diff": diff })).apply(before), want);
    }

    #[test]
    fn changes_in_a_list_are_replacements() {
        let change =
            |every| json!({"oldString": "- [ ]", "newString": "- [x]", "replaceAll": every});
        let read = |every| Edit::read(&json!({"filePath": "x", "changes": [change(every)]}));
        let (once, every) = (read(false), read(true));
        assert_eq!(once.apply("- [ ] one\n"), Some("- [x] one\n".to_owned()));
        assert_eq!(once.apply("- [ ] one\n- [ ] two\n"), None);
        assert_eq!(
            every.apply("- [ ] one\n- [ ] two\n"),
            Some("- [x] one\n- [x] two\n".to_owned())
        );
    }

    #[test]
    fn what_is_ambiguous_is_unknown() {
        let twice = Edit::read(&json!({"old_str": "a", "new_str": "b"}));
        assert_eq!(twice.apply("a a"), None);
        assert_eq!(Edit::read(&json!({"old_str": "a", "content": "b"})), Edit::Unknown);
        assert_eq!(Edit::read(&json!({"path": "x"})), Edit::Unknown);
        assert_eq!(
            Edit::read(&json!({"diff": "@@ -1,1 +1,1 @@\n-other\n+x\n"})).apply("a\n"),
            None
        );
    }
}
