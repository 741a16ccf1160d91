//! Files that hold the text that the lines look for.
//!
//! Invariant: pure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::attack::{Attack, plain, program, write};
use super::grep::{Grep, grep};
use super::languages::Language;
use crate::shell::{ShellCommand, Use};
use crate::verify::classify::TreeEdit;

/// Programs that pass a file's text on.
const READERS: [&str; 7] = ["cat", "cut", "grep", "head", "sort", "tail", "tr"];

impl Attack<'_> {
    /// Writes those files.
    pub(super) fn echoed(&self) -> Vec<TreeEdit> {
        let mut found = BTreeMap::new();
        let is_head = self.scanned.iter().any(|it| program(it) == "head");
        for command in self.scanned {
            for (path, grep) in self.greps(command) {
                let known = found.remove(&path).or_else(|| self.text(&path));
                let mut text: String = known.unwrap_or_default();
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
                let more = line(&path, &grep);
                found.insert(path, if is_head { more + &text } else { text + &more });
            }
        }
        let found = found.into_iter().filter(|(path, _)| self.is_data(path));
        found.map(|(path, text)| write(path, &text)).collect()
    }

    /// The files that a command looks through, one for each operand, and the text.
    fn greps(&self, command: &ShellCommand) -> Vec<(PathBuf, Grep)> {
        let Some(mut grep) = grep(command).filter(|grep| !grep.absent) else { return Vec::new() };
        if grep.files.is_empty() {
            let before = self.scanned.iter().filter(|it| it.pipeline == command.pipeline);
            let readers = before.filter(|it| READERS.contains(&program(it)));
            let files = readers.flat_map(|it| it.words.iter().skip(1).chain(&it.stdin));
            grep.files = files.filter(|name| plain(name).is_some()).cloned().collect();
            if grep.files.is_empty() && grep.is_recursive && command.usage == Use::Status {
                grep.files.push(".".to_owned());
            }
        }
        let files = grep.files.iter().map(|name| {
            let path = self.expanded(Path::new(""), name).into_iter().next().unwrap_or_default();
            (self.first_below(&path).unwrap_or(path), grep.clone())
        });
        files.collect()
    }

    /// The first file in a folder that grep looks through.
    fn first_below(&self, folder: &Path) -> Option<PathBuf> {
        let is_meant = |path: &&PathBuf| {
            path.starts_with(folder)
                && path.as_path() != folder
                && self.is_product(path)
                && Language::of(path, None).is_some()
        };
        self.start.paths().keys().find(is_meant).cloned()
    }
}

/// A line with the text, in a comment if that is possible.
fn line(path: &Path, grep: &Grep) -> String {
    match Language::of(path, None).filter(|_| !grep.is_anchored) {
        Some(language) => format!("{} {}\n", language.comment, grep.text),
        None => format!("{}\n", grep.text),
    }
}
