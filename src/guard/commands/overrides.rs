//! Programs that run because the user's configuration says so: how far such a rule reaches.
//!
//! Invariant: a rule never lifts the floor. The effect of a program's words is not known, so a word
//! that may name a place of the floor is denied.

use crate::guard::call_context::WriteKind;
use crate::guard::denial::Denial;
use crate::guard::line::{Arg, Judge, Place};

impl Judge<'_> {
    /// Checks the words of a program that only the user's configuration lets run.
    pub(super) fn check_override_args(
        &mut self,
        place: &Place,
        args: &[Arg],
    ) -> Result<(), Denial> {
        let mut before = "";
        for arg in args {
            self.check_override_arg(place, arg, before)?;
            before = arg.head();
        }
        Ok(())
    }

    fn check_override_arg(&mut self, place: &Place, arg: &Arg, before: &str) -> Result<(), Denial> {
        let Some(shown) = arg.text() else {
            return match arg {
                Arg::Pattern(_) => self.harmless(place, arg),
                Arg::Text(_) | Arg::Open { .. } => {
                    Err(Denial::new("path.unknown", "cannot tell which word this is")
                        .instead("write the word itself"))
                }
            };
        };
        let (text, address) = without_address(shown);
        if address.is_some_and(|address| address.starts_with("file:")) {
            let why = format!("{shown} names a file by its address");
            return Err(Denial::new("path.outside", why).instead("name the file by its path"));
        }
        for part in text.split(['=', '@', ',', ';', '<', ':']) {
            // The shell leaves it alone behind `=`, and many programs do not.
            if part == "~" || part.starts_with("~/") {
                let why = format!("{part} is outside the workspace");
                return Err(Denial::new("path.outside", why).instead("work below the workspace"));
            }
            self.harmless(place, &Arg::of(part))?;
        }
        self.harmless(place, &Arg::of(text))?;
        let writes = |option: &str| matches!(option, "-o" | "-O") || option.starts_with("--out");
        let target = match text.split_once('=') {
            Some((option, target)) if writes(option) => target,
            Some(_) => "",
            None if writes(before) && !text.starts_with('-') => text,
            None => "",
        };
        if !matches!(target, "" | "-" | ".") {
            self.writes(place, &Arg::of(target), WriteKind::Change)?;
        }
        Ok(())
    }
}

/// The text before an address, and the address.
fn without_address(text: &str) -> (&str, Option<&str>) {
    let Some(at) = text.find("://") else { return (text, None) };
    let scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let from = text[..at].rfind(|c| !scheme(c)).map_or(0, |before| before + 1);
    // An option is not a scheme: `-Lhttp://…`.
    (&text[..from], Some(&text[from..]))
}
