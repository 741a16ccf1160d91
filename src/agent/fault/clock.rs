//! Reads the times of a clock in text: "resets 6:15pm (Europe/Berlin)", "try again at Jan 18th,
//! 2027 12:39 PM", "resets 03:13 on 26 Feb".

use std::sync::LazyLock;

use chrono::{
    DateTime, Datelike as _, Days, Local, NaiveDate, NaiveTime, TimeDelta, TimeZone, Utc, Weekday,
};
use chrono_tz::Tz;
use regex::{Captures, Regex};

use crate::model::{ClockTime, Day};

/// A time that has just passed is not tomorrow's: the failure ends about now.
const JUST_PASSED: TimeDelta = TimeDelta::minutes(30);

const MONTH: &str = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?";

/// A time needs minutes or "am" and "pm": a bare number may count anything.
static CLOCK: LazyLock<Regex> = LazyLock::new(|| {
    compiled(&format!(
        r"(?ix)
        \b(?:resets?|again|available|until|resume|retry)\b \W{{0,4}} (?:(?:at|on|after)\s+)?
        (?:{MONTH} \s+ (?<day>\d{{1,2}})(?:st|nd|rd|th)? (?:,?\s+(?<year>\d{{4}}))? ,? \s+ (?:at\s+)?
          |(?<weekday>mon|tue|wed|thu|fri|sat|sun)[a-z]* ,? \s+ (?:at\s+)?
          |(?:(?<tomorrow>tomorrow)|today) ,? \s+ (?:at\s+)?)?
        (?<hour>\d{{1,2}}) (?: :(?<minute>\d\d)(?::\d\d)? (?:\s*(?<half>[ap])\.?m\b)? | \s*(?<bare>[ap])\.?m\b )
        \.? (?:\s+on\s+(?<after>\d{{1,2}})\s+(?<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))?
        {ZONE}"
    ))
});

/// A name of a zone, or an offset: `(Europe/Berlin)`, `PST`, `(GMT+2)`, `+05:30`.
const ZONE: &str = r"(?:\s*\(? (?: (?:UTC|GMT)? (?<offset>[+\-]\d{1,2}(?::?[0-5]\d)?)
    | (?<zone>[a-z]+(?:/[a-z0-9_+\-]+)+|UTC|GMT|(?-i:[A-Z]{2,4})) ) \b)?";

/// A day alone: "resets Dec 1", "available again tomorrow". It begins at midnight.
static DAY: LazyLock<Regex> = LazyLock::new(|| {
    compiled(&format!(
        r"(?ix)
        \b(?:resets?|again)\b \W{{0,4}} (?:on\s+)?
        (?:{MONTH} \s+ (?<day>\d{{1,2}})(?:st|nd|rd|th)? (?:,?\s+(?<year>\d{{4}}))?
          |(?<weekday>mon|tue|wed|thu|fri|sat|sun)[a-z]*
          |(?<tomorrow>tomorrow)) \b {ZONE}"
    ))
});

pub(super) fn compiled(pattern: &str) -> Regex {
    // The patterns are constants, and a test compiles each of them.
    Regex::new(pattern).unwrap_or_else(|error| unreachable!("{error}"))
}

/// The time of a clock that a text says a failure ends at.
pub(super) fn clock_in(text: &str) -> Option<ClockTime> {
    let found = CLOCK.captures(text).or_else(|| DAY.captures(text))?;
    let number = |name: &str| found.name(name).and_then(|it| it.as_str().parse::<u32>().ok());
    let half = found.name("half").or_else(|| found.name("bare")).map(|it| it.as_str());
    let hour = match (number("hour").unwrap_or(0), half) {
        (hour @ 1..=12, Some(half)) => {
            hour % 12 + if half.eq_ignore_ascii_case("p") { 12 } else { 0 }
        }
        (_, Some(_)) => return None,
        (hour, None) => hour,
    };
    let time = NaiveTime::from_hms_opt(hour, number("minute").unwrap_or(0), 0)?;
    let day = day_in(&found);
    if let Some(offset) = found.name("offset") {
        let (time, zone) = at_offset(offset.as_str(), time)?;
        return Some(ClockTime { time, day, zone: Some(zone) });
    }
    let zone = found.name("zone").and_then(|zone| zone_of(zone.as_str()));
    Some(ClockTime { time, day, zone })
}

