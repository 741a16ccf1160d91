//! The calls that the guard denied, counted by rule, for the human who asks why an agent got stuck.
//! Pure.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The guard's denials.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denials(Vec<Denied>);

/// The denials by one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Denied {
    rule: String,
    /// The first one's reason.
    reason: String,
    times: u32,
}

impl Denials {
    /// Counts a denial. A denial because the turn is over does not make the turn stuck.
    pub fn add(&mut self, rule: &str, reason: &str) {
        if !rule.starts_with("run.") {
            self.count(rule, reason, 1);
        }
    }

    /// Counts those of another turn, too.
    pub fn extend(&mut self, more: &Self) {
        for denied in &more.0 {
            self.count(&denied.rule, &denied.reason, denied.times);
        }
    }

    /// Whether nothing was denied.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rule that denied most, and its first reason. Of equal numbers, the first counts: later
    /// ones may follow from it.
    pub fn most_frequent(&self) -> Option<(&str, &str)> {
        self.most().map(|denied| (denied.rule.as_str(), denied.reason.as_str()))
    }

    fn most(&self) -> Option<&Denied> {
        self.0.iter().rev().max_by_key(|denied| denied.times)
    }

    fn count(&mut self, rule: &str, reason: &str, times: u32) {
        match self.0.iter_mut().find(|denied| denied.rule == rule) {
            Some(denied) => denied.times = denied.times.saturating_add(times),
            None => self.0.push(Denied { rule: rule.to_owned(), reason: reason.to_owned(), times }),
        }
    }
}

/// `the guard denied 7 calls, most often (5 times): Denied (network): …`, without a full stop.
impl fmt::Display for Denials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(most) = self.most() else { return Ok(()) };
        let all: u32 = self.0.iter().map(|denied| denied.times).sum();
        let often = match (all, most.times) {
            (1, _) => "1 call".to_owned(),
            (all, 1) => format!("{all} calls, the first"),
            (all, times) if all == times => format!("{all} calls"),
            (all, times) => format!("{all} calls, most often ({times} times)"),
        };
        write!(f, "the guard denied {often}: {}", most.reason.trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_denial_is_named_with_its_first_reason() {
        let mut denials = Denials::default();
        assert_eq!((denials.is_empty(), denials.to_string()), (true, String::new()));
        denials.add("run.turn-over", "Nothing ran: the turn is over.");
        assert!(denials.is_empty());
        denials.add("network", "Denied (network): `curl a` talks.");
        assert_eq!(
            denials.to_string(),
            "the guard denied 1 call: Denied (network): `curl a` talks"
        );
        denials.add("git.push", "no push");
        assert_eq!(
            denials.to_string(),
            "the guard denied 2 calls, the first: Denied (network): `curl a` talks"
        );
        let mut again = Denials::default();
        again.add("git.push", "no push of tags");
        again.extend(&again.clone());
        assert_eq!(again.to_string(), "the guard denied 2 calls: no push of tags");
        denials.extend(&again);
        assert_eq!(denials.to_string(), "the guard denied 4 calls, most often (3 times): no push");
    }
}
