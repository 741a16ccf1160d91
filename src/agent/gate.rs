//! Decides every tool call of a run, whichever layer asks.
//!
//! Invariant: a decision is recorded before it is answered, and a call that cannot be
//! recorded is denied. The gate remembers what it allowed, so that an executed call can be
//! matched with its decision. The rules live in `guard`, other audit entries in `audit`.

mod audit;
mod offered;
mod sessions;
mod shell_room;
mod shells;
mod wall;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::sessions::Sessions;
pub use self::shell_room::{Shells, StartRoom};
use super::arguments::wanted;
use super::decisions::{CallStanding, Decisions, EndedCall, KnownCall};
use super::denials::Denials;
use super::human::{self, Approved, AskHuman, HumanReply, Question};
use super::stuck::again;
use super::task_watch::{TaskWatch, writes_unseen};
use super::tool_server::OfferedTools;
use crate::guard::{Files, OfferedTool, Policy, Redactor, TickRule, decide, decide_offered};
use crate::hooks::ErrorReport;
use crate::model::{
    Asked, AuditDecision, AuditEntry, Decision, EventKind, HookType, ReadBack, Record, RecordError,
    TaskEdit, ToolRequest,
};
use crate::sandbox::SandboxError;

/// The watched file in the task's folder.
const TASK_FILE: &str = "TASK.md";
/// How many of the CLI's latest error reports are kept.
const REPORTS: usize = 100;

/// The rules while one criterion is in focus.
#[derive(Clone, Debug)]
pub struct Focus {
    /// The iteration's number.
    pub iteration: u32,
    /// The guard's rules for this criterion.
    pub policy: Arc<Policy>,
}

/// Finds the box of the criterion in focus in the bytes of TASK.md.
pub type Locate = Box<dyn Fn(&[u8]) -> Option<usize> + Send>;

/// Decides tool calls and remembers them.
pub struct Gate {
    record: Arc<dyn Record>,
    redactor: Arc<Redactor>,
    files: Box<dyn Files + Send + Sync>,
    human: Option<AskHuman>,
    shells: Option<Shells>,
    /// The tools of the run's own server, if there is one.
    offered: OnceLock<Arc<dyn OfferedTools>>,
    /// Calls that run unasked do not end the turn.
    unasked: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    focus: Option<Focus>,
    /// The turn is over or being cancelled, so every call is denied.
    resting: bool,
    /// Cancelled when the turn is over.
    turn: CancellationToken,
    decisions: Decisions,
    approved: Approved,
    sessions: Sessions,
    /// Hooks are served, so a session whose hook did not report is unguarded.
    hooked: bool,
    reports: VecDeque<ErrorReport>,
    /// How the last prompt of each session ended, as the CLI reports it.
    ended: HashMap<String, String>,
    /// Hooks that are waiting for a slow answer.
    busy: u32,
    writes: BTreeSet<PathBuf>,
    task: TaskWatch,
    locate: Option<Locate>,
    asked: u32,
    denied: u32,
    denials: Denials,
    repeated: Option<(String, u32)>,
    last: Option<Instant>,
    broken: Option<RecordError>,
    /// A command that ran, or was about to, and was not decided.
    foreign: Option<String>,
}

impl Gate {
    /// A gate without a focus; it denies everything.
    pub fn new(
        record: Arc<dyn Record>,
        redactor: Arc<Redactor>,
        files: Box<dyn Files + Send + Sync>,
    ) -> Self {
        Self {
            record,
            redactor,
            files,
            human: None,
            shells: None,
            offered: OnceLock::new(),
            unasked: false,
            state: Mutex::default(),
        }
    }

    /// Adds a human who can be asked.
    #[must_use]
    pub fn with_human(self, human: Option<AskHuman>) -> Self {
        Self { human, ..self }
    }

    /// Lets calls run unasked, where a sandbox holds the agent.
    #[must_use]
    pub fn with_unasked(self, unasked: bool) -> Self {
        Self { unasked, ..self }
    }

    /// May calls run unasked?
    pub fn allows_unasked(&self) -> bool {
        self.unasked
    }

