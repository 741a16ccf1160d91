//! The loop as tools: each call is a command of this program.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::allowed::AllowedTasks;
use super::child::{LADDER, OwnProgram};
use super::workspace::{START_ELSEWHERE, in_repository};
use crate::mcp::{Arguments, Call, ProgressStep, Tool, ToolAnswer, Tools, bounded, schema};
use crate::model::ExitCode;
use crate::sys::process::{Ladder, Supervised};

/// How long a command that only looks may take.
const LOOK: Duration = Duration::from_secs(60);
/// How long a run may take to begin or to refuse.
const START: Duration = Duration::from_secs(120);
/// Lines of `task_log`: as many as asked for, at most this many.
const MOST_LINES: u64 = 1000;
/// Bytes of a run's standard error that explain why it did not begin.
const MOST_SAID: u64 = 64 << 10;

/// The tools for tasks.
pub(super) struct LoopTools {
    own: OwnProgram,
    folder: PathBuf,
    allowed: AllowedTasks,
    depth: u32,
    /// The newest run that was started here.
    run: Mutex<Option<StartedRun>>,
    /// Cancelled with the server.
    stop: CancellationToken,
}

/// A run that was started here.
#[derive(Clone)]
struct StartedRun {
    task: String,
    id: String,
    /// The exit code, once it has ended.
    ended: watch::Receiver<Option<i32>>,
    stop: CancellationToken,
}

/// The output of a run, as it arrives.
struct RunOutput {
    first: oneshot::Sender<Result<String, String>>,
    steps: mpsc::Sender<String>,
    ended: watch::Sender<Option<i32>>,
}

impl LoopTools {
    pub(super) fn new(
        own: OwnProgram,
        folder: PathBuf,
        allowed: AllowedTasks,
        depth: u32,
        stop: CancellationToken,
    ) -> Self {
        Self { own, folder, allowed, depth, run: Mutex::default(), stop }
    }

    /// Waits until no run of ours is left.
    pub(super) async fn end(&self) {
        let run = self.run.lock().await.take();
        if let Some(mut run) = run {
            run.stop.cancel();
            let _over = run.ended.wait_for(Option::is_some).await;
        }
    }

    /// Runs a command that only looks; `fine` are the exit codes of an answer.
    async fn look(
        &self,
        words: &[&str],
        fine: &[i32],
        depth: u32,
        call: &Call,
    ) -> Result<String, ToolAnswer> {
        let command = self.own.command(&self.folder, depth, words.iter().copied());
        let ended = self.own.output(command, LOOK, &call.cancel).await?;
        match ended.code {
            Some(code) if fine.contains(&code) => Ok(ended.stdout),
            Some(_) | None => Err(ended.failure()),
        }
    }

    async fn run_task(&self, task: &str, wait: bool, depth: u32, call: &Call) -> ToolAnswer {
        let digest = match self.allowed.check(task) {
            Ok(digest) => digest,
            Err(refused) => return refused,
        };
        let (started, steps) = match self.start(task, digest, depth).await {
            Ok(started) => started,
            Err(refused) => return refused,
        };
        if !wait {
            return ToolAnswer::text(json!({"run": started.id, "state": "running"}).to_string());
        }
        await_run(started, steps, call).await
    }

    /// Starts a run, unless one is at work, and waits for its id.
    async fn start(
        &self,
        task: &str,
        digest: &str,
        depth: u32,
    ) -> Result<(StartedRun, mpsc::Receiver<String>), ToolAnswer> {
        let mut running = self.run.lock().await;
        if let Some(run) = running.as_ref().filter(|run| run.ended.borrow().is_none()) {
            let (id, task) = (&run.id, &run.task);
            return Err(ToolAnswer::error(format!(
                "run {id} of task `{task}` is in progress in this repository; only one runs at a \
                 time"
            )));
        }
        let command = self.own.command(
            &self.folder,
            depth,
            ["run", "--json", "--only-as", digest, "--", task],
        );
        let child = Supervised::spawn(command, &self.own.mark)
            .map_err(|error| ToolAnswer::error(error.to_string()))?;
        let (first, began) = oneshot::channel();
        let (steps, receiver) = mpsc::channel(64);
        let (ended, end) = watch::channel(None);
        let stop = self.stop.child_token();
        tokio::spawn(follow(child, RunOutput { first, steps, ended }, stop.clone()));
        let id = match tokio::time::timeout(START, began).await {
            Ok(Ok(Ok(id))) => id,
            Ok(Ok(Err(refused))) => return Err(ToolAnswer::error(refused)),
            Ok(Err(_)) => return Err(ToolAnswer::error("the run ended before it started")),
            Err(_) => {
                stop.cancel();
                return Err(ToolAnswer::error("the run did not start in time"));
            }
        };
        let run = StartedRun { task: task.to_owned(), id, ended: end, stop };
        *running = Some(run.clone());
        Ok((run, receiver))
    }
}

