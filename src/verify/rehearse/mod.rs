//! The rehearsal: attacks the checks of a task before any agent works, without a model.
//!
//! Invariant: everything happens in throw-away rooms; the working tree is not changed. Each cheat
//! goes through the same path as a verdict. Not in this folder: the output of the result.

mod attack;
mod cheats;
mod constant;
mod echo;
mod grep;
mod languages;
mod run;

pub use run::{AcceptedCheat, Rehearsal, Rehearsed, RehearsedCheck, RehearsedCriterion, rehearse};
