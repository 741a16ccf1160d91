//! Finds the agent's program: the `--agent` command, or the Copilot CLI.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use super::AgentError;

/// The kind of agent behind a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentKind {
    /// GitHub's Copilot CLI, whose plugin folder carries the guard's hooks.
    Copilot,
    /// Any other ACP agent, guarded by the permission handler alone.
    #[default]
    Other,
}

/// A command that speaks ACP on its standard streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentCommand {
    /// The program, absolute.
    pub program: PathBuf,
    /// The program's arguments, without those that the run adds.
    pub args: Vec<String>,
    /// The kind of agent.
    pub kind: AgentKind,
}

/// Access to the environment and the PATH, passed in for tests.
pub struct ProgramLookup<'a> {
    /// Returns an environment variable's value.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Returns a program's path, found as a shell finds it.
    pub which: &'a dyn Fn(&str) -> Option<PathBuf>,
}

impl AgentCommand {
    /// Finds the agent: the command that the user named, else `COPILOT_CLI_PATH`,
    /// else `copilot` on the PATH.
    ///
    /// # Errors
    /// If the program is not found, or the command cannot be split into words.
    pub fn find(named: Option<&str>, lookup: &ProgramLookup<'_>) -> Result<Self, AgentError> {
        match named {
            Some(command) => Self::named(command, lookup),
            None => Self::copilot(lookup),
        }
    }

    /// Converts the command for `copilot -p`: one process per prompt, without ACP.
    ///
    /// # Errors
    /// If the program is not the Copilot CLI; no other agent is known to support this.
    pub fn for_prompts(self) -> Result<Self, AgentError> {
        let copilot = self.program.file_stem().is_some_and(|stem| stem == "copilot");
        if self.kind != AgentKind::Copilot && !copilot {
            return Err(AgentError::Command {
                command: self.program.display().to_string(),
                why: "`--via cli` works with the Copilot CLI only".to_owned(),
            });
        }
        let args = self.args.into_iter().filter(|arg| arg != "--acp").collect();
        Ok(Self { program: native(&self.program), args, kind: AgentKind::Copilot })
    }

    fn named(command: &str, lookup: &ProgramLookup<'_>) -> Result<Self, AgentError> {
        let mut words = shlex::split(command).unwrap_or_default().into_iter();
        let Some(first) = words.next() else {
            return Err(AgentError::Command {
                command: command.to_owned(),
                why: "it is empty, or a quote is not closed".to_owned(),
            });
        };
        let found = (lookup.which)(&first).ok_or_else(|| AgentError::NotFound {
            program: first.clone(),
            why: "it is neither a file nor on the PATH".to_owned(),
        })?;
        let args: Vec<String> = words.collect();
        let copilot = found.file_stem().is_some_and(|stem| stem == "copilot")
            && args.iter().any(|arg| arg == "--acp");
        if copilot {
            return Ok(Self { program: native(&found), args, kind: AgentKind::Copilot });
        }
        Ok(Self { program: found, args, kind: AgentKind::Other })
    }

    fn copilot(lookup: &ProgramLookup<'_>) -> Result<Self, AgentError> {
        let named = (lookup.variable)("COPILOT_CLI_PATH").filter(|path| !path.is_empty());
        let (found, looked) = match &named {
            Some(path) => ((lookup.which)(path), format!("COPILOT_CLI_PATH says {path}")),
            None => ((lookup.which)("copilot"), "it is not on the PATH".to_owned()),
        };
        let found = found
            .ok_or_else(|| AgentError::NotFound { program: "copilot".to_owned(), why: looked })?;
        Ok(Self {
            program: native(&found),
            args: vec!["--acp".to_owned()],
            kind: AgentKind::Copilot,
        })
    }
}

/// The arguments that name a file of MCP servers to the Copilot CLI.
pub(super) fn mcp_config(file: &Path) -> [OsString; 2] {
    let mut named = OsString::from("@");
    named.push(file);
    ["--additional-mcp-config".into(), named]
}

/// Sets the environment, the folder and the output pipes of an agent's process.
pub(super) fn prepare(
    command: &mut Command,
    environment: &[(OsString, Option<OsString>)],
    cwd: &Path,
) {
    command.current_dir(cwd).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, value) in environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

