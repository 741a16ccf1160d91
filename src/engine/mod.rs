//! The loop: select, prompt, watch, verify, judge, record, decide.
//!
//! Invariant: nothing is believed that the evidence does not show, every step is in
//! the journal before it is acted upon, and whatever the run changed is committed
//! with the state update. How each verb works lives in its own room; what is typed
//! and shown lives in `cli` and `report`.

mod agent;
mod book;
mod decide;
mod error;
mod focus;
mod iterate;
mod locks;
mod prove;
mod recipe;
mod recover;
mod resume;
mod run;
mod settle;
mod state;
#[cfg(test)]
mod tests;
mod unjudged;
mod until_stopped;
mod watch;
mod words;

pub use decide::{After, Limits, Next, Spent, after, next};
pub use error::EngineError;
pub use focus::GuardRules;
pub use recover::{Action, Advice, Borne, Patience, Recovery, Retries, advise, recover};
pub use resume::{Aftermath, BEAT, PULSE, Resumed, cut_off, resume};
pub use run::{BaselineRun, Parts, Run, Starter};
pub use state::{Known, Mended, known};
