//! Files that hold everything that all checks of a criterion ask of them, and nothing else.
//!
//! Invariant: pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::attack::{Attack, plain};
use super::cheats::{Cheat, write};
use super::comments::comment;
use super::comparison::literals;
use super::languages::Language;
use super::smallest::smallest;
use super::structured::structured;
use super::wanted::Wanted;
use crate::verify::classify::TreeEdit;
use crate::verify::classify::shell::{ShellCommand, Use, scan};

impl Attack<'_> {
    /// Writes files that hold all that is asked of them.
    pub(super) fn asked_files(&self, as_comment: bool) -> Cheat {
        let greps = self.greps();
        let searched = greps.iter().filter(|grep| !grep.absent);
        let searched = searched.flat_map(|grep| self.looked_through(grep, 1));
        let shaped = self.scanned.iter().filter_map(|it| self.shape(it));
        let shaped = shaped.flat_map(|(files, _)| files).filter_map(|name| plain(&name));
        let paths: BTreeSet<PathBuf> = self
            .structures()
            .into_keys()
            .chain(self.shown().into_keys())
            .chain(searched)
            .chain(shaped)
            .chain(self.missing())
            .filter(|path| self.is_data(path))
            .collect();
        let edits = paths.into_iter().filter_map(|path| {
            let text = self.asked_text(&path, as_comment);
            let text = text.or_else(|| {
                let is_new = !self.start.paths().contains_key(&path) && !self.is_folder(&path);
                is_new.then(|| smallest(&path))
            })?;
            Some(write(path, &text, true))
        });
        let edits: Vec<TreeEdit> = edits.collect();
        Cheat {
            name: "write files that hold only what it looks for",
            edits,
            instead: "run the program that reads the files: keys and texts can be written without \
                      the work",
        }
    }

    /// All that the checks ask of a file; none if they ask nothing.
    pub(super) fn asked_text(&self, path: &Path, as_comment: bool) -> Option<String> {
        let shown = self.shown();
        let mut wanted = self.structures().remove(path);
        for (files, value) in self.scanned.iter().filter_map(|it| self.shape(it)) {
            if files.iter().any(|name| plain(name).as_deref() == Some(path)) {
                let old = wanted.take().unwrap_or(Wanted::Any);
                let new = Wanted::of_json(&value);
                wanted = Some(old.clone().merged(new).unwrap_or(old));
            }
        }
        let greps = self.greps();
        let texts = greps.iter().filter(|grep| {
            let is_here = || self.looked_through(grep, 1).iter().any(|it| it == path);
            !grep.absent && is_here()
        });
        let texts: Vec<&str> = texts.map(|grep| grep.text.as_str()).collect();
        if wanted.is_none() && texts.is_empty() && !shown.contains_key(path) {
            return None;
        }
        // The product's own code stays.
        let old = Language::of(path, None).and_then(|_| self.text(path)).unwrap_or_default();
        let mut text = shown.get(path).map(|line| format!("{line}\n")).unwrap_or_default() + &old;
        if let Some(wanted) = wanted {
            let more = structured(path, &wanted, &self.text(path).unwrap_or_default())?;
            match old.is_empty() {
                true => text.push_str(&more),
                false => {
                    let lines = more.lines();
                    text.extend(lines.map(|line| comment(path, line, as_comment)));
                }
            }
        }
        let times = if self.counts() { self.enough() } else { 1 };
        for line in texts {
            if !text.contains(line) {
                text.push_str(&comment(path, line, as_comment).repeat(times));
            }
        }
        Some(text)
    }

    /// Files that a reader shows, and the text that the line compares that with.
    fn shown(&self) -> BTreeMap<PathBuf, String> {
        const READERS: [&str; 6] = ["cat", "head", "tail", "tr", "cut", "sort"];
        let mut found = BTreeMap::new();
        for commands in self.lines.iter().map(|line| scan(line)) {
            let reads = |it: &&ShellCommand| {
                it.usage == Use::Output
                    && it.words.first().is_some_and(|word| READERS.contains(&word.as_str()))
            };
            let files = commands.iter().filter(reads).filter_map(|it| {
                let words = it.words.iter().skip(1).chain(&it.stdin);
                words.filter_map(|word| plain(word)).next_back()
            });
            let files: Vec<PathBuf> = files.collect();
            let literals = literals(&commands);
            if files.len() == literals.len() {
                found.extend(files.into_iter().zip(literals));
            }
        }
        found.retain(|path, _| self.is_product(path));
        found
    }
}
