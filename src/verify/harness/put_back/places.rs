//! New files that stand in the way of what the start's checks find.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::super::conventions::{Role, SOURCES};
use super::super::deciding;
use super::super::files::text;
use super::super::measures;
use super::super::paths::{extension, file_name, folder};
use super::super::programs::lists;
use super::super::search_path;
use super::super::shadows::Shadows;
use super::super::shell::{ShellCommand, scan};
use super::{Work, is_build_output, is_match};

impl Work<'_> {
    /// Whether the checks would take a new file for one of the harness, or for a sign.
    pub(super) fn covers_a_judge(&self, path: &Path) -> bool {
        self.found.shadows.contains(path)
            || self.takes_a_place(path)
            || self.shadows().cover(path)
            || self.found.files.iter().any(|file| path.starts_with(file))
            || self.found.includes.iter().any(|glob| is_match(glob, path))
            || self.asked_for().contains(path)
            || self.is_in_a_judges_folder(path)
            || is_build_output(path)
            || measures::is_exception(
                self.start(),
                path,
                self.harness().iter(),
                self.found.files.iter(),
            )
    }

    /// Whether a new file is data of a case that is new as a whole: `examples/loud.golden` beside
    /// `examples/loud.in`. The cases of the start stay as they are.
    pub(super) fn is_of_a_new_case(&self, path: &Path) -> bool {
        let is_new = |it: &Path| !self.start().paths().contains_key(it);
        let is_data = |it: &Path| !SOURCES.contains(&extension(it)) && !extension(it).is_empty();
        let is_expected =
            |it: &Path| self.question.table.role(it) == Some(Role::Expected) && is_data(it);
        let is_input = |it: &Path| match self.question.table.role(it) {
            None => true,
            Some(Role::Tests | Role::Expected) => is_data(it),
            Some(Role::Config | Role::Manifest) => false,
        };
        let stem = |it: &Path| file_name(it).split('.').next().unwrap_or_default().to_owned();
        let beside = |it: &&PathBuf| {
            it.as_path() != path
                && folder(it) == folder(path)
                && stem(it) == stem(path)
                && is_new(it)
        };
        let others = || self.now().paths().range(folder(path).to_owned()..);
        let mut others =
            others().map(|(it, _)| it).take_while(|it| it.starts_with(folder(path))).filter(beside);
        match is_expected(path) {
            true => others.any(|it| is_input(it)),
            false => is_input(path) && others.any(|it| is_expected(it)),
        }
    }

    /// Whether a check's line, or shell code of the harness, sources a file by its name.
    pub(super) fn is_sourced(&self, path: &Path) -> bool {
        let codes = self.harness().iter().filter_map(|from| text(self.start(), from));
        let lines = self.found.lines.iter().cloned().chain(codes);
        let words = |it: &ShellCommand| {
            matches!(it.words.first()?.as_str(), "." | "source")
                .then(|| it.words.get(1).cloned())?
        };
        lines.flat_map(|line| scan(&line)).filter_map(|it| words(&it)).any(|name| {
            Path::new(&name).file_name() == path.file_name() || name.contains(['$', '*'])
        })
    }

    fn shadows(&self) -> Shadows<'_> {
        Shadows { start: self.start(), now: self.now(), harness: self.harness() }
    }

    /// Whether a loader finds a new file before one of the start that decides.
    pub(super) fn takes_a_place(&self, path: &Path) -> bool {
        let mut others = search_path::behind(path);
        let name = file_name(path);
        if self.start().paths().keys().any(|other| {
            file_name(other) == name || others.iter().any(|it| file_name(it) == file_name(other))
        }) {
            others.extend(search_path::elsewhere(self.start(), self.search_path(), path));
        }
        others.iter().any(|other| self.decides(other))
            || self.has_the_name_of_a_helper(path)
            || self.is_command(path)
            || search_path::package_behind(path).is_some_and(|package| {
                let inside = self.harness().range(package.clone()..);
                let mut inside = inside.take_while(|file| file.starts_with(&package));
                let init = package.join("__init__.py");
                inside.any(|file| extension(file) == "py")
                    && !self.start().paths().contains_key(&init)
            })
    }

    /// Whether a file has the name of one that fails for tests, and a text of the start sets up where
    /// modules are looked for.
    fn has_the_name_of_a_helper(&self, path: &Path) -> bool {
        let (sets, places) = match extension(path) {
            "php" => ("spl_autoload_register", "php"),
            "py" => ("pythonpath", "cfg ini toml"),
            "rb" => ("LOAD_PATH", "rb"),
            _ => return false,
        };
        let same =
            |other: &&PathBuf| file_name(other) == file_name(path) && folder(other) != folder(path);
        let files = || self.start().paths().keys();
        let fails = |other: &PathBuf| {
            text(self.start(), other).is_some_and(|code| deciding::fails(other, &code))
                && self.harness().iter().any(|from| self.mentions(from, other))
        };
        files().filter(same).any(fails)
            && files()
                .filter(|it| lists(places, extension(it)))
                .any(|it| text(self.start(), it).is_some_and(|code| code.contains(sets)))
    }

    /// Whether a judge would run a new file in place of a command of the system.
    fn is_command(&self, path: &Path) -> bool {
        if !search_path::is_command_name(file_name(path)) {
            return false;
        }
        let codes = self.harness().iter().filter_map(|path| text(self.start(), path));
        let codes: Vec<String> = codes.collect();
        let texts = self.found.lines.iter().chain(&codes).map(String::as_str);
        search_path::takes_a_commands_place(file_name(path), texts)
    }

    /// Whether a new `package.json` may name another file than the `index.js` that decides.
    pub(super) fn is_main_of_a_helper(&self, path: &Path) -> bool {
        file_name(path) == "package.json"
            && ["index.js", "index.cjs", "index.mjs", "index.ts"]
                .iter()
                .any(|index| self.decides(&folder(path).join(index)))
    }

    /// Whether a file of the start is harness for any reason. A manifest is so only in parts.
    pub(super) fn decides(&self, path: &Path) -> bool {
        let role = self.question.table.role(path);
        self.start().paths().contains_key(path)
            && (self.is_whole(path)
                || role.is_some_and(|role| role != Role::Manifest)
                || (role.is_none() && self.is_helper(path)))
    }

    /// The folders in which the checks and their judges look for what they load.
    fn search_path(&self) -> &BTreeSet<PathBuf> {
        self.search_path.get_or_init(|| {
            let codes = self.found.files.iter().filter_map(|path| text(self.start(), path));
            let codes: Vec<String> = codes.collect();
            let texts = self.found.lines.iter().chain(&codes).map(String::as_str);
            let mut folders = search_path::folders(texts);
            // `python3 -m` looks in the current folder first.
            folders.insert(PathBuf::new());
            folders
        })
    }
}
