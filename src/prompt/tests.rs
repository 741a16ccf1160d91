//! Every template, whole; what a prompt never does; what a wrong template is told.

use std::fs;

use chrono::NaiveDate;

use super::{ContinuationValues, IterationValues, PromptError, ScaffoldValues, Templates};
use crate::model::{Cut, Prompt};

fn values() -> IterationValues {
    IterationValues {
        iteration: 1,
        task_name: "demo".into(),
        task_folder: "tasks/demo".into(),
        task_content: "# Demo\n- [ ] The client retries\n- [ ] Another".into(),
        guardrails_content: String::new(),
        progress_content: String::new(),
        next_criterion: "The client retries".into(),
        next_line: 2,
        verify_commands: Vec::new(),
        feedback: Vec::new(),
        project_context: None,
        human_changes: Vec::new(),
        attempt: 1,
        max_attempts: 3,
        date: NaiveDate::from_ymd_opt(2026, 1, 17).expect("a date"),
    }
}

fn builtin() -> Templates {
    Templates::builtin().expect("the built-in templates are right")
}

/// The templates with one of them replaced.
fn with(name: &str, text: &str) -> Result<Templates, PromptError> {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join(name), text).expect("a file");
    Templates::load(dir.path())
}

fn iteration(templates: &Templates, values: &IterationValues) -> Prompt {
    templates.iteration(values).expect("a prompt")
}

/// What is said of a wrong `iteration.md`, without the folder it lies in.
fn complaint(text: &str) -> String {
    let error = with("iteration.md", text).expect_err("a wrong template").to_string();
    error[error.find("iteration.md").expect("the file's name")..].to_owned()
}

macro_rules! assert_text {
    ($text:expr) => {
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!($text) })
    };
}

#[test]
fn the_first_iteration() {
    let prompt = iteration(&builtin(), &values());
    assert!(prompt.cuts.is_empty());
    assert_text!(prompt.text);
}

#[test]
fn an_iteration_with_everything() {
    let values = IterationValues {
        iteration: 7,
        guardrails_content: "- Criterion 'x' caused loop".into(),
        progress_content: "- 2026-01-16 looked around\n".into(),
        verify_commands: vec!["cargo test -p client retry".into(), "a && b < c".into()],
        feedback: vec!["The box is still open".into(), "A check failed:\nexit 1".into()],
        project_context: Some("A Rust workspace.".into()),
        human_changes: (1..=21).map(|number| format!("draft{number}.txt")).collect(),
        attempt: 2,
        ..values()
    };
    assert_text!(iteration(&builtin(), &values).text);
}

#[test]
fn the_continuation_after_a_denial() {
    let values = ContinuationValues {
        iteration: 7,
        task_name: "demo".into(),
        task_folder: "tasks/demo".into(),
        next_criterion: "The client retries".into(),
        next_line: 2,
        reason: "`git push` is not allowed: pushing is the human's".into(),
    };
    assert_text!(builtin().continuation(&values).expect("a prompt").text);
}

#[test]
fn the_files_that_init_writes() {
    let (templates, values) = (builtin(), ScaffoldValues { task_name: "demo".into() });
    assert_text!(templates.instructions().expect("a text"));
    assert_text!(templates.task(&values).expect("a text"));
    assert_text!(templates.guardrails(&values).expect("a text"));
    assert_text!(templates.progress(&values).expect("a text"));
}
