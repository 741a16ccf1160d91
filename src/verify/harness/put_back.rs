//! The edits that make the current tree one with the start's harness.

mod helpers;
mod places;
mod reach;

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use globset::Glob;

use super::caller;
use super::cfg_test::{self, Declared};
use super::conventions::Role;
use super::deciding;
use super::ends::{ends, ends_itself, is_compiled, of_programs, only_prints};
use super::entries::package_json::takes_a_known_name;
use super::entries::{self, Manifests};
use super::files::{EntryKind, FileEntry, SourceTree, text};
use super::inline;
use super::judges::judges;
use super::known_start::KnownStart;
use super::paths::{extension, file_name};
use super::process_state;
use super::programs::lists;
use super::question::{HarnessQuestion, JudgeEnd, PutBack, TreeEdit};
use super::reader::Judges;
use super::settings;
use super::shell::scan;
use super::showing;
use super::sources;
use super::tampering;
use super::wrappers::unwrapped;
use crate::model::InlineTest;

/// Compares the harness of two trees and says how to put it back.
pub fn put_back(question: &HarnessQuestion<'_>, known: &KnownStart) -> PutBack {
    let (harness, asked_for, search_path) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
    let flags = OnceCell::new();
    let (result, writes) = (PutBack::default(), BTreeMap::new());
    let mut work = Work {
        question,
        known,
        found: &known.found,
        harness,
        asked_for,
        search_path,
        flags,
        result,
        writes,
    };
    let changed = work.changed();
    for path in &changed {
        work.compare(path);
    }
    work.rust(&changed);
    work.finish()
}

/// The paths that differ between two trees.
fn differing<'t>(
    start: &'t BTreeMap<PathBuf, FileEntry>,
    now: &'t BTreeMap<PathBuf, FileEntry>,
) -> Vec<&'t PathBuf> {
    let (mut start, mut now) = (start.iter().peekable(), now.iter().peekable());
    let mut paths = Vec::new();
    loop {
        // Both are in order, so that each is gone through once.
        let order = match (start.peek(), now.peek()) {
            // Most are equal, and bytes are compared faster than the parts of paths.
            (Some((old, _)), Some((new, _))) if old.as_os_str() == new.as_os_str() => {
                Ordering::Equal
            }
            (Some((old, _)), Some((new, _))) => old.cmp(new),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return paths,
        };
        match order {
            Ordering::Less => paths.extend(start.next().map(|(path, _)| path)),
            Ordering::Greater => paths.extend(now.next().map(|(path, _)| path)),
            Ordering::Equal => {
                let (old, new) = (start.next(), now.next());
                paths.extend(old.filter(|_| old != new).map(|(path, _)| path));
            }
        }
    }
}

/// The names of the tests inside a Rust source.
fn test_names(files: &dyn SourceTree, path: &Path) -> BTreeSet<String> {
    text(files, path).map(|code| cfg_test::test_names(&code)).unwrap_or_default()
}

/// Whether names have at least half of some others among them.
fn holds_most(names: &BTreeSet<String>, others: &BTreeSet<String>) -> bool {
    2 * others.intersection(names).count() >= others.len()
}

/// Whether a file is what a compiler makes: in a commit, it takes the place of its source.
fn is_build_output(path: &Path) -> bool {
    lists("a class dll dylib exe gch jar lib o obj pch pyc pyo so", extension(path))
        || file_name(path) == "CMakeCache.txt"
}

/// Whether a glob names a path.
fn is_match(glob: &str, path: &Path) -> bool {
    Glob::new(glob).is_ok_and(|glob| glob.compile_matcher().is_match(path))
}

struct Work<'a> {
    question: &'a HarnessQuestion<'a>,
    known: &'a KnownStart,
    found: &'a Judges,
    /// Every path of the start that decides. Most changes can be judged without it.
    harness: OnceCell<BTreeSet<PathBuf>>,
    /// Files of checks that had none at the start.
    asked_for: OnceCell<BTreeSet<PathBuf>>,
    /// Folders in which loaders look.
    search_path: OnceCell<BTreeSet<PathBuf>>,
    /// Where makefiles take flags from a file, or from what it prints.
    flags: OnceCell<Vec<String>>,
    result: PutBack,
    /// Paths with what the start has there: nothing means a removal.
    writes: BTreeMap<PathBuf, Option<(EntryKind, Vec<u8>)>>,
}

