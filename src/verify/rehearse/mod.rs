//! The rehearsal: attacks the checks of a task before any agent works, without a model.
//!
//! Invariant: everything happens in throw-away rooms; the working tree is not changed. Each cheat
//! goes through the same path as a verdict. Not in this folder: the output of the result.

mod answers;
mod archive;
mod asked_files;
mod attack;
mod bodies;
mod cheats;
mod comments;
mod comparison;
mod demands;
mod fakes;
mod file_cheats;
mod grep_text;
mod handlers;
mod hollow;
mod inline_code;
mod java_stub;
mod json_shape;
mod known_names;
mod languages;
mod lists;
mod mains;
mod mentioned;
mod missing;
mod modules;
mod operands;
mod program_cheats;
mod recipes;
mod said;
mod scope;
mod smallest;
mod structured;
mod stubs;
mod wanted;
mod writers;

mod run;

pub use run::{AcceptedCheat, Rehearsal, Rehearsed, RehearsedCheck, RehearsedCriterion, rehearse};

#[cfg(test)]
mod tests;
