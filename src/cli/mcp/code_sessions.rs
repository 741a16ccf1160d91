//! Code tasks as child processes, one after the other.
//!
//! Invariant: one session at a time works in the server's folder. Two agents that write one working
//! tree would overwrite and misread each other's work.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use super::child::OwnProgram;
use crate::cli::code_task::{CodeRequest, CodeResult, CodeStep};
use crate::mcp::{Call, Progress, ProgressStep, ToolAnswer};

/// Most milliseconds of a turn.
pub(super) const LONGEST: u64 = 24 * 3600 * 1000;
/// The time that a session may take in addition to its turn, to start and to end.
const AROUND: Duration = Duration::from_secs(120);

/// The sessions of a server.
pub(super) struct CodeSessions {
    pub(super) own: OwnProgram,
    /// The folder of the server; working folders lie in it.
    pub(super) folder: PathBuf,
    /// The depth of the server.
    pub(super) depth: u32,
    /// Calls wait in their order.
    turn: Mutex<()>,
}

/// The right to start sessions; those who want it next wait until it is dropped.
pub(super) struct CodeTurn<'s> {
    sessions: &'s CodeSessions,
    _held: MutexGuard<'s, ()>,
}

/// Where and for whom a session works.
#[derive(Clone, Copy)]
pub(super) struct CodePlace<'c> {
    pub(super) folder: &'c Path,
    pub(super) depth: u32,
    pub(super) cancel: &'c CancellationToken,
}

/// Numbers the steps of a call.
pub(super) struct Steps<'c> {
    progress: &'c Progress,
    told: u32,
}

impl<'c> Steps<'c> {
    pub(super) fn of(call: &'c Call) -> Self {
        Self { progress: &call.progress, told: 0 }
    }

    pub(super) fn tell(&mut self, message: String) {
        self.told += 1;
        self.progress.report(ProgressStep { done: self.told.into(), total: None, message });
    }
}

impl CodeSessions {
    pub(super) fn new(own: OwnProgram, folder: PathBuf, depth: u32) -> Self {
        Self { own, folder, depth, turn: Mutex::default() }
    }

    /// Waits for the sessions of earlier calls.
    pub(super) async fn turn(
        &self,
        cancel: &CancellationToken,
    ) -> Result<CodeTurn<'_>, ToolAnswer> {
        tokio::select! {
            held = self.turn.lock() => Ok(CodeTurn { sessions: self, _held: held }),
            () = cancel.cancelled() => Err(ToolAnswer::error("cancelled")),
        }
    }
}

impl CodeTurn<'_> {
    /// Runs a session to its end, and passes its tool calls to `each`.
    pub(super) async fn run(
        &self,
        at: CodePlace<'_>,
        request: &CodeRequest,
        each: &mut (dyn FnMut(String) + Send),
    ) -> Result<CodeResult, ToolAnswer> {
        let input =
            serde_json::to_string(request).map_err(|error| ToolAnswer::error(error.to_string()))?;
        let own = &self.sessions.own;
        let command = own.command(at.folder, at.depth, ["code-task"]);
        let limit = Duration::from_millis(request.timeout_ms.unwrap_or(LONGEST)) + AROUND;
        let mut step = |line: &str| {
            if let Ok(CodeStep { step }) = serde_json::from_str(line) {
                each(step);
            }
        };
        let ended = own.follow(command, Some(input), limit, at.cancel, &mut step).await?;
        if ended.code != Some(0) {
            return Err(ended.failure());
        }
        let result = ended.stdout.lines().last().unwrap_or_default();
        serde_json::from_str(result)
            .map_err(|error| ToolAnswer::error(format!("no result: {error}")))
    }
}
