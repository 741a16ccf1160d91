//! The harness table: which paths are harness by convention, and what is known about languages. The
//! rows are in `harness.toml`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use regex::Regex;
use serde::Deserialize;

use super::paths::{extension, file_name, folder};

/// How a path belongs to the harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Configuration of a runner, or a file that a tool loads unasked. Put back whole.
    Config,
    /// Tests and their helpers. Put back whole.
    Tests,
    /// Expected output and test data. Put back whole.
    Expected,
    /// A manifest. The parts that say how things run are put back.
    Manifest,
    /// A list of what is built. Put back whole, unless the sources need the new one.
    Build,
}

#[derive(Debug, Deserialize)]
struct Rows {
    ecosystem: Vec<Ecosystem>,
    language: Vec<LanguageRow>,
}

#[derive(Debug, Deserialize)]
struct Ecosystem {
    name: String,
    #[serde(default)]
    config: Vec<String>,
    #[serde(default)]
    tests: Vec<String>,
    #[serde(default)]
    expected: Vec<String>,
    #[serde(default)]
    parts: Vec<String>,
    #[serde(default)]
    build: Vec<String>,
}

impl Ecosystem {
    fn roles(&self) -> [(Role, &[String]); 5] {
        [
            (Role::Config, &self.config),
            (Role::Tests, &self.tests),
            (Role::Expected, &self.expected),
            (Role::Manifest, &self.parts),
            (Role::Build, &self.build),
        ]
    }
}

#[derive(Debug, Deserialize)]
struct LanguageRow {
    endings: Vec<String>,
    fails: Option<String>,
    #[serde(default)]
    script: bool,
    comment: Option<String>,
    loads: Option<String>,
}

/// What is known about a language.
#[derive(Debug)]
pub(super) struct LanguageFacts {
    endings: Vec<String>,
    /// A statement that makes a check fail where it is reached.
    pub(super) fails: String,
    /// Its files run from top to bottom.
    pub(super) script: bool,
    /// The mark of a comment.
    pub(super) comment: String,
    /// Names of loaded files and modules are its groups.
    pub(super) loads: Option<Regex>,
}

static ROWS: LazyLock<Rows> =
    LazyLock::new(|| toml::from_str(include_str!("harness.toml")).expect("a valid table"));

static LANGUAGES: LazyLock<Vec<LanguageFacts>> = LazyLock::new(|| {
    let of = |row: &LanguageRow| LanguageFacts {
        endings: row.endings.clone(),
        fails: row.fails.clone().unwrap_or_default(),
        script: row.script,
        comment: row.comment.clone().unwrap_or_default(),
        loads: row.loads.as_ref().map(|it| Regex::new(it).expect("a valid pattern")),
    };
    ROWS.language.iter().map(of).collect()
});

/// The language of a file, by its ending. A script without one is known by its first line.
pub(super) fn language(path: &Path, code: &str) -> Option<&'static LanguageFacts> {
    let by_ending =
        |ending: &str| LANGUAGES.iter().find(|it| it.endings.iter().any(|known| known == ending));
    let first = code.lines().next().filter(|line| line.starts_with("#!")).unwrap_or_default();
    match extension(path) {
        "" if first.contains("python") => by_ending("py"),
        "" if first.contains("node") => by_ending("js"),
        "" if first.contains("ruby") => by_ending("rb"),
        "" if first.contains("perl") => by_ending("pl"),
        "" if first.ends_with("sh") => by_ending("sh"),
        ending => by_ending(ending),
    }
}

/// Whether a path has the ending of source code.
pub(in crate::verify) fn has_code(path: &Path) -> bool {
    language(path, "").is_some()
}

/// The built-in conventions, and the configuration's own globs.
#[derive(Clone, Debug)]
pub struct Table {
    folders: HashMap<&'static str, (usize, Role)>,
    exact: HashMap<&'static str, (usize, Role)>,
    names: GlobSet,
    name_rows: Vec<(usize, Role)>,
    paths: GlobSet,
    path_rows: Vec<(usize, Role)>,
    own: GlobSet,
    /// The roles of paths that were asked for. Each proof asks for all of the start's.
    known: Arc<Mutex<HashMap<PathBuf, Option<Role>>>>,
}

