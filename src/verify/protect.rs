//! Which paths the agent must not change in a task.
//!
//! Invariant: a path stays protected when it is deleted, and is protected before it exists. Not in
//! this file: whether it was changed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobSet, GlobSetBuilder};

use super::classify::{EntryKind, LookedAt, Role, SourceTree, Table, judges, link_target};
use super::error::VerifyError;
use crate::model::{FirstSeen, FirstStatus, Task};

/// Most files that the task's globs name one by one: each is a mount in the sandbox.
const MOST: usize = 40;
/// Most links that are followed one after the other.
const HOPS: usize = 8;

/// The task's globs, the scripts that the runner itself runs, and the tests of its checks.
#[derive(Clone, Debug)]
pub struct Protection {
    globs: GlobSet,
    files: BTreeSet<PathBuf>,
    judges: BTreeSet<PathBuf>,
    /// Does a name mean that only the human changes the file?
    is_fixed: fn(&Path) -> bool,
}

impl Protection {
    /// The protected paths of a task; state files have their own protection.
    ///
    /// # Errors
    /// If a glob cannot be understood.
    pub fn of(task: &Task) -> Result<Self, VerifyError> {
        let mut globs = GlobSetBuilder::new();
        for text in &task.settings.protect {
            let text = text.strip_prefix("./").unwrap_or(text).trim_end_matches('/');
            // `tests` and `tests/` mean everything below, as in .gitignore.
            for glob in [text.to_owned(), format!("{text}/**")] {
                let glob = Glob::new(&glob)
                    .map_err(|source| VerifyError::Glob { glob: text.to_owned(), source })?;
                globs.add(glob);
            }
        }
        let globs = globs.build().map_err(|source| VerifyError::Glob {
            glob: task.settings.protect.join(", "),
            source,
        })?;
        Ok(Self { globs, files: BTreeSet::new(), judges: BTreeSet::new(), is_fixed: |_| false })
    }

    /// The same with more files and folders, relative to the root: the scripts that the runner
    /// itself runs must not change, whoever named them.
    #[must_use]
    pub fn with(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.files.extend(paths);
        self
    }

    /// The same with every path whose name this function knows, such as agent settings.
    #[must_use]
    pub fn with_names(mut self, is_fixed: fn(&Path) -> bool) -> Self {
        self.is_fixed = is_fixed;
        self
    }

    /// The same with the targets of protected links at the start, since git names a changed file by
    /// its real path.
    #[must_use]
    pub fn with_links(mut self, start: &dyn SourceTree) -> Self {
        for _ in 0..HOPS {
            let before = self.files.len();
            let behind = self.behind_links(start);
            self.files.extend(behind);
            if self.files.len() == before {
                break;
            }
        }
        self
    }

    /// The target of a protected link at the start, and files that a protected path names through a
    /// link.
    fn behind_links(&self, start: &dyn SourceTree) -> BTreeSet<PathBuf> {
        let paths = start.paths();
        let links = paths.iter().filter(|(_, entry)| entry.kind == EntryKind::Link);
        let mut found = BTreeSet::new();
        for (link, _) in links {
            let Some(target) = link_target(start, link) else { continue };
            if link.starts_with(&target) {
                // A folder around the link, perhaps the whole tree.
                continue;
            }
            if self.covers(link) {
                found.insert(target);
                continue;
            }
            let below = paths.range(target.clone()..).map(|(path, _)| path);
            for path in below.take_while(|path| path.starts_with(&target)) {
                let named = path.strip_prefix(&target).map(|rest| link.join(rest));
                if named.is_ok_and(|named| self.covers(&named)) {
                    found.insert(path.clone());
                }
            }
        }
        found
    }

    /// The same with the files of the start that the task's globs match, unless they are many, so
    /// that a sandbox can show them read-only.
    #[must_use]
    pub fn with_files(mut self, start: &dyn SourceTree) -> Self {
        if self.globs.is_empty() {
            return self;
        }
        let matched = start.paths().keys().filter(|path| self.globs.is_match(path));
        let matched: Vec<PathBuf> = matched.take(MOST + 1).cloned().collect();
        if matched.len() <= MOST {
            self.files.extend(matched);
        }
        self
    }

