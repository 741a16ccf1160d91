//! Finds when a failure ends by itself, in text or in JSON fields: `Retry-After: 3600`,
//! "try again in 58 hours", "resets at 2026-11-22T09:00:00Z". `clock` reads "resets 6:15pm".

use std::sync::LazyLock;

use chrono::{DateTime, NaiveDateTime, Utc};
use regex::Regex;
use serde_json::Value;

use super::clock::{clock_in, compiled};
use crate::model::Reset;

/// Times further ahead than this, in seconds, are ignored.
const FURTHEST: f64 = 366.0 * 86_400.0;

const UNIT: &str = r"(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)";

/// "try again in 1 hour and 30 minutes", "wait 30 seconds", "resets in ~2h".
static IN: LazyLock<Regex> = LazyLock::new(|| {
    compiled(&format!(
        r"(?i)(?:\b(?:try|retry|retrying|available|resets?|again|resume|next)\b[^\n]{{0,60}}?\b(?:in|for|after)|\bwait(?:\s+for)?)\s+(?:about |approximately |around |~\s*)?((?:an?|\d+(?:\.\d+)?)\s*{UNIT}(?:(?:\s*,\s*|\s+and\s+|\s*)\d+(?:\.\d+)?\s*{UNIT})*\b)"
    ))
});

/// One amount in such a span.
static AMOUNT: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"(?i)(an?\b|\d+(?:\.\d+)?)\s*([a-z]+)"));

/// `Retry-After: 3600`, `retry_after_ms=500`, `"retryAfter": "30s"`.
static RETRY_AFTER: LazyLock<Regex> = LazyLock::new(|| {
    compiled(&format!(
        r#"(?i)\b(?:retry[-_ ]?(?:after|delay)|resets?[-_](?:in|after))(?:[-_]?(ms|seconds))?\b["']?\s*[:=]?\s*["']?(\d+(?:\.\d+)?)\s*({UNIT}\b)?"#
    ))
});

/// Fields whose value is a span.
const SPANS: [&str; 6] =
    ["retryafter", "retrydelay", "resetin", "resetsin", "resetafter", "resetsafter"];

/// `Retry-After: Wed, 21 Oct 2026 07:28:00 GMT`.
static RETRY_AFTER_DATE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?i)\bretry-after\s*:\s*((?:mon|tue|wed|thu|fri|sat|sun), \d{1,2} \w{3} \d{4} [\d:]{8} GMT)",
    )
});

/// "resets at 2026-11-22 09:00 UTC", "try again after 2026-11-22T09:00:00+01:00".
static AT: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?i)\b(?:resets?|reset|again|available|until|resume|retry)(?:[-_ ]?(?:at|on|after|time|date))?\b\W{0,4}(?:at |on |after )?(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d(?:\.\d+)?)?\s*(Z|UTC|GMT|[+-]\d\d:?\d\d)?",
    )
});

/// `X-RateLimit-Reset: 1795308480`, `usage limit reached|1795308480`: seconds since 1970.
static EPOCH: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"(?i)(?:\brate-?limit-reset\b\W{1,3}|\blimit reached\|)(\d{10})\b"));

/// The reset time in a text.
pub fn reset_in(text: &str) -> Option<Reset> {
    if let Some(found) = RETRY_AFTER_DATE.captures(text) {
        let date = DateTime::parse_from_rfc2822(&found[1].replace("GMT", "+0000")).ok()?;
        return Some(Reset::At(date.with_timezone(&Utc)));
    }
    // A date begins with a number, too.
    if let Some(found) = AT.captures(text) {
        let (day, minute) = (&found[1], &found[2]);
        let second = found.get(3).map_or(":00", |second| second.as_str());
        let zone = found.get(4).map_or("+0000", |zone| match zone.as_str() {
            "Z" | "z" | "UTC" | "GMT" | "utc" | "gmt" => "+0000",
            offset => offset,
        });
        let time = format!("{day}T{minute}{second}{zone}");
        let time = DateTime::parse_from_str(&time, "%Y-%m-%dT%H:%M:%S%.f%z").ok()?;
        return Some(Reset::At(time.with_timezone(&Utc)));
    }
    if let Some(found) = RETRY_AFTER.captures(text) {
        let unit = found.get(3).or_else(|| found.get(1)).map_or("s", |unit| unit.as_str());
        return after(found[2].parse::<f64>().ok()? * seconds_of(unit));
    }
    if let Some(found) = EPOCH.captures(text) {
        return DateTime::from_timestamp(found[1].parse().ok()?, 0).map(Reset::At);
    }
    let Some(found) = IN.captures(text) else { return clock_in(text).map(Reset::Clock) };
    let amounts = AMOUNT.captures_iter(&found[1]).map(|amount| {
        let number = amount[1].parse::<f64>().unwrap_or(1.0);
        number * seconds_of(&amount[2])
    });
    after(amounts.sum())
}

