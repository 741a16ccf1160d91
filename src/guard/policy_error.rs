//! Why a policy could not be built.

use thiserror::Error;

use crate::model::RulePlace;

/// Why a policy could not be built.
#[derive(Debug, Error)]
pub enum PolicyError {
    /// A glob of `protect` cannot be understood.
    #[error("cannot understand the protected glob `{pattern}`: {source}")]
    Glob {
        /// As written.
        pattern: String,
        /// The error.
        source: globset::Error,
    },
    /// A rule of `[policy]` cannot be understood, or its examples do not fit it.
    #[error("{}the rule `{name}`: {why}", above(.place.as_deref()))]
    Rule {
        /// Where it stands, if that is known.
        place: Option<Box<RulePlace>>,
        /// Its id, or what it consists of.
        name: String,
        /// The error.
        why: String,
    },
    /// A command of `allow` cannot be split into words.
    #[error("cannot split the allowed command `{command}` into words")]
    Allow {
        /// As written.
        command: String,
    },
}

/// A place on the lines above what is said about it.
fn above(place: Option<&RulePlace>) -> String {
    place.map(|place| format!("{place}\n")).unwrap_or_default()
}
