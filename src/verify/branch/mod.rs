//! A branch that carries its proof: what its commits claim, and what of it can be derived again.
//!
//! Invariant: checks and rules come from the base, or from the commit that adds the task. State
//! files, titles and trailers of commits are claims, never evidence. What does NOT live here: git,
//! and how the result is shown.

mod claims;
mod derive;
mod moved_on;
mod records;
mod seen;

pub use claims::{Claims, TickClaim, claims};
pub use derive::{Derivation, DerivedCheck, DerivedTick, ProofStage, derive};
pub use moved_on::{TaskTree, moved_on};
pub use seen::{Remark, RemarkKind, Seen};
