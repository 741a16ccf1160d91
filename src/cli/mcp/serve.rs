//! `mcp serve`: the tools on standard input and output, until the client goes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::allowed::AllowedTasks;
use super::child::OwnProgram;
use super::code_sessions::CodeSessions;
use super::code_tools::CodeTools;
use super::file_tools::FileTools;
use super::loop_tools::LoopTools;
use super::memory::WorkspaceMemory;
use super::orchestrate::Orchestrator;
use super::workspace::{START_ELSEWHERE, Workspace, in_repository};
use crate::cli::args::{McpServeArgs, ToolSet};
use crate::cli::failure::Failure;
use crate::cli::paths::{canonical, directory};
use crate::cli::runtime::{block_on_detached, runtime_in_order};
use crate::mcp::{Toolbox, Tools, serve_stdio};
use crate::model::ExitCode;
use crate::sys::depth::{Depth, DepthError};
use crate::sys::process::{kill_now, sweep};
use crate::sys::shutdown::Shutdown;

/// How long processes that the server started may take to end after it.
const LEFT_BEHIND: Duration = Duration::from_secs(10);

/// Serves until standard input ends or a signal comes.
pub(super) fn serve(named: Option<&Path>, args: &McpServeArgs) -> Result<u8, Failure> {
    let sets = if args.tools.is_empty() { vec![ToolSet::Loop] } else { args.tools.clone() };
    let folder = canonical(&directory(named)?);
    let own = OwnProgram::find()?;
    let depth = match Depth::current() {
        Ok(depth) => depth.number(),
        // Every call says so: a server that does not start would not.
        Err(DepthError::TooDeep(depth)) => depth,
        Err(error @ DepthError::Unknown(_)) => return Err(Failure::new(ExitCode::Usage, error)),
    };
    // Outside of a repository every call says so: a server that does not start would not.
    let allowed = match in_repository(&folder, START_ELSEWHERE) {
        Ok(()) => AllowedTasks::read(named, &args.allow_task)?,
        Err(_) => AllowedTasks::default(),
    };
    // Each request is a task: code tasks wait in the order in which they were read.
    let runtime = runtime_in_order()?;
    let ended = block_on_detached(runtime, async {
        let stop = Shutdown::default();
        let mark = own.mark.clone();
        let of_signal = mark.clone();
        stop.listen(move |signal| {
            kill_now(&of_signal);
            std::process::exit(128 + signal);
        })?;
        let token = stop.token().clone();
        let mut tools: Vec<Arc<dyn Tools>> = Vec::new();
        let workspace = || Workspace::find(&folder).map(Arc::new);
        let mut runs = None;
        if sets.contains(&ToolSet::Loop) {
            let made =
                LoopTools::new(own.clone(), folder.clone(), allowed, depth, token.child_token());
            let made = Arc::new(made);
            tools.push(Arc::clone(&made) as _);
            runs = Some(made);
        }
        if sets.contains(&ToolSet::Plugin) || sets.contains(&ToolSet::Bridge) {
            let sessions = Arc::new(CodeSessions::new(own, folder.clone(), depth));
            tools.push(Arc::new(CodeTools::new(Arc::clone(&sessions), sets.clone())));
            if sets.contains(&ToolSet::Plugin) {
                tools.push(Arc::new(Orchestrator::new(sessions)));
            }
        }
        if sets.contains(&ToolSet::Bridge) {
            tools.push(Arc::new(FileTools::new(workspace()?, depth)?));
        }
        if sets.contains(&ToolSet::Memory) {
            tools.push(Arc::new(WorkspaceMemory::new(workspace()?, depth)?));
        }
        let served = serve_stdio(Arc::new(Toolbox::new(tools)), token).await;
        if let Some(runs) = runs {
            runs.end().await;
        }
        let swept = sweep(&mark, LEFT_BEHIND).await;
        tracing::debug!(?swept, "the server's processes have ended");
        served.map_err(|error| Failure::new(ExitCode::Usage, error))?;
        Ok::<_, Failure>(stop.signal())
    });
    Ok(ended?.map_or(0, |signal| u8::try_from(128 + signal).unwrap_or(1)))
}
