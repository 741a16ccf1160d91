//! Words for a tool's own code: subcommands that the table does not list, outputs, and files that
//! the same call writes.

use std::path::PathBuf;

use super::addresses::is_elsewhere;
use super::options::unknown_option;
use crate::guard::denial::{Denial, runs_what_it_writes};
use crate::guard::files::FileKind;
use crate::guard::line::{Arg, Judge, Place};
use crate::guard::programs::table::Kind;
use crate::guard::programs::verbs::{refuse_publishing, refuse_verb};

impl Judge<'_> {
    /// A first word without a file behind it may be a subcommand, which the table does not list.
    pub(super) fn is_no_verb(
        &mut self,
        place: &Place,
        name: &str,
        kind: Kind,
        word: &Arg,
    ) -> Result<(), Denial> {
        let text = word.head().trim_start_matches('@');
        let is_there = |folder: &PathBuf| {
            let path = folder.join(text);
            self.cx.kind(&path) != FileKind::Missing || self.made.contains(&path)
        };
        if text.contains(['/', '.']) || place.folders.iter().any(is_there) {
            return Ok(());
        }
        match kind {
            Kind::Write | Kind::SearchRoot if text.starts_with(|c: char| c.is_lowercase()) => {
                refuse_verb(name, text)
            }
            Kind::Word if matches!(text, "upgrade" | "self-update" | "login" | "logout") => {
                refuse_verb(name, text)
            }
            Kind::Argument if matches!(text, "init" | "install") => refuse_verb(name, text),
            Kind::Word => refuse_publishing(text),
            _ => Ok(()),
        }
    }

    /// Words for the project's own code. Those that name an output may not name what is there.
    pub(super) fn arguments(
        &mut self,
        place: &Place,
        program: &str,
        words: &[Arg],
    ) -> Result<(), Denial> {
        // Options of a tool stand in the table; behind `--` they would pass unread.
        let own = matches!(program, "cargo run" | "dotnet run" | "php artisan");
        let option = words.iter().find(|word| word.head().starts_with('-'));
        if let Some(option) = option.filter(|_| !self.sandboxed && !own) {
            return Err(unknown_option(program, option.head()));
        }
        const OUTPUTS: &[&str] = &["out", "dest", "report", "junit", "coverage", "baseline"];
        let mut option = String::new();
        for word in words {
            let text = word.head();
            let judged = if is_elsewhere(Kind::Argument, text)
                || self.is_of_options(place, Kind::Argument, text)
            {
                Err(unknown_option(program, text))
            } else if self.changes_one_of(place, word) {
                Err(runs_what_it_writes())
            } else if text.starts_with('/') && !program.ends_with(" run") {
                self.harmless(place, word).and_then(|()| self.in_workspace(place, word))
            } else {
                self.harmless(place, word)
            };
            self.soften(judged)?;
            let (name, value) = match word.head().split_once('=') {
                Some((name, value)) => (name.to_owned(), value),
                None => (std::mem::take(&mut option), word.head()),
            };
            let writes = matches!(name.as_str(), "-o" | "-O")
                || name.starts_with("--") && OUTPUTS.iter().any(|part| name.contains(part));
            if writes && !value.starts_with('-') && !value.is_empty() {
                let judged = self.replaces_nothing(place, &Arg::of(value));
                self.soften(judged)?;
            }
            if !word.head().contains('=') {
                option = word.head().to_owned();
            }
        }
        Ok(())
    }

    /// Refuses a file or a folder of the project as a tool's output.
    fn replaces_nothing(&mut self, place: &Place, value: &Arg) -> Result<(), Denial> {
        for path in self.paths(place, value)? {
            match self.cx.resolve(&path)?.kind {
                FileKind::Missing => {}
                FileKind::Dir => self.fills_folder(place, value)?,
                FileKind::File | FileKind::Link(_) | FileKind::Unknown => {
                    self.fills(place, value, false)?;
                }
            }
        }
        Ok(())
    }

    /// Checks that a tool takes its own code from the workspace.
    pub(super) fn in_workspace(&mut self, place: &Place, value: &Arg) -> Result<(), Denial> {
        for path in self.paths(place, value)? {
            let real = self.cx.resolve(&path)?.path;
            if !self.cx.inside(&real) {
                let why = format!("{} is outside the workspace", path.display());
                return Err(Denial::new("path.outside", why));
            }
        }
        Ok(())
    }

    /// Does this call change a file that an argument stands for?
    pub(super) fn changes_one_of(&mut self, place: &Place, value: &Arg) -> bool {
        if self.cx.changed().is_empty() {
            return false;
        }
        let paths = self.paths(place, value).unwrap_or_default();
        paths.iter().any(|path| {
            let real = self.cx.resolve(path);
            real.is_ok_and(|real| self.cx.changed().contains(&real.path))
        })
    }
}
