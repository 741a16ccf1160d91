//! Plans: a model's answer becomes a plan that can be executed, and an execution chooses the next
//! sub-task.
//!
//! Invariant: no I/O. In a plan made here, ids are unique, every dependency names another
//! sub-task, and none leads back to where it began.

mod execution;
mod order;
mod repair;

pub use execution::{PlanExecution, SkippedTask, SubTaskState};
pub use order::waves;
pub use repair::{one_task, repair};