    /// The same with tests and configuration of the start that the checks run. The guard denies
    /// their edits, so that an agent looks for another way; a change is judged by putting it back.
    /// Other files that a check runs or loads may be the product, and so they are not in it.
    #[must_use]
    pub fn with_judges(
        mut self,
        task: &Task,
        (start, table): (&dyn SourceTree, &Table),
        first_seen: &[FirstSeen],
    ) -> Self {
        let own = task.criteria.iter().flat_map(|criterion| &criterion.verify);
        let commands = own.map(|verify| verify.command.as_str());
        let commands = commands.chain(task.settings.verify.iter().map(String::as_str));
        // A check that had no failing test needs a new one, which may belong into a file that is
        // there.
        let wants_new_test = |command: &&str| {
            let seen = first_seen.iter().find(|seen| seen.command == *command);
            seen.is_some_and(|seen| seen.status != FirstStatus::Red)
        };
        let (new, old): (Vec<&str>, Vec<&str>) = commands.partition(wants_new_test);
        let (new, old) = (judges(start, table, &new), judges(start, table, &old));
        let is_fixed = |path: &&PathBuf| {
            !new.files.contains(*path)
                && matches!(table.role(path), Some(Role::Tests | Role::Config))
        };
        // Work may change what a check only reads; the verdict puts it back. And it may change what a
        // criterion's own check asks for.
        let own = task.criteria.iter().flat_map(|criterion| &criterion.verify);
        let asked: Vec<LookedAt> = own.filter_map(|it| LookedAt::of(&it.command)).collect();
        let is_asked_for = |path: &&PathBuf| asked.iter().any(|it| it.covers(path));
        let files = old.files.difference(&old.data).filter(|path| !is_asked_for(path));
        self.judges = files.filter(is_fixed).cloned().collect();
        self
    }

    /// The same without judges that the task allows to change.
    #[must_use]
    pub fn without(mut self, may_change: &GlobSet) -> Self {
        self.judges.retain(|path| !may_change.is_match(path));
        self
    }

