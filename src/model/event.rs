//! The one event enum. The journal holds it, every reporter is fed by it,
//! `status` and `log` fold it; its JSON form is documented in docs/events.md.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::{IntoStaticStr, VariantNames};

use super::{
    Activity, Answer, Asked, CheckResult, Checkpoint, CriterionKey, Cut, Decided, EventLevel,
    Evidence, ExecutedCall, FaultClass, Finding, GivenWith, Oid, OnStuck, Outcome, RecipeFault,
    RecipeName, Repair, RunId, RunSummary, SessionId, StepStatus, Tier, Turn, Verdict,
};

/// One event of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// 1 for the first event of a run, then one more each.
    pub seq: u64,
    /// Wall time, UTC.
    pub time: DateTime<Utc>,
    /// The run.
    pub run: RunId,
    /// The kind, with its fields.
    #[serde(flatten)]
    pub kind: EventKind,
}

impl Event {
    /// When that began which the event tells of: the turn of a worker was before it.
    pub fn began(&self) -> DateTime<Utc> {
        let EventKind::IterationStarted { turn_millis, .. } = self.kind else { return self.time };
        let turn = TimeDelta::try_milliseconds(i64::try_from(turn_millis).unwrap_or(i64::MAX));
        turn.and_then(|turn| self.time.checked_sub_signed(turn)).unwrap_or(self.time)
    }
}

/// How many criteria there are and how many are open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// All of them.
    pub total: usize,
    /// Those with an open box.
    pub open: usize,
}

/// The agent's name and version, as it reports them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentIdentity {
    /// Its name, as in `Copilot`.
    pub name: String,
    /// Its version.
    pub version: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(millis: &u64) -> bool {
    *millis == 0
}

