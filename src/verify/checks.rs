//! How a verify command is run, as a port.
//!
//! Invariant: a command that could not be started is a result, too. Not in this file: the
//! implementation (`shell`), and the leftovers of commands in the tree (`check_run`).

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;

use super::room_place::RoomPlace;
use crate::model::{Cell, CheckResult};

/// The purpose of a command of the runner, which decides its access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// To prove something: without credentials.
    #[default]
    Check,
    /// To try the work on inputs that the agent never sees: also without network and services, and
    /// nothing that it writes outlives its room.
    HoldOut,
    /// To get the result in the human's own tree, before any agent works. Its writes there are
    /// discarded, if the kernel can do that.
    Preflight,
    /// To prepare a room before any agent worked: with the human's network and credentials.
    FirstSetup,
    /// To prepare a room for an agent's commit: without credentials and secret files.
    Setup {
        /// With network.
        network: bool,
    },
}

/// Where and how long a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// The working directory: the repository's root, or a proof room's tree.
    pub dir: PathBuf,
    /// After this long it is ended with all its children; ten minutes by default.
    pub limit: Duration,
    /// Variables in addition to the runner's own environment without its secrets.
    pub env: Vec<(String, String)>,
    /// The proof room that it runs in, if it does.
    pub place: Option<RoomPlace>,
    /// The purpose of the command.
    pub purpose: Purpose,
    /// Files of a room that decide, relative to it: nothing changes them while it runs, where the
    /// kernel can see to that.
    pub fixed: Vec<PathBuf>,
    /// Commands that run again at once if they are quickly green: a check has to give the same
    /// answer each time.
    pub twice: Vec<String>,
    /// What a run of a check is to find.
    pub cell: Cell,
    /// The place of the command in a list of commands, from 1, and the length of the list; none for
    /// a command of the runner's own.
    pub place_in: Option<(usize, usize)>,
}

impl CheckOptions {
    /// The default limit.
    pub const LIMIT: Duration = Duration::from_secs(600);

    /// In a directory, with the default limit.
    pub fn in_dir(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            limit: Self::LIMIT,
            env: Vec::new(),
            place: None,
            purpose: Purpose::Check,
            fixed: Vec::new(),
            twice: Vec::new(),
            cell: Cell::Work,
            place_in: None,
        }
    }
}

/// Runs one command.
#[async_trait]
pub trait Checks: Send + Sync {
    /// Runs a command as `sh -c` does and says how it went. Never fails: a command that
    /// could not be started is a result too. Dropping the future ends the command.
    async fn run(&self, command: &str, options: &CheckOptions) -> CheckResult;
}
