//! ralph-copilot: a loop runner for coding agents over the Agent Client Protocol.
//!
//! One folder is one room; who may use whom stands in `docs/architecture.md`
//! and is enforced by `tests/architecture.rs`.

pub mod agent;
pub mod cli;
pub mod config;
pub mod engine;
pub mod events;
pub mod gateway;
pub mod guard;
pub mod hooks;
pub mod launcher;
pub mod mcp;
pub mod model;
pub mod plan;
pub mod prompt;
pub mod recipe;
pub mod report;
pub mod sandbox;
pub mod shell;
pub mod sys;
pub mod task;
pub mod verify;
