//! The limits on the pushed events that are kept.

use std::time::Duration;

/// Bytes that may come at once: more than an honest provider pushes in a night.
const BURST: u64 = 16 << 20;
/// Bytes a second, after the burst.
const RATE: u64 = 16 << 10;
/// The cost of every event, in addition to its text.
const EACH: u64 = 256;

/// A budget of bytes that fills again.
#[derive(Debug)]
pub(super) struct KeepBudget {
    left: u64,
    at: Duration,
}

impl Default for KeepBudget {
    fn default() -> Self {
        Self { left: BURST, at: Duration::ZERO }
    }
}

impl KeepBudget {
    /// May an event of this size be kept at this time?
    pub(super) fn takes(&mut self, size: usize, now: Duration) -> bool {
        let passed = now.saturating_sub(self.at).as_secs();
        self.at += Duration::from_secs(passed);
        self.left = self.left.saturating_add(passed.saturating_mul(RATE)).min(BURST);
        let cost = u64::try_from(size).unwrap_or(u64::MAX).saturating_add(EACH);
        let enough = self.left >= cost;
        if enough {
            self.left -= cost;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_cut_off_and_a_trickle_goes_on() {
        let mut budget = KeepBudget::default();
        let mut kept = 0;
        while budget.takes(1 << 20, Duration::ZERO) {
            kept += 1;
        }
        assert_eq!(kept, 15);
        let second = Duration::from_secs(1);
        assert!(!budget.takes(1 << 20, Duration::ZERO));
        // The rest still fits small events, and each second adds to it.
        while budget.takes(1000, second) {}
        for passed in 2..100 {
            assert!(budget.takes(10_000, second * passed), "{passed}");
        }
        assert!(!budget.takes(usize::MAX, second * 1_000_000));
    }
}
