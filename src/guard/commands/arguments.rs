//! Words for a tool's own code, and subcommands that the table does not list.

use std::path::PathBuf;

use super::options::unknown_option;
use crate::guard::denial::Denial;
use crate::guard::files::FileKind;
use crate::guard::line::{Arg, Judge, Place};
use crate::guard::programs::lists;
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

    /// Words for the project's own code.
    pub(super) fn arguments(
        &mut self,
        place: &Place,
        program: &str,
        words: &[Arg],
    ) -> Result<(), Denial> {
        // Options of a tool stand in the table; behind `--` they would pass unread.
        let runner = program.split(' ').next().unwrap_or_default();
        let own = lists("npm pnpm yarn composer", runner)
            || matches!(program, "cargo run" | "dotnet run" | "bun run" | "deno task");
        let option = words.iter().find(|word| word.head().starts_with('-'));
        if let Some(option) = option.filter(|_| !self.sandboxed && !own) {
            return Err(unknown_option(program, option.head()));
        }
        for word in words {
            let judged = self.harmless(place, word);
            self.soften(judged)?;
        }
        Ok(())
    }
}
