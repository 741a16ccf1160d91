//! `cp`, `mv`, and `cd`: operands whose meaning depends on their place.

use std::path::{Path, PathBuf};

use super::options::{Parsed, unknown_option};
use crate::guard::call_context::{ReadKind, WriteKind};
use crate::guard::denial::Denial;
use crate::guard::files::FileKind;
use crate::guard::line::{Arg, Judge, Place, unclear};
use crate::guard::programs::lists;

impl Judge<'_> {
    /// Sources, then a target: a new name, or a folder that gets them.
    pub(super) fn copies(
        &mut self,
        place: &Place,
        args: &[Arg],
        parsed: &Parsed,
    ) -> Result<(), Denial> {
        let Some((target, sources)) = args.split_last().filter(|(_, sources)| !sources.is_empty())
        else {
            return Err(Denial::new("program.option", "it needs a source and a target"));
        };
        let recursive = parsed.has(&["-r", "-R", "-a", "--recursive", "--archive"]);
        let links = recursive || parsed.has(&["-P"]);
        for source in sources {
            let judged = self.reads(
                place,
                source,
                if recursive { ReadKind::Tree } else { ReadKind::Content },
            );
            self.soften(judged)?;
            if !self.sandboxed {
                self.without_links(place, source, links)?;
            }
            let anew = parsed.has(&["-T"]);
            self.check_target(place, source, target, (recursive, anew))?;
        }
        Ok(())
    }

    /// A copy of a link leads where the link leads, and at its new place the guard would not see
    /// it.
    fn without_links(&mut self, place: &Place, source: &Arg, links: bool) -> Result<(), Denial> {
        for path in self.paths(place, source)? {
            let real = self.cx.resolve(&path)?;
            if !self.cx.inside(&real.path) && !self.cx.in_tmp(&real.path) {
                return Err(Denial::new(
                    "path.outside",
                    format!("{} is outside the workspace", path.display()),
                ));
            }
            let is_link = matches!(self.cx.kind(&path), FileKind::Link(_));
            if links && (is_link || real.kind == FileKind::Dir && self.holds_links(&real.path)?) {
                return Err(Denial::new(
                    "path.link",
                    "it is a link, or a folder that is too large or has links in it",
                )
                .instead("name the files in it"));
            }
        }
        Ok(())
    }

    fn holds_links(&mut self, folder: &Path) -> Result<bool, Denial> {
        let tree = self.cx.entries(folder);
        self.cx.spend(tree.paths.len())?;
        Ok(!tree.all || self.has_link(folder))
    }

    pub(super) fn moves(
        &mut self,
        place: &Place,
        args: &[Arg],
        parsed: &Parsed,
    ) -> Result<(), Denial> {
        let anew = parsed.has(&["-T"]);
        let Some((target, sources)) = args.split_last().filter(|(_, sources)| !sources.is_empty())
        else {
            return Err(Denial::new("program.option", "it needs a source and a target"));
        };
        if target.head().starts_with("/dev/") {
            return Err(Denial::new("program.delete", "moving a file to a device deletes it")
                .instead("archive it: `mkdir -p _archive && mv FILE _archive/`"));
        }
        for source in sources {
            self.writes(place, source, WriteKind::Move)?;
            if !self.sandboxed {
                self.without_links(place, source, true)?;
            }
            let paths = self.paths(place, source);
            for path in self.soften(paths)?.unwrap_or_default() {
                self.moved |= self.cx.kind(&path) != FileKind::File;
                self.keeps(place, &path, target)?;
            }
            self.check_target(place, source, target, (true, anew))?;
        }
        Ok(())
    }

    /// A file that moves may not take the place of another one.
    fn keeps(&mut self, place: &Place, source: &Path, target: &Arg) -> Result<(), Denial> {
        if self.sandboxed {
            return Ok(());
        }
        let name = source.file_name().unwrap_or_default();
        for path in self.paths(place, target)? {
            for end in [path.clone(), path.join(name)] {
                if end != source {
                    self.replaces(&end)?;
                }
            }
        }
        Ok(())
    }

    fn replaces(&mut self, end: &Path) -> Result<(), Denial> {
        let real = self.cx.resolve(end)?.path;
        if !self.loses(&real) {
            return Ok(());
        }
        Err(Denial::new("program.delete", format!("it would replace {}", end.display()))
            .instead("choose a name that is free, or use the edit tool"))
    }

    /// Checks the name that a source gets; `anew`: it takes the place of the target itself.
    fn check_target(
        &mut self,
        place: &Place,
        source: &Arg,
        target: &Arg,
        (recursive, anew): (bool, bool),
    ) -> Result<(), Denial> {
        let targets = self.paths(place, target);
        let Some(targets) = self.soften(targets)? else { return Ok(()) };
        if matches!(target, Arg::Pattern(_)) {
            self.soften::<()>(Err(unclear("a pattern as the target")))?;
        }
        let slash = target.head().ends_with('/');
        for to in targets {
            let real = self.cx.resolve(&to)?;
            let there = slash || real.kind == FileKind::Dir || self.made.contains(&real.path);
            let folder = there && !anew;
            // `FOLDER/.`, and on some machines `FOLDER/`, stands for what is in the folder.
            let inner = source.head().ends_with(['/', '.']);
            let mut names = if !folder || inner { vec![to.clone()] } else { Vec::new() };
            if folder {
                let sources = self.paths(place, source);
                let sources = self.soften(sources)?.unwrap_or_default();
                names.extend(sources.iter().filter_map(|path| Some(to.join(path.file_name()?))));
            }
            for name in names {
                if recursive {
                    self.below(place, source, &name)?;
                }
                if folder && name == to {
                    continue;
                }
                let text = name.to_string_lossy().into_owned();
                self.writes(place, &Arg::of(text), WriteKind::Change)?;
            }
        }
        Ok(())
    }

    /// Checks what the files below a folder become at another place.
    fn below(&mut self, place: &Place, source: &Arg, target: &Path) -> Result<(), Denial> {
        let sources = self.paths(place, source);
        for path in self.soften(sources)?.unwrap_or_default() {
            if !matches!(self.cx.kind(&path), FileKind::Dir | FileKind::Missing)
                || !self.cx.inside(target)
            {
                continue;
            }
            // The files that are there, and those that this call makes.
            let mut entries = self.cx.entries(&path).paths.clone();
            let real = self.cx.resolve(&path)?.path;
            let made = self.cx.changed().iter().chain(&self.made);
            entries.extend(
                made.filter_map(|made| made.strip_prefix(&real).ok()).map(|made| path.join(made)),
            );
            self.cx.spend(entries.len())?;
            for entry in &entries {
                let Ok(relative) = entry.strip_prefix(&path) else { continue };
                let end = target.join(relative).to_string_lossy().into_owned();
                self.writes(place, &Arg::of(end), WriteKind::Change)?;
                // A folder with this file is a task's.
                if relative.file_name().is_some_and(|name| name.eq_ignore_ascii_case("TASK.md")) {
                    return Err(Denial::new("state.task", "it would make another task"));
                }
            }
        }
        Ok(())
    }

    /// `cd FOLDER`: the rest of the line runs there.
    pub(super) fn change_folder(&mut self, place: &mut Place, args: &[Arg]) -> Result<(), Denial> {
        let judged = self.folder_of(place, args);
        match self.soften(judged)? {
            Some(folders) => place.folders = folders,
            None => place.folders = Vec::new(),
        }
        Ok(())
    }

    fn folder_of(&mut self, place: &Place, args: &[Arg]) -> Result<Vec<PathBuf>, Denial> {
        let [folder] = args else {
            return Err(unclear("a `cd` without one plain folder"));
        };
        let text = folder
            .text()
            .filter(|text| !text.starts_with('-'))
            .ok_or_else(|| unclear("a `cd` without one plain folder"))?;
        if (place.fixed || self.moved) && !self.sandboxed {
            return Err(unclear("a `cd` whose place is not certain").instead(
                "begin the line with `cd FOLDER && `, or use a subshell: `(cd FOLDER && …)`",
            ));
        }
        let mut folders = Vec::new();
        for path in self.paths(place, &Arg::of(text))? {
            let real = self.cx.read(&path, ReadKind::Name)?;
            let there = real.kind == FileKind::Dir || self.made.contains(&real.path);
            if !self.cx.inside(&real.path) || real.links.iter().any(|link| self.cx.inside(link)) {
                return Err(Denial::new(
                    "path.outside",
                    format!("{} is outside the workspace", path.display()),
                )
                .instead("stay in the workspace"));
            }
            self.cx.enterable(&real.path)?;
            if there {
                folders.push(real.path);
            }
        }
        if folders.is_empty() {
            return Err(Denial::new("path.unknown", format!("there is no folder `{text}`"))
                .instead("name an existing folder"));
        }
        Ok(folders)
    }

    /// `test` and `[`: comparisons, and questions about files.
    pub(super) fn test(&mut self, place: &Place, args: &[Arg]) -> Result<(), Denial> {
        const QUESTIONS: &str = "-e -f -d -s -r -w -x -L -h";
        const OPERATORS: &str = "! -z -n = == != -eq -ne -gt -lt -ge -le -a -o ] -nt -ot";
        let mut file = false;
        for (at, arg) in args.iter().enumerate() {
            let text = arg.head();
            let next = args.get(at + 1).map_or("]", Arg::head);
            // It may be an option that evaluates the next word.
            if matches!(arg, Arg::Open { .. }) && text.is_empty() && !lists(OPERATORS, next) {
                self.soften::<()>(Err(unclear("an unknown word of `test` before another word")))?;
            }
            if std::mem::take(&mut file) {
                let judged = self.reads(place, arg, ReadKind::Name);
                self.soften(judged)?;
            } else if lists(QUESTIONS, text) {
                file = true;
            } else if !lists(OPERATORS, text) && (text.starts_with('-') || text.contains('[')) {
                // A subscript is evaluated.
                self.soften::<()>(Err(unknown_option("test", text)))?;
            }
        }
        Ok(())
    }
}
