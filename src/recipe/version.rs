//! Checks that the runner is new enough.
//!
//! Invariant: pure; an unknown version is refused.

use std::cmp::Ordering;
use std::fmt;
use std::sync::LazyLock;

use regex::Regex;

/// The oldest supported version of the runner.
pub const MINIMUM: [u64; 3] = [0, 3, 5];

/// Length at which an error cuts off an unreadable version, in characters.
const SHOWN: usize = 80;

static NUMBER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[0-9]+\.[0-9]+(?:\.[0-9]+)*").ok());

/// A version, as its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version(Vec<u64>);

/// The reason why a runner's version is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum VersionProblem {
    #[error("its version is unknown: {why}")]
    Unknown { why: String },
    #[error("its version is unparseable: `{text}`")]
    Unparseable { text: String },
    #[error("its version {found} is too old: at least {}.{}.{} is required", MINIMUM[0], MINIMUM[1], MINIMUM[2])]
    TooOld { found: Version },
}

impl Version {
    /// The first version in a text, as in `recipe-runner 0.3.6`.
    fn find(text: &str) -> Option<Self> {
        let found = NUMBER.as_ref()?.find(text)?.as_str();
        let numbers = found.split('.').map(|number| number.parse().ok());
        numbers.collect::<Option<Vec<u64>>>().map(Self)
    }

    /// Compares versions; missing numbers count as 0.
    fn compare(&self, other: &[u64]) -> Ordering {
        let length = self.0.len().max(other.len());
        let padded = |numbers: &[u64]| -> Vec<u64> {
            (0..length).map(|at| numbers.get(at).copied().unwrap_or(0)).collect()
        };
        padded(&self.0).cmp(&padded(other))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(u64::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}

/// Reads the output of `--version` and checks that the version is supported.
///
/// # Errors
/// If the version is too old or unknown.
pub(super) fn check(printed: &str) -> Result<Version, VersionProblem> {
    if printed.trim().is_empty() {
        return Err(VersionProblem::Unknown { why: "`--version` prints nothing".to_owned() });
    }
    let Some(found) = Version::find(printed) else {
        let text = printed.trim().chars().take(SHOWN).collect();
        return Err(VersionProblem::Unparseable { text });
    };
    match found.compare(&MINIMUM) {
        Ordering::Less => Err(VersionProblem::TooOld { found }),
        Ordering::Equal | Ordering::Greater => Ok(found),
    }
}
