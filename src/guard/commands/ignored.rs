//! Calls that change what git ignores: what was hidden from git may be staged or lost by them.

use std::path::{Path, PathBuf};

use super::options::Parsed;
use crate::guard::call_context::WriteKind;
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

    /// Keeps the lines of a `.gitignore`, and adds none that shows more: they may hide secrets from
    /// git, and the next call would stage them.
    pub(in crate::guard) fn keeps_ignores(
        &self,
        path: &Path,
        write: WriteKind,
    ) -> Result<(), Denial> {
        if path.file_name().is_none_or(|name| name != ".gitignore") {
            return Ok(());
        }
        let takes = matches!(write, WriteKind::Change | WriteKind::Move);
        let why = if takes && self.cx.kind(path) == FileKind::File {
            "it may take lines from .gitignore, which keep secrets out of git"
        } else if write != WriteKind::Mode && !self.hides_more {
            "it may add a line to .gitignore that shows secrets to git"
        } else {
            return Ok(());
        };
        Err(Denial::new("secret.file", why)
            .instead("add plain lines with `echo LINE >>`, or change it with the edit tool"))
    }

    /// Keeps the folder that a tool such as husky fills with hooks, and hides from git: git would
    /// run them with the next command, and nobody would see them.
    pub(in crate::guard) fn keeps_hooks(&self, path: &Path) -> Result<(), Denial> {
        let is_made = |folder: &Path| folder.ends_with("_");
        let is_hook = path.ancestors().any(is_made)
            && self.cx.hook_folders().iter().any(|it| is_made(it) && path.starts_with(it));
        if !is_hook {
            return Ok(());
        }
        Err(Denial::new("path.git", "git runs what is in this folder, by `core.hooksPath`")
            .instead("write the project's own hook, beside it"))
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
