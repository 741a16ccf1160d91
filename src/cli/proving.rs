//! Proof rooms for commands that prove something without a run and without an agent.
//!
//! Invariant: nothing in the working tree, in `.ralph`, or in the run's copies changes.

use std::future::Future;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};

use super::context::TaskContext;
use super::failure::Failure;
use super::harness::harness_table;
use super::launch::{self, Scratch};
use super::paths;
use super::room_checks::RoomChecks;
use super::secret_files::SecretFiles;
use super::tier;
use super::walls::RunWalls;
use crate::config::Settings;
use crate::model::{ExitCode, Tier};
use crate::verify::{CheckOptions, MasterFolder, Preflight, ProofRooms, RoomFolders, Table};

/// The environment of checks.
pub(super) struct Proving {
    pub(super) rooms: ProofRooms,
    pub(super) checks: RoomChecks,
    pub(super) options: CheckOptions,
    pub(super) table: Table,
    pub(super) tier: Tier,
    _scratch: Scratch,
}

/// Which copy of ignored files the rooms get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ignored {
    /// The files in the working tree.
    OfTheTree,
    /// The files that existed before an agent worked, if a run has recorded them.
    BeforeAgents,
}

/// Prepares rooms for a task. `preflight` has the human's uncommitted files.
pub(super) fn proving(
    at: &TaskContext,
    settings: &Settings,
    preflight: &Preflight,
    ignored: Ignored,
) -> Result<Proving, Failure> {
    let scratch = launch::scratch()?;
    let chosen = tier::choose(settings.sandbox, at.place.root())?;
    let secrets = SecretFiles::find(&at.place.repo, settings)?;
    let tier = (chosen.tier, chosen.programs);
    let walls = RunWalls::of_checks(at, preflight, settings, tier, scratch.path(), secrets)?;
    let kept = paths::master(at.place.root());
    let master = match (&kept, ignored) {
        (Some(kept), Ignored::BeforeAgents) => MasterFolder::AsLeft(kept),
        (None, _) | (_, Ignored::OfTheTree) => MasterFolder::New,
    };
    let base = scratch.path().join("proof");
    std::fs::create_dir_all(&base).map_err(|error| Failure::new(ExitCode::Write, error))?;
    let folders = RoomFolders { base: &base, seen_at: tier::seen_at(chosen.tier), master };
    let rooms = at.place.repo.proof_rooms(&at.layout, folders, preflight)?;
    let run = format!("proving-{}", std::process::id());
    let checks = RoomChecks::new(Arc::new(walls), &run);
    let options =
        CheckOptions { limit: settings.verify_timeout.0, ..CheckOptions::in_dir(at.place.root()) };
    let table = harness_table(settings)?;
    Ok(Proving { rooms, checks, options, table, tier: chosen.tier, _scratch: scratch })
}

/// Waits for the answer, or for a signal that ends the command and its processes.
pub(super) async fn until_signal<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let listen = |kind| signal(kind).map_err(|error| Failure::new(ExitCode::Internal, error));
    let (mut interrupt, mut terminate) =
        (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    tokio::select! {
        done = work => Ok(done),
        _ = interrupt.recv() => Err(Failure::new(ExitCode::Sigint, "interrupted (Ctrl-C)")),
        _ = terminate.recv() => Err(Failure::new(ExitCode::Sigterm, "ended by SIGTERM")),
    }
}
