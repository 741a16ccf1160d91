//! Programs that are installed, and those that a tool would fetch.

use super::options::Parsed;
use crate::guard::denial::Denial;
use crate::guard::files::FileKind;
use crate::guard::line::{Arg, Judge, Place};
use crate::guard::programs::refused;
use crate::guard::programs::table;

impl Judge<'_> {
    /// Would a launcher fetch this program? In a sandbox it cannot, so only names that nobody knows
    /// are worth a reason there.
    pub(super) fn is_fetched(
        &self,
        place: &Place,
        name: &str,
        program: &Arg,
        parsed: &Parsed,
    ) -> bool {
        let text = program.head();
        let is_launcher = matches!(name, "npx" | "pnpx" | "bunx" | "uvx");
        let is_refused = refused::group(text).is_some();
        if self.sandboxed {
            let is_known = table::entry(text).is_some() || is_refused;
            return is_launcher && !is_known && !self.is_installed(place, text);
        }
        // Python's tools are not there, and another folder has other ones.
        let has_others = name == "uvx" || parsed.has(&["--prefix"]);
        let is_there = !has_others && self.is_installed(place, text);
        let stays = is_there || parsed.has(&["--no-install", "--no", "--offline"]);
        (is_launcher || name == "npm exec") && !is_refused && !stays
    }

    /// Does `yarn run` or `bun run` take this word for a file or an installed program, instead of a
    /// script of package.json?
    pub(super) fn is_program(&self, place: &Place, name: &str, word: &Arg) -> bool {
        matches!(name, "yarn run" | "bun run")
            && (word.head().contains('/')
                || self.is_installed(place, word.head())
                || refused::group(word.head()).is_some_and(|group| group.rule == "program.delete"))
    }

    /// Is a program in `node_modules`, here or in a folder above?
    fn is_installed(&self, place: &Place, program: &str) -> bool {
        let mut folders = place.folders.iter().flat_map(|folder| folder.ancestors());
        folders.any(|folder| {
            let bin = folder.join("node_modules/.bin").join(program);
            self.cx.inside(folder) && self.cx.kind(&bin) != FileKind::Missing
        })
    }
}

/// The denial of a launcher that would download a program.
pub(super) fn fetched(name: &str) -> Denial {
    Denial::new(
        "program.install",
        format!("`{name}` would download this package, and run it: it is not installed"),
    )
    .instead(
        "use a tool that is installed (`ls node_modules/.bin` lists them); a human installs \
         dependencies before a run",
    )
}