    /// Whether a path, relative to the root, must not change.
    pub fn covers(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.files.contains(above))
            || self.globs.is_match(path)
            || (self.is_fixed)(path)
    }

    /// The judges, and the paths of [`Self::with`].
    pub fn named(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().chain(&self.judges).map(PathBuf::as_path)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::{Criterion, TaskSettings, VerifyCommand};
    use crate::verify::classify::FileEntry;

    fn task(protect: &[&str]) -> Task {
        let words = |all: &[&str]| all.iter().map(|&word| word.to_owned()).collect();
        let settings = TaskSettings { protect: words(protect), ..TaskSettings::default() };
        Task { settings, ..Task::default() }
    }

    fn protection(protect: &[&str]) -> Result<Protection, VerifyError> {
        Protection::of(&task(protect)).map(|it| it.with([PathBuf::from("check.sh")]))
    }

    #[test]
    fn globs_folders_and_files_are_covered() {
        let it = protection(&["tests/**", "./ci/", "*.lock"]).expect("good globs");
        for path in ["tests/a.rs", "tests/x/y.rs", "ci/run", "ci", "Cargo.lock", "check.sh"] {
            assert!(it.covers(Path::new(path)), "{path}");
        }
        for path in ["src/tests.rs", "mytests/a", "cid"] {
            assert!(!it.covers(Path::new(path)), "{path}");
        }
        let more = it.with(["recipes".into(), "deploy".into()]);
        for path in ["recipes/a.yaml", "recipes/x/y", "deploy", "check.sh"] {
            assert!(more.covers(Path::new(path)), "{path}");
        }
        assert!(!more.covers(Path::new("recipes2/a.yaml")));
        assert!(
            more.with_names(|path| path.ends_with("AGENTS.md")).covers(Path::new("a/AGENTS.md"))
        );
    }

    /// A tree with these links; every other path is a file.
    struct Tree(BTreeMap<PathBuf, FileEntry>, BTreeMap<PathBuf, &'static str>);

    impl Tree {
        fn of(paths: &[(&str, Option<&'static str>)]) -> Self {
            let regular = EntryKind::Regular { executable: false };
            let kind = |link: bool| if link { EntryKind::Link } else { regular };
            let entry = |link: bool| FileEntry { kind: kind(link), id: [0; 20] };
            let entries = paths.iter().map(|(path, link)| (path.into(), entry(link.is_some())));
            let links = paths.iter().filter_map(|(path, link)| Some((path.into(), (*link)?)));
            Self(entries.collect(), links.collect())
        }
    }

    impl SourceTree for Tree {
        fn paths(&self) -> &BTreeMap<PathBuf, FileEntry> {
            &self.0
        }

        fn read(&self, path: &Path) -> Option<Vec<u8>> {
            self.1.get(path).map(|target| target.as_bytes().to_vec())
        }
    }

    #[test]
    fn what_a_protected_link_leads_to_is_covered() {
        let tree = Tree::of(&[
            ("ci/run", Some("../scripts/run.sh")),
            ("scripts/run.sh", Some("real.sh")),
            ("scripts/real.sh", None),
            ("scripts/other.sh", None),
            ("tests/data", Some("../fixtures")),
            ("tests/all", Some("..")),
            ("fixtures/a.json", Some("../shared/a.json")),
            ("shared/a.json", None),
            ("shared/b.json", None),
            ("old", Some("new/deep")),
            ("new/deep/check.py", None),
            ("new/deep/code.py", None),
            ("ci/outside", Some("/etc/passwd")),
            ("ci/loop", Some("loop")),
        ]);
        let it = protection(&["ci/run", "tests", "old/check.*", "ci/outside", "ci/loop"]);
        let it = it.expect("good globs").with_links(&tree);
        for path in [
            "scripts/real.sh",
            "fixtures/a.json",
            "fixtures/new.json",
            "shared/a.json",
            "new/deep/check.py",
        ] {
            assert!(it.covers(Path::new(path)), "{path}");
        }
        for path in ["scripts/other.sh", "shared/b.json", "new/deep/code.py", "src/main.rs"] {
            assert!(!it.covers(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn tests_that_failed_are_protected_and_what_they_load_or_lack_is_not() {
        let tree = Tree::of(&[
            ("tests/run.sh", None),
            ("tests/test_a.py", None),
            ("tests/test_b.py", None),
            ("test/a.test.js", None),
            ("scripts/gate.sh", None),
            ("calc.py", None),
        ]);
        let seen = |command: &str, status| FirstSeen {
            command: command.into(),
            status,
            tests: Vec::new(),
            wrote: Vec::new(),
            harness: None,
        };
        let first_seen = [
            seen("sh tests/run.sh", FirstStatus::Red),
            seen("pytest tests/test_a.py", FirstStatus::Red),
            seen("pytest tests/test_b.py -k mul", FirstStatus::Red),
            seen("pytest tests/test_b.py -k power", FirstStatus::Missing),
            seen("node --test test/a.test.js", FirstStatus::Green),
            seen("sh scripts/gate.sh", FirstStatus::Red),
            seen("pytest --doctest-modules calc.py", FirstStatus::Red),
        ];
        let mut task = task(&[]);
        task.settings.verify = first_seen.iter().map(|seen| seen.command.clone()).collect();
        let table = Table::new(&[]).expect("the table");
        let it = Protection::of(&task).expect("no globs");
        let it = it.with_judges(&task, (&tree, &table), &first_seen);
        let named: Vec<&Path> = it.named().collect();
        assert_eq!(named, [Path::new("tests/run.sh"), Path::new("tests/test_a.py")]);
        // A criterion asks for a text in one of them.
        let command = "grep -q zero tests/run.sh".to_owned();
        let verify = vec![VerifyCommand { command, line: 2 }];
        task.criteria.push(Criterion { verify, ..Criterion::default() });
        let it = Protection::of(&task).expect("no globs");
        let it = it.with_judges(&task, (&tree, &table), &first_seen);
        assert_eq!(it.named().collect::<Vec<_>>(), [Path::new("tests/test_a.py")]);
    }

    #[test]
    fn few_files_are_named_and_many_are_not() {
        let named = |number: usize| {
            let paths: Vec<String> = (0..number).map(|n| format!("tests/{n}.rs")).collect();
            let files: Vec<_> = paths.iter().map(|path| (path.as_str(), None)).collect();
            let it = protection(&["tests/**"]).expect("good globs").with_files(&Tree::of(&files));
            it.named().count()
        };
        assert_eq!((named(MOST), named(MOST + 1)), (MOST + 1, 1), "one is named anyway");
    }

    #[test]
    fn a_bad_glob_is_named() {
        let error = protection(&["tests/[a"]).expect_err("unclosed class");
        assert!(error.to_string().contains("tests/[a"), "{error}");
    }
}