/// The reset time in the fields of a JSON value.
pub(super) fn reset_of(value: &Value) -> Option<Reset> {
    let fields = match value {
        Value::Object(fields) => fields,
        Value::Array(items) => return items.iter().find_map(reset_of),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    };
    fields.iter().find_map(|(name, field)| {
        let name = name.to_lowercase().replace(['-', '_'], "");
        match name.as_str() {
            span if SPANS.iter().any(|start| {
                let unit = span.strip_prefix(start);
                unit.is_some_and(|unit| ["", "ms", "seconds"].contains(&unit))
            }) =>
            {
                let factor = if name.ends_with("ms") { 0.001 } else { 1.0 };
                match field {
                    Value::String(text) => match text.trim().parse::<f64>() {
                        Ok(number) => after(number * factor),
                        Err(_) => reset_in(&format!("retry-after: {text}")),
                    },
                    other => after(other.as_f64()? * factor),
                }
            }
            "reset" | "resetat" | "resetsat" | "resumeat" | "resettime" | "xratelimitreset"
            | "quotaresetdate" => time_of(field),
            _ => reset_of(field),
        }
    })
}

fn time_of(field: &Value) -> Option<Reset> {
    match field {
        Value::String(text) => {
            let zoned = DateTime::parse_from_rfc3339(text).map(|time| time.with_timezone(&Utc));
            let plain = || NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f");
            let time = zoned.ok().or_else(|| plain().ok().map(|time| time.and_utc()));
            time.map(Reset::At).or_else(|| {
                let seconds: i64 = text.parse().ok()?;
                DateTime::from_timestamp(seconds, 0).map(Reset::At)
            })
        }
        // Small numbers would be durations, which these fields never contain.
        Value::Number(number) => match number.as_i64()? {
            seconds @ 1_000_000_000..=9_999_999_999 => {
                DateTime::from_timestamp(seconds, 0).map(Reset::At)
            }
            millis if millis > 9_999_999_999 => {
                DateTime::from_timestamp_millis(millis).map(Reset::At)
            }
            _ => None,
        },
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => reset_of(field),
    }
}

fn after(seconds: f64) -> Option<Reset> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
    (0.0..=FURTHEST).contains(&seconds).then(|| Reset::After(seconds.ceil() as u64))
}

