//! The texts in an event, and the redaction they pass before they leave the program.
//!
//! Invariant: [`EachText`] reaches every text of an event that an agent, a command, a file, or a
//! person wrote. A type lists all its fields, so a new field does not compile until it is listed.
//! Object ids, the branch of a checkpoint, and the run's own name are not changed: git and the
//! runner create them, and a run is resumed by them. Not in this file: the definition of a secret.
//!
//! Text is redacted once, where it leaves the program. These are all such places:
//!
//! | leaves as | redacted in |
//! |---|---|
//! | journal, `--json`, screen of a run, progress.md, activity.log, cost.log | `events::Emitter` |
//! | audit | `events::Audit`; the XPIA audit in `cli::hook::xpia` |
//! | prompts, the message of the stop hook | `prompt::Templates` |
//! | values of a recipe's context | `engine::recipe`; large values on disk in `recipe::spill` |
//! | signs in guardrails.md | `engine::state_files` |
//! | why work is held, in state.json | `engine::held` |
//! | lessons | `engine::lessons` |
//! | events of providers for the agent, output of provider programs | `cli::run_gateway` |
//! | results of `mcp serve`, prompts of its code tasks | `mcp::memory`, `cli::mcp`, `cli::code_task` |
//! | answers to hooks | `agent::guarded` (a run's socket), `cli::hook` (printed) |
//! | results of tools, on their way to the model | `agent::Gate`, known values only |
//! | questions of `--ask` | `agent::Gate` |
//! | output of every other command, log lines on stderr | `cli` |
//! | wire log and stderr.log of the agent | `agent::wire_log`, `agent::stderr` |
//!
//! One text is redacted before: the output of a verify command, in `verify::shell`, since only
//! its end is kept in memory, and half a secret is not recognized as one.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::{
    Activity, AgentIdentity, Answer, Asked, Attribution, Blocked, BlockedKind, CallStatus, Cell,
    CellRun, ChangeKind, CheckResult, CheckStatus, CheckWrote, Checkpoint, CommitSeen, ContextFill,
    Credits, CriterionKey, CriterionSummary, Cut, Decided, EventKind, EventLevel, Evidence,
    ExecutedCall, Fault, FaultClass, Finding, FindingKind, GivenWith, History, HoldOutCount, Limit,
    MustFail, Obstacle, Oid, OnStuck, Outcome, PathChange, Proof, PutBackRun, RecipeFault,
    RecipeName, Repair, Reset, RunSummary, SessionId, SignsChange, StepStatus, Stuck,
    TaskFileChange, TestCount, Tier, Totals, Turn, TurnEnd, Unmoved, Usage, Verdict, VerdictResult,
    Weight,
};

/// Takes secrets out of text.
pub trait Redact: Send + Sync {
    /// The text without its secrets.
    fn text(&self, text: &str) -> String;

