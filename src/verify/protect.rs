//! Which paths the agent must not change in a task.
//!
//! Invariant: a path stays protected when it is deleted, and is protected before it is
//! there. What does NOT live here: whether it was changed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobSet, GlobSetBuilder};

use super::error::VerifyError;
use super::harness::{SourceTree, Table, judges};
use crate::model::Task;

/// The task's globs, what the runner itself runs, and the files whose exit status decides a check.
#[derive(Clone, Debug)]
pub struct Protection {
    globs: GlobSet,
    files: BTreeSet<PathBuf>,
    judges: BTreeSet<PathBuf>,
}

impl Protection {
    /// What a task protects; state files are protected in their own way.
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
        Ok(Self { globs, files: BTreeSet::new(), judges: BTreeSet::new() })
    }

    /// The same with more files and folders, relative to the root: what the runner itself
    /// runs must not change, whoever named it.
    #[must_use]
    pub fn with(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.files.extend(paths);
        self
    }

    /// The same with the files of the start whose exit status decides a check. The guard denies
    /// their edits; a change is judged by putting it back.
    #[must_use]
    pub fn with_judges(mut self, task: &Task, start: &dyn SourceTree, table: &Table) -> Self {
        let own = task.criteria.iter().flat_map(|criterion| &criterion.verify);
        let commands = own.map(|verify| verify.command.as_str());
        let commands: Vec<&str> =
            commands.chain(task.settings.verify.iter().map(String::as_str)).collect();
        self.judges = judges(start, table, &commands).files;
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
        path.ancestors().any(|above| self.files.contains(above)) || self.globs.is_match(path)
    }

    /// The judges, and the paths of [`Self::with`].
    pub fn named(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().chain(&self.judges).map(PathBuf::as_path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TaskSettings;

    fn protection(protect: &[&str]) -> Result<Protection, VerifyError> {
        let words = |all: &[&str]| all.iter().map(|&word| word.to_owned()).collect();
        let task = Task {
            name: "demo".into(),
            title: None,
            criteria: Vec::new(),
            settings: TaskSettings { protect: words(protect), ..TaskSettings::default() },
            source: String::new(),
            diagnostics: Vec::new(),
        };
        Protection::of(&task).map(|it| it.with([PathBuf::from("check.sh")]))
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
    }

    #[test]
    fn a_bad_glob_is_named() {
        let error = protection(&["tests/[a"]).expect_err("unclosed class");
        assert!(error.to_string().contains("tests/[a"), "{error}");
    }
}
