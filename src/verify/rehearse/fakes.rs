//! Tests that test nothing, for a check whose runner finds none of its own.
//!
//! Invariant: pure. The runner's arguments say where it looks, and for which name.

use std::path::{Path, PathBuf};

use super::grep_text::{GrepSyntax, matching};
use super::languages::Language;
use crate::verify::classify::SourceTree;
use crate::verify::classify::shell::ShellCommand;
use crate::verify::classify::wrappers::unwrapped;
use crate::verify::runner::{TestRunner, runner};

/// Options whose value selects tests by their names.
const FILTERS: [&str; 9] = [
    "-k",
    "-run",
    "-t",
    "--filter",
    "--grep",
    "-g",
    "--test-name-pattern",
    "--testNamePattern",
    "-e",
];

/// A new or longer file with a test of the name that a command selects, where its runner looks.
pub(super) fn new_test(
    start: &dyn SourceTree,
    command: &ShellCommand,
) -> Option<(PathBuf, String)> {
    let (runner, arguments) = runner(unwrapped(&command.words))?;
    let language = match runner {
        TestRunner::Cargo | TestRunner::Nextest => Language::Rust,
        TestRunner::Pytest | TestRunner::Unittest => Language::Python,
        TestRunner::Go => Language::Go,
        TestRunner::Jest | TestRunner::Vitest | TestRunner::Mocha | TestRunner::Node => {
            Language::Node
        }
        TestRunner::Phpunit => Language::Php,
        TestRunner::Rspec | TestRunner::Minitest => Language::Ruby,
        TestRunner::Maven | TestRunner::Gradle | TestRunner::Ctest | TestRunner::Dotnet => {
            return None;
        }
    };
    let (mut filter, mut operands, mut file) = (None, Vec::new(), None);
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let mut value = || match value {
            "" => rest.next().copied(),
            value => Some(value),
        };
        match name {
            _ if FILTERS.contains(&name) => filter = value(),
            "--test" if language == Language::Rust => file = value(),
            "--" => break,
            _ if name.starts_with('-') => {}
            _ => operands.push(*word),
        }
    }
    if language == Language::Rust {
        filter = filter.or(operands.pop());
    }
    let word = filter.and_then(|filter| matching(filter, GrepSyntax::Extended));
    let word = word.filter(|word| !word.is_empty()).unwrap_or_else(|| "nothing".to_owned());
    let (module, word) = word.rsplit_once("::").unwrap_or(("", &word));
    let word = if word.is_empty() { "nothing" } else { word };
    let plain = |word: &&str| word.trim_start_matches("./").trim_end_matches(['/', '.']).to_owned();
    let below = |folder: &str| {
        folder.is_empty() || start.paths().keys().any(|path| path.starts_with(folder))
    };
    let named = operands.iter().map(plain).find(|folder| below(folder));
    // An existing file gets one more test.
    if let Some(path) = named.as_ref().map(PathBuf::from)
        && let Some(bytes) = start.read(&path)
    {
        let old = String::from_utf8_lossy(&bytes).into_owned();
        let text = format!("{old}\n{}", language.passes(&path, word));
        return (language == Language::Python).then_some((path, text));
    }
    let usual = ["tests", "test", "spec"].into_iter().find(|folder| below(folder));
    let folder = PathBuf::from(named.as_deref().unwrap_or(usual.unwrap_or_default()));
    if language == Language::Rust && file.is_none() {
        let roots = ["src/lib.rs", "src/main.rs"].map(PathBuf::from);
        if let Some(path) = roots.into_iter().find(|path| start.paths().contains_key(path)) {
            let old = String::from_utf8(start.read(&path)?).ok()?;
            let test = in_modules(module, language.passes(&path, word));
            return Some((path, format!("{old}\n{test}")));
        }
    }
    let path = match language {
        Language::Rust => Path::new("tests").join(format!("{}.rs", file.unwrap_or("rehearsal"))),
        Language::Python => folder.join("test_rehearsal.py"),
        Language::Node => folder.join("rehearsal.test.js"),
        Language::Php => folder.join("RehearsalTest.php"),
        Language::Go => return in_package(start, &operands, word),
        Language::Ruby if runner == TestRunner::Rspec => Path::new("spec/rehearsal_spec.rb").into(),
        Language::Ruby => folder.join("test_rehearsal.rb"),
        Language::Shell | Language::Perl | Language::C => return None,
    };
    let text = match runner {
        TestRunner::Jest | TestRunner::Vitest => format!("test('{word}', () => {{}})\n"),
        TestRunner::Mocha => format!("it('{word}', () => {{}})\n"),
        TestRunner::Cargo | TestRunner::Nextest => in_modules(module, language.passes(&path, word)),
        _ => language.passes(&path, word),
    };
    Some((path, text))
}

/// A test of Rust in the modules of its path.
fn in_modules(path: &str, test: String) -> String {
    let names = path.rsplit("::").filter(|name| !name.is_empty());
    names.fold(test, |text, name| format!("mod {name} {{\n{text}}}\n"))
}

/// In the first package of Go that a command names.
fn in_package(start: &dyn SourceTree, operands: &[&str], word: &str) -> Option<(PathBuf, String)> {
    let named = operands.first().copied().unwrap_or_default();
    let folder = named.trim_end_matches("...").trim_start_matches("./").trim_end_matches('/');
    let folder = if folder == "." { "" } else { folder };
    let is_source =
        |path: &&PathBuf| path.starts_with(folder) && path.extension().is_some_and(|it| it == "go");
    let source = start.paths().keys().find(is_source)?;
    let code = String::from_utf8(start.read(source)?).ok()?;
    let package = code.lines().find(|line| line.starts_with("package "))?;
    let path = source.with_file_name("rehearsal_test.go");
    let text = format!("{package}\n\n{}", Language::Go.passes(&path, word));
    Some((path, text))
}
