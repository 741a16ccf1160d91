//! The loop: select, prompt, watch, verify, judge, record, decide.
//!
//! Invariant: nothing is believed that the evidence does not show, every step is in
//! the journal before it is acted upon, and whatever the run changed is committed
//! with the state update. How each verb works lives in its own room; what is typed
//! and shown lives in `cli` and `report`.

mod decide;
mod error;
mod evaluate;
mod guard_rules;
mod iterate;
mod locks;
mod prompt_inputs;
mod prove;
mod recipe;
mod recover;
mod require_checks;
mod restart_delay;
mod resume;
mod run;
mod state;
mod state_files;
mod supervisor;
#[cfg(test)]
mod tests;
mod turn;
mod unjudged;
mod until_stopped;

pub use decide::{Consequence, Limits, NextStep, Spent, after, next};
pub use error::EngineError;
pub use guard_rules::GuardRules;
pub use recover::{
    Advice, FailureCounts, Recovery, RecoveryAction, RetryLimits, RetryPolicy, advise, recover,
};
pub use require_checks::require_checks;
pub use resume::{BEAT, PULSE, ResumeContext, Resumed, dead_run_task, resume};
pub use run::{BaselineRun, NextCommands, PremiumOf, Run, RunParts, Starter};
pub use state::{BrokenState, StoredState, load as load_state};
