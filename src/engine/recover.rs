//! Decisions after a failure of the agent or its model. Pure functions. Such a failure is never an
//! attempt at the criterion and costs no iteration.

use std::time::Duration;

use backoff::ExponentialBackoffBuilder;
use backoff::backoff::Backoff as _;
use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::agent::next_time;
use crate::model::{Fault, FaultClass, Outcome, Reset};

/// Failures of the agent's process in a row that end the run.
const DEATHS: u32 = 3;
/// The delay before the agent's process is started again, after its first failure.
const RESTART: Duration = Duration::from_millis(500);
/// The delays before the network is tried again. The agent itself retries several times before
/// each.
const RECONNECT: [Duration; 3] =
    [Duration::from_secs(5), Duration::from_secs(15), Duration::from_secs(30)];
/// Retries after a failure of the provider's server.
const TRANSIENT: u32 = 2;
/// The longest wait, in case a provider names an absurd time: a date that far still exists.
const FAR: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
/// The message after the last retry.
const USED_UP: &str = "Failed after max retries";

/// The action after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryAction {
    /// Wait until the limit has passed, then try again.
    Wait,
    /// Try again after a while.
    Retry,
    /// Start the agent anew after a while.
    Restart,
    /// Continue with the next model.
    Fallback,
    /// Report it and continue: nothing depends on it.
    Skip,
    /// End the run: only a human can fix it, or it was retried often enough.
    Fail,
    /// End the run: the cause is unknown.
    Abort,
}

/// The action after a failure, and its delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The action.
    pub action: RecoveryAction,
    /// The wait before it.
    pub wait: Duration,
    /// The reason, in one sentence.
    pub reason: &'static str,
}

/// The limits of retrying.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryLimits {
    /// How often a failure is retried at most, if the user sets a limit.
    pub most: Option<u32>,
    /// Is there another model to fall back to?
    pub fallback: bool,
}

/// Advises on a failure that was retried `retry` times before.
pub fn advise(fault: &Fault, retry: u32, allowed: &RetryLimits, now: DateTime<Utc>) -> Advice {
    let most = |ours: u32| allowed.most.map_or(ours, |most| most.min(ours));
    let advice = |action, wait, reason| Advice { action, wait, reason };
    let (none, known) = (Duration::ZERO, passes_in(fault.reset, now));
    match fault.class {
        FaultClass::RateLimit => {
            let wait = rate_limit_wait(retry).max(known.unwrap_or_default());
            match (allowed.most.is_none_or(|most| retry < most), known) {
                (false, _) => advice(RecoveryAction::Fail, none, USED_UP),
                (true, Some(_)) => {
                    advice(RecoveryAction::Wait, wait, "rate limited; the reset time is known")
                }
                (true, None) => advice(RecoveryAction::Wait, wait, "rate limited"),
            }
        }
        FaultClass::Network | FaultClass::Transient => {
            let (reason, ours) = match fault.class {
                FaultClass::Network => ("the network failed", 3),
                _ => ("the provider or the connection to it failed", TRANSIENT),
            };
            let step = usize::try_from(retry).unwrap_or(usize::MAX);
            match RECONNECT.get(step).filter(|_| retry < most(ours)) {
                Some(wait) => {
                    advice(RecoveryAction::Retry, (*wait).max(known.unwrap_or_default()), reason)
                }
                None => advice(RecoveryAction::Fail, none, USED_UP),
            }
        }
        FaultClass::Died | FaultClass::Protocol if retry.saturating_add(1) < DEATHS => {
            advice(RecoveryAction::Restart, restart_delay(retry), "the agent's process failed")
        }
        FaultClass::Died | FaultClass::Protocol => {
            advice(RecoveryAction::Fail, none, "the agent's process keeps failing")
        }
        FaultClass::ModelUnavailable if allowed.fallback => {
            advice(RecoveryAction::Fallback, none, "the model is not available, but another one is")
        }
        FaultClass::ModelUnavailable => {
            advice(RecoveryAction::Fail, none, "the model is not available")
        }
        FaultClass::Auth => {
            advice(RecoveryAction::Fail, none, "not logged in, or the key was rejected")
        }
        FaultClass::NotFound => {
            advice(RecoveryAction::Fail, none, "the agent's program was not found")
        }
        FaultClass::Unasked => {
            advice(RecoveryAction::Fail, none, "the agent does not ask for permission")
        }
        FaultClass::FileNotFound => advice(RecoveryAction::Skip, none, "a file was not found"),
        FaultClass::PermissionDenied => advice(RecoveryAction::Skip, none, "permission denied"),
        FaultClass::Fatal => {
            advice(RecoveryAction::Abort, none, "the cause is unknown, and waiting would not help")
        }
    }
}

