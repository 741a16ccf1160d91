//! What searches read: how deep they go, and whether hidden files are among it.

use super::options::Parsed;
use crate::guard::call_context::ReadKind;
use crate::guard::denial::Denial;
use crate::guard::files::FileKind;
use crate::guard::line::{Arg, Judge, Place};
use crate::guard::programs::table::{Entry, Kind};

impl Judge<'_> {
    /// Programs that search the current folder if none is named.
    pub(super) fn without_folder(
        &mut self,
        place: &Place,
        name: &str,
        entry: &Entry,
        operands: &[Arg],
        parsed: &Parsed,
    ) -> Result<(), Denial> {
        let pattern =
            entry.operands.first() == Some(&Kind::Text) && !parsed.has(&["-e", "-f", "--files"]);
        let first = usize::from(pattern);
        let alone = operands.len() <= first;
        match entry.more {
            Some(Kind::SearchRoot) if alone && pattern => {
                self.reads(place, &Arg::of("."), search(name, parsed))
            }
            Some(Kind::GrepRoot) if alone && parsed.has(&["-r", "-R", "--recursive"]) => {
                self.value(place, name, Kind::GrepRoot, &Arg::of("."), parsed)
            }
            _ => Ok(()),
        }
    }

    /// Checks the links in a folder, for a program that follows them.
    pub(super) fn reads_links(&mut self, place: &Place, value: &Arg) -> Result<(), Denial> {
        if self.sandboxed {
            return Ok(());
        }
        for path in self.paths(place, value)? {
            if self.cx.resolve(&path)?.kind != FileKind::Dir {
                continue;
            }
            let tree = self.cx.entries(&path);
            if !tree.all {
                return Err(Denial::new(
                    "path.too-large",
                    "the folder is too large to check for links",
                )
                .instead("use `grep -r`, which follows none, or a subfolder"));
            }
            self.cx.spend(tree.paths.len())?;
            for entry in &tree.paths {
                if matches!(self.cx.kind(entry), FileKind::Link(_)) {
                    self.cx.read(entry, ReadKind::Content)?;
                }
            }
        }
        Ok(())
    }
}

/// How `grep` reads: a folder with all that is in it, unless files of plain endings are named.
pub(super) fn grep(parsed: &Parsed) -> ReadKind {
    let mut globs = parsed.values.iter().filter(|(kind, ..)| *kind == Kind::NameGlob);
    let narrow = parsed.has(&["--include"])
        && !parsed.has(&["--exclude", "--exclude-dir"])
        && globs.all(|(_, glob, _)| has_ending(glob));
    if parsed.has(&["-r", "-R", "--recursive"]) && !narrow {
        ReadKind::Tree
    } else {
        ReadKind::Content
    }
}

/// How a search reads: files of one ending or type hold no secrets, and any other glob brings
/// hidden and ignored files back.
pub(super) fn search(name: &str, parsed: &Parsed) -> ReadKind {
    let globs = || {
        let globs = parsed.values.iter().filter(|(kind, ..)| *kind == Kind::NameGlob);
        globs.map(|(_, glob, _)| glob).filter(|glob| !glob.head().starts_with('!'))
    };
    if !globs().all(has_ending) {
        return ReadKind::Tree;
    }
    let ending = name.starts_with("fd") && parsed.has(&["-e"]);
    let narrow = ending || parsed.has(&["-t", "--type", "--extension"]) || globs().next().is_some();
    if narrow { ReadKind::Content } else { ReadKind::Search }
}

/// Does a glob end in a plain ending, as in `*.rs`?
fn has_ending(glob: &Arg) -> bool {
    let plain = |ending: &str| {
        !ending.is_empty() && ending.chars().all(|c| c.is_ascii_alphanumeric() || "{},".contains(c))
    };
    glob.head().rsplit_once("*.").is_some_and(|(_, ending)| plain(ending))
}
