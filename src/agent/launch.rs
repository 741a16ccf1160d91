//! Everything that a start of an agent takes, over ACP or with one process for each prompt.

use std::path::PathBuf;
use std::sync::Arc;

use super::{AgentCommand, ForAgent, Gate, OfferedServer};
use crate::hooks::Plugin;
use crate::model::RunId;

/// Everything needed to start an agent.
#[derive(Clone)]
pub struct AgentLaunch {
    /// The program, with its own arguments.
    pub command: AgentCommand,
    /// Its environment, and the arguments that the run adds.
    pub environment: ForAgent,
    /// The run, whose id marks every process of it.
    pub run: RunId,
    /// The repository's root: the sessions' working directory.
    pub cwd: PathBuf,
    /// The run's folder, for wire frames or records, and stderr.
    pub folder: PathBuf,
    /// The CLI's home with its session records, for Copilot.
    pub home: Option<PathBuf>,
    /// Where the Copilot CLI writes its log.
    pub logs: PathBuf,
    /// The guard's plugin, for Copilot; verified before each session.
    pub plugin: Option<Plugin>,
    /// The run's own MCP server, if it offers tools.
    pub tools: Option<OfferedServer>,
    /// Decides the agent's tool calls.
    pub gate: Arc<Gate>,
}
