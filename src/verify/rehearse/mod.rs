//! The rehearsal: attacks the checks of a task before any agent works, without a model.
//!
//! Invariant: everything happens in throw-away rooms; the working tree is not changed. Each cheat
//! goes through the same path as a verdict. Not in this folder: the output of the result.

mod archive;
mod attack;
mod cheats;
mod comparison;
mod fakes;
mod file_cheats;
mod grep_text;
mod inline_code;
mod json_shape;
mod languages;
mod missing;
mod modules;
mod program_cheats;
mod recipes;
mod smallest;
mod stubs;

mod run;

pub use run::{AcceptedCheat, Rehearsal, Rehearsed, RehearsedCheck, RehearsedCriterion, rehearse};