/// Failures since the last success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailureCounts {
    limits: u32,
    drops: u32,
    transients: u32,
    deaths: u32,
    waited: Duration,
}

impl FailureCounts {
    /// Counts a failure, and returns how many of its kind came before.
    fn count(&mut self, class: FaultClass) -> u32 {
        let counter = match class {
            FaultClass::RateLimit => &mut self.limits,
            FaultClass::Network => &mut self.drops,
            FaultClass::Transient => &mut self.transients,
            FaultClass::Died | FaultClass::Protocol => &mut self.deaths,
            FaultClass::NotFound
            | FaultClass::Auth
            | FaultClass::ModelUnavailable
            | FaultClass::FileNotFound
            | FaultClass::PermissionDenied
            | FaultClass::Unasked
            | FaultClass::Fatal => return 0,
        };
        let before = *counter;
        *counter = before.saturating_add(1);
        before
    }
}

/// How often and how long a run retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The limits of retrying.
    pub retries: RetryLimits,
    /// The total of waits in a row.
    pub max_wait: Duration,
}

/// The decision after a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Start the agent anew after a while.
    Restart(Duration),
    /// Wait for the rate limit or the network, with the same agent.
    Wait(Duration),
    /// Continue with the next model.
    Fallback,
    /// Continue as if nothing had happened.
    Skip,
    /// End the run.
    Stop(Outcome),
}

/// Decides how a run continues after a failure, and counts the failure.
pub fn recover(
    fault: &Fault,
    failures: &mut FailureCounts,
    policy: &RetryPolicy,
    now: DateTime<Utc>,
) -> Recovery {
    let before = failures.count(fault.class);
    let Advice { action, wait, .. } = advise(fault, before, &policy.retries, now);
    match action {
        RecoveryAction::Wait | RecoveryAction::Retry
            if failures.waited.saturating_add(wait) <= policy.max_wait =>
        {
            failures.waited += wait;
            Recovery::Wait(wait)
        }
        RecoveryAction::Restart => Recovery::Restart(wait),
        RecoveryAction::Fallback => Recovery::Fallback,
        RecoveryAction::Skip => Recovery::Skip,
        RecoveryAction::Wait
        | RecoveryAction::Retry
        | RecoveryAction::Fail
        | RecoveryAction::Abort => Recovery::Stop(given_up(fault, before, action, now)),
    }
}

/// The outcome of a run that gives up.
fn given_up(fault: &Fault, before: u32, action: RecoveryAction, now: DateTime<Utc>) -> Outcome {
    let used_up =
        |fault: &Fault| Fault { message: format!("{USED_UP}: {}", fault.message), ..fault.clone() };
    match (fault.class, action) {
        (FaultClass::RateLimit, _) => {
            let known = passes_in(fault.reset, now);
            let wait = rate_limit_wait(before).max(known.unwrap_or_default());
            let later = chrono::Duration::from_std(wait).unwrap_or_default();
            Outcome::RateLimited {
                message: fault.message.clone(),
                resume_at: now + later,
                estimated: known.is_none(),
            }
        }
        // Retried often enough, or waited long enough: both say so.
        (FaultClass::Network | FaultClass::Transient, _) => {
            Outcome::AgentUnusable { fault: used_up(fault) }
        }
        _ => Outcome::AgentUnusable { fault: fault.clone() },
    }
}

/// The time until a failure passes by itself, if that is known and in the future.
fn passes_in(reset: Option<Reset>, now: DateTime<Utc>) -> Option<Duration> {
    // Rounded up: a wait that ends too early hits the limit again.
    let until = |time: DateTime<Utc>| {
        let millis = u64::try_from((time - now).num_milliseconds()).unwrap_or(0);
        Duration::from_millis(millis.div_ceil(1000) * 1000)
    };
    let wait = match reset? {
        Reset::After(seconds) => Duration::from_secs(seconds),
        Reset::At(time) => until(time),
        Reset::Clock(clock) => until(next_time(&clock, now)?),
    };
    Some(wait.min(FAR)).filter(|wait| !wait.is_zero())
}

/// The seed's formula: 30 s, doubled each time, at most five minutes.
fn rate_limit_wait(retry: u32) -> Duration {
    Duration::from_secs((30 << retry.min(10)).min(300))
}