/// The native binary behind the npm loader. The loader blocks its signals while it waits for
/// the binary, so a TERM sent to the loader would leave the agent alive.
fn native(found: &Path) -> PathBuf {
    let real = found.canonicalize().unwrap_or_else(|_| found.to_owned());
    let is_loader = real.extension().is_some_and(|extension| extension == "js");
    let Some(package) = real.parent().filter(|_| is_loader) else { return real };
    let platform = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    let processor = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let scopes = [package.parent().map(Path::to_owned), Some(package.join("node_modules/@github"))];
    for scope in scopes.into_iter().flatten() {
        for flavour in ["", "musl"] {
            let name = format!("copilot-{platform}{flavour}-{processor}");
            let binary = scope.join(name).join("copilot");
            if binary.is_file() {
                return binary;
            }
        }
    }
    real
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup_in(folder: &Path) -> impl Fn(&str) -> Option<PathBuf> {
        let folder = folder.to_owned();
        move |name| Some(folder.join(name)).filter(|path| path.is_file())
    }

    #[test]
    fn the_native_binary_is_found_behind_the_npm_loader() {
        let folder = tempfile::tempdir().expect("temp dir");
        let scope = folder.path().join("node_modules/@github");
        let platform = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
        let processor = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        let native = scope.join(format!("copilot-{platform}-{processor}/copilot"));
        std::fs::create_dir_all(scope.join("copilot")).expect("mkdir");
        std::fs::create_dir_all(native.parent().expect("parent")).expect("mkdir");
        std::fs::write(scope.join("copilot/npm-loader.js"), "").expect("write");
        std::fs::write(&native, "").expect("write");
        std::os::unix::fs::symlink(
            scope.join("copilot/npm-loader.js"),
            folder.path().join("copilot"),
        )
        .expect("symlink");
        let which = lookup_in(folder.path());
        let command =
            AgentCommand::find(None, &ProgramLookup { variable: &|_| None, which: &which })
                .expect("found");
        assert_eq!(command.program, native.canonicalize().expect("exists"));
        assert_eq!((command.args, command.kind), (vec!["--acp".to_owned()], AgentKind::Copilot));
        let lookup = ProgramLookup { variable: &|_| None, which: &which };
        let named = AgentCommand::find(Some("copilot"), &lookup).expect("found");
        let named = named.for_prompts().expect("Copilot");
        assert_eq!(named.program, native.canonicalize().expect("exists"));
    }

    #[test]
    fn a_named_command_is_split_like_a_shell_would() {
        let folder = tempfile::tempdir().expect("temp dir");
        std::fs::write(folder.path().join("agent"), "").expect("write");
        let which = lookup_in(folder.path());
        let lookup = ProgramLookup { variable: &|_| None, which: &which };
        let command =
            AgentCommand::find(Some("agent --script 'a b.yaml'"), &lookup).expect("found");
        assert_eq!(command.args, ["--script", "a b.yaml"]);
        assert_eq!(command.kind, AgentKind::Other);
    }

    #[test]
    fn one_prompt_at_a_time_is_for_copilot_alone() {
        let folder = tempfile::tempdir().expect("temp dir");
        for name in ["copilot", "agent"] {
            std::fs::write(folder.path().join(name), "").expect("write");
        }
        let which = lookup_in(folder.path());
        let lookup = ProgramLookup { variable: &|_| None, which: &which };
        let find = |named| AgentCommand::find(named, &lookup).expect("found").for_prompts();
        for named in [None, Some("copilot --acp"), Some("copilot")] {
            let command = find(named).expect("Copilot");
            assert_eq!((command.args.len(), command.kind), (0, AgentKind::Copilot), "{named:?}");
        }
        let other = find(Some("agent --acp")).expect_err("another agent");
        assert!(matches!(other, AgentError::Command { .. }), "{other}");
    }

    #[test]
    fn what_is_missing_or_no_command_is_told_apart() {
        let lookup = ProgramLookup { variable: &|_| None, which: &|_| None };
        let missing = AgentCommand::find(None, &lookup).expect_err("missing");
        assert!(matches!(missing, AgentError::NotFound { .. }), "{missing}");
        let broken = AgentCommand::find(Some("agent 'x"), &lookup).expect_err("broken");
        assert!(matches!(broken, AgentError::Command { .. }), "{broken}");
    }
}
