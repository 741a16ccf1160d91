//! Memory: Markdown files that a human or a runner left for later sessions, to search and read.
//!
//! Invariant: nothing is written, and no path leaves a memory folder, whatever its name or links.

mod files;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;

use self::files::Read;
use super::arguments::{Arguments, schema};
use super::tools::{Call, Tool, ToolAnswer, Tools, bounded};
use crate::guard::Redactor;

pub use self::files::MemoryPlace;

/// The file that is read if none is named.
const INDEX: &str = "MEMORY.md";
/// How the names of the bridge's tools begin.
const BRIDGE: &str = "openclaw_";
/// Most results of a search, and how many without a `limit`.
const MOST: u64 = 50;
const USUAL: u64 = 5;

/// Where memory is.
#[derive(Clone, Debug, Default)]
pub struct MemorySources {
    /// Folders of Markdown files; the first that has a file wins.
    pub folders: Vec<MemoryPlace>,
    /// Files with the user's preferences; the first that exists wins.
    pub prefs: Vec<MemoryPlace>,
    /// Offer the bridge's names, too.
    pub bridge_names: bool,
}

impl MemorySources {
    /// Is there a folder or a file to read?
    pub fn exist(&self) -> bool {
        let files =
            self.prefs.iter().any(|place| matches!(files::read_prefs(place), Read::Text(_)));
        files || !files::folders(&self.folders).is_empty()
    }
}

/// The memory tools.
pub struct MemoryTools {
    sources: MemorySources,
    redactor: Arc<Redactor>,
    depth: u32,
}

impl MemoryTools {
    /// Offers the memory that exists. `depth` is that of this process.
    pub fn new(sources: MemorySources, redactor: Arc<Redactor>, depth: u32) -> Self {
        Self { sources, redactor, depth }
    }

    fn search(&self, arguments: Arguments<'_>) -> Result<String, ToolAnswer> {
        let query = arguments.text("query")?;
        let limit = arguments.count("limit", USUAL, (1, MOST))?;
        let folders = files::folders(&self.sources.folders);
        if folders.is_empty() {
            let places = self.sources.folders.iter().map(|place| place.path.display().to_string());
            return Ok(format!("No memory directory: {}", places.collect::<Vec<_>>().join(", ")));
        }
        let texts = folders.iter().flat_map(files::texts);
        let found = search(query, texts);
        if found.is_empty() {
            return Ok(format!("No memory entries found for \"{query}\""));
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let lines: Vec<String> = found.iter().take(limit).map(ToString::to_string).collect();
        Ok(lines.join("\n"))
    }

    fn read(&self, arguments: Arguments<'_>) -> Result<String, ToolAnswer> {
        let name = arguments.optional_text("file")?.unwrap_or(INDEX);
        for folder in files::folders(&self.sources.folders) {
            match files::read(&folder, name) {
                Read::Text(text) => return Ok(text),
                Read::Missing => {}
                Read::Denied(why) => {
                    return Err(ToolAnswer::error(format!("Access denied: {name:?} {why}")));
                }
            }
        }
        // The name is checked even without a folder.
        match files::wrong_name(name) {
            Some(why) => Err(ToolAnswer::error(format!("Access denied: {name:?} {why}"))),
            None => Err(ToolAnswer::error(format!("Memory file not found: {name}"))),
        }
    }

    fn prefs(&self) -> Result<String, ToolAnswer> {
        for place in &self.sources.prefs {
            match files::read_prefs(place) {
                Read::Text(text) => return Ok(text),
                Read::Missing => {}
                Read::Denied(why) => {
                    return Err(ToolAnswer::error(format!(
                        "Access denied: {} {why}",
                        place.path.display()
                    )));
                }
            }
        }
        Err(ToolAnswer::error("USER.md not found"))
    }
}

#[async_trait]
impl Tools for MemoryTools {
    fn list(&self) -> Vec<Tool> {
        let tool = |name: &str, description: &str, input_schema| Tool {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema,
            read_only: true,
        };
        let search = json!({
            "query": {"type": "string", "description": "Words to look for"},
            "limit": {"type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL},
        });
        let read = json!({
            "file": {"type": "string", "default": INDEX, "description": "A file of the memory"},
        });
        let plain = vec![
            tool(
                "memory_search",
                "Search the notes of earlier sessions by keywords. Returns the best lines.",
                schema(search, &["query"]),
            ),
            tool(
                "memory_read",
                "Read one file of the notes of earlier sessions.",
                schema(read, &[]),
            ),
            tool("user_prefs", "Read the user's preferences.", schema(json!({}), &[])),
        ];
        let bridge: Vec<Tool> = plain
            .iter()
            .filter(|_| self.sources.bridge_names)
            .map(|tool| Tool { name: format!("{BRIDGE}{}", tool.name), ..tool.clone() })
            .collect();
        plain.into_iter().chain(bridge).collect()
    }

    async fn call(&self, call: Call) -> Option<ToolAnswer> {
        let name = match call.name.strip_prefix(BRIDGE) {
            Some(name) if self.sources.bridge_names => name,
            Some(_) => return None,
            None => call.name.as_str(),
        };
        let arguments = Arguments::of(&call.arguments);
        let depth = arguments.depth(self.depth);
        let answer = match (name, depth) {
            ("memory_search" | "memory_read" | "user_prefs", Err(too_deep)) => Err(too_deep),
            ("memory_search", Ok(_)) => self.search(arguments),
            ("memory_read", Ok(_)) => self.read(arguments),
            ("user_prefs", Ok(_)) => self.prefs(),
            _ => return None,
        };
        Some(match answer {
            Ok(text) => ToolAnswer::text(bounded(&self.redactor.redact_str(&text))),
            Err(error) => error,
        })
    }
}

/// The places of a repository: its own, then the user's.
pub fn usual_places(root: &std::path::Path, config: Option<PathBuf>) -> MemorySources {
    let own = root.join(".ralph");
    let folders = std::iter::once(MemoryPlace::inside(own.join("memory"), root))
        .chain(config.iter().map(|config| MemoryPlace::trusted(config.join("memory"))));
    let prefs = std::iter::once(MemoryPlace::inside(own.join("USER.md"), root))
        .chain(config.iter().map(|config| MemoryPlace::trusted(config.join("USER.md"))));
    MemorySources { folders: folders.collect(), prefs: prefs.collect(), bridge_names: false }
}

/// A line with some of the words.
#[derive(Clone, Debug, PartialEq)]
struct Hit {
    file: String,
    score: f64,
    line: String,
}

impl fmt::Display for Hit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] (score: {:.2}) {}", self.file, self.score, self.line)
    }
}

/// The lines with at least one word of the query, best first; equal ones keep their order. The
/// score is the share of the query's words that the line has, in any case.
fn search(query: &str, files: impl IntoIterator<Item = (String, String)>) -> Vec<Hit> {
    let query = query.to_lowercase();
    let mut words: Vec<&str> = query.split_whitespace().collect();
    words.sort_unstable();
    words.dedup();
    let mut hits = Vec::new();
    for (file, text) in files {
        for line in text.lines() {
            let lower = line.to_lowercase();
            let found = words.iter().filter(|word| lower.contains(**word)).count();
            if found > 0 {
                #[expect(clippy::cast_precision_loss, reason = "a query has few words")]
                let score = found as f64 / words.len() as f64;
                hits.push(Hit { file: file.clone(), score, line: line.to_owned() });
            }
        }
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score));
    hits
}

#[cfg(test)]
mod tests;
