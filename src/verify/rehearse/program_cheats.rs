//! Cheats with programs and modules that a check runs: constant results, and programs that do
//! nothing.
//!
//! Invariant: pure.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::attack::{Attack, MOST_FILES, NEW_FILES, plain};
use super::cheats::{Cheat, PRODUCT_EXITS, write};
use super::comparison::{Comparison, comparison};
use super::inline_code::{InlineCall, InlineCode};
use super::languages::Language;
use super::modules::Module;
use super::recipes::recipe;
use super::smallest::{smallest, smallest_source};
use super::stubs::stub;
use crate::verify::harness::TreeEdit;
use crate::verify::harness::shell::ShellCommand;

impl Attack<'_> {
    /// All of them but those that end a process.
    pub(super) fn of_programs(&self) -> Vec<Cheat> {
        vec![
            self.special_case(),
            self.recipes(),
            self.stubs(true),
            self.stubs(false),
            self.smallest_sources(),
            self.programs_write(),
            self.servers(),
        ]
    }

    /// Prints or returns the one value that is compared.
    fn special_case(&self) -> Cheat {
        let only = comparison(self.start, self.lines);
        let calls = |inline: bool| {
            let codes = self.codes().into_iter().filter(move |code| code.is_inline == inline);
            let calls = codes.flat_map(|code| {
                let calls = code.compared();
                calls.into_iter().map(move |call| (code.clone(), call))
            });
            calls.collect::<Vec<_>>()
        };
        let inline = calls(true);
        let edits = match only {
            Some(only) if inline.is_empty() => self.prints(&only),
            // Other compared text, such as a last line, does not depend on the call.
            _ if inline.is_empty() => self.returns(&calls(false)),
            _ => self.returns(&inline),
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
            let found = code.printed(&only.wanted);
            let found = found.and_then(|call| self.returning(&code, &call));
            return found.into_iter().collect();
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

    /// Lets the functions return the one value that the calls are compared with.
    fn returns(&self, calls: &[(InlineCode, InlineCall)]) -> Vec<TreeEdit> {
        let Some((_, first)) = calls.first() else { return Vec::new() };
        if calls.iter().any(|(_, call)| call.wanted != first.wanted) {
            return Vec::new();
        }
        let mut edits: Vec<TreeEdit> = Vec::new();
        for edit in calls.iter().filter_map(|(code, call)| self.returning(code, call)) {
            if !edits.iter().any(|known| known.path() == edit.path()) {
                edits.push(edit);
            }
        }
        edits
    }

    /// The module of a called function, whose functions all return the value.
    fn returning(&self, code: &InlineCode, call: &InlineCall) -> Option<TreeEdit> {
        let first = call.function.split('.').next()?;
        let modules = code.modules(self.start);
        let has_name = |it: &&Module| it.names.iter().any(|name| name == first);
        let module = modules.iter().find(has_name).or(modules.last())?;
        let text = stub(code, module, &call.wanted, None)?;
        self.is_product(&module.path).then(|| write(module.path.clone(), &text, false))
    }

    /// Defines what the code of the check loads or takes, without content; the rest of the modules
    /// may be kept.
    fn stubs(&self, is_kept: bool) -> Cheat {
        let mut edits: Vec<TreeEdit> = self.shell_functions();
        for code in self.codes() {
            for module in code.modules(self.start) {
                let old = self.text(&module.path).filter(|_| is_kept);
                let value = if code.language == Language::Python { "self" } else { "1" };
                if self.is_product(&module.path)
                    && !edits.iter().any(|edit| *edit.path() == module.path)
                    && let Some(text) = stub(&code, &module, value, old.as_deref())
                {
                    edits.push(write(module.path, &text, false));
                }
            }
        }
        Cheat {
            name: "define the functions that it takes, without content",
            edits,
            instead: "call the functions, and compare their results with several values",
        }
    }

    /// The functions that a check asks a sourced file for.
    fn shell_functions(&self) -> Vec<TreeEdit> {
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

    /// A line of shell that writes the files that are looked at, and prints what is looked for.
    fn writes(&self, prints: bool) -> String {
        let mut parts: Vec<String> = Vec::new();
        for path in self.writable().into_iter().take(NEW_FILES) {
            let (path, folder) = match self.is_folder(&path) {
                true => (path.join("file"), path),
                false => (path.clone(), path.parent().unwrap_or(Path::new("")).to_owned()),
            };
            if !folder.as_os_str().is_empty() {
                parts.push(format!("mkdir -p {}", folder.display()));
            }
            let text = smallest(&path).trim_end().replace('\'', "");
            parts.push(format!("printf '%s\\n' '{text}' > {0}; chmod +x {0}", path.display()));
        }
        let shape = self.scanned.iter().find_map(|command| self.shape(command));
        let shown = shape.map(|(_, value)| value.to_string());
        let shown = shown.filter(|text| !text.contains('\'')).unwrap_or_else(|| "x".to_owned());
        if prints {
            parts.push(format!("printf '%s\\n' '{shown}'"));
        }
        if parts.is_empty() { ":".to_owned() } else { parts.join("; ") }
    }

    /// Lets every program print a constant and write the files that are looked at.
    fn programs_write(&self) -> Cheat {
        let line = self.writes(true);
        let known = self.named().into_iter().chain(self.missing());
        let programs = known.filter(|path| self.is_product(path) && !self.is_sourced(path));
        let edits = programs.filter_map(|path| self.replaced(path, |it, _| Some(it.runs(&line))));
        let is_same = |command: &ShellCommand| {
            let compares = command.words.first().is_some_and(|it| it == "cmp" || it == "diff");
            let mut files = command.words.iter().skip(1).filter(|it| !it.starts_with('-'));
            compares && matches!((files.next(), files.next()), (Some(a), Some(b)) if a == b)
        };
        let (name, instead) = match self.scanned.iter().any(is_same) {
            true => (
                "let the programs print anything: the check compares a file with itself",
                "compare the output with a file that holds what it has to be",
            ),
            false => (
                "let the programs print a constant and write the files that it looks at",
                "compare what the program prints and writes, for several inputs",
            ),
        };
        Cheat { name, edits: edits.collect(), instead }
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

    fn is_sourced(&self, path: &Path) -> bool {
        self.scanned.iter().any(|it| match it.words.as_slice() {
            [dot, name, ..] => {
                [".", "source"].contains(&&**dot) && plain(name).as_deref() == Some(path)
            }
            _ => false,
        })
    }

    /// Adds the recipes that the check names and that are not there.
    fn recipes(&self) -> Cheat {
        let body = self.writes(false);
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

    /// Lets every script that decides end with 0.
    pub(super) fn judges_exit(&self) -> Cheat {
        self.exits(
            self.judges.iter().cloned(),
            "let the script of the check end with 0",
            "keep the script in a folder of tests, or name it in `protect:`",
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
