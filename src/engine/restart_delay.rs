//! The delay before a failed agent process is started again.
//!
//! Invariant: the only module that names the `backoff` crate.

use std::time::Duration;

use backoff::ExponentialBackoffBuilder;
use backoff::backoff::Backoff as _;

/// The delay after the first failure.
const FIRST: Duration = Duration::from_millis(500);

/// The delay before the next start, after `retry` earlier ones: doubled each time, with some
/// jitter, at most five minutes.
pub(super) fn restart_delay(retry: u32) -> Duration {
    let mut backoff = ExponentialBackoffBuilder::new()
        .with_initial_interval(FIRST)
        .with_multiplier(2.0)
        .with_randomization_factor(0.2)
        .with_max_interval(Duration::from_secs(300))
        .with_max_elapsed_time(None)
        .build();
    let mut delay = FIRST;
    for _ in 0..=retry.min(16) {
        delay = backoff.next_backoff().unwrap_or(delay);
    }
    delay
}
