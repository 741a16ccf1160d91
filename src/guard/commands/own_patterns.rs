//! Tools that look for files by themselves: by a pattern that the shell does not expand, or in all
//! of a folder.

use std::path::Path;

use super::options::not_known;
use crate::guard::denial::Denial;
use crate::guard::files::FileKind;
use crate::guard::line::{Arg, Judge, Place};

impl Judge<'_> {
    /// Checks a pattern that a tool expands: it stays in the workspace, and no link leads it out.
    pub(super) fn own_pattern(
        &mut self,
        place: &Place,
        name: &str,
        word: &Arg,
    ) -> Result<(), Denial> {
        let text = word.text().unwrap_or_default();
        let Some(at) = text.find(['*', '?', '[', '{', '(']) else { return Ok(()) };
        let folder = text[..at].rsplit_once('/').map_or(".", |(folder, _)| folder);
        let paths = self.paths(place, &Arg::of(folder))?;
        if text.contains("..") || paths.iter().any(|path| self.has_link(path)) {
            return Err(not_known(name, text)
                .instead("begin the pattern with a folder: `npx prettier --check 'src/**/*.ts'`"));
        }
        Ok(())
    }

    /// Is there a link below a folder?
    pub(super) fn has_link(&self, folder: &Path) -> bool {
        let tree = self.cx.entries(folder);
        tree.paths.iter().any(|entry| matches!(self.cx.kind(entry), FileKind::Link(_)))
    }
}
