//! Where the checks of a proof run: a private repository, copies of ignored files, and folders of
//! its own for HOME and temporary files.
//!
//! Invariant: nothing that an agent did after the run's start reaches a room, but the commits that
//! are to be proven. Rooms stay warm during a run; the last proof gets a new one. The room in use
//! is at the same path as every other one, since what `setup:` makes may know that path. What does
//! NOT live here: what encloses a check's processes.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::checks::{CheckOptions, Checks, Purpose};
use super::error::VerifyError;
use super::git::{PrivateRepo, RoomSource, Tidied};
use super::harness::{SourceTree, TreeEdit};
use super::master::{IgnoredCopy, Master, RoomFolders, SeenAt, Warmth};
use super::plan::PlannedCheck;
use super::room_lacks::leads_back;
use super::room_place::RoomPlace;
use super::setup::{RoomSetup, SetupInputs};
use super::ways_back::ways_back;
use crate::model::{CheckResult, CheckStatus, Oid, PathChange};
use crate::sys::remove_tree;

/// A check that turns green faster than this runs again at once.
const QUICK: u64 = 5_000;

/// What a room shows.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// The commit.
    pub commit: &'a Oid,
    /// What differs from it.
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

/// The rooms of a run.
#[derive(Debug)]
pub struct ProofRooms {
    source: RoomSource,
    root: PathBuf,
    base: PathBuf,
    seen_at: SeenAt,
    branch: String,
    master: Master,
    /// What `setup:` made, and from what.
    set_up: Option<(IgnoredCopy, SetupInputs)>,
    /// What the human left uncommitted, and is shown with every commit.
    human: Vec<TreeEdit>,
    warm: Option<ProofRoom>,
    /// The warm room is not at its path, since another one is.
    aside: bool,
}

impl ProofRooms {
    /// Rooms in a folder of the run.
    pub fn new(
        (source, branch): (RoomSource, String),
        root: &Path,
        folders: RoomFolders<'_>,
        master: Master,
        human: Vec<TreeEdit>,
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
            warm: None,
            aside: false,
        }
    }

    /// Prepares the warm room with a task's `setup:`, before any agent works. Later rooms are
    /// filled with what it made there. Returns the command that failed.
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
        let failed = room.prepare(shown, &setup.commands, Purpose::FirstSetup, (checks, options));
        let failed = failed.await?;
        if failed.is_none() {
            room.set_up = Some(inputs.clone());
            let ignored = room.room.ignored()?;
            let made = IgnoredCopy::take(room.room.work(), ignored, taken)?;
            self.set_up = Some((made, inputs));
        }
        Ok(failed)
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

    /// Gives a room back: a warm one stays, a cold one goes.
    pub(super) fn give_back(&mut self, room: ProofRoom, warmth: Warmth) {
        match warmth {
            Warmth::Warm => self.warm = Some(room),
            Warmth::Cold => room.remove(),
        }
    }

    /// A room in which nothing has run, with build output or without.
    pub(super) fn fresh(&mut self, warmth: Warmth) -> Result<ProofRoom, VerifyError> {
        self.move_aside()?;
        self.make(warmth)
    }

    /// What the human left uncommitted.
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

    /// What people are told about the copies.
    pub fn notes(&self) -> &[String] {
        self.master.notes()
    }

    /// Ends the use of the copy of ignored files: what changes from now on, the human changes.
    pub fn close(&self, head: &Oid, ignored: &[PathBuf]) {
        if let Err(error) = self.master.close(head.as_str(), ignored) {
            tracing::debug!(%error, "the next run cannot tell who changed ignored files");
        }
    }

    /// The warm room makes way for another one.
    fn move_aside(&mut self) -> Result<(), VerifyError> {
        if self.warm.is_some() && !self.aside {
            let (at, aside) = self.folders();
            fs::rename(&at, &aside).map_err(failed("move the proof room", &at))?;
            self.aside = true;
        }
        Ok(())
    }

    /// The warm room is where it was; what is left of another one goes.
    fn move_back(&mut self) -> Result<(), VerifyError> {
        if self.aside {
            let (at, aside) = self.folders();
            clear(&at)?;
            fs::rename(&aside, &at).map_err(failed("move the proof room", &at))?;
            self.aside = false;
        }
        Ok(())
    }

    /// Of the room in use, and of a warm one that made way.
    fn folders(&self) -> (PathBuf, PathBuf) {
        (self.base.join("room"), self.base.join("aside"))
    }

    fn make(&self, warmth: Warmth) -> Result<ProofRoom, VerifyError> {
        let (folder, _) = self.folders();
        clear(&folder)?;
        // Tools take names from the folder they run in: it keeps the repository's.
        let work = folder.join("tree").join(self.root.file_name().unwrap_or("work".as_ref()));
        let objects = folder.join("objects");
        let room =
            PrivateRepo::new(self.source.clone(), work.clone(), objects, self.branch.clone())?;
        let (made, inputs) = self.set_up.clone().unzip();
        made.unwrap_or_else(|| self.master.copied()).fill(&work, warmth)?;
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
        Ok(ProofRoom { room, place, human: self.human.clone(), set_up: inputs })
    }
}

