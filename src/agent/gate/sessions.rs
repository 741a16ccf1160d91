//! The sessions that the gate knows of.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Who greeted, where they work, and who may ask for nothing any more.
#[derive(Default)]
pub(super) struct Sessions {
    /// With the canonical folder that relative paths start from there, where it is known.
    greeted: HashMap<String, Option<PathBuf>>,
    closed: HashSet<String>,
}

impl Sessions {
    /// A hook of this session reached us; `cwd` is where it says that it works.
    pub(super) fn greet(&mut self, session: &str, cwd: Option<&Path>) {
        // A folder that is not there is kept as it was said: nothing is inside of it.
        let cwd = cwd.map(|cwd| cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned()));
        self.greeted.insert(session.to_owned(), cwd);
    }

    pub(super) fn close(&mut self, session: &str) {
        self.closed.insert(session.to_owned());
    }

    pub(super) fn has_greeted(&self, session: &str) -> bool {
        self.greeted.contains_key(session)
    }

    pub(super) fn any_greeted(&self) -> bool {
        !self.greeted.is_empty()
    }

    pub(super) fn is_closed(&self, session: &str) -> bool {
        self.closed.contains(session)
    }

    /// Where a session works, if it said so.
    pub(super) fn cwd(&self, session: &str) -> Option<&Path> {
        self.greeted.get(session)?.as_deref()
    }
}
