//! A session that plans: it may only read, and its answer becomes a plan, whatever it says.

use std::sync::Arc;

use super::code_task::{CodeRequest, CodeResult, TellSteps, ToolUse, one_session};
use super::context::RepoContext;
use super::failure::Failure;
use super::print::complain;
use crate::agent::AgentError;
use crate::config::Settings;
use crate::mcp::{ended, went_well};
use crate::model::{ExitCode, Fault, FaultClass, TaskPlan, one_line};
use crate::plan::{check, one_task, repair};

/// The planner's instructions, before the goal.
const PLANNING: &str = include_str!("planning.md");
/// Milliseconds that the planner has.
const LIMIT: u64 = 5 * 60 * 1000;
/// Characters of an answer that are shown.
const SHOWN: usize = 300;

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
    place.require_idle()?;
    complain("planning: a session of the agent reads the project");
    let steps = Arc::new(TellSteps(|step| complain(&format!("  {step}"))));
    let (plan, why) = match one_session(place, settings, &request, steps) {
        Ok(CodeResult { turn, .. }) if went_well(&turn) => {
            let plan = repair(goal, &turn.said);
            let why = if plan.fallback { why_not(&turn.said) } else { String::new() };
            (plan, why)
        }
        Ok(CodeResult { turn, .. }) => {
            refuse_limit(turn.fault.as_ref())?;
            (one_task(goal), ended(&turn).unwrap_or_default())
        }
        Err(failure) if failure.code == ExitCode::Agent && !is_unusable(&failure) => {
            (one_task(goal), failure.reason())
        }
        Err(failure) => return Err(failure),
    };
    if plan.fallback {
        complain(&format!("the planner gave no usable plan: {why}; the goal is one sub-task"));
    }
    Ok(plan)
}

/// Why an answer is no plan, with its beginning.
fn why_not(said: &str) -> String {
    let begins = one_line(said);
    let begins: String = begins.chars().take(SHOWN).collect();
    let from = said.find("{\"tasks\"").or_else(|| said.find('{')).unwrap_or_default();
    let to = said.rfind('}').map_or(said.len(), |at| at + 1);
    let why = said.get(from..to).and_then(|json| check(json).err());
    let why = why.map_or_else(String::new, |error| format!(" ({error})"));
    format!("its answer is no plan{why}: {begins}")
}

/// A rate limit passes: it is no reason for a worse plan.
fn refuse_limit(fault: Option<&Fault>) -> Result<(), Failure> {
    match fault {
        Some(fault) if fault.class == FaultClass::RateLimit => {
            let why = format!("the planner failed: {}", fault.message);
            Err(Failure::new(ExitCode::RateLimited, why)
                .hint("try again later; nothing was written"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Is there no agent at all, or does it want a login before it opens a session?
fn is_unusable(failure: &Failure) -> bool {
    let error = failure.source.downcast_ref::<AgentError>();
    let class = error.and_then(AgentError::fault).map(|fault| fault.class);
    matches!(class, Some(FaultClass::NotFound | FaultClass::Auth))
}
