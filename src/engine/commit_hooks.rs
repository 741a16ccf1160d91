//! The project's commit hooks, which may refuse what the agent commits.
//!
//! Invariant: they decide nothing here. A run goes on with hooks that refuse; the agent and the human
//! are told.

use std::sync::Arc;

use super::EngineError;
use super::ledger::Ledger;
use crate::model::{Attribution, FindingKind, Task, Verdict};
use crate::sys::{Durability, FileMode, atomic};
use crate::task::{Tick, compare, parse, tick};
use crate::verify::{
    Accepted, CommitHooks, EntryKind, Layout, Person, RefusedCommit, TASK, TreeEdit, TriedCommit,
};

/// Types of conventional commits. The first one makes no release anywhere.
const TYPES: [&str; 2] = ["chore:", "feat:"];

/// What a first commit changes, besides its work: TASK.md with one more tick.
pub fn first_tick(task: &Task, layout: &Layout) -> Vec<TreeEdit> {
    let open = task.criteria.iter().find(|criterion| !criterion.checked);
    let ticked = open.and_then(|it| tick(task.source.as_bytes(), it.mark, Tick::Done).ok());
    let (path, kind) = (layout.file(TASK), EntryKind::Regular { executable: false });
    ticked.map(|bytes| TreeEdit::Write { path, kind, bytes }).into_iter().collect()
}

/// TASK.md in the form that a `pre-commit` hook gives it, without the tick; none if it changes more.
pub fn in_the_hooks_form(
    task: &Task,
    layout: &Layout,
    refused: &[RefusedCommit],
) -> Option<Vec<u8>> {
    let made = refused.iter().find_map(RefusedCommit::made)?;
    let after = parse(layout.task(), made.as_bytes());
    let at = task.criteria.iter().position(|criterion| !criterion.checked)?;
    let change = compare(task, &after, &task.criteria[at].key, Attribution::Human);
    let open = || tick(made.as_bytes(), after.criteria[at].mark, Tick::Open).ok();
    if change.reformatted { open() } else { None }
}

impl Ledger {
    /// Tries the hooks on a commit of the first tick, with a message as the agent is told to write
    /// them: those that format files change what every commit of the run has.
    pub(super) async fn try_commit_hooks(&mut self) -> Result<(), EngineError> {
        let ticked = first_tick(&self.task()?, &self.parts.layout);
        let state = self.parts.layout.state_message();
        let mut refused = self.refused_by_hooks(&ticked, &state).await?;
        if let Some(now) = self.take_the_hooks_form(&refused).await? {
            refused = now;
        }
        let title = refused.iter().find(|commit| commit.is_about_its_message());
        self.commit_hooks = match title {
            Some(commit) => match self.with_a_type(commit, &ticked).await? {
                Some(now) => now,
                None => self.signed_off(refused, &ticked).await?,
            },
            None => self.with_a_long_message(refused, &ticked).await?,
        };
        for commit in &self.commit_hooks {
            self.notice(&format!("{}; {}", commit.what(), commit.hint()))?;
        }
        Ok(())
    }

    /// Takes the form that a hook gives TASK.md and insists on: every commit with a tick would fail
    /// once. Returns what is refused then; none if the hook refuses that form, too, or changes more.
    async fn take_the_hooks_form(
        &mut self,
        refused: &[RefusedCommit],
    ) -> Result<Option<Vec<RefusedCommit>>, EngineError> {
        let (before, layout) = (self.task()?, self.parts.layout.clone());
        let Some(bytes) = in_the_hooks_form(&before, &layout, refused) else { return Ok(None) };
        let path = layout.file(TASK);
        let kind = EntryKind::Regular { executable: false };
        let edit = TreeEdit::Write { path: path.clone(), kind, bytes: bytes.clone() };
        let now = self.refused_by_hooks(&[edit], &layout.state_message()).await?;
        if now.iter().any(|commit| !commit.is_about_its_message()) {
            return Ok(None);
        }
        let file = &self.parts.folder.task_file;
        atomic::write(file, &bytes, Durability::Machine, FileMode::Umask)?;
        let (branch, message) = (&self.parts.preflight.checkpoint.branch, layout.state_message());
        self.parts.repo.commit_paths(branch, &[path], &message, &self.parts.identity)?;
        self.notice("TASK.md now has the form that the pre-commit hook gives it, and wants")?;
        Ok(Some(now))
    }

