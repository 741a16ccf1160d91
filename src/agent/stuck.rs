//! Detects a stuck turn: a pure function over the observations so far.

use std::time::Duration;

use super::AgentKind;
use crate::model::{Credits, Stuck, Usage};

/// The limits beyond which a turn counts as stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnLimits {
    /// Longest time without an update while nothing is pending.
    pub idle: Duration,
    /// Longest time of the whole turn.
    pub total: Duration,
    /// How many times in a row the same call may fail.
    pub repeats: u32,
    /// Most tool calls in one turn.
    pub calls: u32,
    /// How long a cancelled turn may take to end.
    pub grace: Duration,
    /// Tokens left to the run; a turn that uses them up is cancelled.
    pub tokens: Option<u64>,
    /// Thousandths of an AI credit that it may use, where they are limited.
    pub credits: Option<u64>,
}

impl TurnLimits {
    /// Longest time without a word after a prompt. The Copilot CLI tries again in silence, so it has
    /// the whole idle limit; the three silent turns of another agent that end a run have it together.
    pub(super) fn silence(&self, kind: AgentKind) -> Duration {
        match kind {
            AgentKind::Copilot => self.idle,
            AgentKind::Other => self.idle / 3,
        }
    }

    /// Is its use limited?
    pub(super) fn usage(&self) -> bool {
        self.tokens.is_some() || self.credits.is_some()
    }

    /// Is that all that it may use?
    pub(super) fn used_up(&self, used: Usage) -> bool {
        self.tokens.is_some_and(|left| used.total >= left)
            || self.credits.is_some_and(|left| Credits::counted(used.credits) >= left)
    }

    /// How long a cancelled turn may take to end. Copilot answers within 10 ms; an agent that
    /// does not answer is stopped.
    pub const GRACE: Duration = Duration::from_secs(1);
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(15 * 60),
            total: Duration::from_secs(2 * 3600),
            repeats: 5,
            calls: 1000,
            grace: Self::GRACE,
            tokens: None,
            credits: None,
        }
    }
}

/// A turn's activity so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnPulse {
    /// Time since the prompt was sent.
    pub since_start: Duration,
    /// Time since the last update, decision or end of a pending call.
    pub since_life: Duration,
    /// A tool call or a hook is running, so the idle clock is paused.
    pub pending: bool,
    /// Tool calls so far.
    pub calls: u32,
    /// The last call, if it failed.
    pub failing: Option<String>,
    /// How many times it failed in a row.
    pub times: u32,
}

/// Returns why the turn is stuck, if it is.
pub fn observe(pulse: &TurnPulse, limits: &TurnLimits) -> Option<Stuck> {
    if pulse.since_start >= limits.total {
        return Some(Stuck::TooLong(limits.total.as_secs()));
    }
    if !pulse.pending && pulse.since_life >= limits.idle {
        return Some(Stuck::Idle(limits.idle.as_secs()));
    }
    if pulse.calls > limits.calls {
        return Some(Stuck::TooManyCalls(pulse.calls));
    }
    match &pulse.failing {
        Some(command) if pulse.times >= limits.repeats => {
            Some(Stuck::Repeating { command: command.clone(), times: pulse.times })
        }
        Some(_) | None => None,
    }
}

/// Counts repetitions: how many times in a row the same thing happened.
pub(super) fn again(row: &mut Option<(String, u32)>, what: String) {
    let times = match row.take() {
        Some((before, times)) if before == what => times.saturating_add(1),
        Some(_) | None => 1,
    };
    *row = Some((what, times));
}

/// The longer of two repetitions.
pub(super) fn longer(
    one: Option<(String, u32)>,
    other: Option<(String, u32)>,
) -> (Option<String>, u32) {
    let rows = [one, other].into_iter().flatten();
    rows.max_by_key(|(_, times)| *times).map_or((None, 0), |(what, times)| (Some(what), times))
}