    /// Sets the criterion in focus, forgets the previous turn, and starts the turn's sandbox.
    ///
    /// # Errors
    /// If the sandbox cannot be started.
    pub fn focus(&self, focus: Focus) -> Result<(), SandboxError> {
        if let Some(shells) = &self.shells {
            shells.begin(&focus.policy)?;
        }
        let mut state = self.state();
        state.turn.cancel();
        *state = State {
            task: focus
                .policy
                .task_dir
                .as_ref()
                .map(|folder| TaskWatch::new(folder.join(TASK_FILE)))
                .unwrap_or_default(),
            focus: Some(focus),
            sessions: std::mem::take(&mut state.sessions),
            hooked: state.hooked,
            broken: state.broken.take(),
            busy: state.busy,
            ..State::default()
        };
        Ok(())
    }

    /// Lets a turn go on that a failure cut off: what was written and denied in it still counts.
    ///
    /// # Errors
    /// If the sandbox cannot be started.
    pub fn go_on(&self) -> Result<(), SandboxError> {
        let mut state = self.state();
        if let (Some(shells), Some(focus)) = (&self.shells, &state.focus) {
            shells.begin(&focus.policy)?;
        }
        (state.resting, state.turn) = (false, CancellationToken::new());
        Ok(())
    }

    /// Sets how to find the criterion's box again after a human edits TASK.md during the turn.
    pub fn follow(&self, locate: Locate) {
        self.state().locate = Some(locate);
    }

    /// Denies every call until the next focus, because the work must not change while it is
    /// verified.
    pub fn rest(&self) {
        let mut state = self.state();
        if !state.resting {
            state.task.look();
        }
        state.resting = true;
        state.turn.cancel();
    }

    /// The redaction that everything of this run goes through.
    pub fn redactor(&self) -> &Arc<Redactor> {
        &self.redactor
    }

