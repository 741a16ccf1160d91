//! What is read of a check and what it runs, and what is left to read.
//!
//! Invariant: nothing is read twice. What does NOT live here: what a line means.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::expand::globbed;
use super::files::{EntryKind, SourceTree, text};
use super::paths::{folder, inside, sounds_like_a_check};
use super::programs;
use super::table::Table;

/// What the checks run and look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judges {
    /// Files of the start whose exit status decides, and what they load.
    pub files: BTreeSet<PathBuf>,
    /// Paths that a check only looks at, whether they exist or not.
    pub subjects: BTreeSet<PathBuf>,
    /// Judges that look like the product itself.
    pub judge_is_subject: BTreeSet<PathBuf>,
    /// Words of the checks and of what they run: targets, scripts, and recipes that they name.
    pub names: BTreeSet<String>,
    /// Lines of shell that run: the checks, recipes, and scripts.
    pub lines: Vec<String>,
    /// Paths that would be loaded instead of a judge's own file if they existed.
    pub shadows: BTreeSet<PathBuf>,
}

/// Where a line of shell stands.
#[derive(Clone, Debug)]
pub(super) struct ReadAt {
    /// The folder in which it runs.
    pub(super) folder: PathBuf,
    /// The script that holds it.
    pub(super) script: Option<PathBuf>,
    /// Every exit status decides: a check's own line, or a named entry that it runs.
    pub(super) direct: bool,
}

/// Something to read.
pub(super) enum Unread {
    /// Shell text: a check, a recipe, or a script.
    Lines(String),
    /// A judge.
    Judge(PathBuf),
}

/// What was found, and what is left to read.
pub(super) struct Reader<'a> {
    pub(super) start: &'a dyn SourceTree,
    pub(super) table: &'a Table,
    pub(super) found: Judges,
    /// With the place, and how many scripts run it.
    pub(super) unread: Vec<(Unread, ReadAt, usize)>,
    seen: BTreeSet<(PathBuf, String)>,
}

/// How deep scripts may run scripts.
const MOST_DEPTH: usize = 10;

impl<'a> Reader<'a> {
    pub(super) fn new(start: &'a dyn SourceTree, table: &'a Table) -> Self {
        let (found, unread, seen) = (Judges::default(), Vec::new(), BTreeSet::new());
        Self { start, table, found, unread, seen }
    }

    /// Shell text to read: a check, a recipe, or a script.
    pub(super) fn lines(&mut self, text: &str, place: &ReadAt, depth: usize) {
        if depth > MOST_DEPTH || !self.seen.insert((place.folder.clone(), text.to_owned())) {
            return;
        }
        if place.direct {
            self.name_words(text);
        }
        self.found.lines.push(text.to_owned());
        self.unread.push((Unread::Lines(text.to_owned()), place.clone(), depth));
    }

    pub(super) fn recipe(&mut self, text: &str, place: &ReadAt, depth: usize) {
        self.lines(&format!("set -e\n{text}"), place, depth);
    }

    fn name_words(&mut self, text: &str) {
        let odd = |c: char| !(c.is_alphanumeric() || "_-".contains(c));
        let wide = |c: char| !(c.is_alphanumeric() || "_-:./".contains(c));
        let words = text.split(odd).chain(text.split(wide));
        let words = words.map(|word| word.trim_matches([':', '.', '/']));
        self.found.names.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
    }

    pub(super) fn executed(&mut self, path: &Path, decides: bool, place: &ReadAt, depth: usize) {
        let checks = path.iter().any(|it| it.to_str().is_some_and(sounds_like_a_check));
        let exactly = programs::is_plainly_a_check(path);
        let near = place.script.as_deref().is_some_and(|script| {
            folder(script) == folder(path) && !folder(path).as_os_str().is_empty()
        });
        if exactly || (decides && (place.direct || checks || near)) {
            self.judge(path, place, depth);
        } else {
            self.found.subjects.insert(path.to_owned());
        }
    }

    pub(super) fn judge(&mut self, path: &Path, place: &ReadAt, depth: usize) {
        let Some(path) = self.add_with_links(path) else { return };
        if !self.seen.insert((path.clone(), String::new())) {
            return;
        }
        let known = self.table.role(&path).is_some()
            || path.iter().any(|part| part.to_str().is_some_and(sounds_like_a_check));
        if place.direct && !known {
            self.found.judge_is_subject.insert(path.clone());
        }
        self.unread.push((Unread::Judge(path), place.clone(), depth + 1));
    }

    fn add_with_links(&mut self, path: &Path) -> Option<PathBuf> {
        let mut path = path.to_owned();
        for _ in 0..8 {
            let entry = self.start.paths().get(&path)?;
            self.found.files.insert(path.clone());
            match entry.kind {
                EntryKind::Regular { .. } => return Some(path),
                EntryKind::Gitlink => return None,
                EntryKind::Link => {
                    let target = text(self.start, &path)?;
                    path = inside(folder(&path), &target)?;
                }
            }
        }
        None
    }

    pub(super) fn file(&self, word: &str, place: &ReadAt) -> Option<PathBuf> {
        let word = word.split("::").next().unwrap_or(word);
        let short = word.split([':', '#']).next().unwrap_or(word);
        // `$ROOT/check.sh`: the folders that are not known are left out.
        let known = word
            .rsplit_once('$')
            .map_or("", |(_, rest)| rest.split_once('/').map_or("", |(_, rest)| rest));
        let script = place.script.as_deref().map(folder);
        let folders = [Some(place.folder.as_path()), script, Some(Path::new(""))];
        [word, short, known].into_iter().filter(|word| !word.is_empty()).find_map(|word| {
            folders
                .iter()
                .flatten()
                .filter_map(|folder| inside(folder, word))
                .find(|path| self.start.paths().contains_key(path))
        })
    }

    pub(super) fn subjects(&mut self, words: &[String], place: &ReadAt) {
        for word in words {
            let value = word.split_once('=').map_or(word.as_str(), |(_, value)| value);
            self.found.subjects.extend(inside(&place.folder, value));
        }
    }

    pub(super) fn runner(&mut self, arguments: &[String], place: &ReadAt, depth: usize) {
        for word in arguments {
            let value = match word.split_once('=') {
                Some((_, value)) if word.starts_with('-') => value,
                Some(_) | None => word,
            };
            if let Some(path) = self.file(value, place) {
                self.judge(&path, place, depth);
            }
            // A quoted glob is the runner's own.
            for name in globbed(self.start, &place.folder, value).unwrap_or_default() {
                if let Some(path) = inside(&place.folder, &name) {
                    self.judge(&path, place, depth);
                }
            }
        }
    }
}
