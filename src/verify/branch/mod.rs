//! A branch that carries its proof: the claims of its commits, and the proofs that can be derived
//! again.
//!
//! Invariant: checks and rules come from the base, or from the commit that adds the task. State
//! files, titles, and trailers of commits are claims, never evidence. Not in this folder: git, and
//! the output of the result.

mod claims;
mod derive;
mod moved_on;
mod records;
mod seen;

pub use claims::{Claims, TickClaim, claims};
pub use derive::{Derivation, Derived, DerivedCheck, DerivedTick, ProofStage, derive};
pub use moved_on::{TaskTree, moved_on};
pub use seen::{Remark, RemarkKind, Seen};
