//! The harness of a run: its state at the task's start, the changes that count as old since, and
//! the edits that put it back.
//!
//! Invariant: only humans, and proofs that rested on new files, change which content counts as old.
//! `verify` decides which files are harness.

use std::path::Path;
use std::sync::Arc;

use globset::GlobSet;

use super::EngineError;
use super::ledger::Ledger;
use crate::guard::{agent_setting, task_file};
use crate::model::{
    ChangeKind, CheckResult, CriterionKey, Oid, PutBackRun, Task, forget_tests, one_line,
    tests_are_there,
};
use crate::verify::{
    Ancestor, CheckPhase, Learned, ProofRules, Protection, RoomSetup, Stretch, globs,
    harness_changes, learned, may_change, plan, stretches, with_human,
};

impl Ledger {
    /// Finds or creates the harness that counts, including history that this machine has not seen.
    /// Returns whether tests of the start may have been rightly removed since.
    pub(super) fn begin_harness(&mut self) -> Result<bool, EngineError> {
        let repo = self.parts.repo.as_ref();
        let head = repo.checkpoint()?.head;
        let mut start = self.state.start.get_or_insert_with(|| head.clone()).clone();
        // A clone has no refs of ours.
        self.state.harness.take_if(|tree| repo.files(tree, &[]).is_err());
        if self.state.harness.is_none() && repo.files(&start, &[]).is_err() {
            self.notice(
                "the commit before the task's first run is not in this clone: tests and scripts \
                 count as they are now; `git fetch --unshallow` gets the rest of the history",
            )?;
            start = head.clone();
            self.start_here = Some(head.clone());
        }
        self.run_start = Some(head.clone());
        let left = self.rooms.as_ref().and_then(|rooms| rooms.last_head());
        let known = self.state.harness.clone().zip(left);
        let (harness, from) = known.unwrap_or_else(|| (start.clone(), start));
        self.last_head = Some(head);
        self.follow(harness, &from)
    }

    /// A commit or a tree with the harness that counts; none before the first run began.
    pub(super) fn harness(&self) -> Option<&Oid> {
        let start = self.start_here.as_ref().or(self.state.start.as_ref());
        self.state.harness.as_ref().or(start)
    }

    /// Adds the humans' commits since the runner last looked.
    pub(super) fn follow_human(&mut self) -> Result<(), EngineError> {
        let head = self.parts.repo.checkpoint()?.head;
        let last = self.last_head.replace(head.clone());
        let Some((last, harness)) = last.zip(self.harness().cloned()) else { return Ok(()) };
        if last != head {
            self.follow(harness, &last)?;
        }
        Ok(())
    }

    /// Adds the humans' commits since `from` to a harness, and the files that proofs rested on in
    /// turns that this machine did not see. Returns whether tests may have been rightly removed.
    fn follow(&mut self, harness: Oid, from: &Oid) -> Result<bool, EngineError> {
        let repo = Arc::clone(&self.parts.repo);
        let mut now = Learned { harness, fewer_tests: false };
        // A branch that was rewritten may have lost where the last run ended.
        if repo.reaches(from)? {
            let commits = repo.ancestors(Some(from))?;
            for stretch in stretches(&commits, &self.parts.layout) {
                match stretch {
                    Stretch::Human { from, to } => {
                        // Attempts are not undone across a human's commit.
                        self.origins.clear();
                        self.add_human(&mut now, &from, &to)?;
                        self.add_human_later(&commits, &from, &to)?;
                    }
                    Stretch::Turns { commit, proven } => {
                        self.add_proven(&mut now, &commit, &proven)?;
                    }
                }
            }
        }
        if now.fewer_tests {
            forget_tests(&mut self.state.first_seen);
        }
        self.set_harness(now.harness)?;
        Ok(now.fewer_tests)
    }

    fn add_human(&self, now: &mut Learned, from: &Oid, to: &Oid) -> Result<(), EngineError> {
        let (repo, layout) = (self.parts.repo.as_ref(), &self.parts.layout);
        if let Some(harness) = with_human(repo, layout, &now.harness, (from, to))? {
            // Tests may have gone rightly.
            *now = Learned { harness, fewer_tests: true };
        }
        Ok(())
    }

