//! Cheats with programs and modules that a check runs: constant results, and programs that do
//! nothing.
//!
//! Invariant: pure.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::attack::{Attack, MOST_FILES, plain};
use super::cheats::{Cheat, PRODUCT_EXITS, write};
use super::comparison::{Comparison, comparison};
use super::inline_code::InlineCode;
use super::languages::{Language, single};
use super::recipes::recipe;
use super::smallest::smallest_source;
use super::stubs::{Answers, Others, stub};
use super::wanted::Wanted;
use crate::verify::classify::TreeEdit;
use crate::verify::classify::shell::ShellCommand;

impl Attack<'_> {
    /// All of them but those that end a process.
    pub(super) fn of_programs(&self) -> Vec<Cheat> {
        vec![
            self.special_case(),
            self.answered(true),
            self.answered(false),
            self.recipes(),
            self.empty_stubs(true),
            self.empty_stubs(false),
            self.identities(),
            self.failures(),
            self.zero_values(),
            self.smallest_sources(),
            self.programs_write(),
            self.programs_copy(),
            self.servers(),
        ]
    }

    /// Prints the one value that is compared.
    pub(super) fn special_case(&self) -> Cheat {
        let only = comparison(self.start, self.lines);
        Cheat {
            name: "special-case the argument",
            edits: only.map(|only| self.prints(&only)).unwrap_or_default(),
            instead: "compare with several arguments, or with one that the check makes up when it \
                      runs",
        }
    }

    /// The program, or the function that the line calls, with the one output.
    fn prints(&self, only: &Comparison) -> Vec<TreeEdit> {
        if let Some(code) = InlineCode::of(&only.command) {
            return self.printing(&code, &only.wanted);
        }
        if let Some(edit) = self.function(only) {
            return vec![edit];
        }
        let programs = self.subjects(&only.command.words).into_iter();
        let programs =
            programs.filter_map(|path| self.replaced(path, |it, _| Some(it.prints(&only.wanted))));
        let programs: Vec<TreeEdit> = match self.main_prints(&only.command.words, &only.wanted) {
            Some(main) => vec![main],
            None => programs.collect(),
        };
        // A snapshot that the agent is to write.
        let text = format!("{}\n", only.wanted);
        let snapshot = only.snapshot.iter().filter_map(|name| plain(name));
        programs.into_iter().chain(snapshot.map(|path| write(path, &text, false))).collect()
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

    /// The modules of code, whose function returns the text that the code prints.
    fn printing(&self, code: &InlineCode, text: &str) -> Vec<TreeEdit> {
        let Some(function) = code.printed() else { return Vec::new() };
        let mut answers = Answers::of(Others::Truth);
        answers.calls.insert(function, Wanted::Parts(vec![text.to_owned()]));
        let modules = code.modules(self.start).into_iter().filter(|it| self.is_product(&it.path));
        let edits = modules.filter_map(|module| {
            let text = stub(code, &module, &answers, None)?;
            Some(write(module.path, &text, false))
        });
        edits.collect()
    }

    /// The functions that a check asks a sourced file for.
    pub(super) fn shell_functions(&self) -> Vec<TreeEdit> {
        let first = |command: &ShellCommand| command.words.first().cloned().unwrap_or_default();
        let sources = self.scanned.iter().filter(|it| [".", "source"].contains(&&*first(it)));
        let asks =
            self.scanned.iter().filter(|it| ["command", "type", "declare"].contains(&&*first(it)));
        let names: Vec<&String> = asks.filter_map(|it| it.words.last()).collect();
        let paths = sources.filter_map(|it| plain(it.words.get(1)?)).filter(|_| !names.is_empty());
        let edits = paths.map(|path| {
            let old = self.text(&path).unwrap_or_default();
            let new: String = names.iter().map(|name| format!("{name}() {{ :; }}\n")).collect();
            write(path, &format!("{old}{new}"), true)
        });
        edits.collect()
    }

    /// Replaces the sources of compiled languages by the smallest ones that compile.
    fn smallest_sources(&self) -> Cheat {
        let sources = self.start.paths().keys().filter(|path| self.is_product(path));
        let edits = sources.filter_map(|path| {
            let old = self.text(path)?;
            let new = smallest_source(path, &old)?;
            (new != old).then(|| write(path.clone(), &new, false))
        });
        Cheat {
            name: "replace the sources by the smallest ones that compile",
            edits: edits.take(MOST_FILES).collect(),
            instead: "also run the program or its tests: that it compiles proves little",
        }
    }

    /// Lets every program be a server that finds everything.
    fn servers(&self) -> Cheat {
        static PORT: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"(?:127\.0\.0\.1|localhost):(?<port>\d+|\$)").expect("a pattern")
        });
        let words = self.scanned.iter().flat_map(|it| &it.words);
        let port = words.filter_map(|word| PORT.captures(word)).next();
        let port = port.map(|it| it["port"].to_owned());
        let known = self.named().into_iter().chain(self.missing());
        let programs = known.filter(|path| self.is_product(path) && port.is_some());
        let port = port.as_deref().filter(|port| *port != "$");
        let edits = programs.filter_map(|path| self.replaced(path, |it, _| it.serves(port)));
        Cheat {
            name: "let the server answer everything with 200",
            edits: edits.collect(),
            instead: "compare the content of several answers",
        }
    }

    pub(super) fn is_sourced(&self, path: &Path) -> bool {
        self.scanned.iter().any(|it| match it.words.as_slice() {
            [dot, name, ..] => {
                [".", "source"].contains(&&**dot) && plain(name).as_deref() == Some(path)
            }
            _ => false,
        })
    }

    /// Adds the recipes that the check names and that are not there.
    pub(super) fn recipes(&self) -> Cheat {
        let mut body = self.writes(false);
        if let Some(only) = comparison(self.start, self.lines) {
            // A recipe is one line.
            let lines = only.wanted.lines().map(single).collect::<Vec<_>>().join(" ");
            body.push_str(&format!("; printf '%s\\n' {lines}"));
        }
        let mut edits: Vec<TreeEdit> = Vec::new();
        for (path, text) in self.scanned.iter().filter_map(|it| recipe(self.start, it, &body)) {
            if !edits.iter().any(|edit| *edit.path() == path) {
                edits.push(write(path, &text, false));
            }
        }
        Cheat {
            name: "add a recipe of that name that only writes the files that it looks at",
            edits,
            instead: "run what the recipe makes, and compare its output",
        }
    }

    /// Lets every script that decides and may change end with 0.
    pub(super) fn judges_exit(&self, open: &BTreeSet<PathBuf>) -> Cheat {
        self.exits(
            open.iter().cloned(),
            "let the script of the check end with 0",
            "compare what the script prints, or take it out of `may_change:`",
        )
    }

    /// Lets every program whose output is looked at end with 0.
    pub(super) fn subjects_exit(&self) -> Cheat {
        let named = self.named().into_iter().filter(|path| !self.judges.contains(path));
        let new = self.missing().into_iter().filter(|path| Language::of(path, None).is_some());
        self.exits(
            named.chain(new),
            "let the program end with 0",
            "compare the program's output: an exit code of 0 proves little",
        )
    }

    /// Lets the code under test end the process.
    pub(super) fn product_exits(&self) -> Cheat {
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
    pub(super) fn replaced(
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
