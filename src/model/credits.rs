//! GitHub's AI credits.

use serde::{Deserialize, Serialize};

/// AI credits that something cost. One is 0.01 US dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Credits {
    /// In thousandths.
    Milli(u64),
    /// Some, for a model without a known price.
    Unknown,
}

impl Credits {
    /// The sum; unknown if a part is.
    pub fn add(before: Option<Self>, more: Option<Self>) -> Option<Self> {
        match (before, more) {
            (Some(Self::Milli(one)), Some(Self::Milli(other))) => {
                Some(Self::Milli(one.saturating_add(other)))
            }
            (Some(_), Some(_)) => Some(Self::Unknown),
            (one, other) => one.or(other),
        }
    }

    /// What was spent after `before`.
    pub fn since(now: Option<Self>, before: Option<Self>) -> Option<Self> {
        match (now, before) {
            (Some(Self::Milli(now)), Some(Self::Milli(before))) => {
                Some(Self::Milli(now.saturating_sub(before)))
            }
            (now, _) => now,
        }
    }

    /// Thousandths, for a limit: what is unknown may be anything.
    pub fn counted(credits: Option<Self>) -> u64 {
        match credits {
            Some(Self::Milli(milli)) => milli,
            Some(Self::Unknown) => u64::MAX,
            None => 0,
        }
    }
}
