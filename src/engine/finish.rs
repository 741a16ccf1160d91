//! The end of a run: leftovers, the last state commit, and the summary.

use super::EngineError;
use super::decide::next_ready;
use super::ledger::{Ledger, NextCommands};
use super::order::{standings, waits};
use crate::guard::liftable;
use crate::model::{
    Criterion, CriterionKey, CriterionState, EventKind, Obstacle, Outcome, Proof, ReadBack,
    Record as _, RunSummary, Task, TaskState,
};
use crate::task;
use crate::verify::{GUARDRAILS, Layout, RefusedCommit, TASK, keep_list};

impl Ledger {
    /// Ends a run that cannot go on.
    pub(super) fn end_for(&mut self, error: &EngineError) -> Result<Outcome, EngineError> {
        let obstacle = error.obstacle();
        match obstacle {
            Obstacle::Invalid | Obstacle::Agent => self.try_to_tidy_up()?,
            // If a human is changing the repository, or the disk is full, it is not touched.
            Obstacle::Repository | Obstacle::Write => {}
        }
        let reason = error.to_string();
        self.end(Outcome::CannotGoOn { obstacle, reason })
    }

    /// Verifies the run's own records a last time. Commands that ran after the last verdict,
    /// such as the checks at the end, may have changed them.
    pub(super) fn verify_records(&self, outcome: Outcome) -> Outcome {
        let changed = self.changed_records(ReadBack::Always);
        if changed.is_empty() || matches!(outcome, Outcome::Tampered { .. }) {
            return outcome;
        }
        let paths: Vec<_> = changed.iter().map(|it| it.path.display().to_string()).collect();
        let reason =
            format!("The runner's own records changed before its end: {}.", paths.join(", "));
        Outcome::Tampered { reason }
    }

    /// Leaves the working tree as the outcome promises, before the journal says so.
    pub(super) fn tidy_up(&mut self, outcome: Outcome) -> Result<Outcome, EngineError> {
        match &outcome {
            // Everything is left for the human to look at.
            Outcome::Tampered { .. } | Outcome::CannotGoOn { .. } => {}
            Outcome::Proven => {
                if self.worked_at_all {
                    self.ready()?;
                }
            }
            Outcome::Landed { .. }
            | Outcome::LimitReached { .. }
            | Outcome::Stuck { .. }
            | Outcome::AgentUnusable { .. }
            | Outcome::RateLimited { .. } => {
                if self.worked_at_all {
                    self.ready()?;
                }
                self.keep_leftovers()?;
            }
            // A signal keeps its exit code, even if this fails.
            Outcome::Interrupted { .. } => {
                self.try_to_tidy_up()?;
            }
        }
        Ok(outcome)
    }

    /// Saves unfinished work, or reports why it stays in the working tree.
    fn try_to_tidy_up(&mut self) -> Result<(), EngineError> {
        match self.ready().and_then(|()| self.keep_leftovers()) {
            Ok(()) => Ok(()),
            Err(error) => self.notice(&format!(
                "cannot save unfinished work, so it stays in the working tree: {error}"
            )),
        }
    }

    /// Does everything that comes after the last iteration.
    pub(super) fn end(&mut self, outcome: Outcome) -> Result<Outcome, EngineError> {
        if let Outcome::Tampered { .. } = outcome
            && let Err(error) = self.parts.events.flush()
        {
            tracing::debug!(%error, "the reporters keep their unwritten output");
        }
        // A run without an iteration leaves no commit behind.
        if self.worked_at_all {
            match &outcome {
                // Written above, and not committed: the tree is the human's to look at.
                Outcome::Tampered { .. } => {}
                Outcome::Proven
                | Outcome::Landed { .. }
                | Outcome::LimitReached { .. }
                | Outcome::Stuck { .. }
                | Outcome::AgentUnusable { .. }
                | Outcome::RateLimited { .. } => self.commit_state()?,
                // If the state cannot be committed now, the next run does it when it begins.
                Outcome::Interrupted { .. } | Outcome::CannotGoOn { .. } => {
                    if let Err(error) = self.commit_state() {
                        tracing::debug!(%error, "cannot commit the state");
                    }
                }
            }
        }
        // Recorded last: a journal with this event needs no recovery.
        let summary = self.summary(&outcome);
        self.parts.events.record(EventKind::RunEnded {
            exit_code: outcome.exit_code(),
            outcome: outcome.clone(),
            summary,
        })?;
        Ok(outcome)
    }

