//! Files that hold what the lines look for: a text, or a key of JSON.
//!
//! Invariant: pure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use super::attack::{Attack, plain, program, write};
use super::constant::literals;
use super::grep::{Grep, grep};
use super::languages::Language;
use crate::shell::unwrapped;
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
            if let Some((path, keys)) = keys(command) {
                let known = found.get(&path).cloned().or_else(|| self.text(&path));
                let old = known.and_then(|text| serde_json::from_str(&text).ok());
                let mut whole: Value = old.unwrap_or_default();
                let at = keys.iter().fold(&mut whole, |at, key| {
                    if !at.is_object() {
                        *at = json!({});
                    }
                    &mut at[key]
                });
                *at = json!(1);
                found.insert(path, format!("{whole:#}\n"));
            }
        }
        found.extend(self.shown());
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

    /// A file that a reader shows, with the text that the line compares it with.
    fn shown(&self) -> Option<(PathBuf, String)> {
        let is_shown = |it: &&ShellCommand| {
            it.usage == Use::Output && READERS.contains(&program(it)) && grep(it).is_none()
        };
        let mut shown = self.scanned.iter().filter(is_shown);
        let (reader, literals) = (shown.next()?, literals(self.scanned));
        let [literal] = literals.as_slice() else { return None };
        let files = reader.words.iter().skip(1).chain(&reader.stdin);
        let path = files.filter_map(|word| plain(word)).next_back()?;
        shown.next().is_none().then(|| (path, format!("{literal}\n")))
    }
}

/// A line with the text, in a comment if that is possible.
fn line(path: &Path, grep: &Grep) -> String {
    match Language::of(path, None).filter(|_| !grep.is_anchored) {
        Some(language) => format!("{} {}\n", language.comment, grep.text),
        None => format!("{}\n", grep.text),
    }
}

/// The file of `jq -e .key FILE`, and its keys.
fn keys(command: &ShellCommand) -> Option<(PathBuf, Vec<String>)> {
    static KEY: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"\.\w+|\["[^"]+"\]"#).expect("a pattern"));
    let words = unwrapped(&command.words).iter().skip(1).filter(|word| !word.starts_with('-'));
    let mut words = words.chain(&command.stdin).filter(|_| program(command) == "jq");
    let (filter, file) = (words.next()?, plain(words.next()?)?);
    let keys = KEY.find_iter(filter).map(|it| it.as_str().trim_matches(['.', '[', ']', '"']));
    let keys: Vec<String> = keys.map(str::to_owned).collect();
    (!keys.is_empty()).then_some((file, keys))
}
