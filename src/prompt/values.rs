//! The values that templates can use. Their names are public: users write them in their own
//! templates.

use chrono::NaiveDate;
use serde::Serialize;

/// The maximum number of the human's paths that a prompt lists.
const SHOWN_PATHS: usize = 20;

/// The values of `iteration.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IterationValues {
    /// The iteration's number, which grows across runs.
    pub iteration: u32,
    /// The task's name.
    pub task_name: String,
    /// What every commit message begins with.
    pub commit_prefix: String,
    /// The task's folder, relative to the repository, `/`-separated.
    pub task_folder: String,
    /// The text of TASK.md.
    pub task_content: String,
    /// The text of guardrails.md; empty if the file is missing.
    pub guardrails_content: String,
    /// The text of progress.md; the template sees its last 50 lines.
    pub progress_content: String,
    /// The text of the criterion in focus.
    pub next_criterion: String,
    /// Its 1-based line in TASK.md.
    pub next_line: usize,
    /// The commands that the runner will verify it with: the criterion's, then the task's.
    pub verify_commands: Vec<String>,
    /// Its own commands passed before any work.
    pub passed_before: bool,
    /// The findings of the last verdict, most important first; the template sees a bullet list.
    #[serde(serialize_with = "bullets")]
    pub feedback: Vec<String>,
    /// Lessons of earlier criteria that resemble this one; the template sees a bullet list.
    #[serde(serialize_with = "bullets")]
    pub lessons: Vec<String>,
    /// The human's description of the project, included in every prompt.
    pub project_context: Option<String>,
    /// The project's commit hooks that refuse commits, and what they print.
    pub commit_hooks: Option<String>,
    /// Paths with the human's uncommitted changes, which the agent must leave alone; the template
    /// sees a bullet list of the first 20.
    #[serde(serialize_with = "paths")]
    pub human_changes: Vec<String>,
    /// 1 for the first attempt on this criterion.
    pub attempt: u32,
    /// The number of attempts per criterion.
    pub max_attempts: u32,
    /// The date for the new line in progress.md.
    pub date: NaiveDate,
}

/// The values of `continuation.md`, the prompt after a denial ended the turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContinuationValues {
    /// The iteration's number.
    pub iteration: u32,
    /// The task's name.
    pub task_name: String,
    /// What every commit message begins with.
    pub commit_prefix: String,
    /// The task's folder, relative to the repository, `/`-separated.
    pub task_folder: String,
    /// The text of the criterion in focus.
    pub next_criterion: String,
    /// Its 1-based line in TASK.md.
    pub next_line: usize,
    /// The guard's reason for the denial.
    pub reason: String,
    /// The human's description of the project, included in every prompt.
    pub project_context: Option<String>,
}

/// The values of `stop.md`, the message to an agent that wants to end its turn although the work
/// would not pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StopValues {
    /// The iteration's number.
    pub iteration: u32,
    /// The task's name.
    pub task_name: String,
    /// What every commit message begins with.
    pub commit_prefix: String,
    /// The task's folder, relative to the repository, `/`-separated.
    pub task_folder: String,
    /// The text of the criterion in focus.
    pub next_criterion: String,
    /// Its 1-based line in TASK.md.
    pub next_line: usize,
    /// The findings that would fail the verdict; the template sees a bullet list.
    #[serde(serialize_with = "bullets")]
    pub feedback: Vec<String>,
}

/// The values of the files that `init` writes.
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

/// Formats a Markdown list. Further lines of an item are indented, so that they stay inside it.
fn as_bullets<'a>(items: impl Iterator<Item = &'a str>) -> String {
    let bullets: Vec<String> =
        items.map(|item| format!("- {}", item.trim().replace('\n', "\n  "))).collect();
    bullets.join("\n")
}