    /// Saves the agent's uncommitted work under a ref and puts the working tree back, so that
    /// the next run starts on a clean one.
    fn keep_leftovers(&mut self) -> Result<(), EngineError> {
        if !self.works_here {
            // No agent works in this tree: what changed in it is the human's.
            return Ok(());
        }
        let parts = &self.parts;
        let human = &parts.preflight.human;
        let left = parts.repo.status()?.all().into_iter().any(|change| {
            !parts.layout.is_state_file(&change.path)
                && !human.contains(&change.path)
                && !self.artefacts.contains(&change.path)
        });
        if !left {
            return Ok(());
        }
        let message = format!("{}unfinished", parts.layout.prefix());
        let number = self.state.attempt_refs.max(1);
        let saved = parts.repo.save_attempt(&parts.layout, number, &message, human)?;
        let keep = keep_list(parts.repo.root(), human, parts.layout.state_files())?;
        let left = parts.repo.back_to(&parts.repo.checkpoint()?, &keep)?;
        self.tell_left(&left)?;
        self.state.attempt_refs = saved.number.saturating_add(1);
        self.notice(&format!("uncommitted work is saved under {}", saved.name))?;
        self.unfinished.push(saved.name);
        Ok(())
    }

    fn summary(&self, outcome: &Outcome) -> RunSummary {
        let task = task::load(&self.parts.folder).ok();
        RunSummary {
            criteria: task.map(|task| standings(&task, &self.state)).unwrap_or_default(),
            iterations: self.spent.iterations,
            millis: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            premium_requests: self.spent.premium_requests,
            tokens: self.spent.usage.map(|usage| usage.total),
            cached: self.spent.usage.map_or(0, |usage| usage.cached),
            credits: self.spent.usage.and_then(|usage| usage.credits),
            unasked: self.parts.gate.allows_unasked(),
            next: self.next_steps(outcome),
        }
    }

    /// The next steps for the human.
    fn next_steps(&self, outcome: &Outcome) -> Vec<String> {
        let NextCommands { start, retry, review, look, log_in, pr, land, .. } =
            &self.parts.commands;
        // The human's own changes are there in the next run, too.
        let preflight = &self.parts.preflight;
        let beside_human = preflight.human.paths().any(|path| !preflight.marked.contains(path));
        let dirty = beside_human && !start.contains(" --allow-dirty");
        let again = format!("{start}{}", if dirty { " --allow-dirty" } else { "" });
        let mut steps = self.reviews();
        steps.extend(self.for_blocked());
        if !self.unfinished.is_empty() {
            steps.push(format!("see the unfinished work: git show {}", self.unfinished.join(" ")));
        }
        if matches!(outcome, Outcome::Stuck { .. }) {
            let helps = |it: &RefusedCommit| format!("{}; {}", it.what(), it.hint());
            steps.extend(self.commit_hooks.iter().map(helps));
        }
        match outcome {
            Outcome::Proven => {
                let in_tree = |entry: &CriterionState| entry.proof == Some(Proof::Tree);
                if self.state.criteria.iter().any(in_tree) {
                    let prove = format!("{again} --proof room");
                    steps.push(format!("to prove them in a proof room, too: {prove}"));
                }
                match land {
                    Some(land) => steps.push(format!("land it where the branch is: {land}")),
                    None => steps.push(format!("review the commits: {review}")),
                }
                steps.extend(pr.as_ref().map(|pr| format!("hand the branch over: {pr}")));
            }
            Outcome::Landed { .. } | Outcome::LimitReached { .. } | Outcome::Interrupted { .. } => {
                let how = match outcome {
                    Outcome::Landed { .. } => "work on what is open",
                    _ => "continue where it stopped",
                };
                steps.push(format!("{how}: {again}"));
                steps.extend(try_again(&self.state, retry));
                if !self.passed_from.is_empty() {
                    let pr = pr.as_ref().map(|pr| format!("; hand it over: {pr}"));
                    steps.push(format!("review what passed: {review}{}", pr.unwrap_or_default()));
                }
            }
            Outcome::Stuck { .. } if self.state.criteria.iter().any(CriterionState::waits) => {
                steps.extend(for_stuck(&self.state, &self.parts.layout, retry, &again));
            }
            Outcome::Stuck { .. } => {
                steps.push(format!("fix what is named above, then run: {again}"));
            }
            Outcome::AgentUnusable { fault } => {
                steps.push(crate::agent::hint(fault.class, *log_in).to_owned());
            }
            Outcome::RateLimited { resume_at, .. } => {
                let at = resume_at.format("%Y-%m-%d %H:%M:%S UTC");
                steps.push(format!("run again after {at}: {again}"));
            }
            Outcome::CannotGoOn { .. } => {
                steps.push(format!("fix what stopped it, then run: {again}"));
            }
            Outcome::Tampered { .. } if let Some((base, kept)) = &self.doubtful => {
                steps.push(format!(
                    "review what was done, which is not in your working tree: git log -p {}..{kept}",
                    base.short()
                ));
                steps.push(format!("then run: {again}"));
            }
            Outcome::Tampered { .. } => {
                let commits = self.run_start.as_ref();
                let commits = commits
                    .map(|start| format!("; git log -p {}..", start.short()))
                    .unwrap_or_default();
                steps.push(format!(
                    "review what was done; the working tree was left as it was, so that nothing \
                     is hidden: {look}{commits}"
                ));
                steps.push(format!("then commit or undo the changes, and run: {again}"));
            }
        }
        steps
    }

