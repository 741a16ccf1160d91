//! Sample values, to render each template once when it is loaded.

use chrono::NaiveDate;
use serde::Serialize;
use serde_json::Value;

use super::{
    error::PromptError,
    names::{CONTINUATION, INSTRUCTIONS, ITERATION, STOP},
    values::{ContinuationValues, IterationValues, ScaffoldValues, StopValues},
};

/// Converts values to the form that the template engine takes.
pub(super) fn as_data(values: &impl Serialize) -> Result<Value, PromptError> {
    serde_json::to_value(values).map_err(PromptError::Values)
}

/// Sample values for the template of this name: one set with every value present, and one with
/// every optional value missing.
pub(super) fn of(name: &str) -> Result<Vec<Value>, PromptError> {
    let text = || "text".to_owned();
    let list = || vec![text(), text()];
    let full = IterationValues {
        iteration: 2,
        task_name: text(),
        commit_prefix: text(),
        task_folder: text(),
        task_content: text(),
        guardrails_content: text(),
        progress_content: text(),
        next_criterion: text(),
        next_line: 3,
        verify_commands: list(),
        passed_before: true,
        feedback: list(),
        lessons: list(),
        project_context: Some(text()),
        commit_hooks: Some(text()),
        human_changes: list(),
        attempt: 2,
        max_attempts: 3,
        date: NaiveDate::default(),
    };
    let bare = IterationValues {
        guardrails_content: String::new(),
        progress_content: String::new(),
        verify_commands: Vec::new(),
        passed_before: false,
        feedback: Vec::new(),
        lessons: Vec::new(),
        project_context: None,
        commit_hooks: None,
        human_changes: Vec::new(),
        attempt: 1,
        ..full.clone()
    };
    let continuation = ContinuationValues {
        iteration: 2,
        task_name: text(),
        commit_prefix: text(),
        task_folder: text(),
        next_criterion: text(),
        next_line: 3,
        reason: text(),
        project_context: Some(text()),
    };
    let continuation_bare = ContinuationValues { project_context: None, ..continuation.clone() };
    let stop = StopValues {
        iteration: 2,
        task_name: text(),
        commit_prefix: text(),
        task_folder: text(),
        next_criterion: text(),
        next_line: 3,
        feedback: list(),
    };
    Ok(match name {
        ITERATION => vec![as_data(&full)?, as_data(&bare)?],
        CONTINUATION => vec![as_data(&continuation)?, as_data(&continuation_bare)?],
        STOP => vec![as_data(&stop)?],
        INSTRUCTIONS => vec![Value::Object(serde_json::Map::new())],
        _ => vec![as_data(&ScaffoldValues { task_name: text() })?],
    })
}
