//! Calls that change what git ignores: what was hidden from git may be staged or lost by them.

use std::path::PathBuf;

use super::options::Parsed;
use crate::guard::denial::Denial;
use crate::guard::files::FileKind;
use crate::guard::line::{Arg, Judge, Place};

impl Judge<'_> {
    /// Does this call change what git ignores?
    pub(super) fn changes_ignores(&self) -> bool {
        let rules = |path: &PathBuf| path.file_name().is_some_and(|name| name == ".gitignore");
        let mut changed = self.cx.changed().iter();
        changed.any(|path| rules(path) || self.cx.entries(path).paths.iter().any(rules))
    }

    /// What git ignores may be secret: a call that changes that must stage files by name.
    pub(super) fn ignores_as_before(
        &mut self,
        place: &Place,
        args: &[Arg],
        parsed: &Parsed,
    ) -> Result<(), Denial> {
        if !self.changes_ignores() {
            return Ok(());
        }
        let mut by_name = !parsed.has(&["-A", "--all", "-a", "-u", "--update"]);
        for arg in args {
            by_name &= arg.text().is_some_and(|text| !text.contains(['*', '?', '[', ':']));
            let paths = self.paths(place, arg).unwrap_or_default();
            by_name &= paths.iter().all(|path| self.cx.kind(path) != FileKind::Dir);
        }
        if by_name {
            return Ok(());
        }
        Err(Denial::new("secret.file", "it stages files that git ignored before this call")
            .instead("stage files by name: `git add .gitignore`"))
    }
}
