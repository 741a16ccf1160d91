//! Cheats with files that a check or a script of it mentions in any way: emptied, copied from a
//! neighbor, or filled with nothing but the texts that are looked for.
//!
//! Invariant: pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::attack::{Attack, MOST_FILES, plain};
use super::cheats::{Cheat, write};
use super::comparison::comparison;
use super::smallest::smallest;
use crate::verify::classify::TreeEdit;

impl Attack<'_> {
    /// All of them.
    pub(super) fn of_mentioned_files(&self) -> Vec<Cheat> {
        vec![
            self.neighbors(true),
            self.neighbors(false),
            self.only_texts(),
            self.other_suffixes(|_| String::new()),
            self.other_suffixes(smallest),
            self.said_files(|_| String::new()),
            self.said_files(smallest),
            self.queries(),
            self.all_emptied(),
        ]
    }

    /// Files of the product that the lines and scripts mention: with their path, or by a name that
    /// one file has.
    fn mentioned(&self) -> BTreeSet<PathBuf> {
        static WORD: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"[\w@.-]+(?:/[\w@.-]+)*\.\w+").expect("a pattern"));
        let texts = self.lines.iter().copied().chain(self.scripts.iter().map(String::as_str));
        let words: BTreeSet<&str> =
            texts.flat_map(|text| WORD.find_iter(text)).map(|it| it.as_str()).collect();
        let is_meant = |path: &&PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            path.to_str().is_some_and(|path| {
                words.iter().any(|word| {
                    let word = word.trim_start_matches("./");
                    word == path || word == name && !word.is_empty()
                })
            })
        };
        // `Path("site").glob("*.html")`
        let is_in = |path: &&PathBuf| {
            let mut above = path.ancestors().skip(1).filter_map(|it| it.to_str());
            above.any(|folder| {
                let quoted = [format!("\"{folder}\""), format!("'{folder}'")];
                let names = |text: &String| quoted.iter().any(|it| text.contains(it));
                !folder.is_empty() && self.scripts.iter().any(names)
            })
        };
        let there = self.start.paths().keys().filter(|path| self.is_product(path));
        let is_meant = |path: &&PathBuf| is_meant(path) || is_in(path);
        there.filter(is_meant).take(MOST_FILES).cloned().collect()
    }

    /// Gives files the content of another one of their kind in their folder.
    fn neighbors(&self, longest: bool) -> Cheat {
        let mentioned: BTreeSet<PathBuf> =
            self.mentioned().into_iter().chain(self.missing()).chain(self.said()).collect();
        let mut groups = BTreeMap::<(PathBuf, String), Vec<PathBuf>>::new();
        for path in mentioned.into_iter().filter(|path| self.is_product(path)) {
            let (Some(folder), Some(kind)) = (path.parent(), path.extension()) else { continue };
            let key = (folder.to_owned(), kind.to_string_lossy().into_owned());
            groups.entry(key).or_default().push(path);
        }
        let mut edits = Vec::new();
        for paths in groups.values().filter(|paths| paths.len() > 1) {
            let there = paths.iter().filter_map(|path| Some((path, self.text(path)?)));
            let from = match longest {
                true => there.max_by_key(|(_, text)| text.len()),
                false => there.min_by_key(|(_, text)| text.len()),
            };
            let Some((from, text)) = from else { continue };
            let others = paths.iter().filter(|path| *path != from);
            edits.extend(others.map(|path| write(path.clone(), &text, false)));
        }
        Cheat {
            name: "copy a file of the same kind beside it",
            edits,
            instead: "look for what differs between the files, too",
        }
    }

    /// Leaves nothing in the files but the texts that are looked for.
    fn only_texts(&self) -> Cheat {
        let all = self.greps();
        let (absent, wanted): (Vec<_>, Vec<_>) = all.into_iter().partition(|grep| grep.absent);
        // `if ! grep -q TEXT "$file"; then` wants it.
        let greps = if wanted.is_empty() { absent } else { wanted };
        let text: String = greps.iter().map(|grep| format!("{}\n", grep.text)).collect();
        let globs = self.scanned.iter().flat_map(|it| &it.words);
        let globs = globs.filter(|word| word.contains('*') && !word.contains(['$', ' ', '\\']));
        let globbed = globs.flat_map(|glob| self.expanded(glob));
        let searched = greps.iter().flat_map(|grep| self.looked_through(grep, MOST_FILES));
        let paths: BTreeSet<PathBuf> = globbed.chain(searched).collect();
        let paths = paths.into_iter().filter(|path| {
            self.start.paths().contains_key(path) && self.is_product(path) && !text.is_empty()
        });
        Cheat {
            name: "leave nothing in the files but the text that it looks for",
            edits: paths.map(|path| write(path, &text, false)).collect(),
            instead: "also run the code, so that the rest of the file has to be there",
        }
    }

    /// Makes the files that the output of the red check asks for.
    fn said_files(&self, text: impl Fn(&Path) -> String) -> Cheat {
        let edits = self.said().into_iter().map(|path| {
            let text = text(&path);
            write(path, &text, false)
        });
        Cheat {
            name: "create the files that its output asks for",
            edits: edits.collect(),
            instead: "look for what the files have to hold, too",
        }
    }

    /// Makes the files that a check derives from others: `${up%.up.sql}.down.sql`.
    fn other_suffixes(&self, text: impl Fn(&Path) -> String) -> Cheat {
        static SUFFIX: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"\$\{\w+%+\*?([\w.-]+)\}([\w.-]+)").expect("a pattern"));
        let texts = self.lines.iter().copied().chain(self.scripts.iter().map(String::as_str));
        let pairs: BTreeSet<(String, String)> = texts
            .flat_map(|text| SUFFIX.captures_iter(text))
            .map(|it| (it[1].to_owned(), it[2].to_owned()))
            .collect();
        let mut edits: Vec<TreeEdit> = Vec::new();
        for (old, new) in pairs {
            let stems = self.start.paths().keys().filter_map(|it| it.to_str()?.strip_suffix(&*old));
            let paths = stems.map(|stem| PathBuf::from(format!("{stem}{new}")));
            let paths = paths
                .filter(|path| self.is_product(path) && !self.start.paths().contains_key(path));
            edits.extend(paths.take(MOST_FILES).map(|path| {
                let text = text(&path);
                write(path, &text, false)
            }));
        }
        Cheat {
            name: "create the files that belong to others, without content",
            edits,
            instead: "run the files, or compare what they do: their existence proves nothing",
        }
    }

    /// Lets a query return the result that is compared.
    fn queries(&self) -> Cheat {
        let wanted = comparison(self.start, self.lines).map(|only| only.wanted);
        let words = self.scanned.iter().flat_map(|it| it.words.iter().chain(&it.stdin));
        let files: BTreeSet<PathBuf> = words
            .filter_map(|word| plain(word.strip_prefix(".read ").unwrap_or(word)))
            .filter(|path| path.extension().is_some_and(|it| it == "sql") && self.is_product(path))
            .collect();
        let text = wanted.map(|wanted| format!("SELECT '{}';\n", wanted.replace('\'', "''")));
        // The last one is the query; those before it make the tables.
        let edits = text.iter().flat_map(|text| {
            let missing = files.iter().filter(|path| !self.start.paths().contains_key(*path));
            missing.chain(files.iter()).take(1).map(|path| write(path.clone(), text, false))
        });
        Cheat {
            name: "return the result that it compares",
            edits: edits.collect(),
            instead: "run the query on other data as well, which the check makes up",
        }
    }

    /// Empties all that it mentions.
    fn all_emptied(&self) -> Cheat {
        let there = self.mentioned().into_iter().filter(|path| self.text(path).is_some());
        let edits = there.filter(|path| self.text(path).is_some_and(|text| !text.is_empty()));
        Cheat {
            name: "empty the files that it reads",
            edits: edits.map(|path| write(path, "", false)).collect(),
            instead: "also look for what the file has to hold",
        }
    }
}
