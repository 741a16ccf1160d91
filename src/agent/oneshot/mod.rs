//! The Copilot CLI without ACP: one `copilot -p` for each prompt.
//!
//! Invariant: no tool is allowed beforehand. Every call is shown to the guard's hooks, and
//! what the CLI would ask a human about runs only if the guard's `permissionRequest` hook
//! says so: a hook that is missing, silent or slow leaves it denied. The CLI's records on
//! its standard output tell what really ran; a call that no decision vouches for ends the
//! turn. What the records mean lives in `seen`, how a prompt is watched in `turn`.

mod cli_records;
mod turn;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sha2::{Digest as _, Sha256};

use self::turn::OneShotSession;
use super::records::SessionRecords;
use super::{Agent, AgentCommand, AgentError, Gate, Session};
use crate::hooks::Plugin;
use crate::model::{AgentIdentity, RunId, SessionId};

/// Everything that a prompt's process is started with.
pub struct OneShotLaunch {
    /// The program, with its own arguments.
    pub command: AgentCommand,
    /// Arguments that the run adds.
    pub extra: Vec<OsString>,
    /// Variables that are set (`Some`) or removed (`None`).
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// The run; every process of it carries its name.
    pub run: RunId,
    /// The repository's root.
    pub cwd: PathBuf,
    /// The run's folder, for the records and stderr.
    pub folder: PathBuf,
    /// Where the CLI keeps its records.
    pub home: Option<PathBuf>,
    /// Where the CLI is told to write its log.
    pub logs: PathBuf,
    /// The guard's plugin, checked before each session.
    pub plugin: Plugin,
    /// Decides what the agent asks for.
    pub gate: Arc<Gate>,
}

/// An agent that is a process for each prompt: between them nothing runs.
pub struct OneShot {
    launch: Arc<OneShotLaunch>,
    sessions: u32,
}

impl OneShot {
    /// Nothing is started yet.
    pub fn new(launch: OneShotLaunch) -> Self {
        Self { launch: Arc::new(launch), sessions: 0 }
    }
}

#[async_trait]
impl Agent for OneShot {
    fn identity(&self) -> Option<AgentIdentity> {
        None
    }

    fn pid(&self) -> Option<u32> {
        None
    }

    async fn open(&mut self) -> Result<Box<dyn Session>, AgentError> {
        self.launch.plugin.check()?;
        self.sessions += 1;
        let started = std::time::SystemTime::now();
        let id = session_name(self.launch.run.as_str(), self.sessions, started);
        let records = self.launch.home.as_deref().map(|home| SessionRecords::of(home, &id));
        let id = SessionId::new(id);
        self.launch.gate.opened(&id);
        Ok(Box::new(OneShotSession::new(id, Arc::clone(&self.launch), records)))
    }

    async fn stop(self: Box<Self>) {}
}

/// A name that the CLI takes for a session of ours: a UUID.
fn session_name(run: &str, number: u32, now: std::time::SystemTime) -> String {
    let since = now.duration_since(std::time::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let digest = Sha256::digest(format!("{run}/{number}/{}", since.as_nanos()));
    let mut hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    // Version 4, variant 1: as if it were random.
    hex.replace_range(12..13, "4");
    hex.replace_range(16..17, "8");
    let part = |from: usize, to: usize| &hex[from..to];
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_has_a_name_of_its_own_that_is_a_uuid() {
        let at = |seconds| std::time::UNIX_EPOCH + Duration::from_secs(seconds);
        let name = session_name("r", 1, at(1));
        let lengths: Vec<_> = name.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!((&name[14..15], &name[19..20]), ("4", "8"));
        for other in [session_name("r", 2, at(1)), session_name("r", 1, at(2))] {
            assert_ne!(name, other);
        }
    }
}