/// The kind of an event, with its fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, IntoStaticStr, VariantNames)]
#[serde(tag = "event", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum EventKind {
    /// The run begins, and everything before the agent's start succeeded.
    RunStarted {
        /// The task's name.
        task: String,
        /// The task's folder, relative to the repository.
        folder: String,
        /// The agent's command, redacted.
        agent: String,
        /// The model that is asked for, if any.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// The kernel's limits on the agent's commands.
        #[serde(default)]
        sandbox: Tier,
        /// Version of the runner.
        version: String,
        /// Process id of the runner.
        pid: u32,
        /// Branch and commit it begins on.
        checkpoint: Checkpoint,
        /// Where the work on the task began; none in its first run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start: Option<Oid>,
        /// Criteria.
        criteria: Totals,
        /// Iterations this run may use.
        max_iterations: u32,
        /// Seconds this run may take, if there is a limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_seconds: Option<u64>,
        /// Paths that the human had left uncommitted (`--allow-dirty`).
        #[serde(default, skip_serializing_if = "is_none")]
        human: usize,
        /// The settings on its command line, for the command that continues the work, redacted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        flags: Vec<String>,
    },
    /// A remark for the human, without consequences.
    Notice {
        /// One sentence.
        message: String,
    },
    /// The verify commands before any work.
    BaselineChecked {
        /// Each command once.
        checks: Vec<CheckResult>,
    },
    /// The agent's process answered.
    AgentStarted {
        /// Its name and version, as it reports them.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent: Option<AgentIdentity>,
        /// Its process id.
        pid: u32,
    },
    /// An iteration begins.
    IterationStarted {
        /// Its number; grows across runs.
        iteration: u32,
        /// The criterion in focus.
        criterion: CriterionKey,
        /// Its 1-based line in TASK.md.
        line: usize,
        /// 1 for the first attempt.
        attempt: u32,
        /// The branch and commit before it.
        checkpoint: Checkpoint,
        /// The worker whose turn it was; none in a run with one job. Its events follow when its work
        /// is handed in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worker: Option<usize>,
        /// Milliseconds that this turn took.
        #[serde(default, skip_serializing_if = "is_zero")]
        turn_millis: u64,
    },
    /// A worker begins an attempt at a criterion, in its own tree.
    WorkerStarted {
        /// Its number.
        worker: usize,
        /// The criterion.
        criterion: CriterionKey,
        /// Its 1-based line in TASK.md.
        line: usize,
        /// 1 for the first attempt.
        attempt: u32,
    },
    /// The work of a worker waits to land.
    WorkerHandedIn {
        /// Its number.
        worker: usize,
        /// The criterion.
        criterion: CriterionKey,
    },
    /// A prompt was sent.
    PromptSent {
        /// The iteration.
        iteration: u32,
        /// The session.
        session: SessionId,
        /// Length in bytes.
        bytes: usize,
        /// The parts that were cut.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cuts: Vec<Cut>,
        /// A continuation after a denial cut the turn short.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
        /// The model that is asked for, if any; a fallback differs from `run_started`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// A prompt to this model costs one of GitHub's premium requests.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        premium: bool,
    },
    /// The guard decided a tool call. Written before the answer is sent.
    ToolDecided {
        /// The iteration.
        iteration: u32,
        /// The session.
        session: SessionId,
        /// ACP's call id, where known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// The tool.
        tool: String,
        /// Its arguments, redacted and bounded.
        input: Value,
        /// The layer that asked.
        asked: Asked,
        /// The answer.
        answer: Answer,
        /// The rule.
        rule: String,
        /// Why.
        reason: String,
    },
    /// A tool call ended.
    ToolFinished {
        /// The iteration.
        iteration: u32,
        /// Whether it had been decided.
        #[serde(default, skip_serializing_if = "Decided::is_yes")]
        decided: Decided,
        /// The call.
        #[serde(flatten)]
        call: ExecutedCall,
    },
    /// A criterion's recipe is run instead of a prompt.
    RecipeStarted {
        /// The iteration.
        iteration: u32,
        /// The recipe.
        recipe: RecipeName,
        /// The runner's binary.
        runner: String,
        /// The runner's version.
        version: String,
    },
    /// A step of the recipe began or ended.
    RecipeProgress {
        /// The iteration.
        iteration: u32,
        /// The step's name, redacted.
        step: String,
        /// Its status.
        status: StepStatus,
    },
    /// The recipe ended.
    RecipeEnded {
        /// The iteration.
        iteration: u32,
        /// The recipe.
        recipe: RecipeName,
        /// The number of steps in the runner's answer.
        steps: usize,
        /// The error; absent on success.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<RecipeFault>,
        /// Milliseconds it took.
        millis: u64,
    },
    /// The agent answered the prompt, or had to be stopped.
    TurnEnded {
        /// The iteration.
        iteration: u32,
        /// The result.
        turn: Turn,
    },
    /// The agent wanted to end its turn, and its work was checked before it could.
    StopChecked {
        /// The iteration.
        iteration: u32,
        /// The session.
        session: SessionId,
        /// Findings that would fail the verdict; empty if there are none, or if it is unclear.
        findings: Vec<Finding>,
        /// The findings were sent back to the agent, which continues in the same prompt.
        sent_back: bool,
        /// The verify commands that ran for it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        checks: Vec<CheckResult>,
        /// Milliseconds it took.
        millis: u64,
    },
    /// A verify command ended.
    CheckFinished {
        /// The iteration.
        iteration: u32,
        /// The result.
        check: CheckResult,
    },
    /// The verdict, with the evidence it rests on.
    VerdictReached {
        /// The iteration.
        iteration: u32,
        /// The criterion.
        criterion: CriterionKey,
        /// The evidence.
        evidence: Box<Evidence>,
        /// The verdict.
        verdict: Verdict,
        /// Repairs that were made.
        #[serde(default, rename = "mended", skip_serializing_if = "Vec::is_empty")]
        repairs: Vec<Repair>,
    },
    /// A sign was written to guardrails.md.
    SignAdded {
        /// The criterion that caused it.
        criterion: CriterionKey,
        /// The line as written.
        sign: String,
    },
    /// A criterion used up its attempts.
    CriterionBlocked {
        /// Which.
        criterion: CriterionKey,
        /// The consequence.
        then: OnStuck,
        /// The ref that keeps the attempt, if one was made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<String>,
        /// The number of denials in the attempts, and the most frequent reason, if there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        denied: Option<String>,
    },
    /// A criterion that nobody works on since one before it waits for a human.
    CriterionSkipped {
        /// Which.
        criterion: CriterionKey,
        /// The one before it.
        because: CriterionKey,
        /// Why.
        reason: String,
    },
    /// The work on a criterion waits for a human's review.
    CriterionHeld {
        /// Which.
        criterion: CriterionKey,
        /// The ref that keeps the work.
        kept: String,
        /// Why.
        reason: String,
    },
    /// A criterion that seemed proven failed the last proof, in a new room.
    CriterionReopened {
        /// Which.
        criterion: CriterionKey,
        /// Why.
        reason: String,
    },
    /// A check of the whole task fails, and no criterion is open: the run cannot end as proven.
    TaskCheckFailed {
        /// The command.
        command: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The run's gateway takes tool providers.
    GatewayStarted {
        /// Its port on loopback.
        port: u16,
        /// The file with the token; none if another gateway has that file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token_file: Option<String>,
    },
    /// A tool provider is bound to the run.
    ProviderBound {
        /// Its name.
        provider: String,
        /// The id of its connection.
        id: String,
    },
    /// A tool provider is gone.
    ProviderLeft {
        /// Its name.
        provider: String,
        /// The id of its connection.
        id: String,
        /// Why.
        reason: String,
    },
    /// The tools of the providers are others.
    ToolsChanged {
        /// The names of all of them, sorted.
        tools: Vec<String>,
    },
    /// A call of a provider's tool ended.
    ProviderCalled {
        /// Its id; none if no provider was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// The tool.
        tool: String,
        /// The failure, with its code; absent on success.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// The size of the result in bytes; 0 for a failure.
        bytes: usize,
    },
    /// A provider pushed an event.
    EventPushed {
        /// Its name.
        provider: String,
        /// The stream that keeps the event.
        stream: String,
        /// Whom it is for.
        level: EventLevel,
        /// Its text, redacted and limited in size.
        text: String,
        /// More data, redacted and limited in size.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
        /// People are shown it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        surfaced: bool,
        /// The agent gets it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        injected: bool,
    },
    /// The agent is given events of providers.
    EventsInjected {
        /// The iteration.
        iteration: u32,
        /// The session.
        session: SessionId,
        /// When.
        with: GivenWith,
        /// The provider of each event, in order.
        providers: Vec<String>,
    },
    /// The iteration is on disk and committed.
    IterationEnded {
        /// Its number.
        iteration: u32,
        /// Milliseconds from its start.
        millis: u64,
        /// Premium requests it cost.
        premium_requests: u32,
    },
    /// The run waits.
    Waiting {
        /// Until when.
        until: DateTime<Utc>,
        /// The reason.
        reason: String,
        /// The kind of failure that it waits for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fault: Option<FaultClass>,
        /// The worker that waits; none if the run itself does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worker: Option<usize>,
    },
    /// What happens now, for people who watch.
    Activity {
        /// The worker; none in the run's own tree.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worker: Option<usize>,
        /// What it is.
        #[serde(flatten)]
        activity: Activity,
    },
    /// The run ends; always the last event.
    RunEnded {
        /// Why.
        #[serde(flatten)]
        outcome: Outcome,
        /// The process's exit code.
        exit_code: u8,
        /// The final state.
        summary: RunSummary,
    },
}

