//! Why a policy could not be built.

use thiserror::Error;

use crate::model::RulePlace;

/// Why a policy could not be built.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum PolicyError {
    #[error("cannot understand the protected glob `{pattern}`: {source}")]
    Glob { pattern: String, source: globset::Error },
    #[error("{}the rule `{name}`: {why}", above(.place.as_deref()))]
    Rule { place: Option<Box<RulePlace>>, name: String, why: String },
    #[error("cannot split the allowed command `{command}` into words")]
    Allow { command: String },
}

/// A place on the lines above what is said about it.
fn above(place: Option<&RulePlace>) -> String {
    place.map(|place| format!("{place}\n")).unwrap_or_default()
}
