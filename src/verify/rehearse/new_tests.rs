//! Tests that test nothing, where a check's own test is missing at the start.
//!
//! Invariant: pure. The runner's arguments say where it looks, and for which name.

use std::path::{Path, PathBuf};

use super::attack::{Attack, plain, write};
use super::grep::sample;
use super::languages::Language;
use crate::shell::ShellCommand;
use crate::shell::unwrapped;
use crate::verify::classify::{Role, TreeEdit};
use crate::verify::runner::{TestRunner, runner};

/// Options whose value selects tests by their names.
const FILTERS: &str = "-k -run -t --filter --grep -g --test-name-pattern --testNamePattern -e";

impl Attack<'_> {
    /// The missing tests that the lines name, or else new ones where the runners look.
    pub(super) fn new_tests(&self) -> Vec<TreeEdit> {
        let named = self.missing().into_iter().filter_map(|path| {
            let is_test = self.table.role(&path) == Some(Role::Tests);
            let language = Language::of(&path, None).filter(|_| is_test)?;
            let text = language.test(&path, "nothing");
            Some(write(path, &text))
        });
        let named: Vec<TreeEdit> = named.collect();
        if !named.is_empty() {
            return named;
        }
        self.scanned.iter().filter_map(|command| self.new_test(command)).collect()
    }

    fn new_test(&self, command: &ShellCommand) -> Option<TreeEdit> {
        let (runner, arguments) = runner(unwrapped(&command.words))?;
        let file = match runner {
            TestRunner::Cargo | TestRunner::Nextest => "rehearsal.rs",
            TestRunner::Pytest | TestRunner::Unittest => "test_rehearsal.py",
            TestRunner::Go => "rehearsal_test.go",
            TestRunner::Jest | TestRunner::Vitest | TestRunner::Mocha | TestRunner::Node => {
                "rehearsal.test.js"
            }
            TestRunner::Phpunit => "RehearsalTest.php",
            TestRunner::Rspec => "rehearsal_spec.rb",
            TestRunner::Minitest => "test_rehearsal.rb",
            TestRunner::Maven | TestRunner::Gradle | TestRunner::Ctest | TestRunner::Dotnet => {
                return None;
            }
        };
        let language = Language::of(Path::new(file), None)?;
        let (filter, operands, target) = asked(file.ends_with(".rs"), &arguments);
        let word = filter.map(|filter| sample(filter, true)).unwrap_or_default();
        let (modules, word) = word.rsplit_once("::").unwrap_or(("", &word));
        let word = if word.is_empty() { "nothing" } else { word };
        let path = match target {
            Some(target) => Path::new("tests").join(format!("{target}.rs")),
            None if file.ends_with(".rs") => {
                let mut roots = ["src/lib.rs", "src/main.rs"].into_iter().map(PathBuf::from);
                roots.find(|path| self.text(path).is_some())?
            }
            None => self.place(&operands, file)?,
        };
        let test = match runner {
            TestRunner::Rspec => format!("describe('{word}') {{ it('is') {{}} }}\n"),
            TestRunner::Go => self.package(&path)? + &language.test(&path, word),
            _ => language.test(&path, word),
        };
        let modules = modules.rsplit("::").filter(|name| !name.is_empty());
        let test = modules.fold(test, |text, name| format!("mod {name} {{\n{text}}}\n"));
        let old = self.text(&path).map(|old| format!("{old}\n")).unwrap_or_default();
        Some(write(path, &(old + &test)))
    }

    /// The file that the operands of a runner name, or a new one in their folder.
    fn place(&self, operands: &[&str], file: &str) -> Option<PathBuf> {
        let extension = Path::new(file).extension();
        let is_there = |name: &&str| self.start.paths().keys().any(|path| path.starts_with(name));
        match operands.iter().find_map(|word| plain(word)) {
            // One more test in the file that a filter selects from.
            Some(path) if path.extension() == extension => Some(path),
            // `tests.test_new`
            Some(path) if path.extension().is_some() && file.ends_with(".py") => {
                let path = PathBuf::from(path.to_str()?.replace('.', "/") + ".py");
                self.text(&path).is_none().then_some(path)
            }
            Some(folder) => Some(folder.join(file)),
            None if file.ends_with(".go") => {
                let source = self.start.paths().keys().find(|path| path.extension() == extension);
                Some(source?.with_file_name(file))
            }
            None => {
                let usual = ["tests", "test", "spec"].into_iter().find(is_there);
                Some(Path::new(usual.unwrap_or_default()).join(file))
            }
        }
    }

    /// The package clause of the sources of Go beside a file.
    fn package(&self, path: &Path) -> Option<String> {
        let is_beside = |it: &&PathBuf| {
            it.parent() == path.parent() && it.extension().is_some_and(|it| it == "go")
        };
        let text = self.text(self.start.paths().keys().find(is_beside)?)?;
        let package = text.lines().find(|line| line.starts_with("package "))?;
        Some(format!("{package}\n\n"))
    }
}

/// What a runner's arguments select: a name, operands, and the value of `--test`.
fn asked<'a>(
    is_rust: bool,
    arguments: &[&'a str],
) -> (Option<&'a str>, Vec<&'a str>, Option<&'a str>) {
    let (mut filter, mut operands, mut target) = (None, Vec::new(), None);
    let mut rest = arguments.iter().copied();
    while let Some(word) = rest.next() {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let mut value = || if value.is_empty() { rest.next() } else { Some(value) };
        match name {
            _ if FILTERS.split(' ').any(|it| it == name) => filter = value(),
            "--test" if is_rust => target = value(),
            "--" => break,
            "test" | "discover" | "nextest" | "run" => {}
            _ if name.starts_with('-') => {}
            _ => operands.push(word),
        }
    }
    if is_rust {
        filter = filter.or(operands.pop());
    }
    (filter, operands, target)
}
