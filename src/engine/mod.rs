//! The loop: select a criterion, run a turn, verify, judge, record, decide.
//!
//! Invariant: only evidence counts, every step is in the journal before it is acted on, and
//! the run's own changes are committed with the state update. How each verb works lives in its
//! own room; commands and output live in `cli` and `report`.

mod assign;
mod begin;
mod cancellable_checks;
mod claimed_start;
mod commit_hooks;
mod crew;
mod dead_run;
mod decide;
mod derive_again;
mod error;
mod evaluate;
mod evidence;
mod finish;
mod handed_in;
mod harness;
mod held;
mod holdout;
mod injected;
mod iterate;
mod iteration;
mod land;
mod ledger;
mod lessons;
mod order;
mod past_runs;
mod prompt_inputs;
mod proof;
mod prove;
mod providers;
mod recipe;
mod recover;
mod require_checks;
mod resume;
mod run;
mod schedule;
mod state;
mod state_files;
mod stop_check;
mod stuck;
mod supervisor;
mod turn;
mod turn_over;
mod unjudged;
mod wire;
mod worker;

#[cfg(test)]
mod tests;

pub use commit_hooks::{first_tick, in_the_hooks_form};
pub use crew::{ForeignWork, Hire, Jobs, WorkerLink, WorkerReport, WorkerReports};
pub use dead_run::ResumeContext;
pub use decide::{
    Consequence, Limits, NextStep, OnFatal, Spent, after, next, next_ready, ready,
    ticked_without_proof,
};
pub use error::EngineError;
pub use finish::steps_now;
pub use held::orphaned_work;
pub use ledger::{BaselineRun, HoldOut, LedgerParts, LessonUse, NextCommands};
pub use lessons::{LESSONS, lesson_about, lessons_for};
pub use order::{Skipped, skipped, standings};
pub use past_runs::{BEAT, PULSE, Resumed, dead_run_task, did_work, layout_of, runs_of};
pub use providers::{InjectedEvent, Providers};
pub use recover::{
    Advice, FailureCounts, Recovery, RecoveryAction, RetryLimits, RetryPolicy, advise, recover,
};
pub use require_checks::require_checks;
pub use resume::resume;
pub use run::{Run, RunParts};
pub use state::{BrokenState, StoredState, load as load_state};
pub use stuck::{criterion_name, sign_about};
pub use supervisor::{PremiumOf, Starter, WorkerParts};
pub use wire::{Assignment, HandedIn, WorkerAnswer, WorkerMessage};
