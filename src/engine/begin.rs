//! The start of a run: its first event, prepared files, and the checks before the work.

use std::path::Path;
use std::sync::Arc;

use super::decide::ticked_without_proof;
use super::ledger::{BaselineRun, Ledger};
use super::prompt_inputs::folder_of;
use super::proof::{About, ProofDepth};
use super::require_checks::require_checks;
use super::{EngineError, Providers};
use crate::model::{
    CheckResult, CheckWrote, CriterionKey, EventKind, FirstSeen, Proof, ProofMode, Record as _,
    Task, Totals,
};
use crate::verify::{
    Baseline, CheckPhase, Checks, CommitsAlone, PlannedCheck, Purpose, SourceTree, TASK, Warmth,
    file_names, first_seen, lost_input, plan, room_lacks, silent_services,
};

impl Ledger {
    /// Does everything that comes before the first iteration.
    pub(super) async fn begin(
        &mut self,
        model: Option<String>,
        providers: Option<&dyn Providers>,
    ) -> Result<(), EngineError> {
        let task = self.task()?;
        let open = task.criteria.iter().filter(|criterion| !criterion.checked);
        self.open_before = open.map(|criterion| criterion.key.clone()).collect();
        let parts = &self.parts;
        let open = self.open_before.len();
        parts.events.record(EventKind::RunStarted {
            task: parts.layout.task().to_owned(),
            folder: folder_of(&parts.layout),
            agent: parts.agent_command.clone(),
            model,
            sandbox: parts.tier,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            checkpoint: parts.preflight.checkpoint.clone(),
            start: self.state.start.clone(),
            criteria: Totals { total: task.criteria.len(), open },
            max_iterations: parts.limits.iterations,
            max_seconds: parts.limits.duration.map(|most| most.as_secs()),
            human: parts.preflight.human.paths().count(),
            flags: parts.commands.flags.clone(),
        })?;
        for message in &parts.notices {
            self.notice(message)?;
        }
        if let Some(providers) = providers {
            providers.open()?;
        }
        if !parts.preflight.prepared.is_empty() {
            let names = parts.preflight.prepared.iter().map(|path| path.display().to_string());
            let names = names.collect::<Vec<_>>().join(", ");
            self.notice(&format!("committing the prepared task files: {names}"))?;
            let message = parts.layout.state_message();
            let branch = &parts.preflight.checkpoint.branch;
            let prepared = &parts.preflight.prepared;
            parts.repo.commit_paths(branch, prepared, &message, &parts.identity)?;
        }
        let tests_changed = self.begin_harness()?;
        self.refuse_commit_only(&task)?;
        self.set_up_rooms(&task).await?;
        self.try_commit_hooks().await?;
        let task = self.task()?;
        self.derive_first_seen(&task, tests_changed).await?;
        self.take_baseline(&task).await?;
        self.try_holdouts(&task).await?;
        self.judge_held(&task).await?;
        self.tell_unprovable(&task)?;
        self.refuse_commit_only(&task)
    }

    /// Tells of boxes that somebody ticked and that nothing can prove, since they have no check.
    fn tell_unprovable(&self, task: &Task) -> Result<(), EngineError> {
        let ticked = ticked_without_proof(task, &self.state).filter(|it| it.verify.is_empty());
        for criterion in ticked {
            self.notice(&format!(
                "{} is ticked, but it has no check and no proof, so the run cannot end as \
                 proven: write `- verify: …` below it, or untick it",
                criterion.key.quoted()
            ))?;
        }
        Ok(())
    }

    /// Refuses criteria that only a commit could speak for, if the user requires checks.
    fn refuse_commit_only(&self, task: &Task) -> Result<(), EngineError> {
        match self.parts.commits_alone {
            CommitsAlone::Accepted => Ok(()),
            CommitsAlone::Refused => {
                let file = self.parts.layout.file(TASK);
                require_checks(task, &self.state, &file, &self.baseline.before())
            }
        }
    }