/// A time at an offset from UTC, and the zone that has it: its own, or UTC for parts of an hour.
fn at_offset(offset: &str, time: NaiveTime) -> Option<(NaiveTime, Tz)> {
    let digits = &offset[1..];
    let (hours, minutes) =
        digits.split_once(':').unwrap_or_else(|| digits.split_at(digits.len().min(2)));
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let number = |digits: &str| digits.parse::<i64>().ok();
    let (hours, minutes) = (sign * number(hours)?, sign * number(minutes).unwrap_or(0));
    // These names count the other way round.
    match minutes {
        0 => Some((time, format!("Etc/GMT{:+}", -hours).parse().ok()?)),
        _ => Some((time - TimeDelta::minutes(60 * hours + minutes), Tz::UTC)),
    }
}

/// A zone by its name. The short names of a place's summer and winter time mean its time of today:
/// people write "PST" all year.
fn zone_of(name: &str) -> Option<Tz> {
    Some(match name {
        "PT" | "PST" | "PDT" => Tz::America__Los_Angeles,
        "MT" | "MST" | "MDT" => Tz::America__Denver,
        "CT" | "CST" | "CDT" => Tz::America__Chicago,
        "ET" | "EST" | "EDT" => Tz::America__New_York,
        "BST" => Tz::Europe__London,
        "CET" | "CEST" => Tz::Europe__Berlin,
        "IST" => Tz::Asia__Kolkata,
        "JST" => Tz::Asia__Tokyo,
        "AEST" | "AEDT" => Tz::Australia__Sydney,
        _ => name.parse().ok()?,
    })
}

fn day_in(found: &Captures) -> Option<Day> {
    let number = |name: &str| found.name(name).and_then(|it| it.as_str().parse::<u32>().ok());
    if found.name("tomorrow").is_some() {
        return Some(Day::Tomorrow);
    }
    if let Some(weekday) = found.name("weekday") {
        return weekday.as_str().parse::<Weekday>().ok().map(Day::Weekday);
    }
    // The month before the day is the only group without a name.
    let month = found.name("month").or_else(|| found.get(1))?.as_str().parse::<chrono::Month>();
    let day = number("day").or_else(|| number("after"))?;
    let year = number("year").and_then(|year| i32::try_from(year).ok());
    Some(Day::Date { year, month: month.ok()?.number_from_month(), day })
}

/// The first time after `now`, or shortly before it, at which the clock shows this.
pub fn next_time(clock: &ClockTime, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    match clock.zone {
        Some(zone) => next_in(zone, clock, now),
        None => next_in(Local, clock, now),
    }
}

fn next_in<Z: TimeZone>(zone: Z, clock: &ClockTime, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let shown = |date: NaiveDate| {
        let local = |time| zone.from_local_datetime(&time).earliest();
        let time = date.and_time(clock.time);
        // A time in the hour that the clocks skip comes when they have skipped it.
        let time = local(time).or_else(|| local(time + TimeDelta::hours(1)))?;
        Some(time.with_timezone(&Utc))
    };
    let today = now.with_timezone(&zone).date_naive();
    let (ahead, meant): (u64, &dyn Fn(&NaiveDate) -> bool) = match &clock.day {
        None => (1, &|_| true),
        Some(Day::Tomorrow) => (1, &|date| *date > today),
        Some(Day::Weekday(weekday)) => (7, &|date| date.weekday() == *weekday),
        Some(Day::Date { year: Some(year), month, day }) => {
            return shown(NaiveDate::from_ymd_opt(*year, *month, *day)?);
        }
        Some(Day::Date { year: None, month, day }) => {
            (366, &|date| (date.month(), date.day()) == (*month, *day))
        }
    };
    let dates = (0..=ahead).filter_map(|days| today.checked_add_days(Days::new(days)));
    dates.filter(meant).filter_map(shown).find(|time| *time > now - JUST_PASSED)
}
