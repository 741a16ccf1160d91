//! The settings that every prompt's process starts with.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use crate::agent::{AgentCommand, Gate, OfferedServer};
use crate::hooks::Plugin;
use crate::model::RunId;

/// Everything needed to start a prompt's process.
pub struct OneShotLaunch {
    /// The program, with its own arguments.
    pub command: AgentCommand,
    /// Arguments that the run adds.
    pub extra: Vec<OsString>,
    /// Variables to set (`Some`) or remove (`None`).
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// The run, whose id marks every process of it.
    pub run: RunId,
    /// The repository's root.
    pub cwd: PathBuf,
    /// The run's folder, for the records and stderr.
    pub folder: PathBuf,
    /// The CLI's home with its session records.
    pub home: Option<PathBuf>,
    /// The folder of the CLI's log.
    pub logs: PathBuf,
    /// The guard's plugin, verified before each session.
    pub plugin: Plugin,
    /// The run's own MCP server, if it offers tools.
    pub tools: Option<OfferedServer>,
    /// Decides the agent's tool calls.
    pub gate: Arc<Gate>,
}
