//! Runs one `copilot -p` and watches it until it ends, is stuck or is stopped.
//!
//! Invariant: every wait has a limit, the process and everything it started are gone when the
//! turn is returned, and everything observed becomes part of the turn.

use std::collections::HashMap;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt as _;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{ChildStdout, Command};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};
use tokio_util::codec::{AnyDelimiterCodec, AnyDelimiterCodecError, FramedRead};
use tokio_util::sync::CancellationToken;

use super::cli_records::{self, CliRecords, RecordedCall};
use crate::agent::arguments::is_empty;
use crate::agent::command::{mcp_config, prepare};
use crate::agent::fault::explains_loss;
use crate::agent::records::{SessionRecords, reset_in_logs};
use crate::agent::stderr::StderrTail;
use crate::agent::wire_log::{Way, WireLog};
use crate::agent::{
    AgentError, AgentLaunch, Closed, ReportedFault, Session, SessionTools, TurnLimits,
    classify_line, observe,
};
use crate::model::{
    Asked, CallStatus, Decided, EventKind, ExecutedCall, Fault, FaultClass, Prompt, SessionId,
    Turn, TurnEnd, Usage,
};
use crate::sys::process::{Ladder, Supervised};

/// Longest record, in bytes.
const LONGEST: usize = 16 << 20;
/// Longest prompt that is passed as an argument, in bytes.
const ARGUMENT: usize = 100_000;
/// How often the limits are checked.
const LOOK: Duration = Duration::from_millis(500);
/// How long to read the output after the process ended; a process that it left behind may hold
/// the pipe open for ever.
const DRAIN: Duration = Duration::from_millis(500);

/// A session that runs each prompt in a separate process.
pub(super) struct OneShotSession {
    id: SessionId,
    launch: Arc<AgentLaunch>,
    records: Option<SessionRecords>,
    /// Tokens that were counted in earlier turns.
    counted: Usage,
    /// Tools of the run's own server, which end with the session.
    tools: Option<SessionTools>,
}

/// The observations while the process runs.
#[derive(Default)]
struct Gathered {
    seen: CliRecords,
    undecided: Vec<String>,
    ended: HashMap<usize, ExecutedCall>,
    life: Option<Instant>,
}

/// Why the wait for the process ended.
enum Over {
    Exited(ExitStatus),
    Broken(String),
    Cancel(TurnEnd),
}

type Lines = FramedRead<ChildStdout, AnyDelimiterCodec>;

impl OneShotSession {
    pub(super) fn new(
        id: SessionId,
        launch: Arc<AgentLaunch>,
        records: Option<SessionRecords>,
        tools: Option<SessionTools>,
    ) -> Self {
        Self { id, launch, records, counted: Usage::default(), tools }
    }
}

#[async_trait]
impl Session for OneShotSession {
    fn id(&self) -> &SessionId {
        &self.id
    }

    async fn prompt(
        &mut self,
        prompt: &Prompt,
        limits: &TurnLimits,
        stop: &CancellationToken,
    ) -> Result<Turn, AgentError> {
        let launch = Arc::clone(&self.launch);
        launch.gate.prompted(&self.id, &prompt.text);
        launch.gate.check_recorded()?;
        let started = Instant::now();
        let denied_before = launch.gate.denied();
        let redactor = launch.gate.redactor();
        let path = launch.folder.join("wire.log");
        let (log, wire) = WireLog::open(&path, Arc::clone(redactor))
            .map_err(|source| AgentError::Prepare { path, source })?;
        let (mut child, mut lines) = self.start(prompt)?;
        let stderr = child.stderr.take().ok_or_else(|| self.unconnected())?;
        let stderr =
            StderrTail::drain(stderr, &launch.folder.join("stderr.log"), Arc::clone(redactor));
        let mut gathered = Gathered::default();
        let watched =
            self.watch(&mut child, &mut lines, &log, &mut gathered, limits, (started, stop)).await;
        // No process of it may still be at work when its changes are examined.
        launch.gate.rest();
        let over = matches!(watched, Ok(Over::Exited(_)));
        let term = if over { Duration::ZERO } else { limits.grace };
        let report = child.stop(Ladder { term, ..Ladder::AT_ONCE }).await;
        if !report.left.is_empty() {
            tracing::warn!(?report, "processes of the agent are still there");
        }
        let mut watched = watched?;
        let deadline = Instant::now() + DRAIN;
        while let Ok(Some(line)) = timeout_at(deadline, lines.next()).await {
            match line {
                Ok(line) => {
                    log.note(Way::Received, &String::from_utf8_lossy(&line));
                    gathered.seen.take(&line);
                }
                Err(error) => {
                    // The unread rest may have reported undecided calls.
                    if let Over::Exited(_) = watched {
                        watched = Over::Broken(broken(&error));
                    }
                    break;
                }
            }
        }
        self.gather(&mut gathered)?;
        drop((log, wire));
        let (end, fault) = match SessionRecords::spent(&mut self.records, limits).await {
            true => (TurnEnd::Interrupted, None),
            false => self.end(watched, &mut gathered, &stderr).await,
        };
        let usage = self.usage().await;
        Ok(self.turn(end, fault, usage, gathered, denied_before, started))
    }

