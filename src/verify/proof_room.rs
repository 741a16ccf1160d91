//! The place of a proof's checks: a private repository, copies of ignored files, and private
//! folders for HOME and temporary files.
//!
//! Invariant: each check finds the room as the first one did, except for ignored files. Not in this
//! file: creating rooms (`proof_rooms`), and confining a check's processes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::checks::{CheckOptions, Checks, Purpose};
use super::classify::{SourceTree, TreeEdit};
use super::commit_hooks::{CommitHooks, TriedCommit};
use super::error::VerifyError;
use super::git::{PrivateRepo, Tidied};
use super::made_by_line::made_by_line;
use super::not_fetched::NotFetched;
use super::plan::PlannedCheck;
use super::room_place::RoomPlace;
use super::setup::{RoomSetup, SetupInputs};
use crate::model::{CheckResult, CheckStatus, Oid, PathChange};
use crate::sys::remove_tree;

/// A check that turns green faster than this runs again at once.
const QUICK: u64 = 5_000;

/// The content of a room.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// The commit.
    pub commit: &'a Oid,
    /// The differences from it.
    pub edits: &'a [TreeEdit],
}

/// One check of a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomCheck {
    /// How it ended.
    pub result: CheckResult,
    /// It was green, and red in the same place at once after it.
    pub flaky: bool,
    /// Files that it changed, without ignored ones; they are put back.
    pub changed: Vec<PathChange>,
}

/// A room.
#[derive(Debug)]
pub struct ProofRoom {
    pub(super) room: PrivateRepo,
    place: RoomPlace,
    human: Vec<TreeEdit>,
    /// The files that its `setup:` was made from.
    set_up: Option<SetupInputs>,
}

impl ProofRoom {
    pub(super) fn new(
        room: PrivateRepo,
        place: RoomPlace,
        human: Vec<TreeEdit>,
        set_up: Option<SetupInputs>,
    ) -> Self {
        Self { room, place, human, set_up }
    }

    /// Can no commit bring a path: does git ignore it, or is it outside the repository?
    pub fn ignores(&self, path: &Path) -> bool {
        let roots = [&self.place.work, &self.place.seen_at, &self.place.own];
        let inside = roots.iter().find_map(|root| path.strip_prefix(root).ok());
        let parts = inside.unwrap_or(path).iter().filter(|part| *part != ".");
        let inside: PathBuf = parts.collect();
        let leaves = inside.iter().any(|part| part == "..");
        inside.is_absolute() || !leaves && self.room.ignores(&inside)
    }

    /// The content that this clone lacks, so that the room cannot show it.
    pub fn not_fetched(&self) -> NotFetched {
        self.room.not_fetched()
    }

    /// The human's uncommitted files.
    pub fn human(&self) -> &[TreeEdit] {
        &self.human
    }

    /// The repository's own working tree, unless the room is seen there.
    pub fn elsewhere(&self) -> Option<&Path> {
        (self.place.seen_at != self.place.own).then_some(self.place.own.as_path())
    }

    /// Removes its folders.
    pub(super) fn remove(self) {
        if let Err(error) = remove_tree(&self.place.folder) {
            tracing::debug!(%error, "a proof room is left to the end of the run");
        }
    }

    /// Runs checks, one after the other, on the requested content. Each finds the room as the first
    /// did, except for ignored files.
    ///
    /// # Errors
    /// If the room cannot be brought there.
    pub async fn run(
        &mut self,
        shown: Shown<'_>,
        planned: &[PlannedCheck],
        checks: &dyn Checks,
        options: &CheckOptions,
    ) -> Result<Vec<RoomCheck>, VerifyError> {
        let options = self.show(shown, (checks, options)).await?;
        let mut ran = Vec::with_capacity(planned.len());
        for (at, check) in planned.iter().enumerate() {
            let place_in = Some((at + 1, planned.len()));
            let options = CheckOptions { place_in, ..options.clone() };
            ran.push(self.check(check, checks, &options).await?);
        }
        Ok(ran)
    }

