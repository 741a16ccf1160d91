//! The rehearsal: attacks the checks of a task before any agent works, without a model.
//!
//! Invariant: everything happens in throw-away rooms; the working tree stays as it is. Each cheat goes
//! through the same path as a verdict. What does NOT live here: how the result is shown.

mod cheats;
mod comparison;
mod grep_text;
mod inline_code;
mod languages;
mod run;

pub use run::{AcceptedCheat, Rehearsal, Rehearsed, RehearsedCheck, RehearsedCriterion, rehearse};