/// Reads a run's events until it has ended, or ends it.
async fn follow(mut child: Supervised, output: RunOutput, stop: CancellationToken) {
    let RunOutput { first, steps, ended } = output;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let said = tokio::spawn(async move {
        let mut said = String::new();
        if let Some(stderr) = stderr {
            let mut stderr = stderr.take(MOST_SAID);
            let _read = stderr.read_to_string(&mut said).await;
            // The rest is read, so that the run never waits.
            let _rest = tokio::io::copy(&mut stderr.into_inner(), &mut tokio::io::sink()).await;
        }
        said
    });
    let mut first = Some(first);
    let reading = async {
        let Some(stdout) = stdout else { return };
        let mut lines = BufReader::new(stdout).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let Ok(event) = serde_json::from_str::<Value>(&line) else { continue };
            if let Some(id) = event["run"].as_str()
                && let Some(first) = first.take()
            {
                let _gone = first.send(Ok(id.to_owned()));
            }
            if let Some(name) = event["event"].as_str() {
                let _full = steps.try_send(name.to_owned());
            }
        }
    };
    let ladder = tokio::select! {
        () = reading => None,
        () = stop.cancelled() => Some(LADDER),
    };
    let code = match ladder {
        None => child.wait().await.ok().and_then(|status| status.code()),
        Some(_) => None,
    };
    let report = child.stop(ladder.unwrap_or(Ladder::AT_ONCE)).await;
    let code = code.or_else(|| report.status.and_then(|status| status.code()));
    if let Some(first) = first.take() {
        let said = tokio::time::timeout(Duration::from_secs(1), said).await;
        let said = said.ok().and_then(Result::ok).unwrap_or_default();
        let _gone = first.send(Err(said.trim().to_owned()));
    }
    drop(steps);
    // -1 stands for a signal.
    let _gone = ended.send(Some(code.unwrap_or(-1)));
}

/// Reports the events of a run until it ends, or ends it when the call is cancelled.
async fn await_run(
    mut run: StartedRun,
    mut steps: mpsc::Receiver<String>,
    call: &Call,
) -> ToolAnswer {
    let mut number = 0_u32;
    loop {
        tokio::select! {
            step = steps.recv() => {
                let Some(message) = step else { break };
                number += 1;
                call.progress.report(ProgressStep { done: number.into(), total: None, message });
            }
            () = call.cancel.cancelled() => {
                run.stop.cancel();
                break;
            }
        }
    }
    let code = match run.ended.wait_for(Option::is_some).await {
        Ok(code) => code.unwrap_or(-1),
        Err(_) => -1,
    };
    let row = ExitCode::TABLE.iter().find(|(number, ..)| i32::from(*number) == code);
    let answer = json!({
        "run": run.id,
        "exit_code": code,
        "outcome": row.map(|(_, name, ..)| name),
        "meaning": row.map(|(_, _, meaning, _)| meaning),
    });
    ToolAnswer { is_error: code != 0, ..ToolAnswer::text(answer.to_string()) }
}

fn last_lines(text: &str, count: u64) -> String {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let mut last = VecDeque::new();
    for line in text.lines() {
        if last.len() == count {
            last.pop_front();
        }
        last.push_back(line);
    }
    Vec::from(last).join("\n")
}

#[async_trait]
impl Tools for LoopTools {
    fn list(&self) -> Vec<Tool> {
        let task = json!({"type": "string", "description": "The name of a task"});
        let tool = |name: &str, description: &str, input_schema, read_only| Tool {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema,
            read_only,
        };
        let of_task = || schema(json!({"task": task}), &["task"]);
        vec![
            tool("check_task", "Validate TASK.md and list its criteria, as JSON.", of_task(), true),
            tool(
                "run_task",
                "Work on a task until every criterion is met. Returns the run's id; with `wait` \
                 it returns at the end, with the outcome. Only tasks that the human allowed.",
                schema(
                    json!({
                        "task": task,
                        "wait": {"type": "boolean", "default": false,
                            "description": "Return when the run has ended"},
                    }),
                    &["task"],
                ),
                false,
            ),
            tool("task_status", "Show the progress of a task, as JSON.", of_task(), true),
            tool(
                "task_log",
                "Show the last lines of the log of a task's newest run.",
                schema(
                    json!({
                        "task": task,
                        "lines": {"type": "integer", "minimum": 1, "maximum": MOST_LINES,
                            "default": 50},
                    }),
                    &["task"],
                ),
                true,
            ),
            tool(
                "policy_check",
                "Show what the guard would decide about a shell command, without running it.",
                schema(json!({"command": {"type": "string"}}), &["command"]),
                true,
            ),
        ]
    }

    async fn call(&self, call: Call) -> Option<ToolAnswer> {
        let known = self.list().into_iter().any(|tool| tool.name == call.name);
        known.then_some(())?;
        Some(match self.answer(&call).await {
            Ok(text) => ToolAnswer::text(bounded(&text)),
            Err(answer) => ToolAnswer { text: bounded(&answer.text), ..answer },
        })
    }
}

impl LoopTools {
    async fn answer(&self, call: &Call) -> Result<String, ToolAnswer> {
        let arguments = Arguments::of(&call.arguments);
        let depth = arguments.depth(self.depth)?;
        in_repository(&self.folder, START_ELSEWHERE)?;
        match call.name.as_str() {
            "check_task" => {
                let task = arguments.word("task")?;
                self.look(&["check", "--json", "--", task], &[0], depth, call).await
            }
            "task_status" => {
                let task = arguments.word("task")?;
                self.look(&["status", "--json", "--", task], &[0], depth, call).await
            }
            "task_log" => {
                let task = arguments.word("task")?;
                let lines = arguments.count("lines", 50, (1, MOST_LINES))?;
                let log = self.look(&["log", "--", task], &[0], depth, call).await?;
                Ok(last_lines(&log, lines))
            }
            "policy_check" => {
                let command = arguments.word("command")?;
                // 1 says that the guard denies it.
                let words = ["policy", "check", "--json", "--", command];
                self.look(&words, &[0, 1], depth, call).await
            }
            _ => {
                let (task, wait) = (arguments.word("task")?, arguments.flag("wait")?);
                let answer = self.run_task(task, wait, depth, call).await;
                if answer.is_error { Err(answer) } else { Ok(answer.text) }
            }
        }
    }
}
