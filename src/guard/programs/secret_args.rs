//! What the tools and scripts of a project are given: whatever they do with a file, it may end
//! in their output, so none of them is handed a secret.

use std::path::Path;

use crate::guard::call_context::secret;
use crate::guard::denial::Denial;
use crate::guard::files::FileKind;
use crate::guard::shell::{Env, Judge, Seg, ShellValue};

/// Words in the names of options that leave something out.
const LEAVES_OUT: [&str; 4] = ["exclude", "ignore", "omit", "skip"];

impl Judge<'_> {
    /// Refuses words that name a file that holds secrets.
    pub(super) fn deny_secret_args(
        &mut self,
        env: &Env,
        words: &[ShellValue],
    ) -> Result<(), Denial> {
        let mut left_out = false;
        for word in words {
            let shown = word.show();
            let leaves =
                shown.starts_with('-') && LEAVES_OUT.iter().any(|part| shown.contains(part));
            let value = std::mem::replace(&mut left_out, leaves && !shown.contains('='));
            if !leaves && !value {
                self.deny_secret_arg(env, word, &shown)?;
            }
        }
        Ok(())
    }

    fn deny_secret_arg(&mut self, env: &Env, word: &ShellValue, shown: &str) -> Result<(), Denial> {
        let listed = |seg: &Seg| matches!(seg, Seg::Listed(_));
        if word.is_open() || word.segs.iter().any(listed) {
            return Ok(());
        }
        if word.segs.iter().any(|seg| matches!(seg, Seg::Glob(_))) {
            // Too many files are no concern of this.
            let found = match self.paths(env, word) {
                Err(denial) if denial.rule == "secret.file" => return Err(denial),
                found => found.unwrap_or_default(),
            };
            let hit = found.iter().find(|path| self.cx.policy().hides(path));
            return hit.map_or(Ok(()), |path| Err(secret(path)));
        }
        let attached = shown.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let attached =
            attached.and_then(|rest| rest.char_indices().nth(1).map(|(at, _)| &rest[at..]));
        let parts = shown.split(['=', '@', ',']).chain(attached);
        for part in std::iter::once(shown).chain(parts) {
            let path = Path::new(part);
            if part.contains(char::is_whitespace) || !self.cx.policy().hides(path) {
                continue;
            }
            // Tests and targets may be called like files, and folders may hold code.
            let kind = env.cwds.first().map(|cwd| self.cx.kind(&cwd.join(path)));
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            let name = name.unwrap_or_default();
            let meant = match kind {
                Some(FileKind::Missing) | None => name.contains('.'),
                Some(FileKind::Dir) => name.starts_with('.'),
                Some(_) => true,
            };
            if meant {
                return Err(secret(path));
            }
        }
        Ok(())
    }
}
