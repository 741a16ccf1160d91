//! Words for a script of package.json and the like. The program behind the script is not known, so
//! only words that mean the same to every test runner and linter pass.

use std::path::Path;

use super::options::{not_known, number, unknown_option};
use crate::guard::denial::{Denial, runs_what_it_writes};
use crate::guard::files::FileKind;
use crate::guard::line::{Arg, Judge, Place};
use crate::guard::programs::lists;

/// Options without a value of their own.
const FLAGS: &str = "--coverage --no-coverage --watch=false --watchAll=false --no-watch --run --fix \
    --check --silent --verbose --quiet --bail --ci --runInBand --passWithNoTests --color --no-color \
    --help --version --updateSnapshot --update --list --listTests --noEmit --headless --strict \
    --bail=1 --color=false -v -q -x --watch";

/// Options whose value is a number.
const NUMBERS: &str = "--max-warnings --maxWorkers --workers --retries --port --timeout --testTimeout \
    --maxfail --bail";

/// Options whose value names tests.
const TESTS: &str = "-t -k -g --testNamePattern --test-name-pattern --grep --fgrep --filter \
    --testPathPattern --testPathPatterns --project --browser";

/// Options whose value is one of `REPORTERS`.
const REPORTS: &str = "--reporter --reporters --format --tb --mode";

const REPORTERS: &str = "dot spec tap verbose default list line min basic stylish unix compact short \
    long test development production";

/// Parts of the name of a script that takes the names of files and tests.
const TESTING: &str = "test tests spec unit integration e2e check lint format fmt typecheck types vitest \
    jest mocha pytest eslint prettier coverage cov";

/// Does a program give its words to a script of the project's own settings?
pub(super) fn is_script_runner(program: &str) -> bool {
    let first = program.split(' ').next().unwrap_or_default();
    lists("npm pnpm yarn composer", first) || matches!(program, "bun run" | "deno task")
}

impl Judge<'_> {
    /// Judges the words for a script of this name.
    pub(super) fn script_words(
        &mut self,
        place: &Place,
        program: &str,
        script: &str,
        words: &[Arg],
    ) -> Result<(), Denial> {
        let unknown = |word: &Arg| Err(unknown_option(program, word.head()));
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let text = word.head();
            if !text.starts_with('-') {
                self.script_operand(place, program, script, word)?;
                continue;
            }
            let Some(text) = word.text() else { return unknown(word) };
            if lists(FLAGS, text) {
                continue;
            }
            let (option, value) = match text.split_once('=') {
                Some((option, value)) => (option, Some(Arg::of(value))),
                None if !lists(&[NUMBERS, TESTS, REPORTS].join(" "), text) => return unknown(word),
                None => (text, rest.next().cloned()),
            };
            let Some(value) = value else { return unknown(word) };
            let known = if lists(NUMBERS, option) {
                number(&value) || value.text().is_some_and(|text| text.ends_with('%'))
            } else if lists(TESTS, option) {
                value.text().is_some_and(names_a_test)
            } else {
                lists(REPORTS, option) && lists(REPORTERS, value.head())
            };
            if !known {
                return unknown(word);
            }
        }
        Ok(())
    }

    pub(super) fn just(&mut self, place: &Place, name: &str, words: &[Arg]) -> Result<(), Denial> {
        self.recipe_words(place, name, words)?;
        words.iter().try_for_each(|word| self.target(place, name, word))
    }

    /// Words behind a recipe: those that name what is there go to it.
    pub(super) fn recipe_words(
        &mut self,
        place: &Place,
        program: &str,
        words: &[Arg],
    ) -> Result<(), Denial> {
        let Some((recipe, words)) = words.split_first().filter(|_| !self.sandboxed) else {
            return Ok(());
        };
        for word in words {
            let there =
                self.paths(place, word)?.iter().any(|path| self.cx.kind(path) != FileKind::Missing);
            if there {
                self.script_operand(place, program, recipe.head(), word)?;
            }
        }
        Ok(())
    }

    /// A file or a folder of the workspace, or the name of a test.
    fn script_operand(
        &mut self,
        place: &Place,
        program: &str,
        script: &str,
        word: &Arg,
    ) -> Result<(), Denial> {
        let tests = script.split([':', '-', '_', '.', ' ']).any(|part| lists(TESTING, part));
        let plain = |c: char| c.is_alphanumeric() || "_-./@+:".contains(c);
        let fits = match word {
            Arg::Text(text) => {
                let text = text.strip_prefix("./").unwrap_or(text);
                let text = text.strip_suffix('/').unwrap_or(text);
                text.chars().all(plain)
                    && !text.split('/').any(|part| matches!(part, "" | "." | ".."))
            }
            Arg::Pattern(text) => !text.starts_with(['/', '.', '~']),
            Arg::Open { .. } => false,
        };
        if !tests || !fits {
            return Err(not_known(program, word.head()).instead(
                "run the tool by its name: `npx eslint src`, `npx jest tests/a.test.js`",
            ));
        }
        if self.changes_one_of(place, word) {
            return Err(runs_what_it_writes());
        }
        for path in self.paths(place, word)? {
            let path = path.to_string_lossy().into_owned();
            self.harmless(place, &Arg::of(path.as_str()))?;
            self.in_workspace(place, &Arg::of(path.as_str()))?;
            self.holds_nothing_protected(place, &path)?;
            if self.has_link(Path::new(&path)) {
                return Err(not_known(program, word.head()).instead("name the files in it"));
            }
        }
        self.harmless(place, word)
    }
}

/// Is it the name of a test, and neither a path nor anything that a tool would load?
fn names_a_test(text: &str) -> bool {
    let odd = |c: char| "`$\\{}<>=\n".contains(c);
    // One word alone may name a file or an address.
    let loads = !text.contains(' ') && text.contains(['/', ':', '.']);
    let begins = text.starts_with(|c: char| c.is_alphanumeric() || "'\"(_#".contains(c));
    begins && !text.contains(odd) && !loads
}
