//! Files of the workspace as tools, under the guard's rules.
//!
//! Invariant: a path outside of the server's folder, and one that the guard denies an agent, is
//! refused; nothing is overwritten. Every call is in the audit before it is answered.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::agent::{Focus, Gate};
use crate::cli::context::{RepoContext, layers};
use crate::cli::failure::Failure;
use crate::cli::paths::canonical;
use crate::cli::{audit, environment, policy};
use crate::config::{LayerSettings, resolve};
use crate::guard::{OsFiles, Policy};
use crate::mcp::{Arguments, Call, Tool, ToolAnswer, Tools, bounded, schema};
use crate::model::{Asked, SessionId, ToolRequest};
use crate::sys::clock::Clock;
use crate::verify::{Repo as _, VerifyError};

/// Most bytes of a file that are read.
const MOST: u64 = 1 << 20;

/// The bridge's tools for files.
pub(super) struct FileTools {
    folder: PathBuf,
    gate: Gate,
    depth: u32,
}

impl FileTools {
    pub(super) fn new(folder: PathBuf, depth: u32) -> Result<Self, Failure> {
        let (root, policy) = match RepoContext::find(Some(&folder)) {
            Ok(place) => {
                match place.repo.exclude(&[".ralph/audit/"]) {
                    // A run at work has seen to it.
                    Ok(()) | Err(VerifyError::ExcludesWatched { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
                let settings = resolve(&place.layers(LayerSettings::default(), None)?);
                (place.root().to_owned(), policy::without_task(&place, &settings)?)
            }
            // Without a repository the folder is the workspace.
            Err(_) => {
                let settings = resolve(&layers(&folder, LayerSettings::default(), None)?);
                (folder.clone(), policy::rules(Policy::without_task(folder.clone()), &settings)?)
            }
        };
        let redactor = Arc::clone(environment::redactor());
        let record = audit::alone(&audit::folder(&root, &folder), Clock::system(), &redactor)?;
        let gate = Gate::new(record, redactor, Box::new(OsFiles));
        gate.focus(Focus { iteration: 0, policy: Arc::new(policy) })?;
        Ok(Self { folder, gate, depth })
    }

    /// The path, if it is inside and the guard lets an agent use this tool on it.
    fn allowed(&self, path: &str, tool: &str, input: Value) -> Result<PathBuf, ToolAnswer> {
        let path = inside(&self.folder, Path::new(path))?;
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

    fn answer(&self, call: &Call) -> Result<String, ToolAnswer> {
        let arguments = Arguments::of(&call.arguments);
        arguments.depth(self.depth)?;
        match call.name.as_str() {
            "copilot_read_file" => {
                let path = self.allowed(arguments.text("path")?, "view", json!({}))?;
                read(&path)
            }
            "copilot_create_file" => {
                let content = arguments
                    .optional_text("content")?
                    .ok_or_else(|| ToolAnswer::error("`content` is missing"))?;
                let input = json!({"file_text": content});
                let path = self.allowed(arguments.text("path")?, "create", input)?;
                create(&path, content)
            }
            _ => {
                let folder = arguments.optional_text("directory")?.unwrap_or(".");
                list(&self.allowed(folder, "view", json!({}))?)
            }
        }
    }
}

/// A path in a folder, without links; one that leads out of it is an error.
pub(super) fn inside(folder: &Path, path: &Path) -> Result<PathBuf, ToolAnswer> {
    let outside = || {
        let (path, folder) = (path.display(), folder.display());
        ToolAnswer::error(format!("denied: {path} is outside of {folder}"))
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

fn read(path: &Path) -> Result<String, ToolAnswer> {
    if !path.metadata().map_err(|error| failed(path, &error))?.is_file() {
        return Err(ToolAnswer::error(format!("{} is not a file", path.display())));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| failed(path, &error))?;
    file.take(MOST).read_to_end(&mut bytes).map_err(|error| failed(path, &error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn create(path: &Path, content: &str) -> Result<String, ToolAnswer> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let file = fs::OpenOptions::new().write(true).create_new(true).open(path);
    file.and_then(|mut file| file.write_all(content.as_bytes()))
        .map_err(|error| failed(path, &error))?;
    Ok(format!("Created {}", path.display()))
}

fn list(path: &Path) -> Result<String, ToolAnswer> {
    let entries = fs::read_dir(path).map_err(|error| failed(path, &error))?;
    let mut names: Vec<String> = entries
        .filter_map(Result::ok)
        .map(|entry| {
            let end = if entry.file_type().is_ok_and(|kind| kind.is_dir()) { "/" } else { "" };
            format!("{}{end}", entry.file_name().to_string_lossy())
        })
        .collect();
    names.sort();
    Ok(names.join("\n"))
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
        Some(match self.answer(&call) {
            Ok(text) => ToolAnswer::text(bounded(&environment::redactor().redact_str(&text))),
            Err(answer) => answer,
        })
    }
}
