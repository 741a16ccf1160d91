//! Where memory is, from the settings, and the tools that read it for a server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;

use super::workspace::Workspace;
use crate::cli::environment;
use crate::cli::failure::Failure;
use crate::config::{self, Settings, Source, Sourced};
use crate::guard::Redactor;
use crate::mcp::{
    Arguments, Call, MemoryPlace, MemorySources, MemoryTools, Tool, ToolAnswer, Tools, usual_places,
};
use crate::model::ExitCode;

/// The folders and files of memory. Only the user's own configuration may name places outside the
/// repository.
pub(super) fn sources(root: &Path, settings: &Settings) -> Result<MemorySources, Failure> {
    let memory = &settings.memory;
    let config = config::user_file().and_then(|file| file.parent().map(Path::to_owned));
    let mut sources = usual_places(root, config);
    if let Some(openclaw) = memory.openclaw.as_ref().filter(|openclaw| openclaw.value) {
        if !is_users(&openclaw.source) {
            return Err(not_yours("memory.openclaw", &openclaw.source));
        }
        let home = etcetera::home_dir().map_err(|error| Failure::new(ExitCode::Invalid, error))?;
        let own = home.join(".openclaw");
        sources.bridge_names = true;
        sources.folders = vec![MemoryPlace::trusted(own.join("memory"))];
        sources.prefs = vec![MemoryPlace::trusted(own.join("USER.md"))];
    }
    if let Some(dir) = &memory.dir {
        sources.folders = vec![place(root, "memory.dir", dir)?];
    }
    if let Some(prefs) = &memory.prefs {
        sources.prefs = vec![place(root, "memory.prefs", prefs)?];
    }
    Ok(sources)
}

/// The memory that the agent of a run may read: there is some, or a layer names a place for it.
pub(in crate::cli) fn of_run(
    root: &Path,
    settings: &Settings,
) -> Result<Option<MemorySources>, Failure> {
    let memory = &settings.memory;
    let openclaw = memory.openclaw.as_ref().is_some_and(|openclaw| openclaw.value);
    let named = openclaw || memory.dir.is_some() || memory.prefs.is_some();
    let sources = sources(root, settings)?;
    Ok(Some(sources).filter(|sources| named || sources.exist()))
}

fn is_users(source: &Source) -> bool {
    matches!(source, Source::User(_))
}

fn not_yours(key: &str, source: &Source) -> Failure {
    let why = format!("`{key}` in {source} leads out of the repository");
    Failure::new(ExitCode::Invalid, why).hint("set it in ~/.config/ralph-copilot/config.toml")
}

/// A place that a layer names.
fn place(root: &Path, key: &str, chosen: &Sourced<PathBuf>) -> Result<MemoryPlace, Failure> {
    let path = match chosen.value.strip_prefix("~") {
        Ok(below) => etcetera::home_dir()
            .map_err(|error| Failure::new(ExitCode::Invalid, error))?
            .join(below),
        Err(_) => root.join(&chosen.value),
    };
    if is_users(&chosen.source) {
        return Ok(MemoryPlace::trusted(path));
    }
    let up = path.components().any(|part| part == std::path::Component::ParentDir);
    if up || !path.starts_with(root) {
        return Err(not_yours(key, &chosen.source));
    }
    Ok(MemoryPlace::inside(path, root))
}

/// The memory tools of a server, which know the secrets of its workspace at each call.
pub(super) struct WorkspaceMemory {
    sources: MemorySources,
    workspace: Arc<Workspace>,
    depth: u32,
}

impl WorkspaceMemory {
    pub(super) fn new(workspace: Arc<Workspace>, depth: u32) -> Result<Self, Failure> {
        let sources = sources(&workspace.root, &workspace.settings)?;
        Ok(Self { sources, workspace, depth })
    }

    fn tools(&self, redactor: Arc<Redactor>) -> MemoryTools {
        MemoryTools::new(self.sources.clone(), redactor, self.depth)
    }
}

#[async_trait]
impl Tools for WorkspaceMemory {
    fn list(&self) -> Vec<Tool> {
        self.tools(Arc::clone(environment::redactor())).list()
    }

    async fn call(&self, call: Call) -> Option<ToolAnswer> {
        let known = self.list().into_iter().any(|tool| tool.name == call.name);
        known.then_some(())?;
        // Nothing is looked at for a call that is too deep.
        if let Err(too_deep) = Arguments::of(&call.arguments).depth(self.depth) {
            return Some(too_deep);
        }
        self.tools(self.workspace.redactor()).call(call).await
    }
}
