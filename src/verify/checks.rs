//! How a verify command is run, as a port.
//!
//! Invariant: a command that could not be started is a result, too. What does NOT live here: the
//! implementation (`shell`), and what a plan of commands leaves in the tree (`check_run`).

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;

use super::room_place::RoomPlace;
use crate::model::CheckResult;

/// What a command of the runner is run for, which decides what it reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// To prove something: without credentials.
    #[default]
    Check,
    /// To see what the human's own tree says, before any agent works. Where the kernel can, what it
    /// writes there is thrown away.
    Preflight,
    /// To prepare a room before any agent worked: with the human's network and credentials.
    FirstSetup,
    /// To prepare a room for what an agent committed: without credentials and secret files.
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
    /// Variables it gets besides the runner's own environment without its secrets.
    pub env: Vec<(String, String)>,
    /// The proof room that it runs in, if it does.
    pub place: Option<RoomPlace>,
    /// What it is for.
    pub purpose: Purpose,
    /// Files of a room that decide, relative to it: nothing changes them while it runs, where the
    /// kernel can see to that.
    pub fixed: Vec<PathBuf>,
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
