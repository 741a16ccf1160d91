//! The harness at a commit: how it is put back, and what checks may not write.
//!
//! Not in this file: running checks.

use std::path::{Path, PathBuf};

use super::classify::{
    AskedCheck, HarnessCheck, HarnessQuestion, LookedAt, Mutants, PutBack, Role, SourceTree as _,
    TreeEdit, has_code, missing_tests, mutants, put_back,
};
use super::error::VerifyError;
use super::format;
use super::git::TreeFiles;
use super::plan::PlannedCheck;
use super::proof_room::{RoomCheck, Shown};
use super::proof_rules::ProofRules;
use super::runner::{TestRunner, at_least_as_many, still_failing};
use crate::model::{ChangeKind, CheckResult, CheckStatus, CheckWrote, FirstSeen, PathChange};

/// How the harness is put back at a commit.
pub(super) struct Harness {
    pub(super) start: TreeFiles,
    now: TreeFiles,
    pub(super) found: PutBack,
    pub(super) changes: Vec<PathChange>,
}

impl Harness {
    /// The files that decide, as far as a sandbox can protect so many files.
    pub(super) fn fixed(&self) -> Vec<PathBuf> {
        const MOST: usize = 64;
        self.found.judges.iter().take(MOST).cloned().collect()
    }

    /// The changes of checks to the harness and in the task's folder.
    pub(super) fn written(&self, ran: &[RoomCheck], rules: &ProofRules<'_>) -> Vec<CheckWrote> {
        let folder = rules.layout.folder();
        let decides = |path: &Path| {
            self.found.judges.contains(path)
                || rules.protect.is_match(path)
                || rules.table.role(path).is_some()
        };
        let was_there = |path: &Path| self.start.paths().contains_key(path);
        let mut found =
            written(ran, &|path| path.starts_with(folder) || was_there(path) && decides(path));
        // Tests that write there anyway are not changed by the work.
        found.retain_mut(|wrote| {
            let known = rules.first_seen(&wrote.command).map_or(&[][..], |seen| &seen.wrote);
            let is_known = |path: &PathBuf| {
                known.contains(path)
                    && !self.found.judges.contains(path)
                    && !rules.protect.is_match(path)
                    && !path.starts_with(folder)
            };
            wrote.paths.retain(|change| !is_known(&change.path));
            !wrote.paths.is_empty()
        });
        found
    }

    pub(super) fn at(
        shown: Shown<'_>,
        rules: &ProofRules<'_>,
        planned: &[PlannedCheck],
        human: &[TreeEdit],
    ) -> Result<Option<Self>, VerifyError> {
        let Some(harness) = rules.harness else { return Ok(None) };
        let start = rules.repo.files(harness, human)?;
        let edits: Vec<TreeEdit> = human.iter().chain(shown.edits).cloned().collect();
        let now = rules.repo.files(shown.commit, &edits)?;
        let checks: Vec<HarnessCheck<'_>> = asked(planned, rules).collect();
        let question = question((&start, &now), rules, &checks);
        let mut found = put_back(&question);
        // An old file that cannot be read would be put back as an empty one.
        if let Some(path) = start.unreadable().or(now.unreadable()) {
            let source = "its object is missing or destroyed in git's data".into();
            let operation = "read a file that decides";
            return Err(VerifyError::Git { operation, path: path.to_owned(), source });
        }
        // The task's own files have their own rules.
        found.edits.retain(|edit| !rules.layout.is_state_file(edit.path()));
        found.product.retain(|edit| !rules.layout.is_state_file(edit.path()));
        found.changed.retain(|path| !rules.layout.is_state_file(path));
        let changes = found.changed.iter().map(|path| {
            let was = start.paths().contains_key(path);
            let kind = match now.paths().contains_key(path) {
                _ if !was => ChangeKind::Added,
                true => ChangeKind::Modified,
                false => ChangeKind::Deleted,
            };
            PathChange { path: path.clone(), kind }
        });
        let changes = changes.collect();
        Ok(Some(Self { start, now, found, changes }))
    }

    /// Changed files that the task allows to change: the tests in them may be others than at the
    /// start.
    fn allowed(&self, rules: &ProofRules<'_>) -> Vec<PathBuf> {
        let (start, now) = (self.start.paths(), self.now.paths());
        let changed = |path: &&PathBuf| start.get(*path) != now.get(*path);
        let allowed = start.keys().chain(now.keys().filter(|path| !start.contains_key(*path)));
        allowed.filter(|path| rules.may_change.is_match(path)).filter(changed).cloned().collect()
    }

    /// A result with the old harness: the tests of the start run, and those that failed pass.
    /// Where the task allows files with tests to change, the tests may be others.
    pub(super) fn compared(&self, mut check: CheckResult, rules: &ProofRules<'_>) -> CheckResult {
        let allowed = self.allowed(rules);
        let comparable = |seen: &&FirstSeen| {
            let counts = seen.tests.iter();
            check.passed() && !counts.map(|it| &*it.runner).any(|it| holds_tests(it, &allowed))
        };
        let Some(start) = rules.first_seen(&check.command).filter(comparable) else {
            return check;
        };
        let failing = still_failing(&start.tests, &check.tests);
        let why = match at_least_as_many(&start.tests, &check.tests) {
            Err(fewer) => fewer,
            Ok(()) if failing == 0 => return check,
            Ok(()) => format!("{failing} of the tests that failed at the start did not pass"),
        };
        let missing = self.missing_tests().map(|it| format!(": {it} (`may_change` allows that)"));
        check.status = CheckStatus::Incomplete(why + &missing.unwrap_or_default());
        check
    }

