//! Files that the output of a red check asks for: `locales/fr.json: missing`, and names from which
//! its script makes a path: `pull request 104 has no fragment`.
//!
//! Invariant: pure.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::attack::{Attack, MOST_FILES, plain};

/// A word that may be a name or a path.
static WORD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[\w@-][\w@.+-]*(?:/[\w@.+-]+)*").expect("a pattern"));

/// A path with a value in it: `f"{lang}.json"`, `changelog.d/$pr.yml`.
static MADE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?<before>[\w./-]*)(?:\$?\{\w+\}|\$\w+|#\{\w+\})(?<after>[\w-]*\.\w+)")
        .expect("a pattern")
});

impl Attack<'_> {
    /// The paths, without those that are there.
    pub(super) fn said(&self) -> Vec<PathBuf> {
        let named = self.said.iter().flat_map(|text| text.lines()).flat_map(|line| {
            let words: Vec<PathBuf> = words(line).filter_map(plain).collect();
            let folders = words.iter().filter(|path| self.start.paths().contains_key(*path));
            let folders: Vec<PathBuf> =
                folders.filter_map(|path| path.parent()).map(Path::to_owned).collect();
            // `docs/index.md: guides/upgrade.md`
            let beside = folders.iter().flat_map(|at| words.iter().map(|word| at.join(word)));
            words.iter().cloned().chain(beside).collect::<Vec<_>>()
        });
        let is_path = |path: &PathBuf| path.extension().is_some_and(|it| it.len() < 6);
        let all: BTreeSet<PathBuf> = named.filter(is_path).chain(self.made_of_words()).collect();
        let there = |path: &PathBuf| self.start.paths().keys().any(|it| it.starts_with(path));
        let missing = all.into_iter().filter(|path| !there(path) && self.is_product(path));
        missing.take(MOST_FILES).collect()
    }

    /// Paths that a script makes of words of its own or of its output, if one of them is there.
    fn made_of_words(&self) -> Vec<PathBuf> {
        static QUOTED: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r#"["']([\w@.-]+)["']"#).expect("a pattern"));
        let quoted = self.scripts.iter().flat_map(|text| QUOTED.captures_iter(text));
        let own: BTreeSet<&str> = quoted.filter_map(|it| Some(it.get(1)?.as_str())).collect();
        let said: BTreeSet<&str> = self.said.iter().flat_map(|text| words(text)).collect();
        let mut found = Vec::new();
        for made in self.scripts.iter().flat_map(|text| MADE.captures_iter(text)) {
            let (before, after) = (made["before"].trim_start_matches("./"), &made["after"]);
            let is_one = |path: &&PathBuf| {
                path.to_str().is_some_and(|it| {
                    it.strip_suffix(after).is_some_and(|it| {
                        it.contains(before) && !it.ends_with('/') && !it.ends_with(before)
                    })
                })
            };
            let known = self.start.paths().keys().filter(|path| self.is_product(path));
            let folders: BTreeSet<&Path> =
                known.filter(is_one).filter_map(|path| path.parent()).collect();
            let last = before.rsplit('/').next().unwrap_or_default();
            for folder in folders {
                let names = own.union(&said).map(|word| format!("{last}{word}{after}"));
                found.extend(names.filter_map(|name| plain(&name)).map(|name| folder.join(name)));
            }
        }
        found
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    WORD.find_iter(text).map(|it| it.as_str().trim_end_matches('.'))
}
