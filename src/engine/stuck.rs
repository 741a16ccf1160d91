//! A criterion that used up its attempts: its sign, its saved attempts, and the end of the run
//! or the next criterion.

use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::EngineError;
use super::decide::OnFatal;
use super::iteration::Iteration;
use super::ledger::Ledger;
use super::order::skipped;
use crate::model::{
    Criterion, CriterionKey, EventKind, FaultClass, FindingKind, OnStuck, Outcome, Record as _,
    Task,
};
use crate::sys::{Durability, FileMode, atomic};
use crate::verify::{GUARDRAILS, Layout};

impl Ledger {
    /// Blocks the criterion of an iteration. Returns the outcome if the run stops.
    pub(super) fn block(
        &mut self,
        iteration: &Iteration,
        then: OnStuck,
    ) -> Result<Option<Outcome>, EngineError> {
        let key = &iteration.criterion.key;
        let why = self.last_failure(key);
        let saved = match then {
            OnStuck::Stop if !self.has_committed(iteration)? => None,
            OnStuck::Stop | OnStuck::Skip => Some(self.stash_attempt(iteration)?),
        };
        self.block_criterion(key, iteration.number, &why, saved)
    }

    /// Why the last attempt at a criterion failed.
    pub(super) fn last_failure(&self, key: &CriterionKey) -> String {
        let findings = self.feedback.get(key).map(Vec::as_slice).unwrap_or_default();
        // The guard's denials are counted over all attempts, and follow.
        let why = findings.iter().find(|finding| finding.kind != FindingKind::Denied);
        why.map_or_else(|| "it was not proven".to_owned(), |it| it.message.clone())
    }

    /// Blocks a criterion: writes its sign, and records where its attempts were `saved`.
    /// Returns the outcome if the run stops.
    pub(super) fn block_criterion(
        &mut self,
        key: &CriterionKey,
        iteration: u32,
        why: &str,
        saved: Option<String>,
    ) -> Result<Option<Outcome>, EngineError> {
        let entry = self.state.entry(key);
        entry.blocked = true;
        let attempts = entry.attempts;
        let denied = self.denials.get(key).filter(|it| !it.is_empty()).map(ToString::to_string);
        let first = self.feedback.get(key).and_then(|findings| findings.first());
        let is_denied = first.is_some_and(|first| first.kind == FindingKind::Denied);
        let signed = match &denied {
            // As in the verdict, the strongest reason comes first.
            Some(denied) if is_denied => {
                format!("{}.{ALSO}{why}", denied.replacen("the guard", "The guard", 1))
            }
            Some(denied) => {
                format!("{why}{}", denied.replacen("the guard denied ", ALSO_DENIED, 1)) + "."
            }
            None => why.to_owned(),
        };
        self.sign(key, iteration, attempts, &signed)?;
        let then = self.parts.limits.on_stuck;
        let criterion = key.clone();
        let mut tail = denied.as_ref().map_or_else(String::new, |denied| format!("; {denied}"));
        if let Some(name) = &saved {
            tail.push_str(&format!("; its commits are off the branch: git log -p HEAD..{name}"));
        }
        let kept = saved;
        self.parts.events.record(EventKind::CriterionBlocked { criterion, then, kept, denied })?;
        Ok(match then {
            OnStuck::Skip => None,
            OnStuck::Stop => {
                let reason = match attempts {
                    // A flaky check costs no attempt.
                    0 => format!("{}: {why}", key.quoted()),
                    _ => {
                        let times = count(attempts, "time");
                        format!("{} failed {times}{tail}; last: {why}", key.quoted())
                    }
                };
                Some(Outcome::Stuck { reason })
            }
        })
    }

    /// If a failure of unknown cause would end the run, and counts for its criterion only: blocks
    /// that, unless the work on it was proven.
    pub(super) fn or_block(
        &mut self,
        key: &CriterionKey,
        outcome: Option<Outcome>,
    ) -> Result<Option<Outcome>, EngineError> {
        let fails = self.parts.limits.on_fatal == OnFatal::FailCriterion;
        match outcome {
            Some(Outcome::AgentUnusable { fault }) if fails && fault.class == FaultClass::Fatal => {
                if self.read_open(key)?.is_none() {
                    return Ok(None);
                }
                let outcome =
                    self.block_criterion(key, self.state.iteration, &fault.message, None)?;
                self.commit_state()?;
                Ok(outcome)
            }
            outcome => Ok(outcome),
        }
    }

    /// Says of each criterion once that it is skipped.
    pub(super) fn tell_skipped(&mut self, task: &Task) -> Result<(), EngineError> {
        for it in skipped(task, &self.state) {
            if self.told_skipped.insert(it.criterion.key.clone()) {
                self.parts.events.record(EventKind::CriterionSkipped {
                    criterion: it.criterion.key.clone(),
                    because: it.because.key.clone(),
                    reason: it.to_string(),
                })?;
            }
        }
        Ok(())
    }

    /// Did the attempts at a criterion leave commits on the branch that change more than the task's
    /// state files?
    fn has_committed(&self, iteration: &Iteration) -> Result<bool, EngineError> {
        let parts = &self.parts;
        let changes = parts.repo.committed_since(&iteration.origin)?;
        Ok(changes.iter().any(|change| !parts.layout.is_state_file(&change.path)))
    }

