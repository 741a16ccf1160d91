//! Which listings of tracked files may name secrets: the index tells. Names only;
//! whether a listing is read is decided where its words are used.

use std::path::Path;

use crate::guard::call_context::ReadKind;
use crate::guard::programs::readers::aims_at_secrets;
use crate::guard::secrets;
use crate::guard::shell::{Env, Judge, ShellOutput, ShellValue};

impl Judge<'_> {
    /// What git prints when it lists tracked files. A listing that may name a secret is
    /// noted: its files may be counted, not read.
    pub(super) fn tracked(&mut self, env: &Env, operands: &[ShellValue]) -> ShellOutput {
        let stream = self.root_of(env, operands);
        let ShellOutput::Listing(root) = &stream else { return stream };
        if !operands.is_empty() && operands.iter().all(names_no_secret) {
            return stream;
        }
        let pattern = |word: &ShellValue| word.text().is_none_or(|text| text.contains(MAGIC));
        let workspace = self.cx.policy().workspace.clone();
        let below = if operands.iter().any(pattern) { workspace.as_path() } else { root };
        let holds = match self.cx.tracked() {
            Some(paths) => paths.iter().any(|path| path.starts_with(below) && secrets::path(path)),
            // Without an index that can be read, whatever is there may be tracked.
            None => self.cx.read(below, ReadKind::Tree).is_err(),
        };
        if holds {
            self.cx.note_unsifted(root.clone());
        }
        stream
    }
}

/// What makes more than a plain name of a pathspec.
const MAGIC: [char; 5] = ['*', '?', '[', ':', '\\'];

/// Whether a pathspec is a pattern such as `*.rs` that fits no secret.
fn names_no_secret(word: &ShellValue) -> bool {
    word.text().is_some_and(|text| {
        let last = Path::new(text).file_name().map(|name| name.to_string_lossy().into_owned());
        let (plain, ending) = match last.as_deref().and_then(|last| last.rsplit_once("*.")) {
            Some((before, ending)) => (before.is_empty(), ending),
            None => return false,
        };
        plain
            && !ending.is_empty()
            && ending.chars().all(char::is_alphanumeric)
            && !text.contains([':', '\\'])
            && !secrets::file_name(&format!("x.{ending}"))
            && !aims_at_secrets(&format!("*.{ending}"))
    })
}
