//! The journal of a run, the fold that reads it back, and the audit.
//!
//! Invariant: one emitter numbers and dates every event of a run, redacts it, and writes it to
//! the journal before any reporter sees it. The state of a run is derived from its journal alone,
//! by one fold. The audit is separate: one file per day, across all runs. How events are shown to
//! people does not live here.

mod audit;
mod emitter;
mod fold;
mod journal;
mod live;
mod redacted;
mod replay;
mod rollup;
mod run_name;
mod tamper_log;

pub use audit::{Audit, WithAudit, audit_folder};
pub use emitter::Emitter;
pub use fold::{
    Counters, CriterionView, CurrentIteration, RunEnd, RunStart, RunStatus, RunView, Wait,
    WorkerView,
};

pub use journal::{
    JOURNAL_FILE, Journal, JournalError, JournalLine, follow, journals, newest, run_id,
};
pub use live::{Doing, LiveView, Work};
pub use replay::{Replay, find, first, last, read, read_but, replay};
pub use rollup::{DenialRow, IterationRow, Rollup};
pub use run_name::run_id_after;
