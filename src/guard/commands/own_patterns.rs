//! Tools that look for files by themselves: by a pattern that the shell does not expand, or in all
//! of a folder.

use std::path::Path;

use super::options::not_known;
use crate::guard::denial::Denial;
use crate::guard::files::FileKind;
use crate::guard::line::{Arg, Judge, Place};

impl Judge<'_> {
    /// Checks a pattern that a tool expands: literal folders of the workspace that hold nothing
    /// protected come first, and what follows cannot lead out of them.
    pub(super) fn own_pattern(
        &mut self,
        place: &Place,
        name: &str,
        word: &Arg,
    ) -> Result<(), Denial> {
        let Some(text) = word.text() else { return Ok(()) };
        // A pattern that only leaves files out.
        let excludes = text.starts_with('!') && !text.starts_with("!(");
        let Some(at) = text.find(['*', '?', '[', '{', '(', '!', '\\']).filter(|_| !excludes) else {
            return Ok(());
        };
        let refuse = || {
            not_known(name, text)
                .instead("begin the pattern with a folder: `npx prettier --check 'src/**/*.ts'`")
        };
        let Some((folder, rest)) = text[..at].rsplit_once('/') else { return Err(refuse()) };
        let folder = folder.strip_prefix("./").unwrap_or(folder);
        let rest = [rest, &text[at..]].concat();
        let hidden = |part: &str| part.is_empty() || part.starts_with(['.', '~', '-']);
        let braces = rest.split('{').skip(1).filter_map(|part| part.split('}').next());
        let leads_out = braces.into_iter().any(|inner| inner.contains(['/', '.']));
        if folder.split('/').any(hidden)
            || rest.split('/').any(hidden)
            || leads_out
            || rest.contains(['(', '\\', '|'])
            || rest.matches('{').count() != rest.matches('}').count()
            || rest.contains("[.")
        {
            return Err(refuse());
        }
        self.holds_nothing_protected(place, folder)?;
        for path in self.paths(place, &Arg::of(folder))? {
            let real = self.cx.resolve(&path)?;
            let linked =
                real.path != path || real.kind == FileKind::Dir && self.has_link(&real.path);
            if linked || !matches!(real.kind, FileKind::Dir | FileKind::Missing) {
                return Err(refuse());
            }
        }
        Ok(())
    }

    /// Is there a link below a folder?
    pub(super) fn has_link(&self, folder: &Path) -> bool {
        let tree = self.cx.entries(folder);
        tree.paths.iter().any(|entry| matches!(self.cx.kind(entry), FileKind::Link(_)))
    }
}