    /// Puts a commit in the place of everything that was done in the room since the last one, but for
    /// ignored files.
    pub(super) async fn begin_again(
        &mut self,
        commit: &Oid,
        (hooks, marked): (Option<&CommitHooks>, &BTreeSet<PathBuf>),
        to_run: (&dyn Checks, &CheckOptions),
    ) -> Result<(), VerifyError> {
        self.room.tidy()?;
        self.show(Shown { commit, edits: &[] }, to_run).await?;
        self.room.unstage(&self.human, marked)?;
        self.room.note_made()?;
        self.room.lay_hooks(hooks)
    }

    /// The output of filters for these files of a commit.
    ///
    /// # Errors
    /// If the room cannot be brought there.
    pub async fn made(
        &mut self,
        commit: &Oid,
        paths: &[PathBuf],
        to_run: (&dyn Checks, &CheckOptions),
    ) -> Result<Vec<(PathBuf, Vec<u8>)>, VerifyError> {
        if !self.room.has_filters() {
            return Ok(Vec::new());
        }
        self.show(Shown { commit, edits: &[] }, to_run).await?;
        let made = paths.iter().filter_map(|path| Some((path.clone(), self.room.made_of(path)?)));
        Ok(made.collect())
    }

    /// Brings the room to the requested content. Returns the options of commands in it.
    async fn show(
        &mut self,
        shown: Shown<'_>,
        (checks, options): (&dyn Checks, &CheckOptions),
    ) -> Result<CheckOptions, VerifyError> {
        let waiting = self.room.hold(shown.commit, (&self.human, shown.edits))?;
        self.place.borrowed = self.room.borrowed();
        let options = CheckOptions {
            dir: self.place.work.clone(),
            place: Some(self.place.clone()),
            ..options.clone()
        };
        self.make_filtered(&waiting, checks, &options).await?;
        Ok(options)
    }

    /// Runs `setup:` for the first time. Returns the command that failed.
    pub(super) async fn set_up_first(
        &mut self,
        shown: Shown<'_>,
        (setup, inputs): (&RoomSetup, &SetupInputs),
        to_run: (&dyn Checks, &CheckOptions),
    ) -> Result<Option<CheckResult>, VerifyError> {
        let failed = self.prepare(shown, &setup.commands, Purpose::FirstSetup, to_run).await?;
        if failed.is_none() {
            self.set_up = Some(inputs.clone());
        }
        Ok(failed)
    }

    /// Runs `setup:` again if the files that it depends on differ from those of its last run.
    /// Returns the command that failed.
    ///
    /// # Errors
    /// If the room cannot be brought there.
    pub async fn set_up_again(
        &mut self,
        shown: Shown<'_>,
        setup: &RoomSetup,
        files: &dyn SourceTree,
        to_run: (&dyn Checks, &CheckOptions),
    ) -> Result<Option<CheckResult>, VerifyError> {
        let inputs = SetupInputs::of(setup, files);
        if setup.commands.is_empty() || self.set_up.as_ref() == Some(&inputs) {
            return Ok(None);
        }
        let purpose = Purpose::Setup { network: setup.network };
        let failed = self.prepare(shown, &setup.commands, purpose, to_run).await?;
        // Leftovers of a failed one do not count.
        self.set_up = Some(inputs).filter(|_| failed.is_none());
        Ok(failed)
    }

    /// Runs the commands of `setup:`, up to the first that fails. Only ignored files stay.
    async fn prepare(
        &mut self,
        shown: Shown<'_>,
        commands: &[String],
        purpose: Purpose,
        (checks, options): (&dyn Checks, &CheckOptions),
    ) -> Result<Option<CheckResult>, VerifyError> {
        let options = self.show(shown, (checks, options)).await?;
        let options = CheckOptions { purpose, ..options };
        let mut failed = None;
        for (at, command) in commands.iter().enumerate() {
            let place_in = Some((at + 1, commands.len()));
            let options = CheckOptions { place_in, ..options.clone() };
            let result = checks.run(command, &options).await;
            if !result.passed() {
                failed = Some(result);
                break;
            }
        }
        self.room.keep_patterns();
        let waiting = self.room.tidy()?.waiting;
        self.make_filtered(&waiting, checks, &options).await?;
        Ok(failed)
    }