    /// Takes what earlier attempts at a blocked criterion committed off the branch.
    pub(super) fn take_attempts_off(&mut self, iteration: &Iteration) -> Result<(), EngineError> {
        if !self.has_committed(iteration)? {
            return Ok(());
        }
        let saved = self.stash_attempt(iteration)?;
        let whose = iteration.criterion.key.quoted();
        self.notice(&format!("the commits of {whose} are off the branch: git log -p HEAD..{saved}"))
    }

    /// Saves all attempts at a criterion under a ref, and puts the branch back to the commit
    /// before the first of them. The task's state files stay.
    fn stash_attempt(&mut self, iteration: &Iteration) -> Result<String, EngineError> {
        let parts = &self.parts;
        let repo = parts.repo.as_ref();
        let message = format!("{}attempts at a criterion", parts.layout.prefix());
        let number = self.state.attempt_refs.max(1);
        let saved = repo.save_attempt(&parts.layout, number, &message, &parts.preflight.human)?;
        self.back_to_origin(iteration)?;
        self.state.attempt_refs = saved.number.saturating_add(1);
        Ok(saved.name)
    }

    /// Moves the work on a criterion off the branch, to a separate ref, until a human has reviewed
    /// it. The task's state files are kept.
    pub(super) fn hold(&mut self, iteration: &Iteration, why: &str) -> Result<(), EngineError> {
        let key = &iteration.criterion.key;
        let kept = self.keep_for_review(key)?;
        self.back_to_origin(iteration)?;
        self.wait_for_review(key, kept, iteration.origin.clone(), why)
    }

    /// Puts the branch back to the commit before the first attempt at a criterion. The task's
    /// state files stay.
    fn back_to_origin(&mut self, iteration: &Iteration) -> Result<(), EngineError> {
        let parts = &self.parts;
        let files = self.read_state_files()?;
        let mut origin = iteration.checkpoint.clone();
        origin.head = iteration.origin.clone();
        let head = parts.repo.checkpoint()?.head;
        let changes = parts.repo.between(&origin.head, &head)?;
        let left = parts.repo.back_to(&origin, &parts.preflight.human)?;
        let gone: Vec<_> = changes.into_iter().map(|change| change.path).collect();
        self.rooms.iter().for_each(|rooms| rooms.bring_back(&gone));
        self.tell_left(&left)?;
        self.write_state_files(&files)?;
        self.origins.remove(&iteration.criterion.key);
        self.state.entry(&iteration.criterion.key).worked = None;
        Ok(())
    }

    /// Writes a sign to guardrails.md, once per criterion.
    fn sign(
        &mut self,
        key: &CriterionKey,
        iteration: u32,
        attempts: u32,
        why: &str,
    ) -> Result<(), EngineError> {
        let path = self.parts.repo.root().join(self.parts.layout.file(GUARDRAILS));
        // As bytes: an editor may have written something other than UTF-8.
        let mut text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                b"# Guardrails\n".to_vec()
            }
            Err(source) => return Err(EngineError::StateRead { path, source }),
        };
        let redact = |text: &str| self.parts.gate.redactor().redact_str(text).into_owned();
        let mark = redact(&mark(&key.text));
        if String::from_utf8_lossy(&text).contains(&mark) {
            return Ok(());
        }
        let date = self.parts.clock.today();
        let why = redact(why).replace('\n', " ");
        let attempts = count(attempts, "attempt");
        let sign = format!("- {mark} ({date}, iteration {iteration}, {attempts} failed): {why}");
        if !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        text.extend_from_slice(sign.as_bytes());
        text.push(b'\n');
        atomic::write(&path, &text, Durability::Machine, FileMode::Umask)?;
        self.parts.events.record(EventKind::SignAdded { criterion: key.clone(), sign })?;
        Ok(())
    }
}

/// Between the reasons of a sign.
const ALSO: &str = " Also: ";
const ALSO_DENIED: &str = " Also, the guard denied ";

/// What a sign about a criterion begins with.
fn mark(criterion: &str) -> String {
    format!("Criterion '{criterion}' caused loop")
}

/// Why a criterion got stuck, as its sign in a task's guardrails says.
pub fn sign_about(root: &Path, layout: &Layout, criterion: &str) -> Option<String> {
    let text = std::fs::read_to_string(root.join(layout.file(GUARDRAILS))).ok()?;
    let head = format!("- {} (", mark(criterion));
    let sign = text.lines().rfind(|line| line.starts_with(&head))?;
    let (_, why) = sign[head.len()..].split_once("): ")?;
    Some(
        [ALSO_DENIED, ALSO]
            .iter()
            .fold(why, |why, end| why.split(end).next().unwrap_or(why))
            .to_owned(),
    )
}

/// The name of a criterion in a matrix and on a command line: its `id`, unless that could be a line.
pub fn criterion_name(criterion: &Criterion) -> String {
    let id = criterion.id.clone().filter(|id| id.parse::<usize>().is_err());
    id.unwrap_or_else(|| ref_name(&criterion.key))
}

/// The name of a criterion in refs.
pub(super) fn ref_name(key: &CriterionKey) -> String {
    let digest = Sha256::digest(format!("{}{}", key.text, key.occurrence));
    digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

/// A number with its unit, as in `3 attempts`.
fn count(number: u32, unit: &str) -> String {
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}