    /// Hints for criteria that used up their attempts: the guard's denials, and checks that passed
    /// before any work.
    fn for_blocked(&self) -> Vec<String> {
        let tick = &self.parts.commands.tick;
        let mut steps = Vec::new();
        let criteria = task::load(&self.parts.folder).map(|task| task.criteria).unwrap_or_default();
        let open = criteria.iter().filter(|criterion| !criterion.checked);
        for criterion in open {
            let (text, line) = (criterion.key.quoted(), criterion.line);
            let is_blocked = self.state.find(&criterion.key).is_some_and(|entry| entry.blocked);
            let denied = self.denials.get(&criterion.key).and_then(|denied| denied.most_frequent());
            if is_blocked && let Some((rule, reason)) = denied {
                let way_out = way_out(rule, reason);
                steps.push(format!(
                    "if {text} needs what the guard denied ({rule}), {way_out}, or say in the \
                     criterion how to do without it"
                ));
            }
            if is_blocked && self.state.passed_first(criterion, &self.baseline.before()) {
                steps.push(format!(
                    "the check of {text} passed before any work; if you agree that it is met, \
                     tick it, and commit: {tick} {line}"
                ));
            }
        }
        steps
    }

    pub(super) fn has_held(&self) -> bool {
        self.state.criteria.iter().any(|entry| entry.held.is_some())
    }

    /// Does work on a criterion wait for a human?
    pub(super) fn is_held(&self, key: &CriterionKey) -> bool {
        self.state.find(key).is_some_and(|entry| entry.held.is_some())
    }

    /// Changes that a human should review: held work, and tests and scripts that a run changed.
    fn reviews(&self) -> Vec<String> {
        let criteria = task::load(&self.parts.folder).map(|task| task.criteria).unwrap_or_default();
        let mut steps = for_held(&criteria, &self.state, &self.parts.commands);
        if let (false, Some(start)) = (self.changed_harness.is_empty(), &self.run_start) {
            let paths: Vec<_> =
                self.changed_harness.iter().map(|path| path.display().to_string()).collect();
            let quoted = shlex::try_join(paths.iter().map(String::as_str)).unwrap_or_default();
            let start = start.short();
            steps.push(format!(
                "review the changed tests, scripts, or configuration: git diff {start} -- {quoted}"
            ));
        }
        if let Some(kept) = self.kept_tasks.last() {
            steps.push(format!(
                "a change of {} during the run was undone; if it was yours, make it again: {}",
                self.parts.layout.file(TASK).display(),
                kept.display()
            ));
        }
        steps
    }
}

