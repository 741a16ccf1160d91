//! How many frames a connection may send: a burst, then a rate.

use std::time::Duration;

use super::limits::{BURST, RATE};

/// Between two notices about dropped frames.
const NOTICE_EVERY: Duration = Duration::from_secs(1);

/// The decision about a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// Handle it.
    Admit,
    /// Drop it and say so.
    DropAndTell,
    /// Drop it. A notice went out less than a second ago.
    Drop,
}

/// A token bucket. Times are passed in, counted from any fixed moment.
#[derive(Clone, Debug)]
pub(super) struct RateLimit {
    /// Frames that may come now, in parts of `SCALE`.
    left: u64,
    at: Duration,
    told: Option<Duration>,
}

/// A frame is this many units, and each microsecond brings `RATE` of them.
const SCALE: u64 = 1_000_000;

impl RateLimit {
    pub(super) fn new(now: Duration) -> Self {
        Self { left: u64::from(BURST) * SCALE, at: now, told: None }
    }

    /// Counts one frame.
    pub(super) fn count(&mut self, now: Duration) -> Admission {
        let passed = now.saturating_sub(self.at).as_micros();
        let passed = u64::try_from(passed).unwrap_or(u64::MAX);
        let gained = passed.saturating_mul(u64::from(RATE));
        self.left = self.left.saturating_add(gained).min(u64::from(BURST) * SCALE);
        self.at = self.at.max(now);
        if let Some(left) = self.left.checked_sub(SCALE) {
            self.left = left;
            return Admission::Admit;
        }
        if self.told.is_some_and(|told| now.saturating_sub(told) < NOTICE_EVERY) {
            return Admission::Drop;
        }
        self.told = Some(now);
        Admission::DropAndTell
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn admitted(limit: &mut RateLimit, now: Duration, frames: u32) -> u32 {
        let admitted = (0..frames).filter(|_| limit.count(now) == Admission::Admit);
        u32::try_from(admitted.count()).expect("a few")
    }

    #[test]
    fn a_thousand_at_once_then_five_hundred_a_second() {
        let mut limit = RateLimit::new(Duration::ZERO);
        assert_eq!(admitted(&mut limit, Duration::ZERO, 5000), 1000);
        assert_eq!(admitted(&mut limit, Duration::from_millis(500), 5000), 250);
        assert_eq!(admitted(&mut limit, Duration::from_secs(60), 5000), 1000);
    }

    #[test]
    fn one_notice_a_second() {
        let mut limit = RateLimit::new(Duration::ZERO);
        admitted(&mut limit, Duration::ZERO, 1000);
        let second = Duration::from_secs(1);
        assert_eq!(limit.count(Duration::ZERO), Admission::DropAndTell);
        assert_eq!(limit.count(Duration::ZERO), Admission::Drop);
        admitted(&mut limit, second, 500);
        assert_eq!(limit.count(second), Admission::DropAndTell);
        assert_eq!(limit.count(second), Admission::Drop);
    }

    proptest! {
        #[test]
        fn never_more_than_burst_and_rate(gaps in prop::collection::vec(0_u64..20_000, 0..4000)) {
            let mut limit = RateLimit::new(Duration::ZERO);
            let mut now = Duration::ZERO;
            let mut admitted = 0_u64;
            for gap in gaps {
                now += Duration::from_micros(gap);
                admitted += u64::from(limit.count(now) == Admission::Admit);
            }
            let most = u64::from(BURST) + now.as_micros() as u64 * u64::from(RATE) / SCALE;
            prop_assert!(admitted <= most, "{} of {}", admitted, most);
        }
    }
}