impl EventKind {
    /// The names of all kinds, as in the JSON field `event`.
    pub const NAMES: &'static [&'static str] = Self::VARIANTS;

    /// The iteration it belongs to, where it names one.
    pub fn iteration(&self) -> Option<u32> {
        if let Self::IterationStarted { iteration, .. }
        | Self::PromptSent { iteration, .. }
        | Self::ToolDecided { iteration, .. }
        | Self::ToolFinished { iteration, .. }
        | Self::RecipeStarted { iteration, .. }
        | Self::RecipeProgress { iteration, .. }
        | Self::RecipeEnded { iteration, .. }
        | Self::StopChecked { iteration, .. }
        | Self::TurnEnded { iteration, .. }
        | Self::CheckFinished { iteration, .. }
        | Self::VerdictReached { iteration, .. }
        | Self::EventsInjected { iteration, .. }
        | Self::IterationEnded { iteration, .. } = self
        {
            return Some(*iteration);
        }
        None
    }

    /// Gives an event of a turn another iteration.
    pub fn renumber(&mut self, number: u32) {
        if let Self::PromptSent { iteration, .. }
        | Self::ToolDecided { iteration, .. }
        | Self::ToolFinished { iteration, .. }
        | Self::StopChecked { iteration, .. }
        | Self::TurnEnded { iteration, .. }
        | Self::EventsInjected { iteration, .. } = self
        {
            *iteration = number;
        }
    }

    /// The name of this kind, as in the JSON field `event`.
    pub fn name(&self) -> &'static str {
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_that_serde_knows_all_of_them() {
        let error = serde_json::from_str::<EventKind>(r#"{"event":"?"}"#).expect_err("unknown");
        let known: Vec<String> = EventKind::NAMES.iter().map(|name| format!("`{name}`")).collect();
        let said = error.to_string();
        let list = said.split_once("expected one of ").expect("a list").1;
        let list = list.split(" at line").next().expect("names");
        assert_eq!(list.split(", ").collect::<Vec<_>>(), known);
        let kind = EventKind::Notice { message: "x".to_owned() };
        assert_eq!(serde_json::to_value(&kind).expect("JSON")["event"], kind.name());
    }
}
