//! The journal, and the fold that reads it back.
//!
//! Invariant: one emitter gives every event of a run its number and its time and writes
//! it to the journal before anybody else learns of it; what a run came to is told from
//! its journal alone, by one fold. The audit stands beside it: one file a day, over all runs.
//! How it is told to people does not live here.

mod audit;
mod emitter;
mod fold;
mod follow;
mod journal;
mod redacted;
mod replay;
mod run_name;
mod tamper_log;

pub use audit::{Audit, WithAudit, audit_folder};
pub use emitter::Emitter;
pub use fold::{
    Counters, CriterionView, CurrentIteration, RunEnd, RunStart, RunStatus, RunView, Wait,
};
pub use follow::follow;
pub use journal::{JOURNAL_FILE, Journal, JournalError, JournalLine, journals, newest, run_id};
pub use replay::{Replay, first, last, replay};
pub use run_name::run_id_after;
