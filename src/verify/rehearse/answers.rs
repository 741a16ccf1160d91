//! Cheats that give the code of a check exactly the values that it asks for.
//!
//! Invariant: pure. A function or a program that has to give two different values gets none.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::attack::{Attack, plain};
use super::bodies::{Constant, with_constants};
use super::cheats::{Cheat, write};
use super::demands::{AskedValue, demands};
use super::handlers::answering;
use super::inline_code::InlineCode;
use super::java_stub::missing_classes;
use super::languages::Language;
use super::modules::Module;
use super::scope::ValueOrigin;
use super::structured::structured;
use super::stubs::{Answers, Others, expected_error, stub};
use super::wanted::Wanted;
use crate::verify::classify::TreeEdit;

impl Attack<'_> {
    /// Functions that return, and programs that print, the values that the checks' code compares.
    pub(super) fn answered(&self, is_kept: bool) -> Cheat {
        let mut edits = self.stubs(is_kept, |code| answers(&demands(code)));
        edits.extend(self.programs_answer());
        edits.extend(self.bodies());
        let mut seen = BTreeSet::new();
        edits.retain(|edit| seen.insert(edit.path().to_owned()));
        Cheat {
            name: "special-case the argument",
            edits,
            instead: "compare with several arguments, or with one that the check makes up when it \
                      runs",
        }
    }

    /// Functions without content.
    pub(super) fn empty_stubs(&self, is_kept: bool) -> Cheat {
        let mut edits = self.shell_functions();
        edits.extend(self.stubs(is_kept, |_| Some(Answers::of(Others::Truth))));
        Cheat {
            name: "define the functions that it takes, without content",
            edits,
            instead: "call the functions, and compare their results with several values",
        }
    }

    /// Functions that return their argument: what goes there and back is the same.
    pub(super) fn identities(&self) -> Cheat {
        Cheat {
            name: "let the functions return their argument",
            edits: self.stubs(false, |_| Some(Answers::of(Others::FirstArgument))),
            instead: "compare what each function returns with a value: a way there and back \
                      proves nothing about either",
        }
    }

    /// Functions that always fail: tests of nothing but bad input pass.
    pub(super) fn failures(&self) -> Cheat {
        let raises = |code: &InlineCode| Some(Answers::of(Others::Raise(expected_error(code)?)));
        Cheat {
            name: "let the functions always fail",
            edits: self.stubs(false, raises),
            instead: "also call the functions with good input, and compare what they return",
        }
    }

    /// Functions in Go that return nothing.
    pub(super) fn zero_values(&self) -> Cheat {
        static RETURNS: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"(?m)^func (?:\([^)]*\) )?(\w+)\([^)]*\) (?:\[\]|map\[|\*)")
                .expect("a pattern")
        });
        let is_go = |path: &&PathBuf| Language::of(path, None) == Some(Language::Go);
        let product = self.start.paths().keys().filter(is_go).filter(|path| self.is_product(path));
        let sources: Vec<(&Path, String)> =
            product.filter_map(|path| Some((path.as_path(), self.text(path)?))).collect();
        let constants = sources.iter().flat_map(|(_, text)| RETURNS.captures_iter(text));
        let constants = constants.map(|found| Constant {
            name: found[1].to_owned(),
            value: "nil".to_owned(),
            language: Language::Go,
            test: String::new(),
        });
        let constants: Vec<Constant> = constants.collect();
        let edits = with_constants(&sources, &constants).into_iter();
        Cheat {
            name: "let the functions return nothing",
            edits: edits.map(|(path, text)| write(path, &text, false)).collect(),
            instead: "also compare how much the functions return",
        }
    }

    /// The modules that the checks' code loads, with constants.
    fn stubs(
        &self,
        is_kept: bool,
        answers: impl Fn(&InlineCode) -> Option<Answers>,
    ) -> Vec<TreeEdit> {
        let mut modules = BTreeMap::<PathBuf, (InlineCode, Module, Answers)>::new();
        for code in self.codes() {
            let Some(answers) = answers(&code) else { continue };
            for module in code.modules(self.start) {
                if !self.is_product(&module.path) {
                    continue;
                }
                let known = modules
                    .entry(module.path.clone())
                    .or_insert_with(|| (code.clone(), module.clone(), Answers::of(answers.others)));
                known.1.names.extend(module.names);
                merge(&mut known.2.calls, answers.calls.clone());
                merge(&mut known.2.names, answers.names.clone());
            }
        }
        let edits = modules.into_iter().filter_map(|(path, (code, module, answers))| {
            let old = self.text(&path).filter(|_| is_kept);
            let text = stub(&code, &module, &answers, old.as_deref())?;
            Some(write(path, &text, false))
        });
        edits.collect()
    }

    /// The programs that the checks' code starts, with the output that it wants.
    fn programs_answer(&self) -> Vec<TreeEdit> {
        let mut programs = BTreeMap::<PathBuf, Vec<(Vec<String>, Wanted, bool)>>::new();
        for asked in self.codes().iter().flat_map(demands) {
            let ValueOrigin::Output(words) = asked.subject.origin else { continue };
            for path in self.started(&words) {
                let entry = (words.clone(), asked.wanted.clone(), asked.subject.is_parsed);
                programs.entry(path).or_default().push(entry);
            }
        }
        let edits = programs.into_iter().filter_map(|(path, all)| {
            let parsed = all.iter().any(|it| it.2);
            let is_same = all.iter().all(|it| it.0 == all[0].0);
            let wanted: Vec<Wanted> = all.into_iter().map(|it| it.1).collect();
            // Other arguments have other results.
            if !is_same && wanted.iter().any(|it| *it != wanted[0]) {
                return None;
            }
            let whole = wanted.into_iter().try_fold(Wanted::Any, Wanted::merged)?;
            let text = match parsed {
                true => whole.json()?.to_string(),
                false => whole.text()?,
            };
            self.replaced(path, |it, _| Some(it.prints(&text)))
        });
        edits.collect()
    }

    /// The product's files among the words that start a program, or its sources.
    fn started(&self, words: &[String]) -> Vec<PathBuf> {
        let named = words.iter().filter_map(|word| self.file_of(word));
        let named: Vec<PathBuf> = named.filter(|path| self.is_product(path)).collect();
        if named.is_empty() {
            return self.subjects(words).into_iter().filter(|path| self.is_product(path)).collect();
        }
        named.into_iter().take(1).collect()
    }

    /// The file of the tree that a word of code names, perhaps without its folder.
    fn file_of(&self, word: &str) -> Option<PathBuf> {
        let path = plain(word.trim_start_matches("../"))?;
        let files = self.start.paths();
        if files.contains_key(&path) {
            return Some(path);
        }
        path.extension()?;
        let found = files.keys().find(|known| known.ends_with(&path)).cloned();
        found.or_else(|| Language::of(&path, None).map(|_| path))
    }

    /// Files with the values that the checks' code takes from them.
    pub(super) fn structures(&self) -> BTreeMap<PathBuf, Wanted> {
        let mut found = BTreeMap::new();
        for asked in self.codes().iter().flat_map(demands) {
            let ValueOrigin::File(words) = &asked.subject.origin else { continue };
            let Some(path) = self.data_file(words) else { continue };
            let old = found.remove(&path).unwrap_or(Wanted::Any);
            let new = asked.wanted;
            // A file that the code reads twice in two ways gets the first one.
            found.insert(path, old.clone().merged(new).unwrap_or(old));
        }
        found
    }

    /// A file that code reads, by the words of its path.
    fn data_file(&self, words: &[String]) -> Option<PathBuf> {
        const MODES: [&str; 7] = ["r", "rb", "rt", "utf8", "utf-8", "..", "."];
        let words = words.iter().filter(|word| !MODES.contains(&word.as_str()));
        let words: Vec<&str> = words.map(|word| word.trim_start_matches("../")).collect();
        let joined = words.join("/");
        let path = [joined.as_str(), words.last()?].into_iter().find_map(plain)?;
        let known = self.start.paths().keys().find(|known| known.ends_with(&path)).cloned();
        let path = known.unwrap_or(path);
        self.is_data(&path).then_some(path)
    }

    /// Writes files of the structure that the code asks for.
    pub(super) fn structured_files(&self) -> Cheat {
        let edits = self.structures().into_iter().filter_map(|(path, wanted)| {
            let text = structured(&path, &wanted, &self.text(&path).unwrap_or_default())?;
            Some(write(path, &text, false))
        });
        Cheat {
            name: "write a file of the structure that it asks for",
            edits: edits.collect(),
            instead: "run the program that reads the file: the structure proves little",
        }
    }

    /// Functions of compiled languages that return the one value that a test wants.
    fn bodies(&self) -> Vec<TreeEdit> {
        let codes = self.compiled_codes();
        let mut constants = Vec::<Constant>::new();
        let mut lost = BTreeSet::new();
        for code in codes.values() {
            let language = code.language;
            for asked in demands(code) {
                let ValueOrigin::Call(name) = asked.subject.origin else { continue };
                let Wanted::Raw(value) = asked.wanted else { continue };
                match constants.iter().find(|it| it.name == name) {
                    Some(known) if known.value != value => {
                        lost.insert(name);
                    }
                    Some(_) => {}
                    None => {
                        constants.push(Constant { name, value, language, test: code.code.clone() });
                    }
                }
            }
        }
        constants.retain(|it| !lost.contains(&it.name));
        let sources = self.start.paths().keys().filter(|path| self.is_product(path));
        let sources: Vec<(&Path, String)> =
            sources.filter_map(|path| Some((path.as_path(), self.text(path)?))).collect();
        let mut found = with_constants(&sources, &constants);
        for (path, code) in &codes {
            let answers = constants.iter().map(|it| (it.name.clone(), it.value.clone())).collect();
            let is_there = |path: &Path| self.start.paths().contains_key(path);
            match path.extension().and_then(|it| it.to_str()) {
                Some("go") => found.extend(answering(&sources, code)),
                Some("java") => found.extend(missing_classes(path, &code.code, is_there, &answers)),
                _ => {}
            }
        }
        found.into_iter().map(|(path, text)| write(path, &text, false)).collect()
    }
}

