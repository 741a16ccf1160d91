//! The progress lines that the runner writes to standard error while it works.
//!
//! Invariant: pure. They are shown to people and put into events; they decide nothing.

use serde::Deserialize;

use crate::model::StepStatus;

/// A step that began or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgressLine {
    /// Its name in the recipe.
    pub step: String,
    /// `Running` for a step that began.
    pub status: StepStatus,
}

/// The same as a JSON line, which wrappers of the runner write.
#[derive(Deserialize)]
struct Transition {
    r#type: String,
    step: String,
    status: String,
}

/// The beginning of such a JSON line, as Rust and as Python print it.
const TRANSITIONS: [&str; 2] = [r#"{"type":"step_transition""#, r#"{"type": "step_transition""#];

/// Reads a line of standard error, if it is about a step.
pub fn read_line(line: &str) -> Option<ProgressLine> {
    let line = line.trim();
    if line.starts_with('{') {
        return transition(line);
    }
    let mut letters = line.chars();
    let status = match letters.next()? {
        '▶' => StepStatus::Running,
        '✓' => StepStatus::Completed,
        '⊘' => StepStatus::Skipped,
        '✗' => StepStatus::Failed,
        '⚠' => StepStatus::Degraded,
        _ => return None,
    };
    let rest = letters.as_str().trim();
    // The name is followed by a kind, such as ` [sub-recipe]`, or a time, such as ` (0.1s)`.
    let end = rest.find(" [").or_else(|| rest.rfind(" ("));
    let step = rest[..end.unwrap_or(rest.len())].trim().to_owned();
    (!step.is_empty()).then_some(ProgressLine { step, status })
}

fn transition(line: &str) -> Option<ProgressLine> {
    let found: Transition = serde_json::from_str(line).ok()?;
    if found.r#type != "step_transition" || found.step.is_empty() {
        return None;
    }
    let status = match found.status.as_str() {
        "start" => StepStatus::Running,
        "done" => StepStatus::Completed,
        "skip" => StepStatus::Skipped,
        "degraded" => StepStatus::Degraded,
        // Unknown words count as failed, as in the answer.
        _ => StepStatus::Failed,
    };
    Some(ProgressLine { step: found.step, status })
}

/// Whether a line is neither progress nor a sign of life.
pub(super) fn is_meaningful(line: &str) -> bool {
    let line = line.trim();
    let progress = ["▶", "✓", "⊘", "✗", "⚠", "[agent]", "[amplihack] recipe log:"];
    let heartbeat = line.contains("... working (") || line.contains("... waiting (");
    let mut marks = progress.iter().chain(&TRANSITIONS);
    !(line.is_empty() || heartbeat || marks.any(|mark| line.starts_with(mark)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_in_both_spellings() {
        for (line, step, status) in [
            ("▶ greet", "greet", StepStatus::Running),
            ("▶ think [agent — may take several minutes]", "think", StepStatus::Running),
            ("▶ inner [sub-recipe]\r", "inner", StepStatus::Running),
            ("  ✓ greet (0.0s)", "greet", StepStatus::Completed),
            ("  ⊘ greet", "greet", StepStatus::Skipped),
            ("  ✗ a (b) step (12.5s)", "a (b) step", StepStatus::Failed),
            ("  ⚠ greet (1.0s)", "greet", StepStatus::Degraded),
            (
                r#"{"type":"step_transition","step":"a","status":"start","ts":1.5}"#,
                "a",
                StepStatus::Running,
            ),
            (
                r#"{"type":"step_transition","step":"a","status":"done"}"#,
                "a",
                StepStatus::Completed,
            ),
            (
                r#"{"type": "step_transition", "step": "a", "status": "skip"}"#,
                "a",
                StepStatus::Skipped,
            ),
            (r#"{"type":"step_transition","step":"a","status":"odd"}"#, "a", StepStatus::Failed),
        ] {
            let expected = ProgressLine { step: step.to_owned(), status };
            assert_eq!(read_line(line), Some(expected), "{line}");
        }
        for line in
            ["", "▶", "hello", "{}", "{broken", r#"{"type":"other","step":"a","status":"b"}"#]
        {
            assert_eq!(read_line(line), None, "{line}");
        }
    }

    #[test]
    fn progress_and_signs_of_life_are_not_meaningful() {
        for line in [
            "▶ a",
            "  ✓ a (0.1s)",
            "✗ a",
            "⊘ a",
            "[agent] thinking",
            "",
            "   ",
            r#"{"type":"step_transition","step":"a"}"#,
            r#"{"type": "step_transition", "step": "a", "status": "done", "ts": 1.5}"#,
            "[amplihack] recipe log: /tmp/x.log",
            "  [12:00:00] [amplihack:copilot:7] ... working (60s elapsed, 30s since last output)",
        ] {
            assert!(!is_meaningful(line), "{line}");
        }
        for line in ["Error: no such recipe", "  indented", "{\"other\":1}"] {
            assert!(is_meaningful(line), "{line}");
        }
    }
}
