//! What to do when the agent or its model failed: pure. Such a failure is never an
//! attempt on the criterion and costs no iteration.

use std::time::Duration;

use backoff::ExponentialBackoffBuilder;
use backoff::backoff::Backoff as _;
use chrono::{DateTime, Utc};

use crate::model::{Fault, FaultClass, Outcome};

/// Failures of the agent's process in a row that end the run.
const DEATHS: u32 = 3;
/// Failures of the network in a row that end the run; the agent has tried several times
/// by itself before each.
const DROPS: u32 = 6;
/// The first pause after the agent's process failed, and after the network did.
const RESTART: Duration = Duration::from_millis(500);
const RECONNECT: Duration = Duration::from_secs(5);

/// How much is borne, and how much was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patience {
    /// Failures in a row, this one included.
    pub failures: u32,
    /// What was waited in a row, without a restart.
    pub waited: Duration,
    /// What may be waited in all.
    pub max_wait: Duration,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Start the agent anew after a while.
    Restart(Duration),
    /// Wait for the rate limit or the network, with the same agent.
    Wait(Duration),
    /// End the run.
    Stop(Outcome),
}

/// Decides it.
pub fn recover(fault: &Fault, patience: &Patience, now: DateTime<Utc>) -> Recovery {
    match fault.class {
        FaultClass::RateLimit => {
            let wait = rate_limit_wait(patience.failures);
            if patience.waited + wait > patience.max_wait {
                let later = chrono::Duration::from_std(wait).unwrap_or_default();
                return Recovery::Stop(Outcome::RateLimited {
                    message: fault.message.clone(),
                    resume_at: now + later,
                    estimated: true,
                });
            }
            Recovery::Wait(wait)
        }
        FaultClass::Network if patience.failures < DROPS => {
            let wait = pause(RECONNECT, patience.failures);
            if patience.waited + wait > patience.max_wait {
                return Recovery::Stop(Outcome::AgentUnusable { fault: fault.clone() });
            }
            Recovery::Wait(wait)
        }
        FaultClass::Died | FaultClass::Protocol | FaultClass::Other
            if patience.failures < DEATHS =>
        {
            Recovery::Restart(pause(RESTART, patience.failures))
        }
        FaultClass::NotFound
        | FaultClass::Auth
        | FaultClass::ModelUnavailable
        | FaultClass::Network
        | FaultClass::Died
        | FaultClass::Protocol
        | FaultClass::Other => Recovery::Stop(Outcome::AgentUnusable { fault: fault.clone() }),
    }
}

/// The seed's formula: 30 s, doubled each time, at most five minutes.
fn rate_limit_wait(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(10);
    Duration::from_secs((30 << doublings).min(300))
}

/// Doubled each time, with some jitter, so that a failure is no tight loop.
fn pause(first: Duration, failures: u32) -> Duration {
    let mut backoff = ExponentialBackoffBuilder::new()
        .with_initial_interval(first)
        .with_multiplier(2.0)
        .with_randomization_factor(0.2)
        .with_max_interval(Duration::from_secs(300))
        .with_max_elapsed_time(None)
        .build();
    let mut delay = first;
    for _ in 0..failures.clamp(1, 16) {
        delay = backoff.next_backoff().unwrap_or(delay);
    }
    delay
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(class: FaultClass) -> Fault {
        Fault { class, message: "it said so".into() }
    }

    fn patience(failures: u32, waited: u64) -> Patience {
        Patience {
            failures,
            waited: Duration::from_secs(waited),
            max_wait: Duration::from_secs(600),
        }
    }

    #[test]
    fn a_rate_limit_is_waited_for_by_the_formula_then_given_up() {
        let now = DateTime::UNIX_EPOCH;
        for (failures, seconds) in [(1, 30), (2, 60), (3, 120), (4, 240), (5, 300), (60, 300)] {
            let wait = recover(&fault(FaultClass::RateLimit), &patience(failures, 0), now);
            assert_eq!(wait, Recovery::Wait(Duration::from_secs(seconds)));
        }
        let stop = recover(&fault(FaultClass::RateLimit), &patience(2, 541), now);
        let Recovery::Stop(Outcome::RateLimited { resume_at, estimated, .. }) = stop else {
            panic!("{stop:?}");
        };
        assert_eq!((resume_at.timestamp(), estimated), (60, true));
    }

    #[test]
    fn a_dead_agent_is_restarted_with_growing_delays_then_given_up() {
        let delay = |failures| match recover(
            &fault(FaultClass::Died),
            &patience(failures, 0),
            DateTime::UNIX_EPOCH,
        ) {
            Recovery::Restart(delay) => Some(delay),
            Recovery::Wait(_) | Recovery::Stop(_) => None,
        };
        let (first, second) = (delay(1).expect("first"), delay(2).expect("second"));
        assert!(first >= Duration::from_millis(400) && second > first, "{first:?} {second:?}");
        assert_eq!(delay(3), None);
    }

    #[test]
    fn the_network_is_waited_for_with_the_same_agent_then_given_up() {
        let network = fault(FaultClass::Network);
        let recovery =
            |failures, waited| recover(&network, &patience(failures, waited), DateTime::UNIX_EPOCH);
        let Recovery::Wait(first) = recovery(1, 0) else { panic!("{:?}", recovery(1, 0)) };
        assert!((Duration::from_secs(4)..=Duration::from_secs(6)).contains(&first), "{first:?}");
        assert!(matches!(recovery(5, 75), Recovery::Wait(_)));
        let stop = Recovery::Stop(Outcome::AgentUnusable { fault: network.clone() });
        assert_eq!(recovery(6, 0), stop);
        assert_eq!(recovery(1, 599), stop);
    }

    #[test]
    fn what_waiting_cannot_mend_stops_at_once() {
        for class in [FaultClass::Auth, FaultClass::ModelUnavailable, FaultClass::NotFound] {
            let fault = fault(class);
            let stop = recover(&fault, &patience(1, 0), DateTime::UNIX_EPOCH);
            assert_eq!(stop, Recovery::Stop(Outcome::AgentUnusable { fault }));
        }
    }
}