/// A room.
#[derive(Debug)]
pub struct ProofRoom {
    room: PrivateRepo,
    place: RoomPlace,
    human: Vec<TreeEdit>,
    /// What its `setup:` was made from.
    set_up: Option<SetupInputs>,
}

impl ProofRoom {
    /// What the human left uncommitted.
    pub fn human(&self) -> &[TreeEdit] {
        &self.human
    }

    /// Says which files that git ignores lead commands from the room back to the repository's own
    /// working tree: there checks would test what an agent may change at any time.
    ///
    /// # Errors
    /// If git cannot say what it ignores.
    pub fn leads_back(&mut self, planned: &[PlannedCheck]) -> Result<Option<String>, VerifyError> {
        if self.elsewhere().is_none() {
            return Ok(None);
        }
        let ignored = self.room.ignored()?;
        let commands: Vec<&str> = planned.iter().map(|check| check.command.as_str()).collect();
        Ok(leads_back(&ways_back(&self.place.work, &ignored, &self.place.own, &commands)))
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

    /// Runs checks, one after the other, on what the room is to show. Each finds the room as the
    /// first did, but for ignored files.
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
        for check in planned {
            ran.push(self.check(check, checks, &options).await?);
        }
        Ok(ran)
    }

    /// Brings the room to what it is to show. Returns the options of commands in it.
    async fn show(
        &mut self,
        shown: Shown<'_>,
        (checks, options): (&dyn Checks, &CheckOptions),
    ) -> Result<CheckOptions, VerifyError> {
        let edits = last_of_each(self.human.iter().chain(shown.edits));
        let waiting = self.room.hold(shown.commit, &edits)?;
        self.place.borrowed = self.room.borrowed();
        let options = CheckOptions {
            dir: self.place.work.clone(),
            place: Some(self.place.clone()),
            ..options.clone()
        };
        self.make_filtered(&waiting, checks, &options).await?;
        Ok(options)
    }

    /// Runs `setup:` again if what it depends on differs from what it was made from. Returns the
    /// command that failed.
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
        // What a failed one left behind does not count.
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
        for command in commands {
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

    async fn check(
        &mut self,
        check: &PlannedCheck,
        checks: &dyn Checks,
        options: &CheckOptions,
    ) -> Result<RoomCheck, VerifyError> {
        let mut result = checks.run(&check.command, options).await;
        let mut flaky = false;
        if result.passed() && result.millis < QUICK {
            let again = checks.run(&check.command, options).await;
            flaky = !again.passed() && !matches!(again.status, CheckStatus::NotRun(_));
            if !again.passed() {
                result = CheckResult { millis: result.millis, ..again };
            }
        }
        result.criteria = check.criteria.clone();
        result.whole_task = check.whole_task;
        let Tidied { changed, waiting } = self.room.tidy()?;
        self.make_filtered(&waiting, checks, options).await?;
        Ok(RoomCheck { result, flaky, changed })
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
        checks.run(&command, options).await;
        self.room.made(paths);
        Ok(())
    }
}

/// Removes a folder, if it is there.
fn clear(folder: &Path) -> Result<(), VerifyError> {
    match remove_tree(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(failed("remove the proof room", folder)(error))
        }
        _ => Ok(()),
    }
}

fn failed(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> VerifyError {
    let path = path.to_owned();
    move |source| VerifyError::Io { operation, path, source }
}

/// The last edit of each path.
fn last_of_each<'a>(edits: impl Iterator<Item = &'a TreeEdit>) -> Vec<TreeEdit> {
    let edits: BTreeMap<&PathBuf, &TreeEdit> = edits.map(|edit| (edit.path(), edit)).collect();
    edits.into_values().cloned().collect()
}
