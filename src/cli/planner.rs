//! A session that plans: it may only read, and its answer becomes a plan, whatever it says.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use super::code_task::{CodeRequest, CodeResult, TellSteps, ToolUse, one_session};
use super::context::RepoContext;
use super::failure::Failure;
use super::print::complain;
use crate::agent::AgentError;
use crate::config::Settings;
use crate::mcp::{ended, went_well};
use crate::model::{ExitCode, TaskPlan};
use crate::plan::{one_task, repair};

/// The planner's instructions, before the goal.
const PLANNING: &str = include_str!("planning.md");
/// Milliseconds that the planner has.
const LIMIT: u64 = 5 * 60 * 1000;
/// Longest file with a plan, in bytes.
const LONGEST: u64 = 4 << 20;

/// Lets a session plan. One that fails leaves the goal as one sub-task; says why.
pub(super) fn plan(
    place: &RepoContext,
    settings: &Settings,
    goal: &str,
) -> Result<TaskPlan, Failure> {
    let request = CodeRequest {
        prompt: format!("{PLANNING}{goal}"),
        session: None,
        model: None,
        timeout_ms: Some(LIMIT),
        use_of_tools: ToolUse::Read,
    };
    complain("planning: a session of the agent reads the project");
    let steps = Arc::new(TellSteps(|step| complain(&format!("  {step}"))));
    let (plan, why) = match one_session(place, settings, &request, steps) {
        Ok(CodeResult { turn, .. }) if went_well(&turn) => {
            (repair(goal, &turn.said), "its answer is no plan".to_owned())
        }
        Ok(CodeResult { turn, .. }) => (one_task(goal), ended(&turn).unwrap_or_default()),
        Err(failure) if failure.code == ExitCode::Agent && !is_missing(&failure) => {
            (one_task(goal), failure.reason())
        }
        Err(failure) => return Err(failure),
    };
    if plan.fallback {
        complain(&format!("the planner gave no usable plan: {why}; the goal is one sub-task"));
    }
    Ok(plan)
}

/// Is there no agent at all?
fn is_missing(failure: &Failure) -> bool {
    matches!(failure.source.downcast_ref(), Some(AgentError::NotFound { .. }))
}

/// The text of a file, or of standard input for `-`.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if path.as_os_str() == "-" {
        std::io::stdin().lock().take(LONGEST).read_to_string(&mut text)
    } else {
        fs::File::open(path).and_then(|file| file.take(LONGEST).read_to_string(&mut text))
    };
    let failed =
        |error| Failure::new(ExitCode::Invalid, format!("cannot read {}: {error}", path.display()));
    read.map_err(failed).map(|_| text)
}
