//! The names that a plan's task and its criteria have.

use std::collections::BTreeSet;

use crate::model::TaskPlan;

/// Longest id of a criterion, and longest name that is made of a goal.
const LONGEST_ID: usize = 60;
const LONGEST_NAME: usize = 40;

/// For each sub-task the `id:` of its criterion: the plan's, as far as TASK.md can have it.
pub fn criterion_ids(plan: &TaskPlan) -> Vec<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut taken: BTreeSet<String> =
        plan.tasks.iter().map(|task| task.id.clone()).filter(|id| is_id(id)).collect();
    let named = plan.tasks.iter().map(|task| {
        if is_id(&task.id) {
            return task.id.clone();
        }
        let mapped: String = task.id.chars().map(|c| if plain(c) { c } else { '-' }).collect();
        let mut base = mapped.trim_matches(['-', '_']).chars().take(LONGEST_ID).collect::<String>();
        if base.is_empty() {
            base = "t".to_owned();
        }
        let numbered = (2..).map(|number| format!("{base}-{number}"));
        let mut free = std::iter::once(base.clone()).chain(numbered);
        let id = free.find(|id| !taken.contains(id)).unwrap_or(base);
        taken.insert(id.clone());
        id
    });
    named.collect()
}

fn is_id(text: &str) -> bool {
    text.len() <= LONGEST_ID
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// A name for the task of a goal: its first words.
pub fn slug(goal: &str) -> String {
    let words = goal.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name = String::new();
    for word in words {
        if !name.is_empty() && name.len() + 1 + word.len() > LONGEST_NAME {
            break;
        }
        if !name.is_empty() {
            name.push('-');
        }
        name.push_str(&word.to_ascii_lowercase());
    }
    name.truncate(LONGEST_NAME);
    if name.is_empty() { "plan".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::repair;

    #[test]
    fn every_id_becomes_one_that_task_md_can_have() {
        let answer = r#"{"tasks": [{"id": "a b", "description": "x"}, {"id": "a.b", "description":
            "x"}, {"id": "a-b", "description": "x"}, {"id": "ü", "description": "x"},
            {"id": "-x", "description": "x"}, {"id": "ok_1", "description": "x"}]}"#;
        let ids = criterion_ids(&repair("g", answer));
        assert_eq!(ids, ["a-b-2", "a-b-3", "a-b", "t", "x", "ok_1"]);
    }

    #[test]
    fn a_goal_becomes_a_name() {
        for (goal, name) in [
            ("Add a login form", "add-a-login-form"),
            ("  Fix: the `retry()` of Client!  ", "fix-the-retry-of-client"),
            (
                "Make the importer read each of the files twice",
                "make-the-importer-read-each-of-the-files",
            ),
            ("日本語", "plan"),
        ] {
            assert_eq!(slug(goal), name);
        }
        assert_eq!(slug(&"x".repeat(100)).len(), LONGEST_NAME);
    }
}
