//! Wall-clock time for people, monotonic time for limits.
//!
//! Invariant: limits use tokio's clock only, so a jump of the wall clock ends nothing early.

use chrono::{DateTime, FixedOffset, Local, TimeDelta, Utc};
use tokio::time::Instant;

/// A source of time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    anchor: Option<(DateTime<Utc>, Instant)>,
    /// Seconds by which a test has shifted an anchored clock.
    #[cfg(test)]
    set: Option<&'static std::sync::atomic::AtomicI64>,
}

impl Clock {
    /// The machine's clock and time zone.
    pub fn system() -> Self {
        Self {
            anchor: None,
            #[cfg(test)]
            set: None,
        }
    }

    /// A wall clock in UTC that shows `at` now and then follows tokio's clock, also while that is
    /// paused.
    pub fn anchored(at: DateTime<Utc>) -> Self {
        Self {
            anchor: Some((at, Instant::now())),
            #[cfg(test)]
            set: None,
        }
    }

    /// An anchored clock that is shifted by `set` seconds, as when a person or the network sets
    /// the machine's clock.
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

    /// A moment in the user's time zone.
    pub fn local(&self, time: DateTime<Utc>) -> DateTime<FixedOffset> {
        match self.anchor {
            None => time.with_timezone(&Local).fixed_offset(),
            Some(_) => time.fixed_offset(),
        }
    }

    /// Today's date in the user's time zone, as `date +%F` prints it.
    pub fn today(&self) -> chrono::NaiveDate {
        self.local(self.now()).date_naive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_anchored_clock_follows_tokio_only() {
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
