//! The file names of the templates.

pub(super) const ITERATION: &str = "iteration.md";
pub(super) const CONTINUATION: &str = "continuation.md";
pub(super) const STOP: &str = "stop.md";
pub(super) const INSTRUCTIONS: &str = "copilot-instructions.md";
pub(super) const TASK: &str = "TASK.md";
pub(super) const GUARDRAILS: &str = "guardrails.md";
pub(super) const PROGRESS: &str = "progress.md";
