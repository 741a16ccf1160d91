//! How paths are written in messages: bounded, on one line, never as terminal control.

use std::path::{Path, PathBuf};

use crate::model::{ChangeKind, CriterionKey, PathChange, TaskFileChange};

/// A path as text; control characters, quotes and bytes that are not UTF-8 are escaped.
pub(crate) fn path(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.chars().any(|c| c.is_control() || c == '`') {
        format!("{text:?}")
    } else {
        text.into_owned()
    }
}

/// A change as `added src/x.rs`.
pub(crate) fn change(change: &PathChange) -> String {
    let kind = match change.kind {
        ChangeKind::Added => "added",
        ChangeKind::Modified => "changed",
        ChangeKind::Deleted => "removed",
    };
    format!("{kind} {}", path(&change.path))
}

/// Several paths in one sentence.
pub(crate) fn paths(all: &[PathBuf]) -> String {
    list(&all.iter().map(|it| path(it)).collect::<Vec<_>>())
}

/// Several changes in one sentence: `added a, changed b and 3 more`.
pub(crate) fn changes(all: &[PathChange]) -> String {
    list(&all.iter().map(change).collect::<Vec<_>>())
}

/// The line of TASK.md that allows these changes: `may_change: ["a", "b"]`.
pub(crate) fn may_change(all: &[PathChange]) -> String {
    /// More are to be named by a glob.
    const MOST: usize = 5;
    let names: Vec<String> = all.iter().map(|it| format!("\"{}\"", path(&it.path))).collect();
    let more = if names.len() > MOST { ", …" } else { "" };
    format!("`may_change: [{}{more}]`", names[..names.len().min(MOST)].join(", "))
}

/// One line of a text, bounded, without control characters.
pub(crate) fn short(text: &str) -> String {
    /// Longer text is cut.
    const CHARS: usize = 120;
    let line = text.lines().next().unwrap_or_default();
    let mut short: String = line.chars().filter(|c| !c.is_control()).take(CHARS).collect();
    if line.chars().count() > CHARS || text.lines().count() > 1 {
        short.push('…');
    }
    short
}

/// A criterion in a sentence.
pub(crate) fn criterion(key: &CriterionKey) -> String {
    let text = short(&key.text);
    match key.occurrence {
        0 => format!("\"{text}\""),
        n => format!("\"{text}\" (number {} with this text)", n + 1),
    }
}

/// Several criteria in a sentence.
pub(crate) fn criteria(keys: &[CriterionKey]) -> String {
    list(&keys.iter().map(criterion).collect::<Vec<_>>())
}

/// The changes to TASK.md, in a few words.
pub(crate) fn task_change(change: &TaskFileChange) -> String {
    let all = [
        (change.unreadable.is_some(), "it cannot be read".to_owned()),
        (!change.removed.is_empty(), format!("removed {}", criteria(&change.removed))),
        (!change.added.is_empty(), format!("added {}", criteria(&change.added))),
        (change.verify_changed, "changed verify commands".to_owned()),
        (!change.others_ticked.is_empty(), format!("ticked {}", criteria(&change.others_ticked))),
        (!change.unticked.is_empty(), format!("unticked {}", criteria(&change.unticked))),
        (change.text_changed, "changed other text".to_owned()),
    ];
    let told: Vec<String> = all.into_iter().filter(|(is, _)| *is).map(|(_, what)| what).collect();
    told.join("; ")
}

/// Several words in one sentence, bounded.
pub(crate) fn list(all: &[String]) -> String {
    first(all, 5)
}

/// Several words in one sentence, of which this many are named.
pub(crate) fn first(all: &[String], named: usize) -> String {
    let mut text = all.iter().take(named).cloned().collect::<Vec<_>>().join(", ");
    if all.len() > named {
        text.push_str(&format!(" and {} more", all.len() - named));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_break_the_line() {
        assert_eq!(path(Path::new("a b/c.rs")), "a b/c.rs");
        assert_eq!(path(Path::new("a\nb\u{1b}[2J")), r#""a\nb\u{1b}[2J""#);
    }
}
