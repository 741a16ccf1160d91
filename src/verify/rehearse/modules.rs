//! The modules of the tree that code loads: their files, and the names that the code takes.
//!
//! Invariant: pure. A module that comes with the language, or that is known to be a package, is not
//! meant, unless the tree has it.

use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::inline_code::InlineCode;
use super::languages::Language;
use crate::verify::classify::SourceTree;

/// A module that code loads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Module {
    /// Its file, which may be missing.
    pub(super) path: PathBuf,
    /// The names that the code takes from it, or calls it.
    pub(super) names: Vec<String>,
    /// It is loaded by `import` of JavaScript.
    pub(super) is_imported: bool,
}

/// `from app import sq`, `import app as a`
static PYTHON: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(?:from\s+(?<from>[\w.]+)\s+import\s+(?<names>\([\w,\s]+\)|[\w, ]+)|import\s+(?<modules>[\w.]+(?:\s*,\s*[\w.]+)*)(?:\s+as\s+(?<name>\w+))?)").expect("a pattern")
});

/// `const {sq} = require('./app.js')`, `import {sq} from './app.js'`, `require('./app')`
static NODE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?:(?:const|let|var)\s+(?<names>\{[^}]*\}|\w+)\s*=\s*(?:await\s+)?(?:require|import)\(|\bimport\s+(?<imported>\{[^}]*\}|\w+|\*\s+as\s+\w+)\s+from\s*|\b(?:require|import)\s*\()\s*['"`](?<path>\.{1,2}/[^'"`]+)['"`]"#)
        .expect("a pattern")
});

/// `require "mailer"`, `require_relative '../lib/mailer'`
static RUBY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"\b(?<how>require_relative|require|load)[ (]+['"](?<path>[\w./-]+)['"]"#)
        .expect("a pattern")
});

/// `require 'src/x.php'`, `include __DIR__ . '/../src/x.php'`
static PHP: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"\b(?:require|include)(?:_once)?[\s(]+(?<here>__DIR__\s*\.\s*)?['"](?<path>[\w./-]+\.php)['"]"#,
    )
    .expect("a pattern")
});

/// Modules that come with Python, and well-known packages.
const PYTHONS: &str = "
    __future__ abc argparse array ast asyncio base64 bisect builtins bz2 calendar cmath
    collections concurrent configparser contextlib copy csv ctypes dataclasses datetime decimal
    difflib dis email enum errno fnmatch fractions functools gc getpass glob gzip hashlib heapq
    hmac html http importlib inspect io ipaddress itertools json keyword locale logging lzma
    math mimetypes multiprocessing operator os pathlib pickle pkgutil platform pprint queue
    random re runpy secrets select shlex shutil signal socket socketserver sqlite3 ssl stat
    statistics string struct subprocess sys sysconfig tarfile tempfile textwrap threading time
    timeit tokenize tomllib traceback types typing unicodedata unittest urllib uuid venv
    warnings wave weakref webbrowser xml xmlrpc zipfile zipimport zlib zoneinfo
    aiohttp attr attrs bs4 click django docutils fastapi flask freezegun httpx hypothesis jinja2
    jsonschema lxml markdown matplotlib mock mypy numpy pandas PIL psycopg2 pydantic pytest
    redis requests responses ruamel scipy setuptools six sqlalchemy toml yaml
";

/// Modules that come with Ruby.
const RUBIES: &str = "
    English abbrev base64 benchmark bigdecimal bundler cgi csv date delegate digest erb etc
    fileutils find forwardable io json logger minitest monitor net open3 open-uri openssl
    optparse ostruct pathname pp prime psych rake rspec securerandom set shellwords singleton
    socket stringio strscan tempfile test time timeout tmpdir tsort uri weakref yaml zlib
";

impl InlineCode {
    /// The modules of the tree that it loads, whether they exist or not.
    pub(super) fn modules(&self, tree: &dyn SourceTree) -> Vec<Module> {
        let mut found = match self.language {
            Language::Python => self.python_modules(tree),
            Language::Node => self.node_modules(tree),
            Language::Ruby => self.ruby_modules(tree),
            Language::Php => self.php_modules(),
            _ => Vec::new(),
        };
        let mut at = 0;
        while at < found.len() {
            let same = found[..at].iter().position(|it| it.path == found[at].path);
            match same {
                Some(same) => {
                    let names = found.remove(at).names;
                    found[same].names.extend(names);
                }
                None => at += 1,
            }
        }
        found
    }

    fn python_modules(&self, tree: &dyn SourceTree) -> Vec<Module> {
        let mut found = Vec::new();
        for it in PYTHON.captures_iter(&self.code) {
            if let (Some(from), Some(names)) = (it.name("from"), it.name("names")) {
                let words = names.as_str().split(|c: char| !(c.is_alphanumeric() || c == '_'));
                let names: Vec<String> =
                    words.filter(|word| !word.is_empty()).map(str::to_owned).collect();
                // `from app import sync`: a module of a package.
                let inner = names.iter().find_map(|name| {
                    let inner = format!("{}/{name}.py", from.as_str().replace('.', "/"));
                    tree.paths().contains_key(Path::new(&inner)).then(|| PathBuf::from(inner))
                });
                let path = inner.or_else(|| python_file(tree, from.as_str()));
                found.extend(path.map(|path| Module { path, names, is_imported: false }));
                continue;
            }
            for module in it["modules"].split(',').map(str::trim) {
                let known = it.name("name").map_or(module, |name| name.as_str());
                let names = known.split('.').next().map(str::to_owned).into_iter().collect();
                let path = python_file(tree, module);
                found.extend(path.map(|path| Module { path, names, is_imported: false }));
            }
        }
        found
    }

    fn node_modules(&self, tree: &dyn SourceTree) -> Vec<Module> {
        let modules = NODE.captures_iter(&self.code).filter_map(|it| {
            let is_imported = it.name("imported").is_some();
            let names = it.name("names").or(it.name("imported"));
            let names = names.map_or("", |names| names.as_str());
            let names = names.trim_matches(['{', '}', ' ']).split(',');
            let names = names.filter_map(|name| name.split([':', ' ']).find(|it| !it.is_empty()));
            let names = names.map(|name| name.trim_start_matches("* as ").to_owned()).collect();
            let path = joined(&self.folder, &it["path"])?.to_str()?.to_owned();
            let files = ["", ".js", ".ts", ".mjs", ".cjs", "/index.js"];
            let files = files.map(|end| format!("{path}{end}"));
            let there = files.iter().find(|file| tree.paths().contains_key(Path::new(file)));
            let has_extension = Path::new(&path).extension().is_some();
            let path = there.or_else(|| files.get(usize::from(!has_extension)))?;
            Some(Module { path: PathBuf::from(path), names, is_imported })
        });
        modules.collect()
    }

    fn ruby_modules(&self, tree: &dyn SourceTree) -> Vec<Module> {
        let modules = RUBY.captures_iter(&self.code).filter_map(|it| {
            let name = it["path"].trim_end_matches(".rb");
            let path = if &it["how"] == "require_relative" || name.starts_with('.') {
                joined(&self.folder, &format!("{name}.rb"))?
            } else {
                let files = [format!("lib/{name}.rb"), format!("{name}.rb")].map(PathBuf::from);
                let there = files.iter().find(|file| tree.paths().contains_key(*file));
                let own = lists(RUBIES, name.split('/').next().unwrap_or_default());
                there.or_else(|| files.first().filter(|_| !own))?.clone()
            };
            Some(Module { path, names: Vec::new(), is_imported: false })
        });
        modules.collect()
    }

    fn php_modules(&self) -> Vec<Module> {
        let modules = PHP.captures_iter(&self.code).filter_map(|it| {
            let folder = if it.name("here").is_some() { &self.folder } else { Path::new("") };
            let path = joined(folder, it["path"].trim_start_matches('/'))?;
            let is_tool = path.starts_with("vendor");
            (!is_tool).then(|| Module { path, names: Vec::new(), is_imported: false })
        });
        modules.collect()
    }
}

/// The file of a Python module.
fn python_file(tree: &dyn SourceTree, module: &str) -> Option<PathBuf> {
    let path = module.replace('.', "/");
    if path.starts_with('/') {
        return None;
    }
    let files = [format!("{path}.py"), format!("src/{path}.py"), format!("{path}/__init__.py")];
    let there = files.iter().find(|file| tree.paths().contains_key(Path::new(file)));
    let own = lists(PYTHONS, path.split('/').next().unwrap_or_default());
    there.or_else(|| files.first().filter(|_| !own)).map(PathBuf::from)
}

/// A path from the root, without `.` and `..`.
fn joined(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for part in folder.join(name).components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::ParentDir => path.pop().then_some(())?,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

fn lists(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|it| it == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_normal() {
        let of = |folder: &str, name: &str| joined(Path::new(folder), name);
        assert_eq!(of("tests/a", "../../lib/x.js"), Some(PathBuf::from("lib/x.js")));
        assert_eq!(of("", "./x"), Some(PathBuf::from("x")));
        assert_eq!(of("", "../x"), None);
    }
}