    /// The value without its secrets; the keys of objects stay.
    fn json(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(items) => items.iter().map(|item| self.json(item)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(name, field)| (name.clone(), self.json(field))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

impl<F: Fn(&str) -> String + Send + Sync> Redact for F {
    fn text(&self, text: &str) -> String {
        self(text)
    }
}

/// The part of a long text that is kept, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The whole text.
    All,
    /// The beginning.
    Start(usize),
    /// The end.
    End(usize),
}

/// Changes texts in place.
pub trait EditText {
    /// Changes a text, of which this part is kept.
    fn text(&mut self, text: &mut String, keep: Keep);

    /// Changes the arguments of a tool call.
    fn json(&mut self, value: &mut Value);
}

/// Hands every text in a value to an editor.
pub trait EachText {
    /// Passes every text to `edit`; `keep` applies to a text that has no rule of its own.
    fn each_text(&mut self, keep: Keep, edit: &mut dyn EditText);
}

impl EachText for String {
    fn each_text(&mut self, keep: Keep, edit: &mut dyn EditText) {
        edit.text(self, keep);
    }
}

impl EachText for PathBuf {
    fn each_text(&mut self, keep: Keep, edit: &mut dyn EditText) {
        let before = self.to_string_lossy();
        let mut text = before.clone().into_owned();
        edit.text(&mut text, keep);
        // A path that holds no secret keeps its bytes, also those that are not UTF-8.
        if before != text.as_str() {
            *self = text.into();
        }
    }
}

impl EachText for Value {
    fn each_text(&mut self, _: Keep, edit: &mut dyn EditText) {
        edit.json(self);
    }
}

impl<T: EachText> EachText for Option<T> {
    fn each_text(&mut self, keep: Keep, edit: &mut dyn EditText) {
        self.iter_mut().for_each(|inner| inner.each_text(keep, edit));
    }
}

impl<T: EachText> EachText for Vec<T> {
    fn each_text(&mut self, keep: Keep, edit: &mut dyn EditText) {
        self.iter_mut().for_each(|inner| inner.each_text(keep, edit));
    }
}

impl<T: EachText> EachText for Box<T> {
    fn each_text(&mut self, keep: Keep, edit: &mut dyn EditText) {
        (**self).each_text(keep, edit);
    }
}

impl EachText for SessionId {
    fn each_text(&mut self, keep: Keep, edit: &mut dyn EditText) {
        let mut text = self.as_str().to_owned();
        edit.text(&mut text, keep);
        *self = Self::new(text);
    }
}

impl EachText for RecipeName {
    fn each_text(&mut self, keep: Keep, edit: &mut dyn EditText) {
        let mut text = self.as_str().to_owned();
        edit.text(&mut text, keep);
        if text != self.as_str() {
            *self = Self::redacted();
        }
    }
}

macro_rules! without_text {
    ($($type:ty),* $(,)?) => {$(
        impl EachText for $type {
            fn each_text(&mut self, _: Keep, _: &mut dyn EditText) {}
        }
    )*};
}

without_text!(
    bool,
    u8,
    u16,
    u32,
    u64,
    usize,
    i32,
    i64,
    DateTime<Utc>,
    Answer,
    Asked,
    Attribution,
    BlockedKind,
    CallStatus,
    ChangeKind,
    Checkpoint,
    ContextFill,
    Decided,
    Cell,
    Credits,
    EventLevel,
    FaultClass,
    FindingKind,
    GivenWith,
    Limit,
    MustFail,
    Obstacle,
    Oid,
    OnStuck,
    Tier,
    Proof,
    Reset,
    SignsChange,
    StepStatus,
    Totals,
    Usage,
    VerdictResult,
    Weight,
);

/// The rule for a field's text: `All` where none is written.
macro_rules! keep {
    () => {
        Keep::All
    };
    ($keep:expr) => {
        $keep
    };
}

macro_rules! each_field {
    ($($type:ident { $($field:ident $(: $keep:expr)?),* $(,)? })*) => {$(
        impl EachText for $type {
            fn each_text(&mut self, _: Keep, edit: &mut dyn EditText) {
                let Self { $($field),* } = self;
                $($field.each_text(keep!($($keep)?), edit);)*
            }
        }
    )*};
}

/// The end of the agent's text in a turn.
const SAID: Keep = Keep::End(4000);
/// The end of a command's output, with the line that says how much is left out.
const OUTPUT: Keep = Keep::End(11 << 10);
/// An error in the agent's words, or a command that it repeats.
const MESSAGE: Keep = Keep::Start(1000);
/// An event of a provider.
const EVENT: Keep = Keep::Start(16 << 10);
/// The title that an agent gives to a call.
const TITLE: Keep = Keep::Start(400);

each_field! {
    AgentIdentity { name, version }
    Blocked { kind, reason, retried, again }
    CheckResult { command, criteria, whole_task, status, millis, tests, runs, output: OUTPUT }
    CellRun { cell, status, millis }
    TestCount { runner, ran, skipped, failed, passed }
    CheckWrote { command, paths }
    CommitSeen { id, subject, ours, merge, paths, formatting }
    CriterionKey { text, occurrence }
    CriterionSummary { key, line, checked, blocked, blocked_by, held, skipped, reason, proof, attempts }
    Cut { part, bytes }
    Evidence {
        focus, task_file, history, in_progress, commits, secrets, worked_before, uncommitted,
        repositories, protected, human, human_committed, state_files, guardrails, state_uncommitted, settings, around,
        progress, progress_rewritten, blocked_by, checks, flaky, wrote, unmoved, put_back, holdout, before, red_at_start,
        undecided, proven,
    }
    ExecutedCall { id, kind, title: TITLE, input, status, exit }
    Fault { class, message: MESSAGE, reset }
    Finding { kind, weight, message }
    HoldOutCount { criterion, passed, of }
    PathChange { path, kind }
    PutBackRun { harness, rests_on, checks, left_out, missing, apart }
    RecipeFault { kind, message: MESSAGE }
    RunSummary { criteria, iterations, millis, premium_requests, tokens, cached, credits, unasked, next }
    TaskFileChange {
        by, focus_ticked, others_ticked, unticked, removed, added, verify_changed, text_changed,
        reformatted, unreadable,
    }
    Turn {
        end, calls, denied, undecided, updates, unknown, usage, context, said: SAID, fault,
        millis,
    }
    Unmoved { command, criteria, with, paths, line }
    Verdict { result, findings, repairs }
}

macro_rules! each_variant {
    ($($type:ident {
        $($variant:ident
            $(($inner:ident $(: $inner_keep:expr)?))?
            $({ $($field:ident $(: $keep:expr)?),* $(,)? })?
        ),* $(,)?
    })*) => {$(
        impl EachText for $type {
            fn each_text(&mut self, _: Keep, edit: &mut dyn EditText) {
                match self {
                    $(Self::$variant $(($inner))? $({ $($field),* })? => {
                        $($inner.each_text(keep!($($inner_keep)?), &mut *edit);)?
                        $($($field.each_text(keep!($($keep)?), &mut *edit);)*)?
                    })*
                }
            }
        }
    )*};
}

each_variant! {
    Activity {
        Alive { context },
        Call { call, tool, input },
        CallEnded { call },
        SettingUp { command: MESSAGE },
        Checking { command: MESSAGE, cell, number, of },
    }
    CheckStatus { Passed, Failed(code), Signalled(signal), TimedOut(seconds), NotRun(why), NothingRan(why), Incomplete(why) }
    History { Straight, Rewritten, OtherBranch(branch), Detached }
    Outcome {
        Proven,
        Landed { landed, of },
        LimitReached { limit },
        Stuck { reason },
        AgentUnusable { fault },
        RateLimited { message: MESSAGE, resume_at, estimated },
        Tampered { reason },
        Interrupted { signal },
        CannotGoOn { obstacle, reason },
    }
    Repair {
        RestoreTask { keep_tick },
        BackToCheckpoint,
        Hold,
        Untick,
        RestoreFile(path),
        ProgressLine,
        StateCommit,
    }
    Stuck {
        Idle(seconds),
        TooLong(seconds),
        Repeating { command: MESSAGE, times },
        TooManyCalls(calls),
    }
    TurnEnd { EndTurn, CutByDenial { reason }, Lost, Stuck(stuck), Interrupted, Other(word) }
    EventKind {
        RunStarted {
            task, folder, agent, model, sandbox, version, pid, checkpoint, start, criteria,
            max_iterations, max_seconds, human, flags,
        },
        Notice { message },
        BaselineChecked { checks },
        AgentStarted { agent, pid },
        IterationStarted { iteration, criterion, line, attempt, checkpoint, worker, turn_millis },
        WorkerStarted { worker, criterion, line, attempt },
        WorkerHandedIn { worker, criterion },
        PromptSent { iteration, session, bytes, cuts, again, model, premium },
        ToolDecided { iteration, session, call, tool, input, asked, answer, rule, reason },
        ToolFinished { iteration, decided, call },
        RecipeStarted { iteration, recipe, runner, version },
        RecipeProgress { iteration, step, status },
        RecipeEnded { iteration, recipe, steps, error, millis },
        TurnEnded { iteration, turn },
        StopChecked { iteration, session, findings, sent_back, checks, millis },
        CheckFinished { iteration, check },
        VerdictReached { iteration, criterion, evidence, verdict, repairs },
        SignAdded { criterion, sign },
        CriterionBlocked { criterion, then, kept, denied },
        CriterionSkipped { criterion, because, reason },
        CriterionHeld { criterion, kept, reason },
        CriterionReopened { criterion, reason },
        TaskCheckFailed { command, reason },
        GatewayStarted { port, token_file },
        ProviderBound { provider, id },
        ProviderLeft { provider, id, reason },
        ToolsChanged { tools },
        ProviderCalled { id, tool, error: MESSAGE, bytes },
        EventPushed { provider, stream: TITLE, level, text: EVENT, metadata, surfaced, injected },
        EventsInjected { iteration, session, with, providers },
        IterationEnded { iteration, millis, premium_requests },
        Waiting { until, reason, fault, worker },
        Activity { worker, activity },
        RunEnded { outcome, exit_code, summary },
    }
}
