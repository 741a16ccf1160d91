//! New files that a tool would load instead of the ones that it loads today.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::deciding;
use super::entries::toml::python_requirements;
use super::files::{SourceTree, text};
use super::paths::{extension, file_name, folder};
use super::programs::lists;
use super::standard::{
    HEADERS, JAVA, PERL, PYTHON, PYTHON_BEHIND, PYTHON_OF_RUNNERS, RUBY, RUBY_OF_RUNNERS,
    SYSTEM_HEADERS,
};

/// The trees of a question, and the paths of the start that decide.
#[derive(Clone, Copy)]
pub(super) struct Shadows<'a> {
    pub(super) start: &'a dyn SourceTree,
    pub(super) now: &'a dyn SourceTree,
    pub(super) harness: &'a BTreeSet<PathBuf>,
}

impl<'a> Shadows<'a> {
    /// Whether a new file takes the place of a module that the start's harness loads.
    pub(super) fn cover(self, path: &Path) -> bool {
        match extension(path) {
            "py" | "pyc" | "so" => python(self.start, self.harness, path),
            "h" | "hpp" | "" => self.header(path),
            "pm" | "pmc" => framework(path) || perl(path),
            "rb" => framework(path) || self.ruby(path),
            "java" => framework(path) || self.java(path),
            "kt" | "groovy" | "scala" | "lua" => framework(path),
            "tcl" | "tm" => self.tcl(path),
            _ => false,
        }
    }

    /// The files of the start with these extensions that decide, or that are programs of C, with their code.
    fn codes(self, extensions: &'static str) -> impl Iterator<Item = (&'a PathBuf, String)> {
        let own = self.start.paths().keys().filter(|path| lists(extensions, extension(path)));
        let codes = own.filter_map(move |path| Some((path, text(self.start, path)?)));
        codes.filter(move |(path, code)| {
            self.harness.contains(*path) || deciding::is_test_code(path, code) || is_program(code)
        })
    }

    /// A header of the system that a test names with `<...>`.
    fn header(self, path: &Path) -> bool {
        let name = file_name(path);
        HEADERS.contains(&name)
            || lists(SYSTEM_HEADERS, name)
                && self
                    .codes("c cc cpp cxx h hpp")
                    .any(|(_, code)| code.contains(&format!("<{name}>")))
    }

    /// A library of Ruby that a test requires, in a folder of the load path.
    fn ruby(self, path: &Path) -> bool {
        let Some(name) = path.to_str().and_then(|path| path.strip_suffix(".rb")) else {
            return false;
        };
        let in_root = |name: &str, library: &str| {
            let root =
                name.strip_suffix(library).filter(|root| root.is_empty() || root.ends_with('/'));
            root.is_some_and(|root| matches!(file_name(Path::new(root)), "" | "lib" | "src"))
        };
        let one_of = |names: &'static str| names.split_whitespace().find(|it| in_root(name, it));
        one_of(RUBY_OF_RUNNERS).is_some()
            || one_of(RUBY).is_some_and(|library| {
                let required = [format!("require '{library}'"), format!("require \"{library}\"")];
                self.codes("rb").any(|(_, code)| required.iter().any(|it| code.contains(it)))
            })
    }

    /// A class of the test's package: it comes before those of `java.lang`, and before those that
    /// the test imports as `java.util.*`.
    fn java(self, path: &Path) -> bool {
        let class = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let package = text(self.now, path).map(|code| java_package(&code).to_owned());
        self.codes("java").any(|(other, code)| {
            Some(java_package(&code)) == package.as_deref()
                && (file_name(other) == file_name(path)
                    || lists(JAVA, class)
                        && deciding::mentions(&code, class)
                        && !code.contains(&format!(".{class};")))
        })
    }

    /// An index of packages with one that a package of the harness has, too.
    fn tcl(self, path: &Path) -> bool {
        let packages = |code: &str| -> Vec<String> {
            let found = TCL_PACKAGES.captures_iter(code);
            found.map(|found| found[1].to_owned()).collect()
        };
        let new = text(self.now, path).map(|code| packages(&code)).unwrap_or_default();
        let known =
            |(_, code): (&PathBuf, String)| packages(&code).iter().any(|it| new.contains(it));
        // `verdict-1.1.tm` comes before `verdict-1.0.tm`.
        let module = |path: &Path| file_name(path).split('-').next().map(str::to_owned);
        let is_newer = extension(path) == "tm"
            && self
                .start
                .paths()
                .keys()
                .any(|other| extension(other) == "tm" && module(other) == module(path));
        is_newer || (!new.is_empty() && self.codes("tcl tm").any(known))
    }
}

static TCL_PACKAGES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\bpackage\s+(?:ifneeded|provide|require)\s+([\w:]+)").expect("valid")
});

/// Whether code of C has a `main`: tests of any form have one.
fn is_program(code: &str) -> bool {
    code.contains("int main(")
}

/// The package that Java code declares, or nothing.
fn java_package(code: &str) -> &str {
    let line = code.lines().find_map(|line| line.trim().strip_prefix("package "));
    line.map_or("", |name| name.trim_end().trim_end_matches(';').trim())
}

/// A module of Perl itself. Folders of the product's packages begin with a capital letter.
fn perl(path: &Path) -> bool {
    let path = path.with_extension("");
    let Some(path) = path.to_str() else { return false };
    PERL.split_whitespace().any(|module| {
        let root = path.strip_suffix(module).filter(|root| root.is_empty() || root.ends_with('/'));
        root.is_some_and(|root| !file_name(Path::new(root)).starts_with(char::is_uppercase))
    })
}

/// Whether a path is that of a test framework's own file: the product's folders come first.
fn framework(path: &Path) -> bool {
    static OWN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?:^|/)(?:org/(?:assertj|hamcrest|junit|mockito|spockframework|testng)|junit/framework|kotlin/test|io/kotest)/",
            r"|(?:^|/)lib/(?:minitest|rspec|test/unit|test-unit)\.rb$",
            r"|(?:^|/)lib/minitest/(?:assertions|autorun|spec|test|unit|\w+_plugin)\.rb$",
            r"|(?:^|/)lib/rspec/(?:autorun|core|expectations|mocks|support)(?:/.*)?\.rb$",
            r"|(?:^|/)(?:Test/(?:Builder(?:/.*)?|More|ShellCommand|Simple)|Test2/.*|TAP/.*)\.pm$",
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
    PYTHON_OF_RUNNERS.contains(&module)
        || PYTHON_BEHIND.contains(&module)
        || ((PYTHON.contains(&module) || is_required(start, module))
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
