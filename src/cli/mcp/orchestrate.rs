//! `copilot_orchestrate`: a call of `orchestrate --json`, whose events become progress and whose
//! end becomes Markdown.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::code_sessions::{CodeSessions, LONGEST, Steps};
use super::workspace::{START_ELSEWHERE, in_repository};
use crate::mcp::{Arguments, Call, Tool, ToolAnswer, Tools, bounded, schema};

const NAME: &str = "copilot_orchestrate";
/// Sessions at once, unless the client says otherwise, and at most.
const SESSIONS: (u64, u64) = (3, 64);
/// Most characters of a sub-task's description in a line, and of an error.
const LINE: usize = 120;
const ERROR: usize = 800;

/// The tool.
pub(super) struct Orchestrator {
    sessions: Arc<CodeSessions>,
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
        let jobs = arguments.count("maxConcurrency", usual, (1, most))?.to_string();
        let timeout = arguments.count("timeout", 0, (1, LONGEST))?;
        in_repository(&self.sessions.folder, START_ELSEWHERE)?;
        // No code task works in the tree meanwhile.
        let _turn = self.sessions.turn(&call.cancel).await?;
        let limit = format!("--turn-timeout={}s", timeout.div_ceil(1000));
        let mut words = vec!["orchestrate", "--json", "--jobs", &jobs];
        if timeout > 0 {
            words.push(&limit);
        }
        words.extend(["--", goal]);
        let own = &self.sessions.own;
        let command = own.command(&self.sessions.folder, depth, words);
        let mut steps = Steps::of(call);
        let mut plan = PlanSeen::default();
        let mut each = |line: &str| {
            let event = serde_json::from_str::<Value>(line).unwrap_or_default();
            if let Some(step) = plan.on(&event) {
                steps.tell(step);
            }
        };
        let whole = Duration::from_millis(LONGEST);
        let ended = own.follow(command, None, whole, &call.cancel, &mut each).await?;
        match plan.document() {
            Some(text) => {
                Ok(ToolAnswer { is_error: ended.code != Some(0), ..ToolAnswer::text(text) })
            }
            None => Err(ended.failure()),
        }
    }
}

/// The events of a plan, so far.
#[derive(Default)]
struct PlanSeen {
    descriptions: Vec<(String, String)>,
    complete: Option<Value>,
}

impl PlanSeen {
    /// Takes an event. Returns it as a line for people.
    fn on(&mut self, event: &Value) -> Option<String> {
        let (kind, id) = (event["event"].as_str()?, event["id"].as_str().unwrap_or_default());
        match kind {
            "task_start" => {
                let what = one_line(event["description"].as_str().unwrap_or_default(), LINE);
                let step = format!("task_start {id}: {what}");
                self.descriptions.push((id.to_owned(), what));
                Some(step)
            }
            "task_complete" => {
                let how = if event["success"] == true { "succeeded" } else { "failed" };
                Some(format!("task_complete {id}: {how}"))
            }
            "task_skipped" => {
                Some(format!("task_skipped {id}: {}", event["reason"].as_str().unwrap_or_default()))
            }
            "plan_complete" => {
                self.complete = Some(event.clone());
                Some(format!("plan_complete {}", event["summary"].as_str().unwrap_or_default()))
            }
            _ => None,
        }
    }

    /// The result, once the plan is complete.
    fn document(&self) -> Option<String> {
        let complete = self.complete.as_ref()?;
        let mut text = format!("{}\n\n## Sub-tasks\n", complete["summary"].as_str()?);
        for task in complete["tasks"].as_array()? {
            let (id, status) = (task["id"].as_str()?, task["status"].as_str()?);
            let what = self.descriptions.iter().find(|(known, _)| known == id);
            let what = what.map(|(_, what)| format!(": {what}")).unwrap_or_default();
            let reason = task["reason"].as_str().map(|why| format!(": {}", one_line(why, ERROR)));
            let _infallible =
                write!(text, "\n### {id}{what}\n\n**{status}**{}\n", reason.unwrap_or_default());
            for error in task["errors"].as_array()?.iter().filter_map(Value::as_str) {
                let _infallible = writeln!(text, "- {}", one_line(error, ERROR));
            }
        }
        Some(text)
    }
}

/// A text as one line of at most this many characters.
fn one_line(text: &str, most: usize) -> String {
    let line = crate::model::one_line(text);
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
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
                "description": "Sessions at once; more than 16 count as 16"},
            "timeout": {"type": "integer", "minimum": 1,
                "description": "Milliseconds for each sub-task [default: the limits of a run's turn]"},
        });
        vec![Tool {
            name: NAME.to_owned(),
            description: "Divide a larger coding task into sub-tasks and let Copilot work on them \
                          in parallel, each in a tree of its own; work lands on the branch once it \
                          is checked. Returns what became of each."
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