    /// Puts a type in front of the commits' titles with which the hooks accept them, as those do that
    /// want conventional commits. Returns what is refused then; none if no type helps.
    async fn with_a_type(
        &mut self,
        refused: &RefusedCommit,
        ticked: &[TreeEdit],
    ) -> Result<Option<Vec<RefusedCommit>>, EngineError> {
        let plain = self.parts.layout.clone();
        for start in TYPES.into_iter().filter(|_| plain.has_no_prefix()) {
            self.parts.layout = plain.clone().with_commit_prefix(start);
            let now = self.refused_by_hooks(ticked, &self.parts.layout.state_message()).await;
            if let Ok(now) = now
                && !now.iter().any(RefusedCommit::is_about_its_message)
            {
                self.notice(&format!(
                    "{}; commits of this run begin with `{start}`, which it accepts: to choose \
                     another beginning, set `commit_prefix` in TASK.md",
                    refused.what()
                ))?;
                return Ok(Some(now));
            }
        }
        self.parts.layout = plain;
        Ok(None)
    }

    /// The hooks that refuse a message, of which some accept one with a `Signed-off-by` line.
    async fn signed_off(
        &mut self,
        refused: Vec<RefusedCommit>,
        ticked: &[TreeEdit],
    ) -> Result<Vec<RefusedCommit>, EngineError> {
        let Person { name, email } = &self.parts.identity.author;
        let message = self.parts.layout.state_message();
        let message = format!("{message}\n\nSigned-off-by: {name} <{email}>");
        let now = self.refused_by_hooks(ticked, &message).await?;
        let helps = !now.iter().any(RefusedCommit::is_about_its_message);
        let told = |it: RefusedCommit| match helps && it.is_about_its_message() {
            true => it.with(Accepted::SignedOff),
            false => it,
        };
        Ok(refused.into_iter().map(told).collect())
    }

    /// Tries the longest title that the agent is told to write, too: a hook may limit it.
    async fn with_a_long_message(
        &mut self,
        mut refused: Vec<RefusedCommit>,
        ticked: &[TreeEdit],
    ) -> Result<Vec<RefusedCommit>, EngineError> {
        let open = self.task()?.criteria.into_iter().filter(|criterion| !criterion.checked);
        let texts = open.map(|criterion| criterion.key.text);
        let Some(text) = texts.max_by_key(String::len) else { return Ok(refused) };
        let message = format!("{}[{text}] - change", self.parts.layout.prefix());
        let now = self.refused_by_hooks(ticked, &message).await?;
        let long = now.into_iter().filter(RefusedCommit::is_about_its_message);
        refused.extend(long.map(|it| it.with(Accepted::Shorter)));
        Ok(refused)
    }

    /// What an agent is told of the hooks.
    pub(super) fn told_of_hooks(&self) -> Option<String> {
        let told: Vec<String> = self.commit_hooks.iter().map(RefusedCommit::told).collect();
        (!told.is_empty()).then(|| told.join("\n\n"))
    }

    /// Tells which hooks refuse the work that a turn left uncommitted.
    pub(super) async fn tell_of_hooks(&mut self, verdict: &mut Verdict) -> Result<(), EngineError> {
        let about =
            |kind: FindingKind| matches!(kind, FindingKind::NoCommit | FindingKind::Uncommitted);
        let Some(at) = verdict.findings.iter().position(|it| about(it.kind)) else { return Ok(()) };
        if verdict.tampered() {
            return Ok(());
        }
        let left = self.parts.repo.uncommitted(&self.parts.preflight.human)?;
        if left.is_empty() {
            return Ok(());
        }
        match self.refused_by_hooks(&left, &self.parts.layout.state_message()).await {
            Ok(refused) => {
                let (when, told) = match refused.is_empty() {
                    true => ("Before the first turn", &self.commit_hooks),
                    false => ("When the runner tried it", &refused),
                };
                for what in told.iter().map(RefusedCommit::what) {
                    verdict.findings[at].message.push_str(&format!(" {when}, {what}."));
                }
            }
            // What a room cannot show is no reason to end a run.
            Err(error) => tracing::debug!(%error, "the commit hooks were not tried"),
        }
        Ok(())
    }

    async fn refused_by_hooks(
        &mut self,
        staged: &[TreeEdit],
        message: &str,
    ) -> Result<Vec<RefusedCommit>, EngineError> {
        let repo = Arc::clone(&self.parts.repo);
        // With another message, the content is no question.
        let hooks = match message == self.parts.layout.state_message() {
            true => repo.commit_hooks()?,
            false => repo.commit_hooks()?.and_then(CommitHooks::of_messages),
        };
        let Some(hooks) = hooks else { return Ok(Vec::new()) };
        let Some(mut rooms) = self.rooms.take() else { return Ok(Vec::new()) };
        let checks = Arc::clone(&self.parts.checks);
        let mut options = self.check_options(repo.root());
        let who = self.parts.identity.environment();
        options.env = who.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let head = repo.checkpoint()?.head;
        let tried = TriedCommit { parent: &head, staged, message };
        let refused = rooms.try_hooks(&hooks, tried, (checks.as_ref(), &options)).await;
        self.rooms = Some(rooms);
        Ok(refused?)
    }
}
