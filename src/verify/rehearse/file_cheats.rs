//! Cheats with files that a check only looks at: their existence, size, text, and structure.
//!
//! Invariant: pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::archive::archive;
use super::attack::{Attack, MOST_FILES, plain};
use super::cheats::{Cheat, write};
use super::comments::comment;
use super::comparison::literal;
use super::inline_code::InlineCode;
use super::json_shape::{Leaf, merged, shaped};
use super::languages::Language;
use super::smallest::smallest;
use super::structured::structured;
use super::wanted::Wanted;
use crate::verify::classify::shell::ShellCommand;
use crate::verify::classify::wrappers::unwrapped;
use crate::verify::classify::{EntryKind, TreeEdit};

impl Attack<'_> {
    /// Those that add to files.
    pub(super) fn of_files(&self) -> Vec<Cheat> {
        vec![
            self.files(|_| String::new(), "create the files that the check names, without content"),
            self.smallest_files(),
            self.padded(),
            self.texts(false, false),
            self.texts(true, false),
            self.texts(false, true),
            self.texts(true, true),
            self.code_texts(),
            self.shapes(),
            self.structured_files(),
            self.asked_files(false),
            self.asked_files(true),
            self.copies(),
            self.emptied(),
        ]
    }

    /// Those that destroy files, which explain less.
    pub(super) fn of_other_content(&self) -> Vec<Cheat> {
        vec![
            self.replaced_files(|_| String::new(), "empty the files that it names"),
            self.replaced_files(smallest, "replace the files that it names by the smallest ones"),
            self.removed(),
        ]
    }

    /// Makes every missing file with the smallest content that its kind allows.
    pub(super) fn smallest_files(&self) -> Cheat {
        self.files(smallest, "create the files that the check names, with the smallest content")
    }

    /// Makes every file that the checks name and that is not there.
    fn files(&self, text: impl Fn(&Path) -> String, name: &'static str) -> Cheat {
        let members: Vec<String> = self.greps().into_iter().map(|grep| grep.text).collect();
        let member = members.last().map_or("x", String::as_str);
        let edits = self.missing().into_iter().map(|path| match path.extension() {
            None if self.is_folder(&path) => {
                let inner = path.join("file");
                let text = text(&inner);
                write(inner, &text, false)
            }
            _ => match archive(&path, member) {
                Some(bytes) => {
                    TreeEdit::Write { path, kind: EntryKind::Regular { executable: false }, bytes }
                }
                None => {
                    let text = text(&path);
                    write(path, &text, true)
                }
            },
        });
        Cheat {
            name,
            edits: edits.collect(),
            instead: "run the file, or compare its output: its existence proves nothing",
        }
    }

    /// Adds lines to files whose lines are counted.
    fn padded(&self) -> Cheat {
        let edits = self.counted().into_iter().map(|path| {
            let text = self.text(&path).unwrap_or_default();
            let more = self.exact().and_then(|lines| lines.checked_sub(text.lines().count()));
            let more = more.unwrap_or_else(|| self.enough());
            let padding = comment(&path, "", true).repeat(more);
            write(path, &format!("{text}{padding}"), false)
        });
        Cheat {
            name: "add empty lines to the files whose lines it counts",
            edits: edits.collect(),
            instead: "run the code, or look for the content of the lines: their number proves \
                      nothing",
        }
    }

    /// Writes the text that a grep looks for into its files; as often as it is counted.
    fn texts(&self, as_comment: bool, is_counted: bool) -> Cheat {
        let mut edits = BTreeMap::new();
        let is_head = self.scanned.iter().any(|it| it.words.first().is_some_and(|it| it == "head"));
        for grep in self.greps().into_iter().filter(|grep| !grep.absent) {
            for path in self.looked_through(&grep, 1) {
                let known = edits.remove(&path).or_else(|| self.text(&path));
                let mut text: String = known.unwrap_or_default();
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
                let there = text.lines().filter(|line| line.contains(&grep.text)).count();
                let times = match is_counted && self.counts() {
                    true if self.exact().is_some() => self.enough().saturating_sub(there),
                    true => self.enough(),
                    false => 1,
                };
                let more = comment(&path, &grep.text, as_comment).repeat(times);
                edits.insert(path, if is_head { more + &text } else { text + &more });
            }
        }
        Cheat {
            name: "write the text that it looks for",
            edits: edits.into_iter().map(|(path, text)| write(path, &text, false)).collect(),
            instead: "run the code and check its output: the text can be written without the work",
        }
    }

    /// Is it counted how often something is found?
    pub(super) fn counts(&self) -> bool {
        let counts = |it: &ShellCommand| {
            it.words.iter().any(|word| word == "wc" || word.starts_with("-c") || word == "--count")
        };
        self.scanned.iter().any(counts)
    }

    /// Writes the texts that code in a line has into the files that it names.
    fn code_texts(&self) -> Cheat {
        let mut edits = BTreeMap::new();
        for command in self.scanned {
            let Some(code) = InlineCode::of(command) else { continue };
            let texts = code.texts();
            let operands = command.words.iter().filter(|word| **word != code.code);
            let paths: BTreeSet<PathBuf> = texts
                .iter()
                .chain(operands.skip(1))
                .chain(&command.stdin)
                .filter_map(|word| plain(word))
                .filter(|path| self.is_product(path))
                .filter(|path| {
                    self.start.paths().contains_key(path)
                        || path.extension().is_some() && !path.to_string_lossy().contains('(')
                })
                .collect();
            let is_name = |text: &String| plain(text).is_some_and(|path| paths.contains(&path));
            let text: String = texts
                .iter()
                .filter(|text| !is_name(text))
                .map(|text| format!("{}\n", text.replace("\\n", "\n")))
                .collect();
            for path in paths.into_iter().filter(|_| !text.is_empty()) {
                let old = self.text(&path).unwrap_or_default();
                edits.insert(path, format!("{old}\n{text}"));
            }
        }
        Cheat {
            name: "write the texts that its code looks for",
            edits: edits.into_iter().map(|(path, text)| write(path, &text, false)).collect(),
            instead: "run the code and check its output: the text can be written without the work",
        }
    }

    /// A value for each filter of `jq`.
    pub(super) fn shape(&self, command: &ShellCommand) -> Option<(Vec<String>, Value)> {
        let (program, arguments) = unwrapped(&command.words).split_first()?;
        if !["jq", "yq", "gojq", "dasel"].contains(&program.rsplit('/').next()?) {
            return None;
        }
        let words = arguments.iter().filter(|word| !word.starts_with('-'));
        let mut words = words.filter(|word| !["eval", "e", "select"].contains(&word.as_str()));
        let filter = words.next()?;
        let mut files: Vec<String> = words.chain(&command.stdin).cloned().collect();
        files.extend(self.piped_to(command));
        let leaf = Leaf {
            value: literal(self.scanned).unwrap_or_else(|| json!(1)),
            length: self.enough(),
        };
        Some((files, shaped(filter, &leaf)))
    }

    /// Writes JSON of the structure that is asked for.
    fn shapes(&self) -> Cheat {
        let mut found = BTreeMap::<PathBuf, Value>::new();
        for (files, value) in self.scanned.iter().filter_map(|command| self.shape(command)) {
            for path in files.iter().filter_map(|name| plain(name)) {
                let old = found.remove(&path).unwrap_or_default();
                found.insert(path, merged(old, value.clone()));
            }
        }
        let edits = found.into_iter().filter(|(path, _)| self.is_product(path));
        Cheat {
            name: "write JSON of the structure that it asks for",
            edits: edits
                .filter_map(|(path, value)| {
                    let text = structured(&path, &Wanted::of_json(&value), "")?;
                    Some(write(path, &text, false))
                })
                .collect(),
            instead: "compare the values with what they have to be: the structure proves little",
        }
    }

    /// Makes the files of one kind that a check names equal.
    fn copies(&self) -> Cheat {
        let named = self.named().into_iter().chain(self.missing());
        let mut kinds = BTreeMap::<_, Vec<PathBuf>>::new();
        for path in named.filter(|path| self.is_product(path)) {
            if let Some(extension) = path.extension().map(ToOwned::to_owned)
                && Language::of(&path, None).is_none()
            {
                kinds.entry(extension).or_default().push(path);
            }
        }
        let compared = self.named().into_iter().chain(self.missing());
        let compared = compared.filter(|path| self.is_product(path)).filter_map(|path| {
            let other = self.compared_with(&path)?;
            Some(write(path, &self.text(&other)?, false))
        });
        let mut edits: Vec<TreeEdit> = compared.collect();
        if !edits.is_empty() {
            kinds.clear();
        }
        for paths in kinds.values() {
            let longest = paths.iter().filter_map(|path| self.text(path)).max_by_key(String::len);
            let Some(text) = longest else { continue };
            let others = paths.iter().filter(|path| self.text(path).as_ref() != Some(&text));
            edits.extend(others.map(|path| write(path.clone(), &text, false)));
        }
        Cheat {
            name: "copy one of the files that it compares",
            edits,
            instead: "compare with a file that is protected: the work may change both of these",
        }
    }

    /// Empties the files that a check only looks at.
    fn emptied(&self) -> Cheat {
        let greps = self.greps();
        let found = greps.iter().flat_map(|grep| self.looked_through(grep, MOST_FILES));
        let paths: BTreeSet<PathBuf> = found.chain(self.counted()).collect();
        let there = paths.into_iter().filter(|path| self.start.paths().contains_key(path));
        Cheat {
            name: "empty the files that it looks at",
            edits: there.map(|path| write(path, "", false)).collect(),
            instead: "also run the code, so that the rest of the file has to be there",
        }
    }

    /// Files that the checks name or look through, with another content.
    fn replaced_files(&self, text: impl Fn(&Path) -> String, name: &'static str) -> Cheat {
        let edits = self.looked_at().into_iter().filter_map(|path| {
            let (old, new) = (self.text(&path)?, text(&path));
            (old != new).then(|| write(path, &new, false))
        });
        Cheat {
            name,
            edits: edits.collect(),
            instead: "also run the code or compare the content; a file that must stay as it is \
                      belongs into `protect:`",
        }
    }

    /// Removes the files that must not hold something.
    fn removed(&self) -> Cheat {
        let greps = self.greps();
        let absent = greps.iter().filter(|grep| grep.absent);
        let found: BTreeSet<PathBuf> =
            absent.flat_map(|grep| self.looked_through(grep, MOST_FILES)).collect();
        let there = found
            .into_iter()
            .filter(|path| self.start.paths().contains_key(path) && self.is_product(path));
        Cheat {
            name: "remove the files that it looks through",
            edits: there.map(|path| TreeEdit::Remove { path }).collect(),
            instead: "also run the code, so that the rest of the file has to be there",
        }
    }

    /// Files of the product that are there and that the checks name, in any way.
    fn looked_at(&self) -> BTreeSet<PathBuf> {
        let inner = self.scanned.iter().flat_map(|it| &it.words);
        // `sqlite3 a.db ".read schema.sql"`
        let inner = inner.filter_map(|word| plain(word.strip_prefix(".read ")?));
        let greps = self.greps();
        let searched = greps.iter().flat_map(|grep| self.looked_through(grep, MOST_FILES));
        let read = self.structures().into_keys();
        let found = self.named().into_iter().chain(inner).chain(searched).chain(read);
        found
            .filter(|path| self.start.paths().contains_key(path) && self.is_product(path))
            .collect()
    }
}