    /// Lays a human's commits over each older harness that single commands have to pass.
    /// `commits` begin with the newest.
    fn add_human_later(
        &mut self,
        commits: &[Ancestor],
        from: &Oid,
        to: &Oid,
    ) -> Result<(), EngineError> {
        let place = |id: &Oid| commits.iter().position(|it| it.id == *id).unwrap_or(usize::MAX);
        let (repo, layout) = (self.parts.repo.as_ref(), &self.parts.layout);
        for harness in self.state.first_seen.iter_mut().filter_map(|seen| seen.harness.as_mut()) {
            if place(harness) > place(to)
                && repo.files(harness, &[]).is_ok()
                && let Some(newer) = with_human(repo, layout, harness, (from, to))?
            {
                *harness = newer;
            }
        }
        Ok(())
    }

    /// Adds the files that the proofs of these criteria rested on at the commit.
    fn add_proven(
        &self,
        now: &mut Learned,
        commit: &Oid,
        proven: &[String],
    ) -> Result<(), EngineError> {
        let Ok(task) = self.task() else { return Ok(()) };
        let repo = self.parts.repo.as_ref();
        let planned = plan(&task, CheckPhase::Baseline, &Default::default());
        let (protect, setup) = (globs(&task.settings.protect)?, RoomSetup::of(&task.settings));
        let is_proven = |key: &CriterionKey| proven.contains(&one_line(&key.text));
        for criterion in task.criteria.iter().filter(|it| is_proven(&it.key)) {
            let may_change = may_change(&task, Some(&criterion.key))?;
            let rules = ProofRules {
                repo,
                layout: &self.parts.layout,
                table: &self.parts.table,
                harness: Some(&now.harness),
                began: None,
                may_change: &may_change,
                protect: &protect,
                first_seen: &self.state.first_seen,
                setup: &setup,
                deep: &[],
                learns: false,
                holdout: None,
                retries: false,
            };
            let mut changed = harness_changes(commit, &rules, &planned)?;
            // New tests may need the changed files. What is known of that is in state.json.
            if changed.iter().any(|change| change.kind != ChangeKind::Added) {
                changed.clear();
            }
            let tables = (&self.parts.table, &may_change);
            if let Some(new) = learned(repo, &now.harness, commit, &changed, tables)? {
                now.harness = new.harness;
                now.fewer_tests |= new.fewer_tests;
            }
        }
        Ok(())
    }

    fn set_harness(&mut self, harness: Oid) -> Result<(), EngineError> {
        if self.harness() != Some(&harness) {
            self.parts.repo.keep(&self.parts.layout.harness_ref(), &harness)?;
            self.state.harness = Some(harness);
        }
        Ok(())
    }

    /// Files that a proof rested on are harness from then on: new tests, and those that the task
    /// allows to change. A changed test keeps its old content, so new tests that need more of it
    /// have to pass the whole harness of this commit.
    pub(super) fn learn_harness(
        &mut self,
        commit: &Oid,
        put_back: Option<&PutBackRun>,
        checks: &[CheckResult],
        may_change: &GlobSet,
    ) -> Result<(), EngineError> {
        let apart = put_back.filter(|run| run.apart).map(|_| commit);
        if let Some(harness) = self.harness().cloned() {
            let changed = put_back.filter(|_| apart.is_none());
            let changed = changed.map_or(&[][..], |run| &run.harness);
            let repo = self.parts.repo.as_ref();
            let tables = (&self.parts.table, may_change);
            if let Some(learned) = learned(repo, &harness, commit, changed, tables)? {
                if learned.fewer_tests {
                    forget_tests(&mut self.state.first_seen);
                }
                self.set_harness(learned.harness)?;
            }
        }
        tests_are_there(&mut self.state.first_seen, checks, apart);
        Ok(())
    }

    /// The protected paths of a task in this run.
    pub(super) fn protection(&self, task: &Task) -> Result<Protection, EngineError> {
        let repo = self.parts.repo.as_ref();
        let protection = Protection::of(task)?.with_names(is_the_humans);
        let protection = protection.with(super::recipe::protected(task, repo.root()));
        let Some(harness) = self.harness() else { return Ok(protection) };
        let own = task.criteria.iter().flat_map(|criterion| &criterion.may_change);
        let may_change = globs(task.settings.may_change.iter().chain(own))?;
        let start = repo.files(harness, &[])?;
        let protection = protection.with_links(&start).with_files(&start);
        Ok(protection
            .with_judges(task, (&start, &self.parts.table), &self.state.first_seen)
            .without(&may_change))
    }
}

/// Only the human changes agents' settings, and the files of other tasks: an agent could tick their
/// boxes, or weaken their checks. The run's own task is judged apart.
fn is_the_humans(path: &Path) -> bool {
    agent_setting(path) || task_file(path)
}