fn seconds_of(unit: &str) -> f64 {
    let unit = unit.to_lowercase();
    match unit.as_str() {
        "ms" => 0.001,
        _ if unit.starts_with("mil") => 0.001,
        _ if unit.starts_with('s') => 1.0,
        _ if unit.starts_with('m') => 60.0,
        _ if unit.starts_with('h') => 3600.0,
        _ => 86_400.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::next_time;

    #[test]
    fn a_text_s_time_is_found() {
        for (text, seconds) in [
            ("Please try again in 58 hours. (Request ID: 1)", 58 * 3600),
            ("Retry-After: 3600", 3600),
            ("retry-after: 15", 15),
            ("retry_after_ms: 1500", 2),
            (r#"{"retry_after_ms":3600000}"#, 3600),
            (r#"[429] RESOURCE_EXHAUSTED {"retryDelay": "3600s"}"#, 3600),
            ("resets_in_seconds: 3600", 3600),
            ("rate limit reached, please wait 30 seconds", 30),
            ("wait for 2 minutes", 120),
            ("This limit resets in about 2h", 7200),
            ("try again in 1 hour and 30 minutes", 5400),
            ("Try again in 1h 30m", 5400),
            ("try again in 6m0s", 360),
            ("try again in an hour", 3600),
            ("try again in a few seconds", 0),
            ("Please retry after 20s", 20),
            ("try again in 1.5 seconds", 2),
            ("available again in 3 days", 3 * 86_400),
        ] {
            let expected = (seconds > 0).then_some(Reset::After(seconds));
            assert_eq!(reset_in(text), expected, "{text}");
        }
    }

    #[test]
    fn a_time_of_day_is_found_in_its_zone() {
        for (text, expected) in [
            ("your limit resets at 2026-11-22T09:00:00Z", "2026-11-22T09:00:00Z"),
            ("Resets at 2026-11-22 09:00 UTC.", "2026-11-22T09:00:00Z"),
            ("try again after 2026-11-22T10:00:00+01:00", "2026-11-22T09:00:00Z"),
            ("Retry-After: Sun, 22 Nov 2026 09:00:00 GMT", "2026-11-22T09:00:00Z"),
            ("x-ratelimit-reset: 1795338000", "2026-11-22T09:00:00Z"),
        ] {
            let time = expected.parse().expect("a time");
            assert_eq!(reset_in(text), Some(Reset::At(time)), "{text}");
        }
    }

    #[test]
    fn a_clock_s_time_is_the_next_one_in_its_zone() {
        let now = "2026-11-27T12:00:00Z".parse().expect("a time");
        for (text, expected) in [
            (
                "You've hit your session limit · resets 6:15pm (Europe/Berlin)",
                "2026-11-27T17:15:00Z",
            ),
            ("You've hit your limit · resets 1:30am (Asia/Dhaka)", "2026-11-27T19:30:00Z"),
            ("Your limit will reset at 9am (America/Chicago).", "2026-11-27T15:00:00Z"),
            ("Your limit will reset at 1pm (Etc/GMT+5).", "2026-11-27T18:00:00Z"),
            ("resets 12:50am (America/Los_Angeles)", "2026-11-28T08:50:00Z"),
            ("5-hour limit reached ∙ resets 6pm (UTC)", "2026-11-27T18:00:00Z"),
            ("resets at 11:50am (UTC)", "2026-11-27T11:50:00Z"),
            ("resets at 11:00 UTC", "2026-11-28T11:00:00Z"),
            ("resets Dec 9 at 5pm (UTC)", "2026-12-09T17:00:00Z"),
            ("resets Oct 9 at 5pm (UTC)", "2027-10-09T17:00:00Z"),
            ("try again at Jan 18th, 2027 12:39 PM UTC", "2027-01-18T12:39:00Z"),
            ("limit to reset on April 20, 2027 at 2:00 AM GMT or switch", "2027-04-20T02:00:00Z"),
            ("resets 6:15pm PST", "2026-11-28T02:15:00Z"),
            ("Resets at 9:30 AM (EDT).", "2026-11-27T14:30:00Z"),
            ("try again at 5pm CET", "2026-11-27T16:00:00Z"),
            ("resets 6pm ET, then go on", "2026-11-27T23:00:00Z"),
            ("resets Monday at 9am (UTC)", "2026-11-30T09:00:00Z"),
            ("resets 6:15pm (GMT+2)", "2026-11-27T16:15:00Z"),
            ("resets at 18:15 (UTC+02:00)", "2026-11-27T16:15:00Z"),
            ("Your limit will reset at 3:30pm (UTC+5:30)", "2026-11-28T10:00:00Z"),
            ("resets 6pm -0500", "2026-11-27T23:00:00Z"),
            ("resets tomorrow at 9am (America/New_York)", "2026-11-28T14:00:00Z"),
            ("resets tomorrow, 1pm UTC", "2026-11-28T13:00:00Z"),
            ("resets today at 1pm UTC", "2026-11-27T13:00:00Z"),
            ("Monthly request limit reached, resets Dec 1 (UTC)", "2026-12-01T00:00:00Z"),
            ("available again tomorrow (UTC)", "2026-11-28T00:00:00Z"),
            ("resets 03:13 on 26 Feb (UTC)", "2027-02-26T03:13:00Z"),
            ("Claude AI usage limit reached|1795338000", "2026-11-22T09:00:00Z"),
            ("rate limited, retry after 2026-11-27T20:00:00Z", "2026-11-27T20:00:00Z"),
        ] {
            let time = match reset_in(text) {
                Some(Reset::Clock(clock)) => next_time(&clock, now),
                Some(Reset::At(time)) => Some(time),
                other => panic!("{text}: {other:?}"),
            };
            assert_eq!(time, Some(expected.parse().expect("a time")), "{text}");
        }
        // In spring the clocks of Berlin skip the hour from 2:00.
        let spring = "2027-03-27T20:00:00Z".parse().expect("a time");
        let Some(Reset::Clock(clock)) = reset_in("resets 2:30am (Europe/Berlin)") else { panic!() };
        assert_eq!(
            next_time(&clock, spring),
            Some("2027-03-28T01:30:00Z".parse().expect("a time"))
        );
        // Without a zone it is this machine's.
        let Some(Reset::Clock(clock)) = reset_in("Limits will reset at 9:30 AM.") else { panic!() };
        let local = next_time(&clock, now).expect("a time").with_timezone(&chrono::Local);
        assert_eq!(local.format("%H:%M").to_string(), "09:30");
    }

    #[test]
    fn other_numbers_are_no_time() {
        for text in [
            "retried 5 times (total retry wait time: 5 seconds)",
            "the test took 30 seconds",
            "429 lines changed in 3 files",
            "run 2026-11-22 09:00",
            "try again at step 3",
            "the client resets 3 times",
            "retry 5/5",
            "resets at 25:00",
            "reset on April 31, 2027 at 13pm",
        ] {
            assert_eq!(reset_in(text), None, "{text}");
        }
    }

    #[test]
    fn fields_tell_it_too() {
        for (json, expected) in [
            (r#"{"a":{"retryAfter":30}}"#, Some(Reset::After(30))),
            (r#"{"details":[{"retryDelay":"3600s"}]}"#, Some(Reset::After(3600))),
            (r#"{"error":{"resets_in_seconds":7200}}"#, Some(Reset::After(7200))),
            (r#"{"headers":{"Retry-After":"3600"}}"#, Some(Reset::After(3600))),
            (r#"{"retry_after_ms":2500}"#, Some(Reset::After(3))),
            (r#"{"reset_at":1795338000}"#, reset_in("x-ratelimit-reset: 1795338000")),
            (r#"{"resetsAt":"2026-11-22T09:00:00Z"}"#, reset_in("x-ratelimit-reset: 1795338000")),
            (r#"{"reset":true,"number":30}"#, None),
        ] {
            let value: Value = serde_json::from_str(json).expect("JSON");
            assert_eq!(reset_of(&value), expected, "{json}");
        }
    }
}