/// The delay before the next start of an agent, after `retry` earlier ones: doubled each time, with
/// some jitter, at most five minutes.
fn restart_delay(retry: u32) -> Duration {
    let mut backoff = ExponentialBackoffBuilder::new()
        .with_initial_interval(RESTART)
        .with_multiplier(2.0)
        .with_randomization_factor(0.2)
        .with_max_interval(Duration::from_secs(300))
        .with_max_elapsed_time(None)
        .build();
    let mut delay = RESTART;
    for _ in 0..=retry.min(16) {
        delay = backoff.next_backoff().unwrap_or(delay);
    }
    delay
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: DateTime<Utc> = DateTime::UNIX_EPOCH;
    const POLICY: RetryPolicy = RetryPolicy {
        retries: RetryLimits { most: None, fallback: false },
        max_wait: Duration::from_secs(600),
    };

    fn fault(class: FaultClass) -> Fault {
        Fault::new(class, "it said so")
    }

    /// The decisions of a run after the same failure again and again, until it gives up.
    fn recoveries(fault: &Fault, policy: &RetryPolicy) -> (Vec<Recovery>, Outcome) {
        let (mut done, mut failures) = (Vec::new(), FailureCounts::default());
        loop {
            match recover(fault, &mut failures, policy, NOW) {
                Recovery::Stop(outcome) => return (done, outcome),
                other => done.push(other),
            }
            assert!(done.len() < 100, "it goes on without end");
        }
    }

    #[test]
    fn a_reset_that_is_known_makes_a_wait_longer_and_never_shorter() {
        let wait = |reset| {
            let fault = Fault { reset: Some(reset), ..fault(FaultClass::RateLimit) };
            advise(&fault, 0, &RetryLimits::default(), NOW).wait.as_secs()
        };
        assert_eq!(wait(Reset::After(3600)), 3600);
        assert_eq!(wait(Reset::After(2)), 30);
        assert_eq!(wait(Reset::At(NOW + chrono::Duration::milliseconds(90_500))), 91);
        assert_eq!(wait(Reset::At(NOW - chrono::Duration::seconds(90))), 30);
        let clock = |time: &str| {
            let time = time.parse().expect("a time");
            let zone = Some("UTC".parse().expect("a zone"));
            wait(Reset::Clock(crate::model::ClockTime { time, day: None, zone }))
        };
        assert_eq!(clock("01:00:00"), 3600);
        assert_eq!(clock("23:50:00"), 86_400 - 600);
    }

    #[test]
    fn a_network_that_outlasts_the_patience_is_given_up_with_the_same_words() {
        for (class, waits) in [(FaultClass::Network, 1), (FaultClass::Transient, 1)] {
            let policy = RetryPolicy { max_wait: Duration::from_secs(10), ..POLICY };
            let (done, outcome) = recoveries(&fault(class), &policy);
            assert_eq!(done.len(), waits, "{done:?}");
            let fault = Fault::new(class, "Failed after max retries: it said so");
            assert_eq!(outcome, Outcome::AgentUnusable { fault });
        }
    }

    #[test]
    fn a_dead_agent_is_restarted_with_growing_delays_then_given_up() {
        for class in [FaultClass::Died, FaultClass::Protocol] {
            let (done, outcome) = recoveries(&fault(class), &POLICY);
            let [Recovery::Restart(first), Recovery::Restart(second)] = done[..] else {
                panic!("{done:?}");
            };
            assert!(first >= Duration::from_millis(400) && second > first, "{first:?} {second:?}");
            assert_eq!(outcome, Outcome::AgentUnusable { fault: fault(class) });
        }
    }

    #[test]
    fn failures_of_several_kinds_in_turn_do_not_go_on_for_ever() {
        let kinds = [FaultClass::Died, FaultClass::Network, FaultClass::Transient];
        let mut failures = FailureCounts::default();
        let done = kinds.into_iter().cycle().take_while(|class| {
            !matches!(recover(&fault(*class), &mut failures, &POLICY, NOW), Recovery::Stop(_))
        });
        assert_eq!(done.count(), 6);
    }

    #[test]
    fn what_waiting_cannot_mend_stops_at_once() {
        for class in [
            FaultClass::Auth,
            FaultClass::ModelUnavailable,
            FaultClass::NotFound,
            FaultClass::Fatal,
        ] {
            let (done, outcome) = recoveries(&fault(class), &POLICY);
            assert_eq!((done, outcome.exit_code()), (Vec::new(), 5), "{class:?}");
        }
        let retries = RetryLimits { fallback: true, ..RetryLimits::default() };
        let policy = RetryPolicy { retries, ..POLICY };
        let missing = fault(FaultClass::ModelUnavailable);
        let recovery = recover(&missing, &mut FailureCounts::default(), &policy, NOW);
        assert_eq!(recovery, Recovery::Fallback);
    }
}