    /// Runs every check before the work. One that is red in the proof room runs in the working
    /// tree, too: if it is green there, the room lacks something, and nothing could be proven.
    async fn take_baseline(&mut self, task: &Task) -> Result<(), EngineError> {
        let planned = plan(task, CheckPhase::Baseline, self.baseline.millis());
        if planned.is_empty() {
            return Ok(());
        }
        let checks = Arc::clone(&self.parts.checks);
        let status = self.parts.repo.status()?;
        self.refuse_ways_back(&planned, checks.as_ref()).await?;
        let in_room = self.rooms.is_some() && self.parts.proof == ProofMode::Room;
        if !in_room && self.parts.baseline == BaselineRun::Skipped {
            return Ok(());
        }
        // What is red in the room runs in the working tree, below.
        let retries = self.parts.baseline == BaselineRun::Skipped;
        let about = About { retries, ..About::task(task, ProofDepth::Quick) };
        let mut proved =
            self.run_proof(Warmth::Warm, about, (&planned, checks.as_ref()), &status).await?;
        if self.parts.proof == ProofMode::End && self.parts.baseline == BaselineRun::Taken {
            self.compare_with_room(task, &planned, &proved.checks, checks.as_ref()).await?;
        }
        if in_room && self.parts.baseline == BaselineRun::Taken {
            let flaky = &proved.flaky;
            let steady: Vec<PlannedCheck> =
                planned.iter().filter(|it| !flaky.contains(&it.command)).cloned().collect();
            self.compare_with_tree(task, &steady, &mut proved.checks, checks.as_ref()).await?;
        }
        let results = proved.checks;
        self.tell_what_lacks(task, in_room, &results)?;
        self.parts.events.record(EventKind::BaselineChecked { checks: results.clone() })?;
        let new = self.remember_first(&results, &proved.wrote)?;
        self.rest_on_commits(task, &results, &new)?;
        self.baseline = Baseline::new(results);
        self.tell_passed(task)
    }

    /// Names the open criteria whose checks pass before any work.
    fn tell_passed(&self, task: &Task) -> Result<(), EngineError> {
        let before = self.baseline.before();
        let passed = task.criteria.iter().filter(|it| {
            !it.checked && !self.is_held(&it.key) && self.state.passed_first(it, &before)
        });
        for criterion in passed {
            let (text, line, tick) =
                (&criterion.key.text, criterion.line, &self.parts.commands.tick);
            self.notice(&format!(
                "the check of `{text}` passes before any work, so it proves nothing: only a commit \
                 counts. If the criterion is met, tick it, and commit: {tick} {line}; otherwise, \
                 give it a check that fails now"
            ))?;
        }
        Ok(())
    }

    /// Refuses rooms from which checks would reach the working tree.
    async fn refuse_ways_back(
        &mut self,
        planned: &[PlannedCheck],
        checks: &dyn Checks,
    ) -> Result<(), EngineError> {
        let Some(mut rooms) = self.rooms.take() else { return Ok(()) };
        let repo = Arc::clone(&self.parts.repo);
        let head = repo.checkpoint()?.head;
        let files = repo.files(&head, rooms.human())?;
        let options = self.check_options(repo.root());
        let named = (&files as &dyn SourceTree, &self.parts.table);
        let found = rooms.leads_back(&head, planned, named, (checks, &options)).await;
        self.rooms = Some(rooms);
        match found? {
            Some(what) => Err(EngineError::RoomLacks { what }),
            None => Ok(()),
        }
    }

