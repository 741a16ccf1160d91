//! A task on machines that do not trust each other: bundles, and the steps of the workflow.

#[expect(dead_code, reason = "other test programs look at more")]
#[path = "../support/repo.rs"]
mod repo;

mod bundle;
