//! Compares two versions of a TASK.md, criterion by criterion.
//!
//! Invariant: a criterion is identified by its text as written, so rewording one removes it and
//! adds another. Where only the form of the Markdown differs, criteria correspond by their order.
//! Who changed the file is not decided here.

use std::collections::HashMap;

use super::form::same_content;
use super::lookup::usable;
use crate::model::{
    Attribution, Criterion, CriterionKey, Severity, Task, TaskFileChange, VerifyCommand,
};

/// Compares a task before and after a turn that worked on `focus`. `by` is copied into the
/// result.
///
/// `text_changed` is set for differences that no other field explains. If the file can no longer
/// be used, `unreadable` says why, and the other fields are filled as far as criteria can still
/// be read.
pub fn compare(
    before: &Task,
    after: &Task,
    focus: &CriterionKey,
    by: Attribution,
) -> TaskFileChange {
    let mut change = TaskFileChange { unreadable: why_unusable(after), ..TaskFileChange::none(by) };
    if change.unreadable.is_some() && after.criteria.is_empty() {
        return change;
    }
    let differs = without_ticks(before) != without_ticks(after);
    let same =
        differs && change.unreadable.is_none() && same_content(&before.source, &after.source);
    let now = by_key(&after.criteria);
    let then = by_key(&before.criteria);
    change.verify_changed = before.settings.verify != after.settings.verify;
    for (at, old) in before.criteria.iter().enumerate() {
        let new = if same { after.criteria.get(at) } else { now.get(&old.key).copied() };
        let Some(new) = new else {
            change.removed.push(old.key.clone());
            continue;
        };
        match (old.checked, new.checked) {
            (false, true) if old.key == *focus => change.focus_ticked = true,
            (false, true) => change.others_ticked.push(old.key.clone()),
            (true, false) => change.unticked.push(old.key.clone()),
            (true, true) | (false, false) => {}
        }
        change.verify_changed |= !commands(&old.verify).eq(commands(&new.verify));
    }
    let added = after.criteria.iter().filter(|new| !same && !then.contains_key(&new.key));
    change.added = added.map(|new| new.key.clone()).collect();
    let explained = change.verify_changed || !change.removed.is_empty() || !change.added.is_empty();
    // A formatter runs when the agent commits, with its tick. Any other edit may be the human's.
    change.reformatted = same && change.focus_ticked && !explained;
    change.text_changed = differs && !change.reformatted && !explained;
    change
}

fn by_key(criteria: &[Criterion]) -> HashMap<&CriterionKey, &Criterion> {
    criteria.iter().map(|criterion| (&criterion.key, criterion)).collect()
}

fn commands(verify: &[VerifyCommand]) -> impl Iterator<Item = &str> {
    verify.iter().map(|command| command.command.as_str())
}

/// The text with every checkbox open.
fn without_ticks(task: &Task) -> Vec<u8> {
    let mut bytes = task.source.clone().into_bytes();
    for criterion in &task.criteria {
        bytes[criterion.mark] = b' ';
    }
    bytes
}