    /// Runs a hook of a commit.
    pub(super) async fn try_hook(
        &mut self,
        TriedCommit { parent, staged, message }: TriedCommit<'_>,
        (hooks, command): (&CommitHooks, &str),
        (checks, options): (&dyn Checks, &CheckOptions),
    ) -> Result<(CheckResult, Vec<PathChange>, Option<String>), VerifyError> {
        let shown = Shown { commit: parent, edits: staged };
        let options = self.show(shown, (checks, options)).await?;
        self.room.begin_commit(parent, hooks.are_copied().then_some(&hooks.folder), message)?;
        let result = checks.run(command, &options).await;
        let left =
            staged.first().map(|edit| fs::read_to_string(self.room.work().join(edit.path())));
        let Tidied { changed, waiting } = self.room.tidy()?;
        self.make_filtered(&waiting, checks, &options).await?;
        Ok((result, changed, left.and_then(Result::ok)))
    }

    async fn check(
        &mut self,
        check: &PlannedCheck,
        checks: &dyn Checks,
        options: &CheckOptions,
    ) -> Result<RoomCheck, VerifyError> {
        let command = &*check.command;
        // What `chmod +x FILE` names cannot be read-only. Its content is compared afterwards.
        let mut options = options.clone();
        if command.contains("chmod ") {
            options.fixed.retain(|path| !command.contains(&*path.to_string_lossy()));
        }
        let options = &options;
        let mut result = checks.run(command, options).await;
        let mut flaky = false;
        if result.passed() && result.millis < QUICK && options.twice.contains(&check.command) {
            let mut again = checks.run(command, options).await;
            if matches!(again.status, CheckStatus::Failed(_)) {
                again = self.without_output(command, again, checks, options).await;
            }
            flaky = !again.passed() && !matches!(again.status, CheckStatus::NotRun(_));
            if !again.passed() {
                result = CheckResult { millis: result.millis, ..again };
            }
        }
        result.command.clone_from(&check.command);
        result.criteria = check.criteria.clone();
        result.whole_task = check.whole_task;
        let Tidied { changed, waiting } = self.room.tidy()?;
        self.make_filtered(&waiting, checks, options).await?;
        Ok(RoomCheck { result, flaky, changed })
    }

    /// The result of a check that was green once and red then, if what its own line makes was in its
    /// way: `mkdir build`. It has to be green twice.
    async fn without_output(
        &self,
        command: &str,
        mut again: CheckResult,
        checks: &dyn Checks,
        options: &CheckOptions,
    ) -> CheckResult {
        let made = made_by_line(command);
        if made.is_empty() {
            return again;
        }
        for _ in 0..2 {
            for path in &made {
                if let Err(error) = self.room.remove(path) {
                    tracing::debug!(%error, "output of a check stays");
                }
            }
            again = checks.run(command, options).await;
            if !again.passed() {
                break;
            }
        }
        again
    }

    /// Lets git make the files that a filter program makes. A filter that is not installed leaves
    /// them as they are, as git does.
    async fn make_filtered(
        &mut self,
        paths: &[PathBuf],
        checks: &dyn Checks,
        options: &CheckOptions,
    ) -> Result<(), VerifyError> {
        if paths.is_empty() {
            return Ok(());
        }
        let names = paths.iter().map(|path| {
            let name = path.to_string_lossy().replace('\'', r"'\''");
            format!("'{name}'")
        });
        let names = names.collect::<Vec<_>>().join(" ");
        // git leaves a file alone that it takes for the commit's.
        let command = format!("rm -f -- {names}; git checkout-index --force --quiet -- {names}");
        checks.run(&command, &CheckOptions { place_in: None, ..options.clone() }).await;
        self.room.made(paths);
        Ok(())
    }
}
