//! The only values a template sees. The names of those that stand in the original
//! prompt (`task_content`, `next_criterion`, …) are kept.

use chrono::NaiveDate;
use serde::Serialize;

/// The most paths of the human's that a prompt lists.
const SHOWN_PATHS: usize = 20;

/// What `iteration.md` sees. All texts must be redacted already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IterationValues {
    /// The iteration's number; grows across runs.
    pub iteration: u32,
    /// The task's name.
    pub task_name: String,
    /// The task's folder, relative to the repository, `/`-separated.
    pub task_folder: String,
    /// The text of TASK.md.
    pub task_content: String,
    /// The text of guardrails.md; empty if there is none.
    pub guardrails_content: String,
    /// The text of progress.md; a template sees its last 50 lines.
    pub progress_content: String,
    /// The text of the criterion in focus.
    pub next_criterion: String,
    /// Its 1-based line in TASK.md.
    pub next_line: usize,
    /// The commands that the runner will verify it with: its own, then the task's.
    pub verify_commands: Vec<String>,
    /// The findings of the last verdict, the weightiest first; a template sees a bullet list.
    #[serde(serialize_with = "bullets")]
    pub feedback: Vec<String>,
    /// What the human wants said of the project in every prompt, if anything.
    pub project_context: Option<String>,
    /// Paths that the human left changed in the tree and that the agent must leave
    /// alone; a template sees a bullet list of the first 20.
    #[serde(serialize_with = "paths")]
    pub human_changes: Vec<String>,
    /// 1 for the first attempt on this criterion.
    pub attempt: u32,
    /// Attempts there are in all.
    pub max_attempts: u32,
    /// The date that the progress entry must carry.
    pub date: NaiveDate,
}

/// What `continuation.md` sees: the prompt after a denial of ours ended the turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContinuationValues {
    /// The iteration's number.
    pub iteration: u32,
    /// The task's name.
    pub task_name: String,
    /// The task's folder, relative to the repository, `/`-separated.
    pub task_folder: String,
    /// The text of the criterion in focus.
    pub next_criterion: String,
    /// Its 1-based line in TASK.md.
    pub next_line: usize,
    /// The guard's reason for the denial.
    pub reason: String,
    /// What the human wants said of the project in every prompt, if anything.
    pub project_context: Option<String>,
}

/// What `stop.md` sees: the message that the agent gets when it wants to end its turn and
/// the work would not pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StopValues {
    /// The iteration's number.
    pub iteration: u32,
    /// The task's name.
    pub task_name: String,
    /// The task's folder, relative to the repository, `/`-separated.
    pub task_folder: String,
    /// The text of the criterion in focus.
    pub next_criterion: String,
    /// Its 1-based line in TASK.md.
    pub next_line: usize,
    /// What would fail the verdict; a template sees a bullet list.
    #[serde(serialize_with = "bullets")]
    pub feedback: Vec<String>,
}

/// What the files see that `init` writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScaffoldValues {
    /// The task's name.
    pub task_name: String,
}

#[expect(clippy::ptr_arg, reason = "serde hands a reference to the field")]
fn bullets<S: serde::Serializer>(items: &Vec<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&as_bullets(items.iter().map(String::as_str)))
}

#[expect(clippy::ptr_arg, reason = "serde hands a reference to the field")]
fn paths<S: serde::Serializer>(items: &Vec<String>, serializer: S) -> Result<S::Ok, S::Error> {
    let more = items.len().saturating_sub(SHOWN_PATHS);
    let rest = format!("and {more} more");
    let rest = (more > 0).then_some(rest.as_str());
    let shown = items.iter().take(SHOWN_PATHS).map(String::as_str);
    serializer.serialize_str(&as_bullets(shown.chain(rest)))
}

/// A Markdown list; an item's further lines are indented, so that they stay in it.
fn as_bullets<'a>(items: impl Iterator<Item = &'a str>) -> String {
    let bullets: Vec<String> =
        items.map(|item| format!("- {}", item.trim().replace('\n', "\n  "))).collect();
    bullets.join("\n")
}
