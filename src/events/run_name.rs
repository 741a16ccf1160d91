//! The name of a new run.
//!
//! Invariant: runs sorted by name are sorted by start time, even if the wall clock was set back
//! between them, because the last run is found by name.

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};

use super::run_id;
use crate::model::RunId;

/// Returns the name of a run that begins now, after the run named `last`. If the clock was set
/// back since then, the name is one millisecond after the last one.
pub fn run_id_after(last: Option<&str>, now: DateTime<Utc>, pid: u32) -> RunId {
    let after =
        last.and_then(began).and_then(|at| at.checked_add_signed(TimeDelta::milliseconds(1)));
    run_id(after.map_or(now, |after| after.max(now)), pid)
}

/// When a run began, by its name.
fn began(run: &str) -> Option<DateTime<Utc>> {
    let (time, _pid) = run.rsplit_once('-')?;
    NaiveDateTime::parse_from_str(time, "%Y%m%dT%H%M%S%.3fZ").ok().map(|at| at.and_utc())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_comes_after_the_last_one_also_when_the_clock_was_put_back() {
        let now: DateTime<Utc> = "2026-11-21T14:03:01.5Z".parse().expect("time");
        for (last, name) in [
            (None, "20261121T140301.500Z-7"),
            (Some("20261121T140301.499Z-9"), "20261121T140301.500Z-7"),
            (Some("20261121T140301.500Z-9"), "20261121T140301.501Z-7"),
            (Some("20261122T140301.999Z-9"), "20261122T140302.000Z-7"),
            (Some("somebody's own"), "20261121T140301.500Z-7"),
        ] {
            assert_eq!(run_id_after(last, now, 7).as_str(), name, "{last:?}");
        }
    }
}
