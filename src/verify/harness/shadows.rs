//! New files that a tool would load instead of the ones that it loads today.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::entries::toml::python_requirements;
use super::files::{SourceTree, text};
use super::paths::{extension, file_name, folder};

/// Modules that runners of Python tests are made of or load.
const RUNNER_MODULES: [&str; 22] = [
    "_pytest",
    "argparse",
    "asyncio",
    "coverage",
    "difflib",
    "doctest",
    "functools",
    "hypothesis",
    "importlib",
    "inspect",
    "io",
    "logging",
    "mock",
    "nose2",
    "os",
    "pluggy",
    "pytest",
    "re",
    "sys",
    "traceback",
    "types",
    "unittest",
];

/// Headers of the standard library and of test frameworks.
const HEADERS: [&str; 12] = [
    "assert.h",
    "cassert",
    "catch.hpp",
    "catch_amalgamated.hpp",
    "check.h",
    "cmocka.h",
    "doctest.h",
    "gtest.h",
    "iostream",
    "stdio.h",
    "stdlib.h",
    "unity.h",
];

/// Whether a new file takes the place of a module that the start's harness imports.
pub(super) fn shadows(start: &dyn SourceTree, harness: &BTreeSet<PathBuf>, path: &Path) -> bool {
    match extension(path) {
        "py" | "pyc" | "so" => python(start, harness, path),
        "h" | "hpp" | "" => HEADERS.contains(&file_name(path)),
        "java" | "kt" | "groovy" | "scala" | "rb" | "pm" | "lua" => framework(path),
        _ => false,
    }
}

/// Whether a path is that of a test framework's own file: the product's folders come first.
fn framework(path: &Path) -> bool {
    static OWN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?:^|/)(?:org/(?:assertj|hamcrest|junit|mockito|spockframework|testng)|junit/framework|kotlin/test|io/kotest)/",
            r"|(?:^|/)lib/(?:minitest|rspec|test/unit|test-unit)\.rb$",
            r"|(?:^|/)lib/minitest/(?:assertions|autorun|spec|test|unit|\w+_plugin)\.rb$",
            r"|(?:^|/)lib/rspec/(?:autorun|core|expectations|mocks|support)(?:/.*)?\.rb$",
            r"|(?:^|/)(?:Test/(?:Builder|More|ShellCommand)|Test2/.*|TAP/.*)\.pm$",
            r"|(?:^|/)(?:busted|luassert|luaunit)(?:/.*)?\.lua$",
        ))
        .expect("valid")
    });
    path.to_str().is_some_and(|path| OWN.is_match(path))
}

fn python(start: &dyn SourceTree, harness: &BTreeSet<PathBuf>, path: &Path) -> bool {
    let (module, root) = if file_name(path) == "__init__.py" {
        (file_name(folder(path)), folder(folder(path)))
    } else {
        let name = file_name(path);
        (name.split('.').next().unwrap_or(name), folder(path))
    };
    let loaded_from = root.as_os_str().is_empty()
        || root == Path::new("src")
        || harness.iter().any(|file| folder(file) == root);
    if !loaded_from {
        return false;
    }
    RUNNER_MODULES.contains(&module)
        || ((STANDARD.contains(&module) || is_required(start, module))
            && harness.iter().filter(|file| extension(file) == "py").any(|file| {
                text(start, file).is_some_and(|code| {
                    code.lines().any(|line| {
                        let line = line.trim_start();
                        (line.starts_with("import ") || line.starts_with("from "))
                            && line
                                .split(|c: char| !(c.is_alphanumeric() || c == '_'))
                                .any(|word| word == module)
                    })
                })
            }))
}

/// Whether a module is that of a package that the start installs.
fn is_required(start: &dyn SourceTree, module: &str) -> bool {
    let module = module.to_lowercase().replace('_', "-");
    let mut manifests = start.paths().keys().filter_map(|path| {
        let name = file_name(path);
        if name == "pyproject.toml" {
            return Some(python_requirements(&text(start, path)?));
        }
        if !(name.starts_with("requirements") && name.ends_with(".txt")) {
            return None;
        }
        let code = text(start, path)?;
        let end = |c: char| !(c.is_alphanumeric() || "-_.".contains(c));
        let names = code.lines().filter_map(|line| line.trim().split(end).next());
        Some(names.map(|name| name.to_lowercase().replace(['_', '.'], "-")).collect())
    });
    manifests.any(|names| names.contains(&module))
}

/// Modules of Python's standard library that tests import.
const STANDARD: [&str; 44] = [
    "abc",
    "array",
    "base64",
    "bisect",
    "calendar",
    "collections",
    "contextlib",
    "copy",
    "csv",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "filecmp",
    "fractions",
    "glob",
    "hashlib",
    "heapq",
    "http",
    "itertools",
    "json",
    "math",
    "operator",
    "pathlib",
    "pickle",
    "platform",
    "queue",
    "random",
    "shlex",
    "shutil",
    "socket",
    "sqlite3",
    "statistics",
    "string",
    "struct",
    "subprocess",
    "tempfile",
    "textwrap",
    "threading",
    "time",
    "typing",
    "urllib",
    "uuid",
    "zlib",
];
