//! Files of the start that the table does not know and that belong to its tests: helpers, what they
//! compare with, and headers of switches.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::super::conventions::{Role, SOURCES};
use super::super::entries;
use super::super::files::text;
use super::super::paths::{extension, file_name, folder};
use super::super::patterns::regex;
use super::super::programs::lists;
use super::super::{data, deciding, judge_folder, measures, sources};
use super::Work;

impl Work<'_> {
    /// Whether a file of the start is test code, or a helper that its tests load.
    pub(super) fn is_helper(&self, path: &Path) -> bool {
        let code = text(self.start(), path).unwrap_or_default();
        if deciding::is_test_code(path, &code)
            || self.is_in_a_judges_folder(path)
            || data::is_table(self.start(), path, self.harness().iter())
            || measures::is_measure(self.start(), path, &self.found.lines, self.harness().iter())
            || self.is_double(path)
            || self.gives_flags(path)
        {
            return true;
        }
        if self.found.subjects.contains(path) {
            return false;
        }
        (deciding::compares(&code) && self.is_part_of_a_helper(path))
            || data::is_module(self.start(), path, self.harness())
            || self.is_switch(path, &code)
            || (deciding::fails(path, &code)
                && (self.harness().iter().any(|from| self.mentions(from, path))
                    || self.is_behind_another(path)))
            || entries::toml::is_crate_for_tests(self.start(), path, &code)
            || self.known.started(self.question).contains(path)
    }

    /// Whether a file is in a folder of judges. Checks that only look at files may look there, too.
    /// A folder with a manifest holds a project, and what a recipe builds is the product.
    pub(super) fn is_in_a_judges_folder(&self, path: &Path) -> bool {
        let is_source = SOURCES.contains(&extension(path));
        if is_source && self.found.subjects.contains(path) {
            return false;
        }
        let holds_a_project = |judge: &PathBuf| {
            let (own, paths) = (folder(judge), self.start().paths());
            let inside = paths.range(own.to_owned()..).map(|(path, _)| path);
            let mut inside = inside.take_while(|path| path.starts_with(own));
            inside.any(|path| {
                folder(path) == own && self.question.table.role(path) == Some(Role::Manifest)
            })
        };
        let is_code = |judge: &&PathBuf| {
            file_name(judge) != "__init__.py"
                && (SOURCES.contains(&extension(judge)) || extension(judge).is_empty())
        };
        let judges = self.found.files.iter().filter(is_code).filter(|it| !holds_a_project(it));
        judge_folder::holds(path, judges) && !self.only_looks()
    }

    /// Whether a file takes the place of something outside in tests that name it or its folder, is a
    /// rule of the project's own lint, or is in a folder for developers from which they load it.
    fn is_double(&self, path: &Path) -> bool {
        static DOUBLES: LazyLock<Regex> =
            LazyLock::new(|| regex(r"(?i)(?:^|[._-])(?:dummy|fakes?|mocks?d?|stubs?)(?:$|[._-])"));
        const FOLDERS: &str = "bench benches dev devtools hack maint";
        const RULES: &str = "checkers lints rules";
        let folder_name = file_name(folder(path));
        let sounds = DOUBLES.is_match(file_name(path)) || DOUBLES.is_match(folder_name);
        let names = |from: &PathBuf| {
            self.mentions(from, path)
                || text(self.start(), from)
                    .is_some_and(|code| deciding::mentions(&code, folder_name))
        };
        let loads = |from: &PathBuf| sources::loads(self.start(), from, path);
        ((sounds || lists(RULES, folder_name)) && self.harness().iter().any(names))
            || (lists(FOLDERS, folder_name) && self.harness().iter().any(loads))
    }

    /// Whether a makefile takes flags from a file, or from what it prints: `@flags`, `$(shell sh f)`.
    fn gives_flags(&self, path: &Path) -> bool {
        static TAKES: LazyLock<Regex> =
            LazyLock::new(|| regex(r"\$\(shell[^)\n]*\)|\$\(file\s*<[^)\n]*\)|\S[ \t]+@[\w./-]+"));
        let is_makefile = |it: &&PathBuf| {
            lists("Makefile GNUmakefile makefile", file_name(it)) || extension(it) == "mk"
        };
        let parts = self.flags.get_or_init(|| {
            let makefiles = self.start().paths().keys().filter(is_makefile);
            let codes = makefiles.filter_map(|it| text(self.start(), it));
            let parts = |code: String| {
                TAKES.find_iter(&code).map(|part| part.as_str().to_owned()).collect::<Vec<_>>()
            };
            codes.flat_map(parts).collect()
        });
        parts.iter().any(|part| deciding::mentions(part, file_name(path)))
    }

    /// Whether a header of nothing but switches (`#define ENABLE_SQ 1`) is included by the harness
    /// alone.
    fn is_switch(&self, path: &Path, code: &str) -> bool {
        let is_directive =
            |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
        let is_loaded = |from: &PathBuf| sources::loads(self.start(), from, path);
        let mut files = self.start().paths().keys().filter(|it| are_of_one_language(it, path));
        matches!(extension(path), "h" | "hpp")
            && code.contains("#define")
            && code.lines().all(is_directive)
            && self.harness().iter().any(is_loaded)
            && !files.any(|other| !self.harness().contains(other) && is_loaded(other))
    }

    /// Whether test code, or a file that the harness loads, loads this one, as a bootstrap does.
    fn is_behind_another(&self, path: &Path) -> bool {
        let files = self.start().paths().keys().filter(|other| are_of_one_language(other, path));
        let mut loaders = files.filter(|other| sources::loads(self.start(), other, path));
        loaders.any(|loader| {
            self.harness().iter().any(|from| sources::loads(self.start(), from, loader))
                || text(self.start(), loader)
                    .is_some_and(|code| deciding::is_test_code(loader, &code))
        })
    }

    /// Whether only helpers that the tests name load a file, or one is in the same package of Go.
    fn is_part_of_a_helper(&self, path: &Path) -> bool {
        let files = self.start().paths().keys().filter(|other| *other != path);
        let others = files.filter(|other| extension(other) == extension(path));
        if extension(path) == "go" {
            return self.is_in_package_for_tests(path);
        }
        let mut loaders =
            others.filter(|other| sources::loads(self.start(), other, path)).peekable();
        let is_helper = |other: &PathBuf| {
            text(self.start(), other).is_some_and(|code| deciding::fails(other, &code))
                && (self.harness().iter().any(|from| self.mentions(from, other))
                    || self.is_behind_another(other))
        };
        loaders.peek().is_some() && loaders.all(is_helper)
    }

    /// Whether a package of Go holds test code that only tests import.
    fn is_in_package_for_tests(&self, path: &Path) -> bool {
        let imported = format!("/{}\"", file_name(folder(path)));
        let sources = self.start().paths().keys().filter(|other| extension(other) == "go");
        let mut sources = sources.filter(|other| !file_name(other).ends_with("_test.go"));
        let mut holds = false;
        let is_for_tests = sources.all(|other| {
            let code = text(self.start(), other).unwrap_or_default();
            let beside = folder(other) == folder(path);
            holds |= beside && deciding::is_test_code(other, &code);
            beside || !code.contains(&imported)
        });
        holds && is_for_tests && !folder(path).as_os_str().is_empty()
    }

    /// Whether a harness file names another file: a manifest by its name, a test by its module.
    pub(super) fn mentions(&self, from: &Path, path: &Path) -> bool {
        let manifest = self.question.table.role(from) == Some(Role::Manifest);
        let name = if manifest { file_name(path) } else { deciding::loaded_name(path) };
        text(self.start(), from).is_some_and(|code| deciding::mentions(&code, name))
    }
}

/// Whether files may load each other by their extensions.
fn are_of_one_language(one: &Path, other: &Path) -> bool {
    const C: [&str; 6] = ["c", "cc", "cpp", "cxx", "h", "hpp"];
    let (one, other) = (extension(one), extension(other));
    one == other || (C.contains(&one) && C.contains(&other))
}
