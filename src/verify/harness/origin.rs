//! Where a text comes from.

use std::collections::BTreeSet;
use std::path::PathBuf;

/// The origin of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin {
    /// A program makes it, or it is in a file that is not there at the start.
    pub(super) made: bool,
    /// Files of the start that are read.
    pub(super) files: BTreeSet<PathBuf>,
}

impl Origin {
    pub(super) fn made() -> Self {
        Self { made: true, files: BTreeSet::new() }
    }

    pub(super) fn join(&mut self, other: Self) {
        self.made |= other.made;
        self.files.extend(other.files);
    }
}
