//! `copilot_orchestrate`: a session plans the sub-tasks of a goal, and one session each works on
//! them.
//!
//! Invariant: sub-tasks work one after the other, however many sessions a client allows, because
//! they share the working tree. One whose predecessor failed does not start.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;

use super::code_sessions::{CodePlace, CodeSessions, CodeTurn, LONGEST, Steps};
use super::workspace::{START_ELSEWHERE, in_repository};
use crate::cli::code_task::{CodeRequest, CodeResult, ToolUse};
use crate::mcp::{Arguments, Call, Tool, ToolAnswer, Tools, bounded, ended, schema, went_well};
use crate::model::{SessionId, SubTask, TaskPlan};
use crate::plan::{PlanExecution, SubTaskState, one_task, repair, waves};

const NAME: &str = "copilot_orchestrate";
/// The planner's instructions, before the goal.
const PLANNING: &str = include_str!("planning.md");
/// Milliseconds that the planner has.
const PLAN_LIMIT: u64 = 5 * 60 * 1000;
/// Sessions at once, unless the client says otherwise, and at most.
const SESSIONS: (u64, u64) = (3, 64);
/// Most characters of a sub-task's description in a line, and of its answer in the result.
const LINE: usize = 120;
const ANSWER: usize = 800;

/// The tool.
pub(super) struct Orchestrator {
    sessions: Arc<CodeSessions>,
}

/// The result of a sub-task that ended: its answer, or the reason for its failure.
struct SubTaskEnd {
    said: String,
    error: Option<String>,
    session: Option<SessionId>,
}

/// A call at work.
struct Orchestration<'c> {
    goal: &'c str,
    timeout_ms: Option<u64>,
    at: CodePlace<'c>,
    turn: CodeTurn<'c>,
    steps: Steps<'c>,
}

impl Orchestrator {
    pub(super) fn new(sessions: Arc<CodeSessions>) -> Self {
        Self { sessions }
    }

    async fn answer(&self, call: &Call) -> Result<ToolAnswer, ToolAnswer> {
        let arguments = Arguments::of(&call.arguments);
        let depth = arguments.depth(self.sessions.depth)?;
        let goal = arguments.text("task")?;
        let (usual, most) = SESSIONS;
        arguments.count("maxConcurrency", usual, (1, most))?;
        let timeout = arguments.count("timeout", 0, (1, LONGEST))?;
        in_repository(&self.sessions.folder, START_ELSEWHERE)?;
        let cancel = &call.cancel;
        let mut work = Orchestration {
            goal,
            timeout_ms: Some(timeout).filter(|timeout| *timeout > 0),
            at: CodePlace { folder: &self.sessions.folder, depth, cancel },
            turn: self.sessions.turn(cancel).await?,
            steps: Steps::of(call),
        };
        let plan = work.plan().await?;
        work.carry_out(&plan).await
    }
}

impl Orchestration<'_> {
    /// Lets a session plan that changes nothing. A failure does not end the orchestration.
    async fn plan(&mut self) -> Result<TaskPlan, ToolAnswer> {
        let request = CodeRequest {
            prompt: format!("{PLANNING}{}", self.goal),
            session: None,
            model: None,
            timeout_ms: Some(PLAN_LIMIT),
            use_of_tools: ToolUse::Read,
        };
        let steps = &mut self.steps;
        let told = &mut |step| steps.tell(format!("plan: {step}"));
        let planned = self.turn.run(self.at, &request, told).await;
        self.unless_cancelled()?;
        Ok(match planned {
            Ok(CodeResult { turn, .. }) if went_well(&turn) => repair(self.goal, &turn.said),
            Ok(_) | Err(_) => one_task(self.goal),
        })
    }

    async fn carry_out(&mut self, plan: &TaskPlan) -> Result<ToolAnswer, ToolAnswer> {
        let mut execution = PlanExecution::new(plan);
        let mut ends = BTreeMap::new();
        while let Some(task) = execution.start_next() {
            let (id, what) = (&task.id, one_line(&task.description, LINE));
            self.steps.tell(format!("task_start {id}: {what}"));
            let end = self.work_on(task, &execution).await;
            self.unless_cancelled()?;
            let success = end.error.is_none();
            let how = if success { "succeeded" } else { "failed" };
            self.steps.tell(format!("task_complete {id}: {how}"));
            for skipped in execution.finish(id, success) {
                let (id, because) = (&skipped.task.id, skipped.because);
                self.steps.tell(format!("task_skipped {id}: {because} failed"));
            }
            ends.insert(id.as_str(), end);
        }
        self.steps.tell(format!("plan_complete {}", execution.summary()));
        let text = document(plan, &execution, &ends);
        Ok(ToolAnswer { is_error: !execution.all_succeeded(), ..ToolAnswer::text(text) })
    }

    /// One session for a sub-task.
    async fn work_on(&mut self, task: &SubTask, execution: &PlanExecution<'_>) -> SubTaskEnd {
        let request = CodeRequest {
            prompt: prompt(self.goal, task, execution),
            session: None,
            model: None,
            timeout_ms: self.timeout_ms,
            use_of_tools: ToolUse::Work,
        };
        let steps = &mut self.steps;
        let told = &mut |step| steps.tell(format!("{}: {step}", task.id));
        match self.turn.run(self.at, &request, told).await {
            Ok(CodeResult { session, turn }) => SubTaskEnd {
                error: (!went_well(&turn)).then(|| ended(&turn).unwrap_or_default()),
                said: turn.said,
                session: Some(session),
            },
            Err(failed) => {
                SubTaskEnd { said: String::new(), error: Some(failed.text), session: None }
            }
        }
    }

    fn unless_cancelled(&self) -> Result<(), ToolAnswer> {
        if self.at.cancel.is_cancelled() { Err(ToolAnswer::error("cancelled")) } else { Ok(()) }
    }
}

