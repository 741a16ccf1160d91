//! Plans: a model's answer or a human's file becomes a plan that can be carried out, the plan
//! becomes a TASK.md, and the events of its run become events of the plan.
//!
//! Invariant: no I/O. In a plan made here, ids are unique, every dependency names another
//! sub-task, and none leads back to where it began.

mod check;
mod document;
mod names;
mod order;
mod progress;
mod repair;

pub use check::{PlanError, check, is_same};
pub use document::{PlanText, document, fence};
pub use names::{criterion_ids, slug};
pub use order::waves;
pub use progress::{PlanEvent, PlanProgress, PlannedCriterion, SubTaskEnd, SubTaskStatus};
pub use repair::{one_task, repair};
