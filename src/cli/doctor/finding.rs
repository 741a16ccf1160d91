//! The findings of `doctor`, for people and for programs.

use serde_json::{Value, json};

use crate::cli::failure::Failure;
use crate::config::Settings;

/// The result of one check.
pub(super) struct DoctorFinding {
    pub(super) name: &'static str,
    pub(super) state: State,
    pub(super) detail: String,
    /// The next step, unless the state is good.
    pub(super) hint: Option<String>,
}

/// The state of a finding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Good,
    Note,
    /// A run would end with this exit code.
    Bad(u8),
}

impl DoctorFinding {
    pub(super) fn good(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, state: State::Good, detail: detail.into(), hint: None }
    }

    pub(super) fn note(name: &'static str, detail: impl Into<String>, hint: &str) -> Self {
        Self { name, state: State::Note, detail: detail.into(), hint: Some(hint.to_owned()) }
    }

    pub(super) fn bad(name: &'static str, failure: &Failure) -> Self {
        let hint = failure.hints.first().cloned();
        Self {
            name,
            state: State::Bad(failure.code.number()),
            detail: failure.source.to_string(),
            hint: Some(hint.unwrap_or_else(|| next_step(name).to_owned())),
        }
    }
}

/// The next step after a failure that names none.
fn next_step(name: &str) -> &'static str {
    match name {
        "task" => "fix TASK.md, or create a task with `ralph-copilot init <task>`",
        "settings" => "fix the setting; ralph-copilot's docs/configuration.md lists all of them",
        "templates" => {
            "fix the template in .ralph/templates/, or remove it to use the built-in one"
        }
        "policy" => "fix the rule; ralph-copilot's docs/guard.md describes the format",
        _ => "fix this, then run `ralph-copilot doctor` again",
    }
}

pub(super) fn as_json(findings: &[DoctorFinding], settings: Option<&Settings>) -> Value {
    let findings: Vec<Value> = findings
        .iter()
        .map(|finding| {
            let (state, code) = match finding.state {
                State::Good => ("good", None),
                State::Note => ("note", None),
                State::Bad(code) => ("bad", Some(code)),
            };
            json!({
                "name": finding.name,
                "state": state,
                "exit_code": code,
                "detail": finding.detail,
                "hint": finding.hint,
            })
        })
        .collect();
    let settings: Vec<Value> = settings
        .iter()
        .flat_map(|settings| &settings.chosen)
        .map(|chosen| {
            json!({ "name": chosen.name, "value": chosen.value, "source": chosen.source.to_string() })
        })
        .collect();
    json!({ "findings": findings, "settings": settings })
}

pub(super) fn as_text(findings: &[DoctorFinding], settings: Option<&Settings>) -> String {
    let mut text = String::new();
    for finding in findings {
        let mark = match finding.state {
            State::Good => "ok  ",
            State::Note => "note",
            State::Bad(_) => "fail",
        };
        text.push_str(&format!("{mark}  {:<11} {}\n", finding.name, finding.detail));
        if let Some(hint) = &finding.hint {
            text.push_str(&format!("      {:<11} → {hint}\n", ""));
        }
    }
    if let Some(settings) = settings {
        text.push_str("\nSettings\n");
        for chosen in &settings.chosen {
            // A value that needs more than its column has its source below, in its own.
            let wide = chosen.value.chars().count() > 22;
            let gap = if wide { format!("\n{:48}", "") } else { " ".to_owned() };
            text.push_str(&format!(
                "  {:<22} {:<22}{gap}{}\n",
                chosen.name, chosen.value, chosen.source
            ));
        }
    }
    text.trim_end().to_owned()
}
