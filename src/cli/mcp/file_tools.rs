//! Files of the workspace as tools, under the guard's rules.
//!
//! Invariant: a path outside the server's folder, or one that the guard denies an agent, is
//! refused; nothing is overwritten. The opened file is the judged one: no link is followed when
//! opening. Every call is in the audit before it is answered.

use std::io::{Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::workspace::Workspace;
use crate::agent::{Focus, Gate};
use crate::cli::audit;
use crate::cli::failure::Failure;
use crate::cli::paths::canonical;
use crate::guard::{OsFiles, Policy, Redactor};
use crate::mcp::{Arguments, Call, Tool, ToolAnswer, Tools, bounded, schema};
use crate::model::{Asked, SessionId, ToolRequest};
use crate::sys::clock::Clock;
use crate::sys::contained::Contained;

/// Most bytes of a file that are read.
const MOST: u64 = 1 << 20;

/// The bridge's tools for files.
pub(super) struct FileTools {
    workspace: Arc<Workspace>,
    policy: Arc<Policy>,
    depth: u32,
}

/// Decides and records one call, and redacts its answer.
struct Guarded<'t> {
    folder: &'t Path,
    gate: Gate,
}

impl FileTools {
    pub(super) fn new(workspace: Arc<Workspace>, depth: u32) -> Result<Self, Failure> {
        workspace.exclude_audit()?;
        let policy = Arc::new(workspace.policy()?);
        let tools = Self { workspace, policy, depth };
        // A server whose calls could not be recorded does not start.
        tools.guarded(tools.workspace.redactor())?;
        Ok(tools)
    }

    fn guarded(&self, redactor: Arc<Redactor>) -> Result<Guarded<'_>, Failure> {
        let folder = &self.workspace.folder;
        let audited = audit::folder(&self.workspace.root, folder);
        let record = audit::alone(&audited, Clock::system(), &redactor)?;
        let gate = Gate::new(record, redactor, Box::new(OsFiles));
        gate.focus(Focus { iteration: 0, policy: Arc::clone(&self.policy) })?;
        Ok(Guarded { folder, gate })
    }

    fn answer(&self, call: &Call) -> Result<ToolAnswer, ToolAnswer> {
        let arguments = Arguments::of(&call.arguments);
        arguments.depth(self.depth)?;
        let guarded = self.guarded(self.workspace.redactor());
        let guarded = guarded.map_err(|failure| ToolAnswer::error(failure.to_string()))?;
        let redact = |text: &str| guarded.gate.redactor().redact_str(text).into_owned();
        match guarded.answer(&call.name, arguments) {
            Ok(text) => Ok(ToolAnswer::text(bounded(&redact(&text)))),
            Err(error) => Err(ToolAnswer { text: bounded(&redact(&error.text)), ..error }),
        }
    }
}

impl Guarded<'_> {
    /// The path, if it is inside and the guard lets an agent use this tool on it.
    fn allowed(&self, path: &str, tool: &str, input: Value) -> Result<PathBuf, ToolAnswer> {
        let path = inside(self.folder, Path::new(path))?;
        let mut input = input;
        input["path"] = json!(path);
        let request = ToolRequest {
            session: SessionId::new("mcp-serve"),
            call: None,
            tool: tool.to_owned(),
            input,
            asked: Asked::Hook,
        };
        let decision = self.gate.decide(&request);
        if decision.allowed() { Ok(path) } else { Err(ToolAnswer::error(decision.reason)) }
    }

    fn answer(&self, name: &str, arguments: Arguments<'_>) -> Result<String, ToolAnswer> {
        match name {
            "copilot_read_file" => {
                let path = self.allowed(arguments.text("path")?, "view", json!({}))?;
                self.read(&path)
            }
            "copilot_create_file" => {
                let content = arguments
                    .optional_text("content")?
                    .ok_or_else(|| ToolAnswer::error("`content` is missing"))?;
                let input = json!({"file_text": content});
                let path = self.allowed(arguments.text("path")?, "create", input)?;
                self.create(&path, content)
            }
            _ => {
                let folder = arguments.optional_text("directory")?.unwrap_or(".");
                self.list(&self.allowed(folder, "view", json!({}))?)
            }
        }
    }

    /// The server's folder, and the path in it.
    fn place<'p>(&self, path: &'p Path) -> std::io::Result<(Contained, &'p Path)> {
        let below = path.strip_prefix(self.folder).unwrap_or(path);
        Ok((Contained::open(self.folder)?, below))
    }

    fn read(&self, path: &Path) -> Result<String, ToolAnswer> {
        let read = || {
            let (folder, below) = self.place(path)?;
            let mut bytes = Vec::new();
            folder.read(below)?.take(MOST).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().map_err(|error| failed(path, &error))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn create(&self, path: &Path, content: &str) -> Result<String, ToolAnswer> {
        let create = || {
            let (folder, below) = self.place(path)?;
            folder.create(below)?.write_all(content.as_bytes())
        };
        create().map_err(|error| failed(path, &error))?;
        Ok(format!("Created {}", path.display()))
    }

    fn list(&self, path: &Path) -> Result<String, ToolAnswer> {
        let list = || {
            let (folder, below) = self.place(path)?;
            folder.list(below)
        };
        let entries = list().map_err(|error| failed(path, &error))?;
        let names: Vec<String> = entries
            .into_iter()
            .map(|entry| format!("{}{}", entry.name, if entry.is_folder { "/" } else { "" }))
            .collect();
        Ok(names.join("\n"))
    }
}

/// A path in a folder, without links; one that leads out of it is an error.
pub(super) fn inside(folder: &Path, path: &Path) -> Result<PathBuf, ToolAnswer> {
    let outside = || {
        let (path, folder) = (path.display(), folder.display());
        ToolAnswer::error(format!("denied: {path} is outside {folder}"))
    };
    if path.as_os_str().as_encoded_bytes().contains(&0)
        || path.components().any(|part| part == Component::ParentDir)
    {
        return Err(outside());
    }
    let real = canonical(&folder.join(path));
    // A link to nowhere has no real path, and a file would be created behind it.
    let dangling = real.symlink_metadata().is_ok_and(|found| found.is_symlink());
    if dangling || !real.starts_with(folder) { Err(outside()) } else { Ok(real) }
}

fn failed(path: &Path, error: &std::io::Error) -> ToolAnswer {
    ToolAnswer::error(format!("{}: {error}", path.display()))
}

#[async_trait]
impl Tools for FileTools {
    fn list(&self) -> Vec<Tool> {
        let tool = |name: &str, description: &str, input_schema, read_only| Tool {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema,
            read_only,
        };
        let path = json!({"type": "string", "description": "A path in the server's folder"});
        vec![
            tool(
                "copilot_read_file",
                "Read a file of the workspace.",
                schema(json!({"path": path}), &["path"]),
                true,
            ),
            tool(
                "copilot_create_file",
                "Create a file in the workspace; never overwrites one.",
                schema(json!({"path": path, "content": {"type": "string"}}), &["path", "content"]),
                false,
            ),
            tool(
                "copilot_list_files",
                "List a folder of the workspace.",
                schema(json!({"directory": {"type": "string", "default": "."}}), &[]),
                true,
            ),
        ]
    }

    async fn call(&self, call: Call) -> Option<ToolAnswer> {
        let known = self.list().into_iter().any(|tool| tool.name == call.name);
        known.then_some(())?;
        Some(self.answer(&call).unwrap_or_else(|error| error))
    }
}
