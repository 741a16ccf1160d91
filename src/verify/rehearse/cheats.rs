//! Cheats: work that meets the letter of a check, made from the check and the tree alone.
//!
//! Invariant: pure. A cheat describes its change, and a check that it would not fool.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::attack::{Attack, MOST_FILES, plain};
use super::comparison::{Comparison, comparison};
use super::fakes::new_test;
use super::inline_code::{InlineCall, InlineCode};
use super::languages::Language;
use crate::verify::harness::shell::{ShellCommand, scan};
use crate::verify::harness::{EntryKind, SourceTree, Table, TreeEdit, judges};

/// One cheat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cheat {
    /// The cheat in a few words.
    pub name: &'static str,
    /// Its changes of the tree.
    pub edits: Vec<TreeEdit>,
    /// A better check.
    pub instead: &'static str,
}

/// Cheats that break the product: a check that is green before any work has to notice these.
pub(super) fn breaks(start: &dyn SourceTree, table: &Table, commands: &[&str]) -> Vec<Cheat> {
    let all = cheats(start, table, commands);
    all.into_iter().filter(|cheat| cheat.name == PRODUCT_EXITS).collect()
}

/// The cheat that lets all of the product end at once.
const PRODUCT_EXITS: &str = "let the code under test end the process with 0";

/// How many lines are added.
const PADDING: usize = 100;

/// The cheats to try on the checks of one criterion: those that the checks' own lines suggest, and
/// those that everything they run suggests.
pub(super) fn cheats(start: &dyn SourceTree, table: &Table, commands: &[&str]) -> Vec<Cheat> {
    let judges = judges(start, table, commands);
    let scripts =
        judges.scripts.iter().filter_map(|path| String::from_utf8(start.read(path)?).ok());
    let scripts: Vec<String> = scripts.collect();
    let deep: Vec<&str> = judges.lines.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    for (lines, scripts) in [(commands, &[][..]), (&deep, &scripts)] {
        let scanned: Vec<ShellCommand> = lines.iter().flat_map(|line| scan(line)).collect();
        let judges = &judges.files;
        let it = Attack { start, table, lines, scripts, scanned: &scanned, judges };
        found.extend([
            it.tick_only(),
            it.files("", "create the files that the check names, without content", EMPTY),
            it.files("x\n", "create the files that the check names, with one line", EMPTY),
            it.padded(),
            it.texts(false, 1),
            it.texts(true, 1),
            it.texts(false, it.times()),
            it.texts(true, it.times()),
            it.emptied(),
            it.special_case(),
            it.imported(),
            it.judges_exit(),
            it.tests_emptied(),
            it.tests_removed(),
            it.new_tests(),
            it.product_exits(),
            it.subjects_exit(),
        ]);
    }
    found.retain(|cheat| !cheat.edits.is_empty());
    let mut seen = Vec::new();
    found.retain(|cheat| {
        let is_new = !seen.contains(&cheat.edits);
        seen.push(cheat.edits.clone());
        is_new
    });
    found
}

const EMPTY: &str = "run the file, or compare its output: its existence proves nothing";