    /// Proofs whose checks a human replaced by ones that pass already: only the commits are left
    /// of them. Where the new checks fail, the proof at the end opens the criterion.
    fn rest_on_commits(
        &mut self,
        task: &Task,
        results: &[CheckResult],
        new: &[FirstSeen],
    ) -> Result<(), EngineError> {
        let commands = || {
            let own = task.criteria.iter().flat_map(|it| &it.verify).map(|it| &it.command);
            own.chain(&task.settings.verify)
        };
        let is_there = |seen: &FirstSeen| commands().any(|command| *command == seen.command);
        if self.state.first_seen.iter().all(is_there) {
            // Without a check that is gone, none was replaced: an earlier run had no baseline.
            return Ok(());
        }
        let is_new = |command: &str| new.iter().any(|seen| seen.command == command);
        for criterion in task.criteria.iter().filter(|it| it.checked) {
            let has_new = criterion.verify.iter().any(|it| is_new(&it.command));
            let entry = self.state.find(&criterion.key);
            let by_check =
                entry.is_some_and(|it| matches!(it.proof, Some(Proof::Check | Proof::Tree)));
            if !has_new || !by_check || !self.state.passed_first(criterion, results) {
                continue;
            }
            self.state.entry(&criterion.key).proof = Some(Proof::Commit);
            // There is state to commit, even without an iteration.
            self.worked_at_all = true;
            self.notice(&format!(
                "{} has new checks, which pass already: it counts as committed, not as proven",
                criterion.key.quoted()
            ))?;
        }
        Ok(())
    }

    /// Remembers how commands ended that never ran before in this task, and returns these.
    fn remember_first(
        &mut self,
        results: &[CheckResult],
        wrote: &[CheckWrote],
    ) -> Result<Vec<FirstSeen>, EngineError> {
        let head = self.parts.repo.checkpoint()?.head;
        let start = self.parts.repo.files(&head, &[])?;
        let mut seen = first_seen((results, wrote), &start, &self.parts.table);
        seen.retain(|seen| self.state.first_seen(&seen.command).is_none());
        self.state.first_seen.extend_from_slice(&seen);
        Ok(seen)
    }

    /// If the room proves only at the end: a check that is green in the working tree must be green
    /// in the room, too, before any work.
    async fn compare_with_room(
        &mut self,
        task: &Task,
        planned: &[PlannedCheck],
        tree: &[CheckResult],
        checks: &dyn Checks,
    ) -> Result<(), EngineError> {
        // Ticked criteria without a room proof are judged instead of compared.
        let unproven = self.state.criteria.iter().any(|it| it.proof == Some(Proof::Tree));
        if self.rooms.is_none() || unproven || self.interrupted().is_some() {
            return Ok(());
        }
        let head = self.parts.repo.checkpoint()?.head;
        let room = self
            .prove_at(Warmth::Warm, &head, About::task(task, ProofDepth::Quick), (planned, checks))
            .await?;
        if self.interrupted().is_some() {
            return Ok(());
        }
        self.refuse_what_lacks(&room.checks, tree, &room.flaky)
    }

    /// Reports the checks that fail because something may be missing on this machine, and refuses
    /// those that no work can turn green: the room lacks a program that they need.
    fn tell_what_lacks(
        &mut self,
        task: &Task,
        in_room: bool,
        results: &[CheckResult],
    ) -> Result<(), EngineError> {
        if self.interrupted().is_some() {
            return Ok(());
        }
        let mut cannot = Vec::new();
        // The result of `setup:` depends on manifests that the work may change.
        if let Some(rooms) = self.rooms.as_mut().filter(|_| in_room)
            && task.settings.setup.is_empty()
        {
            for check in results {
                cannot.extend(rooms.cannot_run(check)?);
            }
        }
        cannot.extend(self.lost_since_proof(task, results)?);
        if !cannot.is_empty() {
            return Err(EngineError::RoomLacks { what: cannot.join("\n") });
        }
        let lacks = match &mut self.rooms {
            Some(rooms) if results.iter().any(|check| !check.passed()) => {
                rooms.warm()?.not_fetched().told()
            }
            _ => None,
        };
        if let Some(lacks) = lacks {
            self.notice(&lacks)?;
        }
        let is_red = results.iter().any(|check| !check.passed());
        if let Some(line) = is_red.then(|| silent_services(&task.settings.services)).flatten() {
            self.notice(&line)?;
        }
        Ok(())
    }

