//! Ordinary repositories need no configuration but a task: small projects as people have them,
//! with their dependencies installed as people do, prove one criterion in the proof room of every
//! tier. Where a tier needs `setup:`, the run says so before an agent starts.
//!
//! `tests/soak` tries every tier; `tests/run` one for each project, as the seed draws.
//! A project whose tools a machine lacks is passed over, and says so with --nocapture.
#![cfg(target_os = "linux")]

mod around;
mod compiled;
mod git;
mod node;
mod place;
mod python;
#[path = "../support/sample.rs"]
mod sample;
mod scripts;
#[path = "../support/tier.rs"]
mod tier;
