//! Lengths of time as people write them: `1s`, `5m`, `2h`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A length of time, written with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

/// Text that is not a duration.
#[derive(Debug, thiserror::Error)]
#[error("invalid duration `{text}`: {why}; write it as `30s`, `5m`, or `2h`")]
pub struct SpanError {
    text: String,
    why: String,
}

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match humantime::parse_duration(text.trim()) {
            Ok(duration) if duration.is_zero() => Err(SpanError {
                text: text.to_owned(),
                why: "it must be more than zero".to_owned(),
            }),
            Ok(duration) => Ok(Self(duration)),
            Err(error) => Err(SpanError { text: text.to_owned(), why: error.to_string() }),
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