impl Attack<'_> {
    /// Commits something that has nothing to do with the criterion.
    fn tick_only(&self) -> Cheat {
        Cheat {
            name: "only tick",
            edits: vec![write("rehearsal.txt".into(), "nothing\n", false)],
            instead: "write a check that fails until the work is done",
        }
    }

    /// Makes every file that the checks name and that is not there.
    fn files(&self, text: &str, name: &'static str, instead: &'static str) -> Cheat {
        let edits = self.missing().into_iter().map(|path| match path.extension() {
            None if self.is_folder(&path) => write(path.join("file"), text, false),
            Some(extension) if extension == "json" && !text.is_empty() => write(path, "{}\n", true),
            _ => write(path, text, true),
        });
        Cheat { name, edits: edits.collect(), instead }
    }

    /// Adds lines to files whose lines are counted.
    fn padded(&self) -> Cheat {
        let counts = self.scanned.iter().filter(|it| it.words.first().is_some_and(|it| it == "wc"));
        let names = counts.flat_map(|it| it.words.iter().skip(1).chain(&it.stdin));
        let paths: BTreeSet<PathBuf> = names.filter_map(|name| plain(name)).collect();
        let edits = paths.into_iter().map(|path| {
            let text = self.text(&path).unwrap_or_default();
            let more = self.exact().and_then(|lines| lines.checked_sub(text.lines().count()));
            let padding = format!("{}\n", comment_of(&path)).repeat(more.unwrap_or(PADDING));
            write(path, &format!("{text}{padding}"), false)
        });
        Cheat {
            name: "add empty lines to the files whose lines it counts",
            edits: edits.collect(),
            instead: "run the code, or look for the content of the lines: their number proves \
                      nothing",
        }
    }

    /// The number that must come out.
    fn exact(&self) -> Option<usize> {
        let words = || self.scanned.iter().flat_map(|it| &it.words);
        let exactly = ["=", "==", "-eq", "grep"];
        words().find(|word| exactly.contains(&word.as_str()))?;
        words().find_map(|word| word.parse().ok()).filter(|number| *number <= 1_000)
    }

    /// How often a text has to be there: more than once if what the lines find is counted.
    fn times(&self) -> usize {
        let counts = |it: &ShellCommand| {
            it.words.iter().any(|word| word == "wc" || word.starts_with("-c") || word == "--count")
        };
        if self.scanned.iter().any(counts) { PADDING } else { 1 }
    }

    /// Writes the text that a grep looks for into its files.
    fn texts(&self, as_comment: bool, times: usize) -> Cheat {
        let mut edits: Vec<TreeEdit> = Vec::new();
        let is_head = self.scanned.iter().any(|it| it.words.first().is_some_and(|it| it == "head"));
        for grep in self.greps().into_iter().filter(|grep| !grep.absent) {
            for path in self.looked_through(&grep) {
                let known = edits.iter().position(|edit| *edit.path() == path);
                let mut text = match known.map(|at| edits.remove(at)) {
                    Some(TreeEdit::Write { bytes, .. }) => {
                        String::from_utf8_lossy(&bytes).into_owned()
                    }
                    _ => self.text(&path).unwrap_or_default(),
                };
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
                let comment = if as_comment { comment_of(&path) } else { "" };
                let more = format!("{comment}{}\n", grep.text).repeat(times);
                let text = if is_head { more + &text } else { text + &more };
                edits.push(write(path, &text, false));
            }
        }
        Cheat {
            name: "write the text that it looks for",
            edits,
            instead: "run the code and check its output: the text can be written without the work",
        }
    }

    /// Empties the files that a check only looks at.
    fn emptied(&self) -> Cheat {
        let greps = self.greps();
        let paths: BTreeSet<PathBuf> =
            greps.iter().flat_map(|grep| self.looked_through(grep)).collect();
        let there = paths.into_iter().filter(|path| self.start.paths().contains_key(path));
        Cheat {
            name: "empty the files that it looks at",
            edits: there.map(|path| write(path, "", false)).collect(),
            instead: "also run the code, so that the rest of the file has to be there",
        }
    }

    /// Prints or returns the one value that is compared.
    fn special_case(&self) -> Cheat {
        let only = comparison(self.start, self.lines);
        let codes = self.scanned.iter().filter_map(InlineCode::of);
        let calls: Vec<_> = codes
            .flat_map(|code| code.compared().into_iter().map(move |call| (code.clone(), call)))
            .collect();
        let edits = match (only, calls.as_slice()) {
            (Some(only), []) => self.prints(&only),
            // Other compared text, such as a last line, does not depend on the call.
            (_, [(code, call)]) => self.stub(code, call).into_iter().collect(),
            _ => Vec::new(),
        };
        Cheat {
            name: "special-case the argument",
            edits,
            instead: "compare with several arguments, or with one that the check makes up when it \
                      runs",
        }
    }

    /// The program, or the function that the line calls, with the one output.
    fn prints(&self, only: &Comparison) -> Vec<TreeEdit> {
        if let Some(code) = InlineCode::of(&only.command) {
            let stub = || self.stub(&code, &code.printed(&only.wanted)?);
            return stub().into_iter().collect();
        }
        if let Some(edit) = self.function(only) {
            return vec![edit];
        }
        let programs = self.subjects(&only.command).into_iter();
        let programs =
            programs.filter_map(|path| self.replaced(path, |it, _| Some(it.prints(&only.wanted))));
        // A snapshot that the agent is to write.
        let text = format!("{}\n", only.wanted);
        let snapshot = only.snapshot.iter().filter_map(|name| plain(name));
        programs.chain(snapshot.map(|path| write(path, &text, false))).collect()
    }

    /// A function of a shell file, with the one output.
    fn function(&self, only: &Comparison) -> Option<TreeEdit> {
        let name = only.command.words.first().filter(|word| plain(word).is_some())?;
        let head = format!("{name}()");
        let defines = |path: &&PathBuf| {
            Language::of(path, None) == Some(Language::Shell)
                && self.text(path).is_some_and(|text| text.contains(&head))
        };
        let path = self.start.paths().keys().find(defines)?;
        let body = Language::Shell.prints(&only.wanted);
        Some(write(path.clone(), &format!("{head} {{\n{body}}}\n"), true))
    }

    fn stub(&self, code: &InlineCode, call: &InlineCall) -> Option<TreeEdit> {
        let (path, text) = code.stub(self.start, call)?;
        Some(write(path, &text, false))
    }

    /// Defines what the code in the line imports, and nothing else.
    fn imported(&self) -> Cheat {
        let codes = self.scanned.iter().filter_map(InlineCode::of);
        let edits = codes.filter_map(|code| self.stub(&code, &code.imported()?));
        Cheat {
            name: "define the function that the line imports, without content",
            edits: edits.collect(),
            instead: "call the function, and compare its result",
        }
    }

    /// Lets every script that decides end with 0.
    fn judges_exit(&self) -> Cheat {
        self.exits(
            self.judges.iter().cloned(),
            "let the script of the check end with 0",
            "keep the script in a folder of tests, or name it in `protect:`",
        )
    }

    /// Lets every program whose output is looked at end with 0.
    fn subjects_exit(&self) -> Cheat {
        let named = self.named().into_iter().filter(|path| !self.judges.contains(path));
        let new = self.missing().into_iter().filter(|path| Language::of(path, None).is_some());
        self.exits(
            named.chain(new),
            "let the program end with 0",
            "compare the program's output: an exit code of 0 proves little",
        )
    }

    fn tests_emptied(&self) -> Cheat {
        let edits = self.tests().map(|path| write(path, "", false));
        Cheat {
            name: "empty the tests",
            edits: edits.collect(),
            instead: "name the tests in `protect:`, or in `harness:`",
        }
    }

    fn tests_removed(&self) -> Cheat {
        Cheat {
            name: "remove the tests",
            edits: self.tests().map(|path| TreeEdit::Remove { path }).collect(),
            instead: "name the tests in `protect:`, or in `harness:`",
        }
    }

    /// Writes tests that test nothing where the check finds none.
    fn new_tests(&self) -> Cheat {
        let missing = self.missing().into_iter().filter(|path| {
            self.table.role(path).is_some() || Language::of(path, None) == Some(Language::Shell)
        });
        let edits = missing.chain(self.missing_modules()).filter_map(|path| {
            let language = Language::of(&path, None)?;
            let text = language.passes(&path, "nothing");
            Some(write(path, &text, true))
        });
        let mut edits: Vec<TreeEdit> = edits.collect();
        if edits.is_empty() {
            let found = self.scanned.iter().filter_map(|command| new_test(self.start, command));
            edits.extend(found.map(|(path, text)| write(path, &text, false)));
        }
        Cheat {
            name: "write a test that tests nothing",
            edits,
            instead: "write the test yourself before the run: the agent's own test proves \
                      whatever the agent wants",
        }
    }

    /// Lets the code under test end the process.
    fn product_exits(&self) -> Cheat {
        let product = self
            .start
            .paths()
            .keys()
            .filter(|path| self.table.role(path).is_none() && !self.judges.contains(*path));
        self.exits(
            product.take(MOST_FILES).cloned(),
            PRODUCT_EXITS,
            "use a test runner that prints a summary, or let the script print a last line and look for it",
        )
    }

    fn exits(
        &self,
        paths: impl Iterator<Item = PathBuf>,
        name: &'static str,
        instead: &'static str,
    ) -> Cheat {
        let edits = paths.filter_map(|path| self.replaced(path, Language::exits));
        Cheat { name, edits: edits.collect(), instead }
    }

    /// A program of another content, with the first line that says how it is run.
    fn replaced(
        &self,
        path: PathBuf,
        program: impl Fn(Language, Option<&str>) -> Option<String>,
    ) -> Option<TreeEdit> {
        let text = self.text(&path);
        // A program without an extension that is not there may be in any language.
        let is_new = text.is_none() && path.extension().is_none();
        let language = Language::of(&path, text.as_deref());
        let language = language.or(is_new.then_some(Language::Shell))?;
        let program = program(language, text.as_deref())?;
        let first = text.as_deref().and_then(|text| text.lines().next());
        let shebang = first.filter(|line| line.starts_with("#!"));
        let shebang = shebang.map(|line| format!("{line}\n")).unwrap_or_default();
        Some(write(path, &format!("{shebang}{program}"), true))
    }
}

/// The mark of a comment.
fn comment_of(path: &Path) -> &'static str {
    match path.extension().and_then(|it| it.to_str()).unwrap_or_default() {
        "py" | "sh" | "rb" | "pl" | "yml" | "yaml" | "toml" => "# ",
        "js" | "ts" | "rs" | "go" | "c" | "h" | "java" | "cpp" | "cs" => "// ",
        _ => "",
    }
}

fn write(path: PathBuf, text: &str, executable: bool) -> TreeEdit {
    TreeEdit::Write {
        path,
        kind: EntryKind::Regular { executable },
        bytes: text.as_bytes().to_vec(),
    }
}
