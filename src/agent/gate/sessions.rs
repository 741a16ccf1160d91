//! The sessions known to the gate.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Which sessions reported, where they work, and which are closed.
#[derive(Default)]
pub(super) struct Sessions {
    /// Each session's canonical working folder, if known.
    greeted: HashMap<String, Option<PathBuf>>,
    closed: HashSet<String>,
}

impl Sessions {
    /// Notes that a hook of this session reported; `cwd` is its working folder.
    pub(super) fn greet(&mut self, session: &str, cwd: Option<&Path>) {
        // A missing folder is kept as given: no path can be inside it.
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

    /// A session's working folder, if it reported one.
    pub(super) fn cwd(&self, session: &str) -> Option<&Path> {
        self.greeted.get(session)?.as_deref()
    }
}
