//! What is known of programs by their names alone: data that the checks in `programs` and the
//! rules of the user's configuration share. Nothing is decided here about a path or a value.

pub(super) mod exact;
pub(super) mod git;
pub(super) mod known;
pub(super) mod languages;
pub(super) mod readers;
pub(super) mod refused;
pub(super) mod runners;
pub(super) mod spec;
