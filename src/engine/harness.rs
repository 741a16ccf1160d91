//! The harness of a run: what it was at the task's start, what counts as old since, and the edits
//! that put it back.
//!
//! Invariant: only humans, and proofs that rested on new files, change what counts as old. Which
//! files are harness is decided in `verify`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use globset::GlobSet;

use super::EngineError;
use super::run::Run;
use crate::guard::agent_setting;
use crate::model::{Oid, PathChange, Task, forget_tests};
use crate::verify::{Protection, globs, learned};

impl Run {
    /// Finds or begins the harness that counts, and adds what humans committed since a run worked.
    pub(super) fn begin_harness(&mut self) -> Result<(), EngineError> {
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
        let harness = self.state.harness.clone().unwrap_or(start);
        let left = self.rooms.as_ref().and_then(|rooms| rooms.last_head());
        let harness = match left.filter(|left| *left != head) {
            Some(left) => self.with_human(&harness, &left, &head)?,
            None => harness,
        };
        self.set_harness(harness)?;
        self.last_head = Some(head);
        Ok(())
    }

    /// A commit or a tree with the harness that counts; none before the first run began.
    pub(super) fn harness(&self) -> Option<&Oid> {
        let start = self.start_here.as_ref().or(self.state.start.as_ref());
        self.state.harness.as_ref().or(start)
    }

    /// Adds what a human committed since the runner looked last.
    pub(super) fn follow_human(&mut self) -> Result<(), EngineError> {
        let head = self.parts.repo.checkpoint()?.head;
        let last = self.last_head.replace(head.clone());
        let Some((last, harness)) = last.zip(self.harness().cloned()) else { return Ok(()) };
        if last != head {
            let harness = self.with_human(&harness, &last, &head)?;
            self.set_harness(harness)?;
        }
        Ok(())
    }

    fn with_human(&mut self, harness: &Oid, from: &Oid, to: &Oid) -> Result<Oid, EngineError> {
        let repo = self.parts.repo.as_ref();
        // A branch that was rewritten may have lost where the last run ended.
        let Ok(changes) = repo.between(from, to) else { return Ok(harness.clone()) };
        let layout = &self.parts.layout;
        let agents = self.changed_by_agents(from)?;
        let paths = changes.into_iter().map(|change| change.path);
        let is_human = |path: &PathBuf| !layout.is_state_file(path) && !agents.contains(path);
        let paths: Vec<PathBuf> = paths.filter(is_human).collect();
        if paths.is_empty() {
            return Ok(harness.clone());
        }
        let harness = repo.laid_over(harness, to, &paths)?;
        // Tests may have gone rightly.
        forget_tests(&mut self.state.first_seen);
        Ok(harness)
    }

    /// The paths that a commit of the work changed last since then: a pull brings the work of
    /// another machine, too.
    fn changed_by_agents(&self, from: &Oid) -> Result<BTreeSet<PathBuf>, EngineError> {
        let (repo, prefix) = (self.parts.repo.as_ref(), self.parts.layout.prefix());
        let (mut agents, mut seen) = (BTreeSet::new(), BTreeSet::new());
        for commit in repo.ancestors()?.into_iter().take_while(|commit| commit.id != *from) {
            let Some(parent) = commit.parent else { break };
            let is_work = commit.subject.starts_with(&prefix);
            for change in repo.between(&parent, &commit.id)? {
                if seen.insert(change.path.clone()) && is_work {
                    agents.insert(change.path);
                }
            }
        }
        Ok(agents)
    }

    fn set_harness(&mut self, harness: Oid) -> Result<(), EngineError> {
        if self.harness() != Some(&harness) {
            self.parts.repo.keep(&self.parts.layout.harness_ref(), &harness)?;
            self.state.harness = Some(harness);
        }
        Ok(())
    }

    /// What a proof rested on is harness from then on: new tests, and what the task allows to
    /// change. A changed test stays what it was.
    pub(super) fn learn_harness(
        &mut self,
        commit: &Oid,
        changed: &[PathChange],
        may_change: &GlobSet,
    ) -> Result<(), EngineError> {
        let Some(harness) = self.harness().cloned() else { return Ok(()) };
        let repo = self.parts.repo.as_ref();
        let Some(learned) = learned(repo, &harness, commit, changed, may_change)? else {
            return Ok(());
        };
        if learned.fewer_tests {
            forget_tests(&mut self.state.first_seen);
        }
        self.set_harness(learned.harness)
    }

    /// What a task protects in this run.
    pub(super) fn protection(&self, task: &Task) -> Result<Protection, EngineError> {
        let repo = self.parts.repo.as_ref();
        let protection = Protection::of(task)?.with_names(agent_setting);
        let protection = protection.with(super::recipe::protected(task, repo.root()));
        let Some(harness) = self.harness() else { return Ok(protection) };
        let own = task.criteria.iter().flat_map(|criterion| &criterion.may_change);
        let may_change = globs(task.settings.may_change.iter().chain(own))?;
        let start = repo.files(harness, &[])?;
        let protection = protection.with_links(&start).with_files(&start);
        Ok(protection.with_judges(task, &start, &self.parts.table).without(&may_change))
    }
}