/// The next steps of a task as it stands, without a run.
pub fn steps_now(
    task: &Task,
    state: &TaskState,
    layout: &Layout,
    commands: &NextCommands,
) -> Vec<String> {
    let NextCommands { start, retry, review, .. } = commands;
    let mut steps = for_held(&task.criteria, state, commands);
    let is_proven = |it: &Criterion| it.checked && state.is_proven(&it.key);
    if next_ready(task, state).is_some() {
        steps.push(format!("work on what is open: {start}"));
        steps.extend(try_again(state, retry));
    } else if task.criteria.iter().all(is_proven) {
        steps.push(format!("review the commits: {review}"));
    } else if task.criteria.iter().any(|it| waits(it, state).is_some()) {
        steps.extend(for_stuck(state, layout, retry, start));
    } else {
        steps.push(format!("prove what is ticked: {start}"));
    }
    steps
}

/// What helps with stuck criteria, or else with blocked ones; nothing if there are none.
fn for_stuck(state: &TaskState, layout: &Layout, retry: &str, start: &str) -> Vec<String> {
    let first = if state.criteria.iter().any(|entry| entry.blocked) {
        let signs = layout.file(GUARDRAILS);
        format!("fix the criterion or its check (see {}), and commit", signs.display())
    } else if state.criteria.iter().any(|it| it.is_blocked_by().is_some()) {
        "answer what blocks the criterion, in TASK.md or on this machine".to_owned()
    } else {
        return Vec::new();
    };
    vec![first, format!("then run: {retry} && {start}")]
}

/// The command for stuck and blocked criteria, while others are open.
fn try_again(state: &TaskState, retry: &str) -> Option<String> {
    let waits = |it: &CriterionState| it.blocked || it.is_blocked_by().is_some();
    state.criteria.iter().any(waits).then(|| {
        format!("let it try stuck and blocked criteria again, once their cause is gone: {retry}")
    })
}

/// Held work, and what a human can do with it.
fn for_held(criteria: &[Criterion], state: &TaskState, commands: &NextCommands) -> Vec<String> {
    let NextCommands { start, retry, accept, .. } = commands;
    let held = |it: &Criterion| state.find(&it.key).and_then(|entry| entry.held.clone());
    let held = criteria.iter().filter_map(|it| Some((it, held(it)?)));
    held.flat_map(|(criterion, held)| {
        let (text, line) = (criterion.key.quoted(), criterion.line);
        let diff = format!("git diff {} {}", held.base.short(), held.name);
        [
            format!("review {text}: {diff}; take it: {accept} {line}"),
            format!("or let the agent work on it again: {retry} {line} && {start}"),
        ]
    })
    .collect()
}

/// The human's way to let a call through that a rule of the guard denied.
fn way_out(rule: &str, reason: &str) -> String {
    let line = reason.split('`').find(|part| part.starts_with("may_change: "));
    match line {
        Some(line) if rule == "path.protected" => {
            format!("write `{line}` below the criterion or in the front matter of TASK.md")
        }
        _ if matches!(rule, "network" | "program.install") => {
            "name the command in `network_for:` in TASK.md, since `allow:` gives no network, or set \
             `network: open`"
                .to_owned()
        }
        _ if liftable(rule) => "allow it (`allow:` in TASK.md, or a rule)".to_owned(),
        _ if rule == "secret.file" => {
            "do it yourself, or, for reading a file, name it in `readable:` in TASK.md".to_owned()
        }
        _ => "do it yourself, since `allow:` does not lift this rule".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::way_out;

    #[test]
    fn a_way_out_is_one_that_lifts_the_denial() {
        let judge = "Instead: allow it in TASK.md: `may_change: [\"cfgtool\"]`.";
        for (rule, reason, way) in [
            (
                "network",
                "",
                "name the command in `network_for:` in TASK.md, since `allow:` gives no network, or \
                 set `network: open`",
            ),
            ("shell.unknown-program", "", "allow it (`allow:` in TASK.md, or a rule)"),
            (
                "path.protected",
                judge,
                "write `may_change: [\"cfgtool\"]` below the criterion or in the front matter of \
                 TASK.md",
            ),
            ("path.protected", "", "do it yourself, since `allow:` does not lift this rule"),
            (
                "secret.file",
                "",
                "do it yourself, or, for reading a file, name it in `readable:` in TASK.md",
            ),
        ] {
            assert_eq!(way_out(rule, reason), way, "{rule}");
        }
    }
}
