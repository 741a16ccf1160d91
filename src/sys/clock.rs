//! Time: of the wall for people, monotonic for limits.
//!
//! Invariant: limits are measured with tokio's clock alone, so that a wall clock that
//! jumps ends nothing; only what people read comes from the wall.

use chrono::{DateTime, FixedOffset, Local, TimeDelta, Utc};
use tokio::time::Instant;

/// Where time comes from.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    anchor: Option<(DateTime<Utc>, Instant)>,
    /// Seconds by which somebody has set an anchored clock.
    #[cfg(test)]
    set: Option<&'static std::sync::atomic::AtomicI64>,
}

impl Clock {
    /// The machine's own clock and time zone.
    pub fn system() -> Self {
        Self {
            anchor: None,
            #[cfg(test)]
            set: None,
        }
    }

    /// A wall clock in UTC that shows `at` now and from here on follows tokio's clock.
    /// Where tokio's time is paused, this one stands still with it.
    pub fn anchored(at: DateTime<Utc>) -> Self {
        Self {
            anchor: Some((at, Instant::now())),
            #[cfg(test)]
            set: None,
        }
    }

    /// The same, and it jumps by so many seconds as stand in `set`, as when a human or the
    /// network sets the machine's clock.
    #[cfg(test)]
    pub fn jumping(at: DateTime<Utc>, set: &'static std::sync::atomic::AtomicI64) -> Self {
        Self { set: Some(set), ..Self::anchored(at) }
    }

    /// Wall time.
    pub fn now(&self) -> DateTime<Utc> {
        match self.anchor {
            None => Utc::now(),
            Some((at, since)) => {
                let now = at + TimeDelta::from_std(since.elapsed()).unwrap_or(TimeDelta::zero());
                #[cfg(test)]
                let now = now + TimeDelta::seconds(self.jumped());
                now
            }
        }
    }

    #[cfg(test)]
    fn jumped(&self) -> i64 {
        self.set.map_or(0, |set| set.load(std::sync::atomic::Ordering::SeqCst))
    }

    /// Monotonic time, for limits and durations.
    pub fn instant(&self) -> Instant {
        Instant::now()
    }

    /// A moment as the user's own wall shows it.
    pub fn local(&self, time: DateTime<Utc>) -> DateTime<FixedOffset> {
        match self.anchor {
            None => time.with_timezone(&Local).fixed_offset(),
            Some(_) => time.fixed_offset(),
        }
    }

    /// Today's date where the user is, as `date +%F` prints it.
    pub fn today(&self) -> chrono::NaiveDate {
        self.local(self.now()).date_naive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_anchored_clock_moves_with_tokio_and_with_nothing_else() {
        let at: DateTime<Utc> = "2026-11-21T23:59:50Z".parse().expect("time");
        let clock = Clock::anchored(at);
        assert_eq!(clock.now(), at);
        assert_eq!(clock.today().to_string(), "2026-11-21");
        let begin = clock.instant();
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(clock.now().to_rfc3339(), "2026-11-22T00:00:00+00:00");
        assert_eq!(clock.today().to_string(), "2026-11-22");
        assert_eq!(clock.instant() - begin, Duration::from_secs(10));
    }

    #[test]
    fn the_system_clock_shows_the_same_moment_in_the_users_zone() {
        let clock = Clock::system();
        let moment = clock.now();
        assert_eq!(clock.local(moment).to_utc(), moment);
        assert_eq!(clock.local(moment).naive_local(), moment.with_timezone(&Local).naive_local());
    }
}
