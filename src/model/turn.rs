//! The result of one prompt, as the client saw it.

use std::fmt;

use chrono::{DateTime, NaiveTime, Utc, Weekday};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Credits;

/// One prompt and everything until its answer. `end` is the agent's word, never proof.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// How it ended.
    pub end: TurnEnd,
    /// Tool calls in the order they began.
    pub calls: Vec<ExecutedCall>,
    /// Tool calls that the guard denied.
    pub denied: u32,
    /// Executed calls for which no decision of ours exists, described for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<String>,
    /// Updates received, every kind.
    pub updates: u64,
    /// Kinds of updates that this version does not know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// Tokens of this turn alone, where the agent reports them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// How full the model's context was in the end, where the agent reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextFill>,
    /// The end of the agent's own text, redacted and bounded.
    pub said: String,
    /// The actual fault, from a structured channel or else from the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// Milliseconds from prompt to answer.
    pub millis: u64,
}

impl Turn {
    /// Did a model get to work on the prompt? Without a login, or without the model, the
    /// provider refuses the prompt and charges nothing.
    pub fn reached_model(&self) -> bool {
        let refused = self.fault.as_ref().is_some_and(|fault| match fault.class {
            FaultClass::Auth | FaultClass::ModelUnavailable => true,
            FaultClass::NotFound
            | FaultClass::RateLimit
            | FaultClass::Network
            | FaultClass::Transient
            | FaultClass::FileNotFound
            | FaultClass::PermissionDenied
            | FaultClass::Died
            | FaultClass::Protocol
            | FaultClass::Unasked
            | FaultClass::Fatal => false,
        });
        !refused || self.usage.is_some() || !self.calls.is_empty()
    }
}

/// How a turn ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// The agent says it is finished (`end_turn`).
    #[default]
    EndTurn,
    /// A denial of ours ended it before the agent could react.
    CutByDenial {
        /// The guard's reason, for the next prompt.
        reason: String,
    },
    /// The stream was lost: the agent ended, or it canceled by itself.
    Lost,
    /// We cancelled it because it was stuck.
    Stuck(Stuck),
    /// We cancelled it because the run ends.
    Interrupted,
    /// Any other stop reason, in the agent's word (`max_tokens`, `refusal`, …); `error`
    /// where it answered with one, which is the turn's fault then.
    Other(String),
}

/// Why a turn counted as stuck.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stuck {
    /// No update for this many seconds while no tool call was pending.
    Idle(u64),
    /// Longer than this many seconds in all.
    TooLong(u64),
    /// The same failing command this many times in a row.
    Repeating {
        /// The command, redacted.
        command: String,
        /// How often.
        times: u32,
    },
    /// More tool calls than a turn may have.
    TooManyCalls(u32),
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Idle(seconds) => write!(f, "no activity for {seconds} s"),
            Self::TooLong(seconds) => write!(f, "ran longer than {seconds} s"),
            Self::Repeating { command, times } => {
                write!(f, "`{command}` failed {times} times in a row")
            }
            Self::TooManyCalls(calls) => write!(f, "more than {calls} tool calls"),
        }
    }
}

/// A tool call that the agent reported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecutedCall {
    /// ACP's `toolCallId`.
    pub id: String,
    /// ACP's kind (`execute`, `edit`, `read`, …).
    pub kind: String,
    /// The agent's title, redacted: for people only.
    pub title: String,
    /// The raw arguments, redacted and bounded.
    pub input: Value,
    /// Its status.
    pub status: CallStatus,
    /// A shell command's exit code, if the agent reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i64>,
}

/// The last state a tool call was seen in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// Announced or running.
    Pending,
    /// Done; a non-zero exit code is still "completed".
    Completed,
    /// Failed in the agent.
    Failed,
    /// Denied by us.
    Denied,
}

/// Tokens as the agent counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens sent to the model, cached ones included.
    pub input: u64,
    /// Tokens the model wrote.
    pub output: u64,
    /// All of them.
    pub total: u64,
    /// Tokens of the input that the provider had cached.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// AI credits, where the agent reports what they follow from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credits: Option<Credits>,
}

impl Usage {
    /// The sum.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self {
            input: self.input.saturating_add(more.input),
            output: self.output.saturating_add(more.output),
            total: self.total.saturating_add(more.total),
            cached: self.cached.saturating_add(more.cached),
            credits: Credits::add(self.credits, more.credits),
        }
    }

    /// The sum of those that are known; none if none is.
    pub fn sum(all: impl IntoIterator<Item = Option<Self>>) -> Option<Self> {
        all.into_iter().flatten().reduce(Self::plus)
    }

    /// What was used after `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            input: self.input.saturating_sub(before.input),
            output: self.output.saturating_sub(before.output),
            total: self.total.saturating_sub(before.total),
            cached: self.cached.saturating_sub(before.cached),
            credits: Credits::since(self.credits, before.credits),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How full a model's context is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextFill {
    /// Tokens in it.
    pub used: u64,
    /// Tokens that fit into it.
    pub size: u64,
}

/// A failure of the agent or its model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Which kind.
    pub class: FaultClass,
    /// The agent's words, redacted and bounded.
    pub message: String,
    /// When it passes by itself, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<Reset>,
}

impl Fault {
    /// A failure of unknown duration.
    pub fn new(class: FaultClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), reset: None }
    }
}

/// When a failure passes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reset {
    /// This many seconds after the report.
    After(u64),
    /// At this time.
    At(DateTime<Utc>),
    /// When a clock next shows this.
    Clock(ClockTime),
}

/// A time as a clock shows it: `6:15pm (Europe/Berlin)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockTime {
    /// The time of day.
    pub time: NaiveTime,
    /// The day; today or tomorrow if absent.
    pub day: Option<Day>,
    /// The clock's time zone; this machine's if absent.
    pub zone: Option<Tz>,
}

/// A day as people write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Day {
    /// `tomorrow`.
    Tomorrow,
    /// `Monday`: the next one, today included.
    Weekday(Weekday),
    /// `April 20` or `April 20, 2027`.
    Date {
        /// The year, if the text has one.
        year: Option<i32>,
        /// 1 to 12.
        month: u32,
        /// 1 to 31.
        day: u32,
    },
}

/// Kinds of failure that call for different answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultClass {
    /// The agent's program is missing or cannot be started.
    NotFound,
    /// Not logged in, or the provider refuses the key.
    Auth,
    /// The provider does not know the model.
    ModelUnavailable,
    /// Too many requests, or the quota is used up.
    RateLimit,
    /// The network: no connection, or a broken one.
    Network,
    /// The provider's server is overloaded, or failed for once.
    Transient,
    /// A file that is not there.
    FileNotFound,
    /// A file or an operation that is not allowed.
    PermissionDenied,
    /// The agent's process ended.
    Died,
    /// The agent does not speak the protocol.
    Protocol,
    /// The agent runs tools without asking for permission.
    Unasked,
    /// Anything else, with no known remedy.
    Fatal,
}

impl FaultClass {
    /// Whether it is only noted: its consequences show in the evidence.
    pub fn is_skipped(self) -> bool {
        match self {
            Self::FileNotFound | Self::PermissionDenied => true,
            Self::NotFound
            | Self::Auth
            | Self::ModelUnavailable
            | Self::RateLimit
            | Self::Network
            | Self::Transient
            | Self::Died
            | Self::Protocol
            | Self::Unasked
            | Self::Fatal => false,
        }
    }
}
