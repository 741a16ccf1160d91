//! A task on machines that do not trust each other: bundles, and the steps of the workflow.
#![cfg(target_os = "linux")]

mod actions;
#[expect(dead_code, reason = "other test programs look at more")]
#[path = "../support/repo.rs"]
mod repo;
#[path = "../support/sample.rs"]
mod sample;
#[path = "../support/tier.rs"]
mod tier;

mod bundle;
mod fleet;
mod night;
mod release;
mod workflow;
