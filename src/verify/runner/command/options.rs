//! Options that change a runner's output, or whether it runs tests.

use super::super::report::TestRunner;
use crate::shell::ShellCommand;

/// The output that a runner must print, by its command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Summary {
    /// Its summary, with at least one test that ran.
    Required,
    /// Nothing, because of an option or because its output goes elsewhere.
    Silenced(String),
    /// Nothing: it only lists or compiles, or the line can end with 0 without it.
    NotRequired,
}

/// The effects of the options.
pub(super) struct Demand {
    pub(super) summary: Summary,
    pub(super) lenient: bool,
    pub(super) filtered: bool,
}

/// The output that a runner with these arguments must print.
pub(super) fn asked(runner: TestRunner, arguments: &[&str], command: &ShellCommand) -> Demand {
    let line = Line { arguments };
    let only = match runner {
        TestRunner::Cargo => line.any(&["--no-run", "--list", "--help", "-h", "--bench"]),
        TestRunner::Nextest => line.any(&["--no-run", "--help", "-h"]),
        TestRunner::Pytest => line.any(&[
            "--collect-only",
            "--co",
            "--fixtures",
            "--markers",
            "--version",
            "-V",
            "--help",
            "-h",
            "--setup-plan",
            "--setup-only",
        ]),
        TestRunner::Unittest => line.any(&["-h", "--help"]),
        TestRunner::Go => {
            line.any(&["-c", "-h", "-help"])
                || ["list", "bench", "fuzz"].iter().any(|it| line.go(it).is_some())
                || line.go("run").is_some_and(|pattern| pattern == "^$")
        }
        TestRunner::Jest => {
            line.any(&["--listTests", "--showConfig", "--version", "--help", "--init"])
        }
        TestRunner::Vitest => {
            let first = arguments.first().copied();
            matches!(first, Some("list" | "bench" | "init"))
                || line.any(&["--version", "-v", "--help", "-h"])
        }
        TestRunner::Mocha => line.any(&["--dry-run", "--version", "-V", "--help", "-h"]),
        TestRunner::Node => false,
        TestRunner::Maven => {
            line.skips_in_maven() || line.any(&["--version", "-v", "--help", "-h"])
        }
        TestRunner::Gradle => {
            line.any(&["--dry-run", "-m", "--test-dry-run", "--help", "--version"])
        }
        TestRunner::Ctest => {
            line.any(&["-N", "--show-only", "--print-labels", "--version", "--help"])
        }
        TestRunner::Rspec => line.any(&["--dry-run", "--version", "-v", "--help", "-h"]),
        TestRunner::Minitest => line.any(&["-c", "--help", "-h"]),
        TestRunner::Phpunit => {
            arguments.iter().any(|word| word.starts_with("--list-")) || line.any(&["--version"])
        }
        TestRunner::Dotnet => line.any(&["--list-tests", "-t", "--help", "-h"]),
    };
    let summary = if only {
        Summary::NotRequired
    } else {
        line.silenced_by(runner, command).map_or(Summary::Required, |option| {
            Summary::Silenced(format!("`{option}` leaves out its summary"))
        })
    };
    // `gradle check` may have nothing but linters to run.
    let asks_for_tests = |word: &&str| word.ends_with("test") || word.ends_with("Test");
    let checks_only = runner == TestRunner::Gradle && !arguments.iter().any(asks_for_tests);
    let filtered = line.any(&["--test-name-pattern", "--test-skip-pattern", "--test-only"]);
    Demand { summary, lenient: checks_only || line.lenient(), filtered }
}

struct Line<'a> {
    arguments: &'a [&'a str],
}

