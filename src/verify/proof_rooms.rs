//! The proof rooms of a run: one that stays warm, and new ones in which nothing has run.
//!
//! Invariant: nothing that an agent did after the run's start reaches a room, except for the
//! commits to be proven. The room in use is at the same path as every other one, since the output
//! of `setup:` may contain that path. Not in this file: running a check in a room.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::checks::{CheckOptions, Checks};
use super::classify::{SourceTree, Table, TreeEdit};
use super::commit_hooks::{CommitHooks, LIMIT, RefusedCommit, TriedCommit};
use super::error::{VerifyError, io_error};
use super::git::{PrivateRepo, RoomSource};
use super::master::{IgnoredCopy, Master, RoomFolders, SeenAt, Warmth};
use super::plan::PlannedCheck;
use super::proof_room::{ProofRoom, Shown};
use super::room_lacks::{cannot_run, leads_back};
use super::room_place::RoomPlace;
use super::setup::{RoomSetup, SetupInputs};
use super::ways_back::{texts, ways_back};
use super::worker_tree::WorkerTree;
use crate::model::{CheckResult, CheckStatus, Oid};
use crate::sys::remove_any;

/// The rooms of a run.
#[derive(Debug)]
pub struct ProofRooms {
    source: RoomSource,
    root: PathBuf,
    base: PathBuf,
    seen_at: SeenAt,
    branch: String,
    master: Master,
    /// The output of `setup:`, and its inputs.
    set_up: Option<(IgnoredCopy, SetupInputs)>,
    /// The human's uncommitted files, which are shown with every commit.
    human: Vec<TreeEdit>,
    /// Those of them that `git status` leaves out.
    marked: BTreeSet<PathBuf>,
    warm: Option<ProofRoom>,
    /// The warm room is not at its path, since another one is.
    aside: bool,
    /// How long it took to copy the ignored files to the last room.
    filled_in: Duration,
}

impl ProofRooms {
    /// Rooms in a folder of the run.
    pub fn new(
        (source, branch): (RoomSource, String),
        root: &Path,
        folders: RoomFolders<'_>,
        master: Master,
        (human, marked): (Vec<TreeEdit>, BTreeSet<PathBuf>),
    ) -> Self {
        Self {
            source,
            root: root.to_owned(),
            base: folders.base.to_owned(),
            seen_at: folders.seen_at,
            branch,
            master,
            set_up: None,
            human,
            marked,
            warm: None,
            aside: false,
            filled_in: Duration::ZERO,
        }
    }

    /// Is another room made soon? Ignored files may be many.
    pub(super) fn are_made_soon(&self) -> bool {
        self.filled_in < Duration::from_secs(2)
    }

    /// Prepares the warm room with a task's `setup:`, before any agent works. Later rooms are
    /// filled with its output. Returns the command that failed.
    ///
    /// # Errors
    /// If the room cannot be made.
    pub async fn set_up(
        &mut self,
        commit: &Oid,
        setup: &RoomSetup,
        files: &dyn SourceTree,
        (checks, options): (&dyn Checks, &CheckOptions),
    ) -> Result<Option<CheckResult>, VerifyError> {
        if setup.commands.is_empty() {
            return Ok(None);
        }
        let (taken, inputs) = (self.base.join("setup"), SetupInputs::of(setup, files));
        let room = self.warm()?;
        let shown = Shown { commit, edits: &[] };
        let failed = room.set_up_first(shown, (setup, &inputs), (checks, options)).await?;
        if failed.is_none() {
            let ignored = room.room.ignored()?;
            let made = IgnoredCopy::take(room.room.work(), ignored, taken)?;
            self.set_up = Some((made, inputs));
        }
        Ok(failed)
    }

    /// Lists the ignored files that lead commands from a room back to the repository's own working
    /// tree: there, checks would test files that an agent may change at any time. `files` are the
    /// commit's.
    ///
    /// # Errors
    /// If the room cannot be brought to the commit, or git cannot list the ignored files.
    pub async fn leads_back(
        &mut self,
        commit: &Oid,
        planned: &[PlannedCheck],
        (files, table): (&dyn SourceTree, &Table),
        to_run: (&dyn Checks, &CheckOptions),
    ) -> Result<Option<String>, VerifyError> {
        let root = self.root.clone();
        let room = self.warm()?;
        if room.elsewhere().is_none() {
            return Ok(None);
        }
        let commands: Vec<&str> = planned.iter().map(|check| check.command.as_str()).collect();
        let texts = texts(files, table, &commands);
        let mut found = Vec::new();
        // A check may make its own environment for where it is, as `uv run` does: that leads back
        // only until the check has run.
        for checks in [&[], planned] {
            room.run(Shown { commit, edits: &[] }, checks, to_run.0, to_run.1).await?;
            let ignored = room.room.ignored()?;
            found = ways_back(room.room.work(), &ignored, &root, &texts);
            if found.is_empty() {
                break;
            }
        }
        Ok(leads_back(&found))
    }

    /// Tries the hooks of a commit on it. One that does not end in time, or cannot be started,
    /// refuses nothing.
    ///
    /// # Errors
    /// If the room cannot be brought to the commit.
    pub async fn try_hooks(
        &mut self,
        hooks: &CommitHooks,
        commit: TriedCommit<'_>,
        (checks, options): (&dyn Checks, &CheckOptions),
    ) -> Result<Vec<RefusedCommit>, VerifyError> {
        let options = CheckOptions { limit: LIMIT.min(options.limit), ..options.clone() };
        let mut refused = Vec::new();
        for (hook, command) in hooks.commands() {
            let room = self.warm()?;
            let (result, changed, left) =
                room.try_hook(commit, (hooks, &command), (checks, &options)).await?;
            match result.status {
                CheckStatus::Failed(_) | CheckStatus::Signalled(_) => {
                    refused.push(RefusedCommit::of(hook, commit, (&result.output, &changed), left));
                }
                // Each commit waits for it, and so for the others.
                CheckStatus::TimedOut(_) => break,
                CheckStatus::Passed
                | CheckStatus::NotRun(_)
                | CheckStatus::NothingRan(_)
                | CheckStatus::Incomplete(_) => {}
            }
        }
        Ok(refused)
    }