    async fn close(self: Box<Self>, _: Duration) -> Closed {
        self.launch.gate.close(&self.id);
        Closed::Confirmed
    }
}

impl OneShotSession {
    fn unconnected(&self) -> AgentError {
        let source = std::io::Error::other("its streams are not connected");
        AgentError::Start { program: self.launch.command.program.clone(), source }
    }

    fn start(&self, prompt: &Prompt) -> Result<(Supervised, Lines), AgentError> {
        let launch = &self.launch;
        let mut command = Command::new(&launch.command.program);
        command.args(&launch.command.args).args(&launch.environment.arguments);
        command.arg("--session-id").arg(self.id.as_str()).args(["--output-format", "json"]);
        if let (Some(tools), Some(offered)) = (&self.tools, &launch.tools) {
            tools.write_config(&offered.config)?;
            command.args(mcp_config(&offered.config));
        }
        if fits_an_argument(&prompt.text) {
            command.arg("-p").arg(&prompt.text).stdin(Stdio::null());
        } else {
            command.stdin(Stdio::piped());
        }
        prepare(&mut command, &launch.environment.variables, &launch.cwd);
        let mut child = Supervised::spawn(command, launch.run.as_str()).map_err(|error| {
            let source = std::io::Error::other(error);
            AgentError::Start { program: launch.command.program.clone(), source }
        })?;
        if let Some(mut stdin) = child.stdin.take() {
            let text = prompt.text.clone();
            tokio::spawn(async move {
                if let Err(error) = stdin.write_all(text.as_bytes()).await {
                    tracing::debug!(%error, "the prompt was not read");
                }
            });
        }
        let stdout = child.stdout.take().ok_or_else(|| self.unconnected())?;
        let codec = AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), Vec::new(), LONGEST);
        Ok((child, FramedRead::with_capacity(stdout, codec, 64 << 10)))
    }

    async fn watch(
        &mut self,
        child: &mut Supervised,
        lines: &mut Lines,
        log: &WireLog,
        gathered: &mut Gathered,
        limits: &TurnLimits,
        (started, stop): (Instant, &CancellationToken),
    ) -> Result<Over, AgentError> {
        let mut clock = interval(LOOK);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut open = true;
        loop {
            let mut ticked = false;
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(Over::Cancel(TurnEnd::Interrupted)),
                line = lines.next(), if open => match line {
                    Some(Ok(line)) => {
                        log.note(Way::Received, &String::from_utf8_lossy(&line));
                        gathered.seen.take(&line);
                        gathered.life = Some(Instant::now());
                    }
                    Some(Err(error)) => return Ok(Over::Broken(broken(&error))),
                    None => open = false,
                },
                status = child.wait() => {
                    let lost = |error: crate::sys::SysError| Over::Broken(error.to_string());
                    return Ok(status.map_or_else(lost, Over::Exited));
                }
                _ = clock.tick() => ticked = true,
            }
            self.gather(gathered)?;
            if !gathered.undecided.is_empty() {
                return Ok(Over::Cancel(TurnEnd::Interrupted));
            }
            let last = gathered.life.unwrap_or(started);
            let pulse = gathered.seen.log.pulse((&self.launch.gate, limits), started, last);
            if let Some(stuck) = observe(&pulse, limits) {
                return Ok(Over::Cancel(TurnEnd::Stuck(stuck)));
            }
            if let Some(records) = self.records.as_mut().filter(|_| ticked && limits.usage())
                && limits.used_up(records.tokens().await.since(self.counted))
            {
                return Ok(Over::Cancel(TurnEnd::Interrupted));
            }
        }
    }

    /// Records the calls that ended, and collects calls that were not allowed and other reasons
    /// to stop the turn.
    fn gather(&self, gathered: &mut Gathered) -> Result<(), AgentError> {
        let gate = &self.launch.gate;
        gate.check_recorded()?;
        for (at, mut call) in gathered.seen.log.take_ended() {
            let decided = self.settle(&mut call);
            let call = executed(&call);
            if decided == Decided::Missing {
                let what = format!("{} ran without a decision: {}", call.kind, call.input);
                gathered.undecided.push(what);
            }
            gathered.ended.insert(at, call.clone());
            gate.record(|iteration| EventKind::ToolFinished { iteration, decided, call })?;
        }
        let seen = &gathered.seen;
        let unguarded = seen.working && !gate.in_force(self.id.as_str());
        let late = || "the guard's hook did not report before the model's turn".to_owned();
        let alarm = seen.log.overrun().or_else(|| unguarded.then(late)).or_else(|| gate.alarm());
        gathered.undecided.extend(alarm.filter(|alarm| !gathered.undecided.contains(alarm)));
        Ok(())
    }

    /// Matches a call that ended with its decision.
    fn settle(&self, call: &mut RecordedCall) -> Decided {
        if call.status == CallStatus::Denied && call.details.by_hook {
            return Decided::Yes;
        }
        // Where the hook had allowed a denied one, that permission is taken as well: it covers no
        // other call.
        let standing = self.launch.gate.standing(&call.ended(self.id.as_str(), Asked::Hook));
        if call.status == CallStatus::Denied {
            return Decided::Yes;
        }
        // A call whose arguments were not JSON reaches no hook and does not run.
        let undecided = if call.status == CallStatus::Failed && is_empty(&call.input) {
            Decided::NotAsked
        } else if cli_records::is_shell_echo(call) {
            Decided::NotNeeded
        } else {
            Decided::Missing
        };
        call.settle(standing, undecided)
    }

    /// How the turn ended, and its failure.
    async fn end(
        &self,
        over: Over,
        gathered: &mut Gathered,
        stderr: &StderrTail,
    ) -> (TurnEnd, Option<Fault>) {
        let words = stderr.last_words().await;
        let lost = |why: String, class| {
            let stderr = words.clone();
            let error = AgentError::Lost { operation: "copilot -p", why, stderr, class };
            (TurnEnd::Lost, error.fault())
        };
        let status = match over {
            Over::Cancel(end) => return (end, None),
            Over::Broken(why) => return lost(why, FaultClass::Protocol),
            Over::Exited(status) => status,
        };
        // The text counts only if it is nothing but the report of a rate limit.
        let told = |seen: &CliRecords| {
            let told =
                seen.words.classify(seen.log.begun > 0).filter(ReportedFault::is_plain_limit);
            told.map(|told| told.fault)
        };
        if let Some(fault) = gathered.seen.fault.take().or_else(|| told(&gathered.seen)) {
            let reset = match (fault.reset, fault.class) {
                (None, FaultClass::RateLimit) => reset_in_logs(&self.launch.logs).await,
                (reset, _) => reset,
            };
            let fault = Fault { reset, ..fault };
            return (TurnEnd::EndTurn, Some(fault));
        }
        if !status.success() {
            // Its standard error holds only why it could not take the prompt.
            let mut classes = words.lines().filter_map(classify_line);
            let class = classes.find(|class| explains_loss(*class)).unwrap_or(FaultClass::Died);
            return lost(format!("it ended with {status}"), class);
        }
        if !self.launch.gate.in_force(self.id.as_str()) {
            let alarm = "the guard's hook did not report: `copilot -p` ran without it".to_owned();
            gathered.undecided.push(alarm);
        } else if gathered.seen.records == 0 {
            let why = "it printed no records, so what it did is unknown".to_owned();
            return lost(why, FaultClass::Protocol);
        }
        (TurnEnd::EndTurn, None)
    }

    /// The tokens used in this turn.
    async fn usage(&mut self) -> Option<Usage> {
        let all = self.records.as_mut()?.tokens().await;
        let turn = all.since(self.counted);
        self.counted = all;
        (turn.total > 0).then_some(turn)
    }

    fn turn(
        &self,
        end: TurnEnd,
        fault: Option<Fault>,
        usage: Option<Usage>,
        gathered: Gathered,
        denied_before: u32,
        started: Instant,
    ) -> Turn {
        let Gathered { seen, undecided, mut ended, .. } = gathered;
        let calls = seen.log.calls.iter().enumerate();
        let calls = calls.map(|(at, call)| ended.remove(&at).unwrap_or_else(|| executed(call)));
        let calls: Vec<ExecutedCall> = calls.collect();
        let gate = &self.launch.gate;
        Turn {
            end,
            calls,
            denied: gate.denied().saturating_sub(denied_before),
            undecided,
            updates: seen.records,
            unknown: Vec::new(),
            usage,
            context: None,
            said: seen.said.trim_end().to_owned(),
            fault,
            millis: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }
}

fn executed(call: &RecordedCall) -> ExecutedCall {
    call.executed(cli_records::kind(&call.details.tool).to_owned())
}

/// Can the prompt be passed as an argument? Otherwise it goes to standard input. An argument
/// cannot hold a NUL, and the CLI would parse one that starts with `-` as options.
fn fits_an_argument(prompt: &str) -> bool {
    prompt.len() <= ARGUMENT && !prompt.starts_with('-') && !prompt.contains('\0')
}

fn broken(error: &AnyDelimiterCodecError) -> String {
    match error {
        AnyDelimiterCodecError::MaxChunkLengthExceeded => {
            format!("it printed a line of more than {} MiB", LONGEST >> 20)
        }
        AnyDelimiterCodecError::Io(error) => format!("its output broke: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_argument_can_hold_goes_to_standard_input() {
        assert!(fits_an_argument("Focus on: a - b") && fits_an_argument(&"x".repeat(ARGUMENT)));
        for prompt in ["- a list", "--help", "a\0b", &"x".repeat(ARGUMENT + 1)] {
            assert!(!fits_an_argument(prompt), "{}", prompt.len());
        }
    }
}
