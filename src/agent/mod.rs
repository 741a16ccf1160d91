//! Agents: open a session, prompt it, watch the turn.

pub mod acp;
pub mod scripted;