impl Line<'_> {
    /// One of these options, also as `--option=value`.
    fn any(&self, options: &[&str]) -> bool {
        self.arguments.iter().any(|word| {
            options.iter().any(|option| {
                word == option
                    || (option.starts_with("--")
                        && word.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')))
            })
        })
    }

    /// The value of an option: `--option value`, `--option=value`, `-Rvalue`.
    fn value(&self, options: &[&str]) -> Option<&str> {
        for (at, word) in self.arguments.iter().enumerate() {
            for option in options {
                if word == option {
                    return self.arguments.get(at + 1).copied();
                }
                if let Some(rest) = word.strip_prefix(option) {
                    let short = !option.starts_with("--");
                    match rest.strip_prefix('=') {
                        Some(value) => return Some(value),
                        None if short && !word.starts_with("--") => return Some(rest),
                        None => {}
                    }
                }
            }
        }
        None
    }

    /// The value of one of Go's options, which begin with one or two dashes.
    fn go(&self, option: &str) -> Option<&str> {
        self.value(&[&format!("--{option}")]).or_else(|| {
            let at = self.arguments.iter().position(|word| {
                word.strip_prefix('-').is_some_and(|word| {
                    word == option
                        || word.strip_prefix(option).is_some_and(|it| it.starts_with('='))
                })
            })?;
            let word = self.arguments[at];
            Some(word.split_once('=').map_or_else(
                || self.arguments.get(at + 1).copied().unwrap_or(""),
                |(_, value)| value,
            ))
        })
    }

    /// How often a short option is given: `-qq` is twice.
    fn times(&self, option: char) -> usize {
        let short = |word: &&&str| {
            word.len() > 1 && word.starts_with('-') && word[1..].chars().all(|c| c == option)
        };
        self.arguments.iter().filter(short).map(|word| word.len() - 1).sum()
    }

    fn silenced_by(&self, runner: TestRunner, command: &ShellCommand) -> Option<String> {
        let flag = |option: &str| self.any(&[option]).then(|| option.to_owned());
        let reporter = |options: &[&str], known: &[&str]| {
            let name = self.value(options)?;
            (!known.contains(&name)).then(|| format!("{}={name}", options[0]))
        };
        match runner {
            TestRunner::Cargo => {
                reporter(&["--format"], &["pretty", "terse"]).or_else(|| flag("--logfile"))
            }
            TestRunner::Nextest => reporter(&["--message-format"], &["human"]),
            TestRunner::Pytest => {
                let quiet = self.times('q') + usize::from(self.any(&["--quiet"]));
                let loud = self.times('v');
                if quiet >= 2 + loud {
                    return Some("-qq".to_owned());
                }
                let terminal = self.arguments.windows(2).any(|it| it == ["-p", "no:terminal"])
                    || self.any(&["-pno:terminal"]);
                terminal.then(|| "-p no:terminal".to_owned())
            }
            TestRunner::Go => {
                let goflags = command.assignments.iter().find(|(name, _)| name == "GOFLAGS");
                let own = goflags.filter(|(_, value)| !value.split(' ').any(|it| it == "-v"));
                let verbose = self.any(&["-v", "-v=true", "-test.v"]);
                let off = self.any(&["-v=false"]).then(|| "-v=false".to_owned());
                let json = self.any(&["-json", "--json"]).then(|| "-json".to_owned());
                json.or(off).or_else(|| own.filter(|_| !verbose).map(|_| "GOFLAGS".to_owned()))
            }
            TestRunner::Jest => reporter(&["--reporters"], &["default", "summary"]),
            TestRunner::Vitest => reporter(
                &["--reporter"],
                &["default", "verbose", "basic", "dot", "tree", "github-actions"],
            ),
            TestRunner::Mocha => reporter(
                &["--reporter", "-R"],
                &["spec", "dot", "min", "list", "nyan", "landing", "progress"],
            ),
            TestRunner::Node => reporter(&["--test-reporter"], &["spec", "tap"])
                .or_else(|| reporter(&["--test-reporter-destination"], &["stdout", "stderr"])),
            TestRunner::Maven => flag("-q").or_else(|| flag("--quiet")),
            TestRunner::Gradle => flag("-q").or_else(|| flag("--quiet")),
            TestRunner::Ctest => flag("-Q").or_else(|| flag("--quiet")),
            TestRunner::Rspec => reporter(
                &["--format", "-f"],
                &["p", "progress", "d", "documentation", "doc", "s", "n"],
            )
            .or_else(|| flag("--out"))
            .or_else(|| flag("-o")),
            TestRunner::Minitest | TestRunner::Unittest => None,
            TestRunner::Phpunit => flag("--no-output").or_else(|| flag("--no-results")),
            TestRunner::Dotnet => self
                .value(&["--verbosity", "-v"])
                .map(|value| value.trim_start_matches(':'))
                .filter(|value| matches!(*value, "q" | "quiet"))
                .map(|value| format!("--verbosity {value}")),
        }
    }

    fn skips_in_maven(&self) -> bool {
        self.arguments.iter().any(|word| {
            matches!(
                *word,
                "-DskipTests"
                    | "-DskipTests=true"
                    | "-Dmaven.test.skip"
                    | "-Dmaven.test.skip=true"
                    | "-DskipITs"
            )
        })
    }

    /// The human asked for an empty run, or a failed test.
    fn lenient(&self) -> bool {
        self.any(&[
            "--passWithNoTests",
            "--onlyChanged",
            "--changedSince",
            "--findRelatedTests",
            "--changed",
            "--if-present",
            "-fn",
            "--fail-never",
            "-Dmaven.test.failure.ignore",
            "-Dmaven.test.failure.ignore=true",
            "-DfailIfNoTests=false",
            "-Dsurefire.failIfNoSpecifiedTests=false",
        ]) || self.value(&["--no-tests"]) == Some("pass")
            || self.value(&["--suppress-no-test-exit-code"]).is_some()
    }
}