    /// The tests of the start that are not defined any more, in a few words: `` `a` is missing ``.
    pub(super) fn missing_tests(&self) -> Option<String> {
        /// The others are counted.
        const NAMED: usize = 3;
        let names = missing_tests(&self.start, &self.now, &self.found.changed);
        let all: Vec<_> = names.iter().map(|name| format!("`{}`", format::short(name))).collect();
        let are = match all.len() {
            0 => return None,
            1 => "is",
            _ => "are",
        };
        Some(format!("{} {are} missing", format::first(&all, NAMED)))
    }

    /// The edits without those of files that a check only looks at, if there are some: their content
    /// is what it asks for. What is expected stays, and what the human protects.
    pub(super) fn without_looked_at(
        &self,
        edits: &[TreeEdit],
        rules: &ProofRules<'_>,
        command: &str,
    ) -> Option<Vec<TreeEdit>> {
        let looked_at = LookedAt::of(command)?;
        let is_asked_for = |edit: &&TreeEdit| {
            let path = edit.path();
            looked_at.covers(path)
                && !rules.protect.is_match(path)
                && rules.table.role(path) != Some(Role::Expected)
        };
        let rest: Vec<TreeEdit> = edits.iter().filter(|it| !is_asked_for(it)).cloned().collect();
        (rest.len() < edits.len()).then_some(rest)
    }

    /// Tests that are new, and that no check names.
    pub(super) fn new_tests(&self, rules: &ProofRules<'_>) -> Vec<PathBuf> {
        let new = self.changes.iter().filter(|change| change.kind == ChangeKind::Added);
        let is_test =
            |path: &&PathBuf| rules.table.role(path) == Some(Role::Tests) && has_code(path);
        new.map(|change| &change.path).filter(is_test).cloned().collect()
    }

    /// The changes with which a green check must fail.
    pub(super) fn mutants(
        &self,
        check: &CheckResult,
        rules: &ProofRules<'_>,
        planned: &[PlannedCheck],
    ) -> Mutants {
        let checks: Vec<HarnessCheck<'_>> = asked(planned, rules).collect();
        let question = question((&self.start, &self.now), rules, &checks);
        let runners = TestRunner::ALL
            .into_iter()
            .filter(|runner| check.tests.iter().any(|it| it.ran > 0 && it.runner == runner.name()));
        let endings: Vec<&str> = runners.flat_map(TestRunner::endings).copied().collect();
        let is_new = rules.is_test_new(&check.command);
        let asked = AskedCheck { command: &check.command, endings: &endings, is_new };
        mutants(&question, &self.found, &asked)
    }
}

fn asked<'a>(
    planned: &'a [PlannedCheck],
    rules: &ProofRules<'_>,
) -> impl Iterator<Item = HarnessCheck<'a>> {
    planned.iter().map(|check| HarnessCheck {
        command: &check.command,
        missing_at_start: rules.is_test_new(&check.command),
    })
}

fn question<'a>(
    (start, now): (&'a TreeFiles, &'a TreeFiles),
    rules: &'a ProofRules<'_>,
    checks: &'a [HarnessCheck<'a>],
) -> HarnessQuestion<'a> {
    HarnessQuestion {
        start,
        now,
        checks,
        setup: &rules.setup.commands,
        table: rules.table,
        may_change: rules.may_change,
        protect: rules.protect,
    }
}

/// Files that checks changed before any work was done.
pub(super) fn written_at_start(ran: &[RoomCheck]) -> Vec<CheckWrote> {
    written(ran, &|_| true)
}

/// The changes of checks to the paths that decide.
pub(super) fn written(ran: &[RoomCheck], decides: &dyn Fn(&Path) -> bool) -> Vec<CheckWrote> {
    let wrote = ran.iter().filter_map(|check| {
        let paths: Vec<PathChange> =
            check.changed.iter().filter(|it| decides(&it.path)).cloned().collect();
        let command = check.result.command.clone();
        (!paths.is_empty()).then_some(CheckWrote { command, paths })
    });
    wrote.collect()
}

/// Whether one of these files may hold tests of a runner.
fn holds_tests(runner: &str, paths: &[PathBuf]) -> bool {
    let known = TestRunner::ALL.into_iter().find(|it| it.name() == runner);
    let endings = known.map_or(&[][..], TestRunner::endings);
    let ending = |path: &Path| path.extension().and_then(|it| it.to_str().map(str::to_owned));
    let fits = |path: &PathBuf| ending(path).is_some_and(|it| endings.contains(&&*it));
    !paths.is_empty() && (endings.is_empty() || paths.iter().any(fits))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::holds_tests;

    #[test]
    fn only_a_changed_file_that_may_hold_tests_excuses_a_missing_one() {
        let holds = |runner, path: &str| holds_tests(runner, &[PathBuf::from(path)]);
        assert!(holds("go test", "sq_test.go"));
        assert!(holds("unittest", "tests/test_sq.py"));
        assert!(holds("ctest", "CMakeLists.txt"));
        assert!(!holds("go test", "NOTES.md"));
        assert!(!holds("cargo test", "expected.txt"));
        assert!(!holds_tests("ctest", &[]));
    }
}
