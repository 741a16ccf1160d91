//! Everything that is sent to the agent, and the files that `init` writes, from templates.
//!
//! Invariant: a template sees the values in `values.rs` and nothing else; what users
//! wrote (a criterion, a sign) is inserted letter by letter and never read as a
//! template; a prompt is bounded and never begins with `/`, which the CLI would take
//! for a command of its own. Redaction does not live here: the caller hands values
//! that are already redacted. Nor does choosing the criterion.

mod error;
mod sample_values;
mod shorten;
mod templates;
#[cfg(test)]
mod tests;
mod unknown_value;
mod values;

pub use error::PromptError;
pub use templates::{DEFAULT_BUDGET, Templates};
pub use values::{ContinuationValues, IterationValues, ScaffoldValues, StopValues};