    /// Checks of proven criteria that lack something on this machine: that does not open the
    /// criteria again.
    fn lost_since_proof(
        &mut self,
        task: &Task,
        results: &[CheckResult],
    ) -> Result<Vec<String>, EngineError> {
        let Some(rooms) = &mut self.rooms else { return Ok(Vec::new()) };
        let is_proven = |key: &CriterionKey| {
            task.criteria.iter().any(|it| it.checked && it.key == *key) && self.state.is_proven(key)
        };
        let red = results.iter().filter(|it| !it.passed() && it.criteria.iter().any(is_proven));
        let red: Vec<&CheckResult> = red.collect();
        if red.is_empty() {
            return Ok(Vec::new());
        }
        // The last run's files count, too: what a human removed since is not this machine's fault.
        let repo = self.parts.repo.as_ref();
        let mut own = file_names(&repo.files(&repo.checkpoint()?.head, &[])?);
        if let Some(Ok(files)) = rooms.last_head().map(|last| repo.files(&last, &[])) {
            own.extend(file_names(&files));
        }
        let room = rooms.warm()?;
        let lost = red
            .into_iter()
            .filter_map(|check| lost_input(check, "cannot run here", &own, |it| room.ignores(it)));
        Ok(lost.collect())
    }

    async fn compare_with_tree(
        &mut self,
        task: &Task,
        planned: &[PlannedCheck],
        results: &mut [CheckResult],
        checks: &dyn Checks,
    ) -> Result<(), EngineError> {
        let red = |check: &&PlannedCheck| {
            results.iter().any(|result| result.command == check.command && !result.passed())
        };
        let again: Vec<PlannedCheck> = planned.iter().filter(red).cloned().collect();
        let status = self.parts.repo.status()?;
        let here = self.run_checks(checks, &again, &status, Purpose::Preflight).await?;
        for tree in &here.results {
            let same = results.iter_mut().filter(|it| it.command == tree.command);
            same.for_each(|it| it.add_run(tree));
        }
        if !here.artefacts.is_empty() {
            let left = here.artefacts.iter().map(|path| path.display().to_string());
            let left = left.collect::<Vec<_>>().join(", ");
            self.notice(&format!(
                "verify commands left files in the working tree that git does not ignore: {left}"
            ))?;
        }
        self.artefacts.extend(here.artefacts);
        if self.interrupted().is_some() {
            return Ok(());
        }
        let green = |check: &&PlannedCheck| {
            here.results.iter().any(|it| it.command == check.command && it.passed())
        };
        let doubtful: Vec<PlannedCheck> = again.iter().filter(green).cloned().collect();
        // A check that is green in the room this time is flaky: the room is not to blame.
        let second = self
            .run_proof(
                Warmth::Warm,
                About::task(task, ProofDepth::Quick),
                (&doubtful, checks),
                &status,
            )
            .await?;
        let is_flaky = |command: &str| {
            second.checks.iter().any(|it| it.command == command && it.passed())
                || second.flaky.iter().any(|it| it == command)
        };
        let flaky = again.iter().map(|check| &check.command).filter(|it| is_flaky(it));
        let flaky: Vec<String> = flaky.cloned().collect();
        self.refuse_what_lacks(results, &here.results, &flaky)?;
        // A check that is green without any work was not red before it.
        for green in second.checks.into_iter().filter(CheckResult::passed) {
            let same = results.iter_mut().filter(|it| it.command == green.command);
            same.for_each(|it| {
                let runs = std::mem::take(&mut it.runs);
                *it = CheckResult { runs, ..green.clone() };
                it.add_run(&green);
            });
        }
        Ok(())
    }

    /// Ends the run if a check is red in the room because the room lacks something that the working
    /// tree has.
    fn refuse_what_lacks(
        &mut self,
        rooms: &[CheckResult],
        trees: &[CheckResult],
        flaky: &[String],
    ) -> Result<(), EngineError> {
        let steady = rooms.iter().filter(|room| !flaky.contains(&room.command));
        let own = match &mut self.rooms {
            Some(rooms) => rooms.warm()?.elsewhere().map(Path::to_owned),
            None => None,
        };
        let differ = steady.filter_map(|room| {
            let tree = trees.iter().find(|tree| tree.command == room.command)?;
            room_lacks(room, tree, own.as_deref())
        });
        let differ: Vec<String> = differ.collect();
        if differ.is_empty() {
            return Ok(());
        }
        Err(EngineError::RoomLacks { what: differ.join("\n") })
    }
}