/// The prompt of a sub-task's session.
fn prompt(goal: &str, task: &SubTask, execution: &PlanExecution<'_>) -> String {
    let done = execution.states().filter(|(_, state)| **state == SubTaskState::Succeeded);
    let done: Vec<String> = done
        .map(|(task, _)| format!("- {}: {}\n", task.id, one_line(&task.description, LINE)))
        .collect();
    let done = if done.is_empty() { "Nothing.\n".to_owned() } else { done.concat() };
    format!(
        "This is one part of a larger goal. Other sessions work on the other parts, one after the \
         other, in the same folder. Do this part only.\n\nPart {}:\n{}\n\nDone before:\n{done}\n\
         The whole goal:\n{goal}",
        task.id, task.description
    )
}

/// The result: numbers, the plan, and the result of each sub-task.
fn document(
    plan: &TaskPlan,
    execution: &PlanExecution<'_>,
    ends: &BTreeMap<&str, SubTaskEnd>,
) -> String {
    let mut text = format!("{}\n\n## Plan\n\n", execution.summary());
    if plan.fallback {
        text.push_str("The planner gave no usable plan: the whole task was one sub-task.\n\n");
    }
    for (number, wave) in waves(plan).unwrap_or_default().iter().enumerate() {
        let ids: Vec<&str> = wave.iter().map(|at| plan.tasks[*at].id.as_str()).collect();
        let _infallible = writeln!(text, "- Wave {}: {}", number + 1, ids.join(", "));
    }
    let (mut parts, mut errors) = ("\n## Sub-tasks\n".to_owned(), String::new());
    for (task, state) in execution.states() {
        let end = ends.get(task.id.as_str());
        let state = match state {
            SubTaskState::Waiting | SubTaskState::Running => "not finished".to_owned(),
            SubTaskState::Succeeded => "succeeded".to_owned(),
            SubTaskState::Failed => "failed".to_owned(),
            SubTaskState::Skipped(because) => format!("skipped, because {because} failed"),
        };
        let (id, what) = (&task.id, one_line(&task.description, LINE));
        let _infallible = writeln!(parts, "\n### {id}: {what}\n\n**{state}**");
        let Some(end) = end else { continue };
        if !end.said.trim().is_empty() {
            let _infallible = writeln!(parts, "\n{}", cut(end.said.trim(), ANSWER));
        }
        if let Some(session) = &end.session {
            let _infallible = writeln!(parts, "\nsessionId: `{}`", session.as_str());
        }
        if let Some(error) = &end.error {
            let _infallible = writeln!(errors, "- {id}: {}", one_line(error, ANSWER));
        }
    }
    if !errors.is_empty() {
        let _infallible = write!(text, "\n## Errors\n\n{errors}");
    }
    text + &parts
}

/// A text as one line of at most this many characters.
fn one_line(text: &str, most: usize) -> String {
    cut(&text.split_whitespace().collect::<Vec<_>>().join(" "), most)
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[async_trait]
impl Tools for Orchestrator {
    fn list(&self) -> Vec<Tool> {
        let (usual, most) = SESSIONS;
        let parameters = json!({
            "task": {"type": "string",
                "description": "The goal, with everything the agents must know"},
            "maxConcurrency": {"type": "integer", "minimum": 1, "maximum": most, "default": usual,
                "description": "Maximum number of concurrent sessions; they currently run one at \
                                a time, because they share a working tree"},
            "timeout": {"type": "integer", "minimum": 1,
                "description": "Milliseconds for each sub-task [default: the limits of a run's turn]"},
        });
        vec![Tool {
            name: NAME.to_owned(),
            description: "Divide a larger coding task into sub-tasks and let Copilot work on them \
                          in the order of their dependencies. Returns the result of each."
                .to_owned(),
            input_schema: schema(parameters, &["task"]),
            read_only: false,
        }]
    }

    async fn call(&self, call: Call) -> Option<ToolAnswer> {
        (call.name == NAME).then_some(())?;
        let answer = self.answer(&call).await.unwrap_or_else(|error| error);
        Some(ToolAnswer { text: bounded(&answer.text), ..answer })
    }
}
