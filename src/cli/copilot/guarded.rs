//! The command of a launch under the guard.

use crate::agent::AgentCommand;
use crate::cli::failure::Failure;
use crate::cli::launch;
use crate::hooks::{Plugin, PluginUse};
use crate::launcher::Normalized;
use crate::model::ExitCode;
use crate::sys::process::{CHILD_VARIABLE, RUN_VARIABLE};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
/// A failure of ours, told apart from any of the CLI's; as `env` and `timeout` have it.
pub(super) const OURS: u8 = 125;

/// One launch that may begin.
pub(super) struct Begun {
    pub(super) command: AgentCommand,
    pub(super) cwd: PathBuf,
    pub(super) normalized: Normalized,
    pub(super) depth: String,
}

/// The CLI's command with the guard's plugin, and an environment without variables that would
/// weaken the guard.
pub(super) fn guarded(begun: &Begun, plugin: &Plugin, tmp: &Path) -> Result<Command, Failure> {
    let (variables, arguments) = launch::environment(begun.command.kind, tmp, &[])?;
    let mut command = Command::new(&begun.command.program);
    command
        .args(plugin_arguments(plugin.folder()))
        .args(arguments)
        .args(&begun.normalized.arguments);
    // A run or a recipe uses these to find and end everything that it started.
    let marks = |name: &OsString| name == RUN_VARIABLE || name == CHILD_VARIABLE;
    for (name, value) in variables {
        match value {
            Some(value) => command.env(name, value),
            None if marks(&name) => continue,
            None => command.env_remove(name),
        };
    }
    Ok(command)
}

pub(super) fn plugin(
    base: &Path,
    socket: &Path,
    normalized: &Normalized,
) -> Result<Plugin, Failure> {
    let program =
        std::env::current_exe().map_err(|error| Failure::new(ExitCode::Internal, error))?;
    // With narrow flags of the caller the CLI's own answer counts: both must agree.
    let mounted = if normalized.narrowed { PluginUse::NarrowLaunch } else { PluginUse::Launch };
    let written = Plugin::write(&plugin_folder(base), &program, socket, mounted);
    written.map_err(|error| Failure::new(ExitCode::Write, error))
}

pub(super) fn plugin_folder(base: &Path) -> PathBuf {
    base.join("plugin")
}

pub(super) fn plugin_arguments(folder: &Path) -> [OsString; 2] {
    ["--plugin-dir".into(), folder.into()]
}
