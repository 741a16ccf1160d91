//! The harness table: which paths are harness by convention.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use super::conventions::{CONVENTIONS, Role, SOURCES};
use super::paths::{extension, file_name, folder};

/// The built-in conventions, and the configuration's own globs.
#[derive(Clone, Debug)]
pub struct Table {
    folders: HashMap<&'static str, usize>,
    exact: HashMap<&'static str, usize>,
    names: GlobSet,
    name_rows: Vec<usize>,
    paths: GlobSet,
    path_rows: Vec<usize>,
    own: GlobSet,
    sources: HashSet<&'static str>,
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
        let mut table = Self {
            folders: HashMap::new(),
            exact: HashMap::new(),
            names: GlobSet::empty(),
            name_rows: Vec::new(),
            paths: GlobSet::empty(),
            path_rows: Vec::new(),
            own: GlobSet::empty(),
            sources: SOURCES.iter().copied().collect(),
            known: Arc::default(),
        };
        let (mut names, mut paths) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for (row, convention) in CONVENTIONS.iter().enumerate() {
            for folder in convention.folders {
                table.folders.entry(folder).or_insert(row);
            }
            for name in convention.names {
                if name.contains(['*', '[', '{']) {
                    names.add(Glob::new(name)?);
                    table.name_rows.push(row);
                } else {
                    table.exact.entry(name).or_insert(row);
                }
            }
            for path in convention.paths {
                paths.add(GlobBuilder::new(path).literal_separator(true).build()?);
                table.path_rows.push(row);
            }
        }
        let mut globs = GlobSetBuilder::new();
        for text in own {
            let text = text.strip_prefix("./").unwrap_or(text).trim_end_matches('/');
            globs.add(Glob::new(text)?);
            globs.add(Glob::new(&format!("{text}/**"))?);
        }
        table.names = names.build()?;
        table.paths = paths.build()?;
        table.own = globs.build()?;
        Ok(table)
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
        let row = names
            .chain(paths)
            .chain(folders)
            .chain(exact)
            .filter(|row| self.allows(*row, path))
            .min()?;
        Some(CONVENTIONS[row].role)
    }

    /// Source code is never expected output by its name alone.
    fn allows(&self, row: usize, path: &Path) -> bool {
        CONVENTIONS[row].role != Role::Expected || !self.sources.contains(extension(path))
    }
}

/// Whether a path has the ending of source code.
pub(in crate::verify) fn has_code(path: &Path) -> bool {
    SOURCES.contains(&extension(path))
}

/// The table as Markdown, for the documentation.
pub fn table_markdown() -> String {
    let mut text =
        String::from("| ecosystem | what | names, folders, and paths |\n|---|---|---|\n");
    for row in CONVENTIONS {
        let what = match row.role {
            Role::Config => "configuration of runners, files that tools load by themselves",
            Role::Tests => "tests and helpers",
            Role::Expected => "expected outputs (not source code)",
            Role::Manifest => "manifests, by their parts",
        };
        let folders = row.folders.iter().map(|folder| format!("`{folder}/`"));
        let names = row.names.iter().chain(row.paths).map(|glob| format!("`{glob}`"));
        let all: Vec<String> = folders.chain(names).collect();
        text.push_str(&format!("| {} | {what} | {} |\n", row.ecosystem, all.join(", ")));
    }
    text
}
