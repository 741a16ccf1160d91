//! Programs that run because the user's configuration says so: how far such a rule reaches,
//! and what the words of a program that nobody knows may name.
//!
//! Invariant: whatever a rule lifts, the floor stays below it. What the program itself does
//! with its words cannot be told, so a word that may name a place of the floor is refused.

use crate::guard::call_context::{ReadKind, WriteKind};
use crate::guard::denial::Denial;
use crate::guard::shell::{Env, Judge, Seg, ShellValue};

/// Parts of the floor that hold for whatever a lifted program is given.
const KEPT: &[&str] = &["path.git", "path.settings", "path.unclear", "state.", "secret."];

/// No file has a longer name, in bytes.
const LONGEST_NAME: usize = 255;

impl Judge<'_> {
    /// Checks the words of a program that only the user's configuration lets run.
    pub(super) fn check_override_args(
        &mut self,
        env: &Env,
        words: &[ShellValue],
    ) -> Result<(), Denial> {
        let mut before = "";
        for word in words {
            self.check_override_arg(env, word, before)?;
            before = word.head();
        }
        Ok(())
    }

    fn check_override_arg(
        &mut self,
        env: &Env,
        word: &ShellValue,
        before: &str,
    ) -> Result<(), Denial> {
        let listed = word.segs.iter().any(|seg| matches!(seg, Seg::Listed(_)));
        if word.is_open() || listed {
            return self.read_value(env, word, ReadKind::Content);
        }
        let shown = word.show();
        let (text, address) = without_address(&shown);
        if address.is_some_and(|address| address.starts_with("file:")) {
            let why = format!("{shown} names a file by its address");
            return Err(Denial::new("path.outside", why).instead("name the file by its path"));
        }
        if word.segs.iter().any(|seg| matches!(seg, Seg::Glob(_))) {
            self.named_to_lifted(env, word)?;
        }
        let attached = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let attached =
            attached.and_then(|rest| rest.char_indices().nth(1).map(|(at, _)| &rest[at..]));
        let parts = text.split(['=', '@', ',', ';', '<']);
        // A place in a container or on another machine stands behind a colon.
        let behind = text.split(':').filter(|part| !part.starts_with(['/', '~']));
        for part in std::iter::once(text).chain(attached).chain(parts).chain(behind) {
            if !matches!(part, "" | "-" | ".") {
                self.named_to_lifted(env, &ShellValue::lit(part))?;
            }
        }
        let writes = |option: &str| matches!(option, "-o" | "-O") || option.starts_with("--out");
        let target = match text.split_once('=') {
            Some((option, target)) if writes(option) => target,
            Some(_) => "",
            None if writes(before) => text,
            None => "",
        };
        if !matches!(target, "" | "-" | ".") {
            self.write_value(env, &ShellValue::lit(target), WriteKind::Change)?;
        }
        Ok(())
    }

    fn named_to_lifted(&mut self, env: &Env, value: &ShellValue) -> Result<(), Denial> {
        let text = value.show();
        // The shell leaves it alone behind `=`, and many programs do not.
        if text == "~" || text.starts_with("~/") {
            let why = format!("{text} is outside the workspace");
            return Err(Denial::new("path.outside", why).instead("work below the workspace"));
        }
        if text.split('/').any(|name| name.len() > LONGEST_NAME) {
            return Ok(());
        }
        self.read_value(env, value, ReadKind::Content)?;
        for path in self.paths(env, value)? {
            let real = self.cx.resolve(&path)?;
            if !self.cx.inside(&real.path) {
                continue;
            }
            match self.cx.protected(&real.path, WriteKind::Change) {
                Err(denial) if KEPT.iter().any(|kept| denial.rule.starts_with(kept)) => {
                    return Err(denial.instead("name other files, or use a tool that is known"));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }
}

/// What stands before an address, and the address.
fn without_address(text: &str) -> (&str, Option<&str>) {
    let Some(at) = text.find("://") else { return (text, None) };
    let scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let from = text[..at].rfind(|c| !scheme(c)).map_or(0, |before| before + 1);
    // An option is no scheme: `-Lhttp://…`.
    (&text[..from], Some(&text[from..]))
}