/// More are not remembered.
const KNOWN: usize = 200_000;

impl Table {
    /// The built-in table with more globs, from the configuration. A path that one of them covers
    /// is put back whole.
    ///
    /// # Errors
    /// If one of the globs cannot be understood.
    pub fn new(own: &[String]) -> Result<Self, globset::Error> {
        let (mut folders, mut exact) = (HashMap::new(), HashMap::new());
        let (mut names, mut paths) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        let (mut name_rows, mut path_rows) = (Vec::new(), Vec::new());
        for (row, ecosystem) in ROWS.ecosystem.iter().enumerate() {
            for (role, texts) in ecosystem.roles() {
                for text in texts {
                    match text.strip_suffix('/') {
                        Some(folder) => {
                            folders.entry(folder).or_insert((row, role));
                        }
                        None if text.contains('/') => {
                            paths.add(GlobBuilder::new(text).literal_separator(true).build()?);
                            path_rows.push((row, role));
                        }
                        None if text.contains(['*', '[', '{']) => {
                            names.add(Glob::new(text)?);
                            name_rows.push((row, role));
                        }
                        None => {
                            exact.entry(text.as_str()).or_insert((row, role));
                        }
                    }
                }
            }
        }
        let mut globs = GlobSetBuilder::new();
        for text in own {
            let text = text.strip_prefix("./").unwrap_or(text).trim_end_matches('/');
            globs.add(Glob::new(text)?);
            globs.add(Glob::new(&format!("{text}/**"))?);
        }
        let (names, paths, own) = (names.build()?, paths.build()?, globs.build()?);
        let known = Arc::default();
        Ok(Self { folders, exact, names, name_rows, paths, path_rows, own, known })
    }

    /// The role of a path relative to the root, if it is harness by convention.
    pub fn role(&self, path: &Path) -> Option<Role> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(role) = known.get(path) {
            return *role;
        }
        let role = self.find_role(path);
        if known.len() < KNOWN {
            known.insert(path.to_owned(), role);
        }
        role
    }

    fn find_role(&self, path: &Path) -> Option<Role> {
        if self.own.is_match(path) {
            return Some(Role::Config);
        }
        let name = file_name(path);
        let exact = self.exact.get(name).copied();
        let names = self.names.matches(name).into_iter().map(|at| self.name_rows[at]);
        let paths = self.paths.matches(path).into_iter().map(|at| self.path_rows[at]);
        let folders = folder(path)
            .components()
            .filter_map(|part| self.folders.get(part.as_os_str().to_str()?).copied());
        // Source code is never expected output by its name alone.
        let allows = |(_, role): &(usize, Role)| *role != Role::Expected || !has_code(path);
        let rows = names.chain(paths).chain(folders).chain(exact).filter(allows);
        rows.min().map(|(_, role)| role)
    }
}

/// The table as Markdown, for the documentation.
pub fn table_markdown() -> String {
    let mut text =
        String::from("| ecosystem | what | names, folders, and paths |\n|---|---|---|\n");
    for ecosystem in &ROWS.ecosystem {
        for (role, texts) in ecosystem.roles().into_iter().filter(|(_, it)| !it.is_empty()) {
            let what = match role {
                Role::Config => "configuration of runners, files that tools load by themselves",
                Role::Tests => "tests and helpers",
                Role::Expected => "expected outputs (not source code)",
                Role::Manifest => "manifests, by their parts",
                Role::Build => "what is built",
            };
            let all: Vec<String> = texts.iter().map(|text| format!("`{text}`")).collect();
            text.push_str(&format!("| {} | {what} | {} |\n", ecosystem.name, all.join(", ")));
        }
    }
    text
}