/// Constants for everything that code asks of functions; none if it asks nothing.
fn answers(asked: &[AskedValue]) -> Option<Answers> {
    let mut found = Answers::of(Others::Truth);
    let mut lost = BTreeSet::new();
    for it in asked {
        let (table, name) = match &it.subject.origin {
            ValueOrigin::Call(name) => (&mut found.calls, name),
            ValueOrigin::Name(name) => (&mut found.names, name),
            ValueOrigin::Output(_) | ValueOrigin::File(_) => continue,
        };
        let old = table.remove(name).unwrap_or(Wanted::Any);
        match old.merged(it.wanted.clone()) {
            Some(both) => {
                table.insert(name.clone(), both);
            }
            None => {
                lost.insert(name.clone());
            }
        }
    }
    found.calls.retain(|name, _| !lost.contains(name));
    found.names.retain(|name, _| !lost.contains(name));
    (!found.calls.is_empty() || !found.names.is_empty()).then_some(found)
}

/// Adds what has no other value.
fn merge(known: &mut BTreeMap<String, Wanted>, more: BTreeMap<String, Wanted>) {
    for (name, value) in more {
        let old = known.remove(&name).unwrap_or(Wanted::Any);
        if let Some(both) = old.merged(value) {
            known.insert(name, both);
        }
    }
}