    /// Records an event of the current iteration.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn record(&self, event: impl FnOnce(u32) -> EventKind) -> Result<(), RecordError> {
        let iteration = self.state().iteration();
        self.record.record(event(iteration))
    }

    /// Decides a call, records the decision, and only then returns it.
    pub fn decide(&self, request: &ToolRequest) -> Decision {
        let asked = Instant::now();
        let request = self.with_short_name(request);
        let request = request.as_ref();
        if let Some((request, tool)) = self.as_offered(request) {
            let decision = self.or_by_human(&request, self.judge(&request, Some(&tool)));
            return self.answer(&request, decision, asked);
        }
        let request = match self.as_decided(request) {
            Ok(request) => request,
            Err(denied) => return self.answer(request, denied, asked),
        };
        let request = request.as_ref();
        let decision = self.or_by_human(request, self.judge(request, None));
        self.answer(request, decision, asked)
    }

    /// The decision, or that of the human where it is left to one and there is one. A yes covers
    /// this call only.
    fn or_by_human(&self, request: &ToolRequest, decision: Decision) -> Decision {
        if !decision.for_a_human || decision.allowed() {
            return decision;
        }
        if self.state().approved.take(request) {
            return human::settled(HumanReply::Yes, decision);
        }
        let Some(human) = &self.human else { return decision };
        let _busy = self.busy();
        let asked = catch_unwind(AssertUnwindSafe(|| {
            let redact = |text: &str| self.redactor.redact_str(text).into_owned();
            let (tool, why) = (redact(&request.tool), redact(&decision.reason));
            human(&Question { tool: &tool, wants: &redact(&wanted(&request.input)), why: &why })
        }));
        let reply = asked.unwrap_or(HumanReply::Silence);
        if reply == HumanReply::Yes {
            self.state().approved.add(request);
        }
        human::settled(reply, decision)
    }

    /// Denies a call under the given rule, records the denial and returns it.
    pub fn refuse(&self, request: &ToolRequest, rule: &str, reason: &str) -> Decision {
        self.answer(&self.with_short_name(request), Decision::deny(rule, reason), Instant::now())
    }

    fn judge(&self, request: &ToolRequest, offered: Option<&OfferedTool>) -> Decision {
        let mut state = self.state();
        state.task.look();
        if state.sessions.is_closed(request.session.as_str()) {
            return Decision::deny("run.session-over", "Nothing ran: this session is over.");
        }
        if state.resting {
            return Decision::deny("run.turn-over", "Nothing ran: the turn is over.");
        }
        let Some(focus) = state.focus.clone() else {
            return Decision::deny("run.no-focus", "Nothing ran: no criterion is being worked on.");
        };
        let unguarded = request.asked == Asked::Permission
            && state.hooked
            && !state.sessions.has_greeted(request.session.as_str());
        if unguarded {
            // Only one layer would decide this request; its denial ends the run.
            let reason = "Nothing ran: the guard's hook is not in force in this session.";
            return Decision::deny("guard.not-in-force", reason);
        }
        if request.asked == Asked::Server && state.hooked {
            let reason = "Nothing ran: the guard's hook did not decide this call.";
            return Decision::deny("guard.not-decided", reason);
        }
        let mut policy = state.policy_as_it_stands(&focus);
        // A launch inside a recipe may start in a subfolder of the run's own folder.
        if let Some(cwd) = state.sessions.cwd(request.session.as_str())
            && cwd != policy.cwd
        {
            let places = [Some(&policy.workspace), policy.tmp.as_ref()];
            if !places.into_iter().flatten().any(|place| cwd.starts_with(place)) {
                let reason = format!(
                    "Nothing ran: the session's folder is outside {}.",
                    policy.workspace.display()
                );
                return Decision::deny("path.outside", reason);
            }
            Arc::make_mut(&mut policy).cwd = cwd.to_owned();
        }
        drop(state);
        if let Some(denied) = offered.and_then(|tool| self.known_secret(tool, &request.input)) {
            return denied;
        }
        let files = self.files.as_ref();
        let decided = catch_unwind(AssertUnwindSafe(|| match offered {
            Some(tool) => decide_offered(tool, &request.input, &policy, files),
            None => decide(request, &policy, files),
        }));
        decided.unwrap_or_else(|_| {
            Decision::deny("guard.fault", "Nothing ran: the guard failed on this call.")
        })
    }

    fn answer(&self, request: &ToolRequest, decision: Decision, asked: Instant) -> Decision {
        let iteration = self.state().iteration();
        let entry = AuditEntry {
            tool: Some(request.tool.clone()),
            input: Some(request.input.clone()),
            elapsed: Some(asked.elapsed()),
            decision: Some(AuditDecision {
                answer: decision.answer,
                rule: decision.rule.clone(),
                reason: decision.reason.clone(),
                asked: Some(request.asked),
            }),
            ..AuditEntry::new(HookType::PreToolUse, Some(request.session.clone()))
        };
        let event = EventKind::ToolDecided {
            iteration,
            session: request.session.clone(),
            call: request.call.clone(),
            tool: request.tool.clone(),
            input: request.input.clone(),
            asked: request.asked,
            answer: decision.answer,
            rule: decision.rule.clone(),
            reason: decision.reason.clone(),
        };
        if let Err(error) = self.record.audit(&entry).and_then(|()| self.record.record(event)) {
            self.state().broken.get_or_insert(error);
            return Decision::deny(
                "run.unrecorded",
                "Nothing ran: the decision cannot be recorded.",
            );
        }
        // A turn that was ended while the guard was thinking stays ended.
        if decision.allowed() && self.state().resting {
            let over = Decision::deny("run.turn-over", "Nothing ran: the turn is over.");
            return self.answer(request, over, asked);
        }
        self.remember(request, &decision);
        decision
    }

    fn remember(&self, request: &ToolRequest, decision: &Decision) {
        let mut state = self.state();
        state.last = Some(Instant::now());
        if request.asked == Asked::Permission {
            state.asked = state.asked.saturating_add(1);
        }
        state.decisions.add(request, decision.allowed());
        if decision.allowed() {
            if writes_unseen(&request.input) {
                state.task.command_runs();
            }
            state.writes.extend(decision.writes.iter().cloned());
            state.repeated = None;
        } else {
            state.denied = state.denied.saturating_add(1);
            state.denials.add(&decision.rule, &decision.reason);
            again(&mut state.repeated, wanted(&request.input));
        }
    }

    /// Takes the decision for a call that ran; each decision covers one call.
    pub fn standing(&self, ended: &EndedCall<'_>) -> CallStanding {
        let mut state = self.state();
        state.decisions.take(ended)
    }

    /// Takes the denial of a call that the agent reports as denied.
    pub fn settle_denied(&self, ended: &EndedCall<'_>) {
        let mut state = self.state();
        state.decisions.take_denied(ended);
    }

    /// Denies permission requests of sessions whose hook has not reported, from now on.
    pub fn expect_hooks(&self) {
        self.state().hooked = true;
    }

    /// Notes that a hook of this session reported, so the guard is in force there. Its relative
    /// paths start from `cwd`, if the hook names one.
    pub fn greet(&self, session: &str, cwd: Option<&Path>) {
        self.state().sessions.greet(session, cwd);
    }

    /// Has a hook of any session reported?
    pub fn greeted(&self) -> bool {
        self.state().sessions.any_greeted()
    }

    /// Has a hook of this session reported?
    pub fn in_force(&self, session: &str) -> bool {
        self.state().sessions.has_greeted(session)
    }

    /// The details of a call that ended, before its decision is taken.
    pub fn known(&self, ended: &EndedCall<'_>) -> Option<KnownCall> {
        self.state().decisions.known(ended)
    }

    /// Pauses the idle clock until the returned value is dropped, while a hook is answered.
    pub fn busy(&self) -> Busy<'_> {
        self.state().busy += 1;
        Busy(self)
    }

    /// Notes a sign of life.
    pub fn alive(&self) {
        self.state().last = Some(Instant::now());
    }

    /// The errors that the CLI reported in this session since the focus was set.
    pub fn reports(&self, session: &str) -> Vec<ErrorReport> {
        self.state().reports.iter().filter(|report| report.session == session).cloned().collect()
    }

    /// Calls denied since the focus was set.
    pub fn denied(&self) -> u32 {
        self.state().denied
    }

    /// The same, with their reasons.
    pub fn denials(&self) -> Denials {
        self.state().denials.clone()
    }

    /// The arguments of the last denied call and how many times in a row they were denied, if
    /// the last answer was a denial.
    pub fn denied_in_a_row(&self) -> Option<(String, u32)> {
        self.state().repeated.clone()
    }

    /// Permission requests answered since the focus was set.
    pub fn asked(&self) -> u32 {
        self.state().asked
    }

    /// When the last decision or report came in.
    pub fn last_life(&self) -> Option<Instant> {
        let state = self.state();
        if state.busy > 0 { Some(Instant::now()) } else { state.last }
    }

    /// Paths that allowed calls write, since the focus was set.
    pub fn writes(&self) -> Vec<PathBuf> {
        self.state().writes.iter().cloned().collect()
    }

    /// Changes to TASK.md between the focus and the end of the turn.
    pub fn task_edits(&self) -> Vec<TaskEdit> {
        self.state().task.edits()
    }

    /// The run's records that another process changed.
    pub fn changed_records(&self, read_back: ReadBack) -> Vec<PathBuf> {
        self.record.changed(read_back)
    }

    /// Reports once that a decision could not be recorded.
    ///
    /// # Errors
    /// The error of the first record that failed; later calls succeed.
    pub fn check_recorded(&self) -> Result<(), RecordError> {
        self.state().broken.take().map_or(Ok(()), Err)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Marks a hook as being answered while it lives.
pub struct Busy<'a>(&'a Gate);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.busy = state.busy.saturating_sub(1);
        state.last = Some(Instant::now());
    }
}

impl State {
    /// The rules, with the criterion's box at its current place in an edited TASK.md.
    fn policy_as_it_stands(&self, focus: &Focus) -> Arc<Policy> {
        let (Some(locate), Some(now)) = (&self.locate, self.task.changed()) else {
            return Arc::clone(&focus.policy);
        };
        let mut policy = Policy::clone(&focus.policy);
        policy.focus = locate(now).map(|mark| TickRule { mark });
        Arc::new(policy)
    }

    fn iteration(&self) -> u32 {
        self.focus.as_ref().map_or(0, |focus| focus.iteration)
    }
}

#[cfg(test)]
mod tests;