impl Work<'_> {
    fn start(&self) -> &dyn SourceTree {
        self.question.start
    }

    fn now(&self) -> &dyn SourceTree {
        self.question.now
    }

    fn harness(&self) -> &BTreeSet<PathBuf> {
        self.harness.get_or_init(|| {
            let paths = self.start().paths();
            let mut harness = self.known.by_table(self.question).clone();
            let judges = self.found.files.iter().filter(|path| paths.contains_key(*path));
            harness.extend(judges.cloned());
            if !self.question.protect.is_empty() {
                let protect = self.question.protect;
                harness.extend(paths.keys().filter(|path| protect.is_match(path)).cloned());
            }
            harness
        })
    }

    /// New scripts of checks that found their test missing at the start.
    fn asked_for(&self) -> &BTreeSet<PathBuf> {
        self.asked_for.get_or_init(|| {
            let missing = self.question.checks.iter().filter(|check| check.missing_at_start);
            let commands: Vec<&str> = missing.map(|check| check.command).collect();
            judges(self.now(), self.question.table, &commands).files
        })
    }

    /// Do the checks run nothing but programs that show files?
    fn only_looks(&self) -> bool {
        let commands = self.found.lines.iter().flat_map(|line| scan(line));
        let mut programs = commands.filter_map(|it| unwrapped(&it.words).first().cloned());
        programs.all(|name| {
            showing::shows(&name) || ["test", "[", "[[", "echo"].contains(&name.as_str())
        })
    }

    /// Put back whole, whatever the table says.
    fn is_whole(&self, path: &Path) -> bool {
        self.found.files.contains(path) || self.question.protect.is_match(path)
    }

    /// Paths that differ, without those that may change.
    fn changed(&self) -> Vec<PathBuf> {
        let paths = differing(self.start().paths(), self.now().paths());
        let may_change = |path: &&PathBuf| {
            self.question.may_change.is_match(path) && !self.question.protect.is_match(path)
        };
        paths.into_iter().filter(|path| !may_change(path)).cloned().collect()
    }

    fn compare(&mut self, path: &Path) {
        let role = self.question.table.role(path);
        let is_new = !self.start().paths().contains_key(path);
        if self.is_whole(path) {
            self.restore(path);
            return;
        }
        if self.left_the_view(path) {
            self.restore(path);
            return;
        }
        match role {
            // `jq -e .strict tsconfig.json`: nothing runs that the configuration could change.
            Some(Role::Config | Role::Manifest)
                if self.found.subjects.contains(path) && self.only_looks() => {}
            Some(Role::Manifest) if self.changes_strictness(path) => self.restore(path),
            Some(Role::Manifest) => self.manifest(path),
            Some(Role::Config | Role::Tests | Role::Expected) => {
                if !(is_new && self.stays(path, role)) {
                    self.restore(path);
                }
            }
            None => self.other(path, is_new),
        }
    }

    /// Whether a change concerns how strict a judge of the checks is.
    fn changes_strictness(&self, path: &Path) -> bool {
        let trees = (self.start(), self.now());
        settings::changes_strictness(trees, path, self.found.files.iter())
    }

    /// A file that the table does not know.
    fn other(&mut self, path: &Path, is_new: bool) {
        let runs_doctests = || self.runs_doctests(path);
        let is_sourced = || self.is_sourced(path);
        let tampers = tampering::tampers(self.start(), self.now(), path, &runs_doctests)
            .or_else(|| process_state::tampers(self.start(), self.now(), path, &is_sourced))
            .or_else(|| {
                let asked = caller::is_asked_for(self.start(), self.now(), path);
                asked.then_some("question who calls it")
            })
            .or_else(|| self.reaches(path));
        if let Some(what) = tampers {
            let test = InlineTest { path: path.to_owned(), what: what.to_owned() };
            self.result.inline_tests.push(test);
        }
        if is_new {
            if self.covers_a_judge(path)
                || self.leads_to_the_harness(path)
                || self.is_hidden_from_git(path)
            {
                self.restore(path);
            }
            return;
        }
        if self.is_helper(path)
            || self.changes_strictness(path)
            || is_build_output(path)
            || self.leads_to_the_harness(path)
            || self.is_hidden_from_git(path)
        {
            self.restore(path);
            return;
        }
        if let Some(what) = inline::changed_tests(self.start(), self.now(), path) {
            if what == "doctest" && !self.runs_doctests(path) {
                return;
            }
            let test = InlineTest { path: path.to_owned(), what: what.to_owned() };
            self.result.inline_tests.push(test);
        }
    }

    /// Whether a check may run the examples of a file: outside Rust only those ask for it by name.
    fn runs_doctests(&self, path: &Path) -> bool {
        let mut commands = self.question.checks.iter().map(|check| check.command);
        if extension(path) == "rs" {
            return !self.found.files.is_empty() || commands.any(|it| it.contains("cargo"));
        }
        commands.any(|command| command.contains("doctest"))
            || self.harness().iter().any(|harness| {
                text(self.start(), harness).is_some_and(|text| text.contains("doctest"))
            })
    }

    /// Whether a new harness file does no harm where it is.
    fn stays(&self, path: &Path, role: Option<Role>) -> bool {
        // A module of a Rust crate: only a declaration loads it, and new ones are taken out.
        if extension(path) == "rs" && path.iter().any(|part| part == "src") {
            return true;
        }
        if self.is_of_a_new_case(path) {
            return true;
        }
        let looked_at = role != Some(Role::Config) && self.found.subjects.contains(path);
        if looked_at && !self.is_loaded_unasked(path) {
            return true;
        }
        self.in_new_package(path)
    }

    /// Go runs every `TestMain` and `init` of a package's tests.
    fn is_loaded_unasked(&self, path: &Path) -> bool {
        extension(path) == "go"
            && text(self.now(), path)
                .is_none_or(|code| code.contains("func TestMain(") || code.contains("func init("))
    }

    /// Whether a folder that is new as a whole, with a manifest of its own, holds the file.
    fn in_new_package(&self, path: &Path) -> bool {
        // pytest loads every test and `conftest.py` into one process.
        if extension(path) == "py" {
            return false;
        }
        let manifests =
            ["Cargo.toml", "package.json", "pyproject.toml", "pom.xml", "composer.json"];
        let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
        let mut above = above.filter(|above| self.question.table.role(&above.join("x")).is_none());
        above.any(|above| {
            let mut inside = self.start().paths().range(above.to_owned()..);
            let is_new = !inside.next().is_some_and(|(path, _)| path.starts_with(above));
            is_new
                && manifests.iter().any(|name| self.now().paths().contains_key(&above.join(name)))
        })
    }

    /// Makes a path as it was at the start.
    fn restore(&mut self, path: &Path) {
        let entry = self.start().paths().get(path);
        let old = entry.map(|entry| match entry.kind {
            EntryKind::Gitlink => (entry.kind, entry.id.to_vec()),
            kind => (kind, self.start().read(path).unwrap_or_default()),
        });
        self.result.changed.push(path.to_owned());
        self.writes.insert(path.to_owned(), old);
    }

    /// Restores the parts of a manifest that say how things run.
    fn manifest(&mut self, path: &Path) {
        let Some(entry) = self.now().paths().get(path).copied() else {
            return self.restore(path);
        };
        let EntryKind::Regular { .. } = entry.kind else { return self.restore(path) };
        let old = text(self.start(), path);
        let new = text(self.now(), path).unwrap_or_default();
        if old.is_none() && file_name(path) == "package.json" {
            // A package of the workspace comes before one of the registry.
            if takes_a_known_name(self.start(), &new) || self.is_main_of_a_helper(path) {
                return self.restore(path);
            }
        }
        // A makefile of the start takes it in by its name, so it can change everything there.
        if old.is_none() && self.found.includes.contains(&*path.to_string_lossy()) {
            return self.restore(path);
        }
        // A makefile of the start may include a part by a pattern.
        if old.is_none() && extension(path) != "mk" && self.in_new_package(path) {
            return;
        }
        let manifests = Manifests {
            start: self.start(),
            now: self.now(),
            table: self.question.table,
            names: &self.found.names,
            products: &self.found.products,
            path,
        };
        match entries::put_back(&manifests, old.as_deref(), &new) {
            entries::Merged::Same => {}
            entries::Merged::Gone => self.restore(path),
            entries::Merged::Text(merged) => {
                let kind = self.start().paths().get(path).map_or(entry.kind, |old| old.kind);
                self.result.changed.push(path.to_owned());
                self.writes.insert(path.to_owned(), Some((kind, merged.into_bytes())));
            }
        }
    }

    /// Puts back test modules in Rust sources.
    fn rust(&mut self, changed: &[PathBuf]) {
        let sources: Vec<&PathBuf> = changed
            .iter()
            .filter(|path| extension(path) == "rs" && !self.writes.contains_key(*path))
            .filter(|path| !self.in_new_package(path))
            .collect();
        let moved = self.moved_sources(&sources);
        for path in &sources {
            if !self.now().paths().contains_key(*path) {
                let old = text(self.start(), path).unwrap_or_default();
                if cfg_test::holds_tests(&old) && !moved.values().any(|from| from == *path) {
                    self.restore(path);
                }
                continue;
            }
            let from = moved.get(*path).unwrap_or(path);
            let old = text(self.start(), from).unwrap_or_default();
            let new = text(self.now(), path).unwrap_or_default();
            let keeps = |module: &str| self.is_moved_module(path, module);
            let tested = |module: &str| {
                let files = cfg_test::files_of(path, module);
                files.iter().any(|file| self.has_tests_of_its_own(file, &sources))
            };
            let declared = Declared { keeps: &keeps, tested: &tested };
            if let Some(merged) = cfg_test::put_back(&old, &new, &declared) {
                let kind = self.now().paths().get(*path).map(|entry| entry.kind);
                let kind = kind.unwrap_or(EntryKind::Regular { executable: false });
                self.result.changed.push((*path).clone());
                self.writes.insert((*path).clone(), Some((kind, merged.into_bytes())));
            }
        }
    }

    /// Did a source hold tests at the start that no changed source holds now?
    fn has_tests_of_its_own(&self, file: &Path, changed: &[&PathBuf]) -> bool {
        let names = test_names(self.start(), file);
        let mut others = changed.iter().filter(|path| path.as_path() != file);
        !names.is_empty() && !others.any(|path| holds_most(&test_names(self.now(), path), &names))
    }

    /// New sources with the deleted ones whose tests they hold.
    fn moved_sources(&self, sources: &[&PathBuf]) -> BTreeMap<PathBuf, PathBuf> {
        let is_new = |path: &&&PathBuf| !self.start().paths().contains_key(**path);
        let gone = |path: &&&PathBuf| !self.now().paths().contains_key(**path);
        let gone = sources.iter().filter(gone);
        let gone: Vec<_> = gone.map(|path| (*path, test_names(self.start(), path))).collect();
        let mut moved = BTreeMap::new();
        for path in sources.iter().filter(is_new) {
            let own = test_names(self.now(), path);
            let from = gone.iter().find(|(_, old)| !old.is_empty() && holds_most(&own, old));
            if let Some((from, _)) = from {
                moved.insert((*path).clone(), (**from).clone());
            }
        }
        moved
    }

    /// Whether the file of a declared module has the content of a file that was at the start.
    fn is_moved_module(&self, path: &Path, module: &str) -> bool {
        let files = cfg_test::files_of(path, module);
        files.iter().filter_map(|file| self.now().paths().get(file)).any(|entry| {
            self.start()
                .paths()
                .iter()
                .any(|(old, was)| was.id == entry.id && file_name(old).ends_with(".rs"))
        })
    }

    /// The judges of each check that must run to their end.
    fn ends(&self) -> Vec<JudgeEnd> {
        let own = |(command, judges): &(String, Judges)| {
            let scripts = judges.scripts.iter().filter(|script| !self.is_ended_by_a_helper(script));
            let mut all = ends(self.now(), command, scripts);
            // Compiled tests are not named by the check, so each may be of any.
            if !only_prints(command) {
                all.extend(of_programs(self.start(), command, self.compiled_tests()));
            }
            all
        };
        self.known.by_check(self.question).iter().flat_map(own).collect()
    }

    /// Whether a helper of the start, such as `finish() { exit $failed; }`, may end a script.
    fn is_ended_by_a_helper(&self, script: &Path) -> bool {
        let helpers = self.found.files.iter().filter(|path| *path != script);
        let mut loaded = helpers.filter(|path| sources::loads(self.start(), script, path));
        loaded.any(|path| text(self.start(), path).is_some_and(|code| ends_itself(&code)))
    }

    fn compiled_tests(&self) -> impl Iterator<Item = &PathBuf> {
        let is_test = |path: &&PathBuf| {
            let is_c = || matches!(extension(path), "c" | "cc" | "cpp" | "cxx");
            let asserts =
                || text(self.start(), path).is_some_and(|code| deciding::is_test_code(path, &code));
            // Tests in Go and Rust have no `main`.
            let has_main = !matches!(extension(path), "go" | "rs");
            has_main && self.question.table.role(path) == Some(Role::Tests)
                || self.found.files.contains(*path)
                || is_c() && asserts()
        };
        self.now().paths().keys().filter(|path| is_compiled(path)).filter(is_test)
    }

    fn finish(mut self) -> PutBack {
        let writes = std::mem::take(&mut self.writes);
        let now = self.now().paths();
        let mut removals = Vec::new();
        let mut edits = Vec::new();
        for (path, content) in writes {
            match content {
                Some((kind, bytes)) => edits.push(TreeEdit::Write { path, kind, bytes }),
                None if now.contains_key(&path) => removals.push(TreeEdit::Remove { path }),
                None => {}
            }
        }
        let mut result = std::mem::take(&mut self.result);
        removals.extend(edits);
        result.edits = removals;
        result.changed.sort();
        result.changed.dedup();
        result.inline_tests.sort();
        result.ends = self.ends();
        result.judges = self.found.files.clone();
        result.judge_is_subject = self.found.judge_is_subject.clone();
        result
    }
}