fn why_unusable(task: &Task) -> Option<String> {
    let error = task.diagnostics.iter().find(|it| it.severity == Severity::Error);
    debug_assert_eq!(error.is_none(), usable(task), "only errors make a task unusable");
    error.map(|error| format!("{}:{}: {}", error.line, error.column, error.message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::parse;

    const BEFORE: &str =
        "---\nverify: make\n---\n# T\n- [ ] a\n  - verify: `one`\n- [ ] b\n- [x] c\n";

    fn key(text: &str) -> CriterionKey {
        CriterionKey { text: text.into(), occurrence: 0 }
    }

    fn unchanged() -> TaskFileChange {
        TaskFileChange::none(Attribution::Agent)
    }

    fn after(edit: impl Fn(&str) -> String) -> TaskFileChange {
        let (before, after) = (parse("t", BEFORE.as_bytes()), parse("t", edit(BEFORE).as_bytes()));
        compare(&before, &after, &key("a"), Attribution::Agent)
    }

    #[test]
    fn no_change_and_the_honest_tick() {
        assert_eq!(after(str::to_owned), unchanged());
        let honest = TaskFileChange { focus_ticked: true, ..unchanged() };
        assert_eq!(after(|text| text.replace("[ ] a", "[x] a")), honest);
        assert_eq!(after(|text| text.replace("[ ] a", "[X] a")), honest);
    }

    #[test]
    fn ticks_elsewhere() {
        assert_eq!(
            after(|text| text.replace("[ ]", "[x]")),
            TaskFileChange { focus_ticked: true, others_ticked: vec![key("b")], ..unchanged() }
        );
        assert_eq!(
            after(|text| text.replace("[x] c", "[ ] c")),
            TaskFileChange { unticked: vec![key("c")], ..unchanged() }
        );
    }

    #[test]
    fn rewording_removes_one_and_adds_another() {
        assert_eq!(
            after(|text| text.replace("[ ] a", "[x] a, more or less")),
            TaskFileChange {
                removed: vec![key("a")],
                added: vec![key("a, more or less")],
                ..unchanged()
            }
        );
        assert_eq!(
            after(|text| text.replace("- [ ] b\n", "")),
            TaskFileChange { removed: vec![key("b")], ..unchanged() }
        );
        assert_eq!(
            after(|text| format!("{text}- [ ] d\n")),
            TaskFileChange { added: vec![key("d")], ..unchanged() }
        );
    }

    #[test]
    fn equal_texts_are_counted() {
        let before = parse("t", b"- [ ] a\n- [ ] a\n");
        let after = parse("t", b"- [ ] a\n- [x] a\n");
        let change = compare(&before, &after, &key("a"), Attribution::Agent);
        let second = CriterionKey { text: "a".into(), occurrence: 1 };
        assert_eq!(change, TaskFileChange { others_ticked: vec![second], ..unchanged() });
    }

    #[test]
    fn verify_commands_of_criteria_and_of_the_task() {
        let changed = TaskFileChange { verify_changed: true, ..unchanged() };
        assert_eq!(after(|text| text.replace("`one`", "`true`")), changed);
        assert_eq!(after(|text| text.replace("  - verify: `one`\n", "")), changed);
        assert_eq!(after(|text| text.replace("verify: make", "verify: true")), changed);
        assert_eq!(after(|text| text.replace("verify: make\n", "")), changed);
        // Moving a command does not change it.
        let moved = after(|text| text.replace("# T\n", "# T\n\n"));
        assert_eq!(moved, TaskFileChange { text_changed: true, ..unchanged() });
    }

    #[test]
    fn other_text_and_other_settings() {
        let changed = TaskFileChange { text_changed: true, ..unchanged() };
        assert_eq!(after(|text| text.replace("# T", "# U")), changed);
        assert_eq!(after(|text| text.replace("make\n", "make\nallow: curl x\n")), changed);
    }

    #[test]
    fn a_formatter_changes_no_criterion() {
        let ticked = TaskFileChange { focus_ticked: true, reformatted: true, ..unchanged() };
        let formatted = |text: &str| text.replace("[ ] a", "[x] a").replace("- ", "* ");
        assert_eq!(after(formatted), ticked);
        let ends = after(|text| formatted(text).replace('\n', "\r\n"));
        assert!(!ends.reformatted && ends.text_changed, "{ends:?}");
        let before = parse("t", b"* [ ] a_b\n* [ ] c\n");
        let escaped = parse("t", b"- [x] a\\_b\n- [x] c\n");
        let change = compare(&before, &escaped, &key("a_b"), Attribution::Unknown);
        let expected = TaskFileChange {
            focus_ticked: true,
            others_ticked: vec![key("c")],
            reformatted: true,
            ..TaskFileChange::none(Attribution::Unknown)
        };
        assert_eq!(change, expected);
        // An escape within a command is another command.
        let before = parse("t", b"- [ ] a\n  - verify: make a_b\n");
        let escaped = parse("t", b"- [ ] a\n  - verify: make a\\_b\n");
        let change = compare(&before, &escaped, &key("a"), Attribution::Unknown);
        assert!(change.verify_changed && !change.reformatted, "{change:?}");
    }

    #[test]
    fn a_file_that_is_no_longer_usable_says_why() {
        let empty = after(|_| String::new());
        assert_eq!(
            empty,
            TaskFileChange { unreadable: Some("1:1: the file is empty".into()), ..unchanged() }
        );
        let broken = after(|text| text.replace("verify: make", "verfy: make"));
        assert_eq!(broken.unreadable.as_deref(), Some("2:1: unknown key `verfy`"));
        assert!(broken.verify_changed);
    }

    #[test]
    fn the_author_is_copied() {
        let task = parse("t", BEFORE.as_bytes());
        let change = compare(&task, &task, &key("a"), Attribution::Human);
        assert_eq!(change.by, Attribution::Human);
    }
}
