//! Leftovers of a check in a room.

use std::path::PathBuf;

use crate::model::PathChange;

/// The changes that a check made.
#[derive(Debug, Default)]
pub struct Tidied {
    /// The files.
    pub changed: Vec<PathChange>,
    /// Those of them that a filter program has to make again.
    pub waiting: Vec<PathBuf>,
}
