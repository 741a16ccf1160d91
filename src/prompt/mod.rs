//! Renders templates into the prompts for the agent and the files that `init` writes.
//!
//! Invariant: a template sees only the values in `values.rs`. Text that users wrote, such as a
//! criterion or a sign, is inserted verbatim and never read as a template. A prompt is bounded and
//! never begins with `/`, because the CLI would run it as a command. Every value of a prompt is
//! redacted before it is cut. Not in this room: the definition of a secret, and the choice of the
//! criterion.

mod error;
mod names;
mod sample_values;
mod shorten;
mod templates;
#[cfg(test)]
mod tests;
mod unknown_value;
mod values;

pub use error::PromptError;
pub use templates::{DEFAULT_BUDGET, TASK_TEMPLATE, Templates};
pub use values::{ContinuationValues, IterationValues, ScaffoldValues, StopValues};