    /// The reason why a check cannot be run at all, whatever the work is.
    ///
    /// # Errors
    /// If a room cannot be made.
    pub fn cannot_run(&mut self, check: &CheckResult) -> Result<Option<String>, VerifyError> {
        let room = self.warm()?;
        Ok(cannot_run(check, |path| room.ignores(path)))
    }

    /// The room that stays warm during the run.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn warm(&mut self) -> Result<&mut ProofRoom, VerifyError> {
        let room = self.take(Warmth::Warm)?;
        Ok(self.warm.insert(room))
    }

    /// Takes the warm room, or a cold one that no check has run in.
    ///
    /// # Errors
    /// If it cannot be made.
    pub(super) fn take(&mut self, warmth: Warmth) -> Result<ProofRoom, VerifyError> {
        match warmth {
            Warmth::Warm => self.move_back()?,
            Warmth::Cold => return self.fresh(Warmth::Cold),
        }
        match self.warm.take() {
            Some(room) => Ok(room),
            None => self.fresh(Warmth::Warm),
        }
    }

    /// Gives a room back: a warm one is kept, a cold one is removed.
    pub(super) fn give_back(&mut self, room: ProofRoom, warmth: Warmth) {
        match warmth {
            Warmth::Warm => self.warm = Some(room),
            Warmth::Cold => room.remove(),
        }
    }

    /// A room in which nothing has run, with build output or without.
    pub(super) fn fresh(&mut self, warmth: Warmth) -> Result<ProofRoom, VerifyError> {
        self.move_aside()?;
        let (folder, _) = self.folders();
        self.make(folder, warmth)
    }

    /// A tree for a worker of this run, with the ignored files.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn worker_tree(
        &mut self,
        number: usize,
        hooks: Option<CommitHooks>,
    ) -> Result<WorkerTree, VerifyError> {
        let room = self.make(self.base.join(format!("worker-{number}")), Warmth::Warm)?;
        Ok(WorkerTree::new(number, room, hooks, self.marked.clone()))
    }

    /// The human's uncommitted files.
    pub fn human(&self) -> &[TreeEdit] {
        &self.human
    }

    /// Where the branch was when the last run ended; none if there was none on this machine.
    pub fn last_head(&self) -> Option<Oid> {
        self.master.head().map(Oid::new)
    }

    /// Brings files back that git ignored before an agent came, and that went with its commits.
    pub fn bring_back(&self, gone: &[PathBuf]) {
        for path in gone {
            if let Err(error) = self.master.copied().bring_back(&self.root, path) {
                tracing::debug!(%error, "an ignored file is in the held work alone");
            }
        }
    }

    /// Notices about the copies.
    pub fn notes(&self) -> &[String] {
        self.master.notes()
    }

    /// Ends the use of the copy of ignored files: later changes are the human's.
    pub fn close(&self, head: &Oid, ignored: &[PathBuf]) {
        if let Err(error) = self.master.close(head.as_str(), ignored) {
            tracing::debug!(%error, "the next run cannot tell who changed ignored files");
        }
    }

    /// The warm room makes way for another one.
    fn move_aside(&mut self) -> Result<(), VerifyError> {
        if self.warm.is_some() && !self.aside {
            let (at, aside) = self.folders();
            fs::rename(&at, &aside).map_err(io_error("move the proof room", &at))?;
            self.aside = true;
        }
        Ok(())
    }

    /// Moves the warm room back, and removes the leftovers of another one.
    fn move_back(&mut self) -> Result<(), VerifyError> {
        if self.aside {
            let (at, aside) = self.folders();
            remove_any(&at).map_err(io_error("remove the proof room", &at))?;
            fs::rename(&aside, &at).map_err(io_error("move the proof room", &at))?;
            self.aside = false;
        }
        Ok(())
    }

    /// Of the room in use, and of a warm one that made way.
    fn folders(&self) -> (PathBuf, PathBuf) {
        (self.base.join("room"), self.base.join("aside"))
    }

    fn make(&mut self, folder: PathBuf, warmth: Warmth) -> Result<ProofRoom, VerifyError> {
        remove_any(&folder).map_err(io_error("remove the proof room", &folder))?;
        // Tools take names from the folder they run in: it keeps the repository's.
        let work = folder.join("tree").join(self.root.file_name().unwrap_or("work".as_ref()));
        let objects = folder.join("objects");
        let room =
            PrivateRepo::new(self.source.clone(), work.clone(), objects, self.branch.clone())?;
        let (made, inputs) = self.set_up.clone().unzip();
        let started = Instant::now();
        made.unwrap_or_else(|| self.master.copied()).fill(&work, warmth)?;
        self.filled_in = started.elapsed();
        let place = RoomPlace {
            seen_at: match self.seen_at {
                SeenAt::OwnPath => self.root.clone(),
                SeenAt::ItsPlace => work.clone(),
            },
            work,
            own: self.root.clone(),
            folder,
            borrowed: Vec::new(),
            shared: self.master.shared().to_vec(),
        };
        Ok(ProofRoom::new(room, place, self.human.clone(), inputs))
    }
}
