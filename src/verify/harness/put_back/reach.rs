//! Files of the product that reach into what decides: links to it, definitions on which tests rely,
//! silenced warnings, and what git is told to pass over.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use super::super::conventions::SOURCES;
use super::super::files::{EntryKind, FileEntry, text};
use super::super::paths::{extension, file_name, folder, inside};
use super::super::programs::{Program, lists, program};
use super::super::shell::scan;
use super::super::wrappers::unwrapped;
use super::super::{deciding, fixtures, suppressions};
use super::{Work, is_match};

impl Work<'_> {
    /// What a source of the product has to do with the checks' warnings, or with what they expect.
    pub(super) fn reaches(&self, path: &Path) -> Option<&'static str> {
        if !SOURCES.contains(&extension(path)) {
            return None;
        }
        let old = text(self.start(), path).unwrap_or_default();
        let new = text(self.now(), path).unwrap_or_default();
        if self.silences(&old, &new) {
            Some("silenced warning")
        } else if self.names_what_is_expected(&old, &new) {
            Some("name of an expected output")
        } else {
            None
        }
    }

    /// Whether a source silences a warning that the checks ask for.
    fn silences(&self, old: &str, new: &str) -> bool {
        let marks = suppressions::passed_over(self.found.lines.iter());
        marks.iter().any(|mark| new.matches(mark).count() > old.matches(mark).count())
            || suppressions::denies_less(old, new) && !new.is_empty()
            || suppressions::silences(old, new)
                && suppressions::are_asked_for(self.found.lines.iter())
    }

    /// Whether a file decides what git tells the checks of the work: what is ignored, and what was
    /// tracked at the start.
    pub(super) fn is_hidden_from_git(&self, path: &Path) -> bool {
        let asks = |line: &String| {
            ["git status", "git diff", "git ls-files"].iter().any(|words| line.contains(words))
        };
        let ignored = || {
            let lines = text(self.now(), Path::new(".gitignore")).unwrap_or_default();
            let mut lines = lines.lines().map(|line| line.trim().trim_start_matches('/'));
            lines.any(|line| !line.is_empty() && is_match(line, path))
        };
        // A folder of output, or files with an ending, are ignored for good reason.
        let names_one = || {
            let old = text(self.start(), path).unwrap_or_default();
            let new = text(self.now(), path).unwrap_or_default();
            let one = |line: &str| {
                let path = Path::new(line);
                !line.ends_with('/') && line.contains('/') && !extension(path).is_empty()
            };
            let added = |line: &&str| !old.lines().any(|other| other == *line);
            new.lines().filter(added).any(one)
        };
        let is_gone = || !self.now().paths().contains_key(path);
        self.found.lines.iter().any(asks)
            && ((file_name(path) == ".gitignore" && names_one()) || (is_gone() && ignored()))
    }

    /// Whether a file was moved as it is, and the checks look for files without its name: they would
    /// no longer see what is in it.
    pub(super) fn left_the_view(&self, path: &Path) -> bool {
        let (start, now) = (self.start().paths(), self.now().paths());
        let Some(old) = start.get(path).filter(|_| !now.contains_key(path)) else { return false };
        let is_copy = |(other, entry): (&PathBuf, &FileEntry)| {
            entry.id == old.id && !start.contains_key(other)
        };
        let is_named = |line: &String| deciding::mentions(line, file_name(path));
        !self.found.lines.iter().any(is_named) && self.only_searches() && now.iter().any(is_copy)
    }

    /// Whether the checks run no tests, but programs and scripts that look into files.
    fn only_searches(&self) -> bool {
        let commands = self.found.lines.iter().flat_map(|line| scan(line));
        let programs: Vec<_> =
            commands.filter_map(|it| unwrapped(&it.words).first().cloned()).collect();
        let searches = |name: &String| {
            matches!(program(name), Program::Shell | Program::Interpreter)
                || lists("ag awk egrep fgrep find gawk git grep perl rg sed xargs", name)
        };
        programs.iter().any(searches)
            && !programs.iter().any(|it| matches!(program(it), Program::Runner | Program::Entry))
    }

    /// Whether new lines of a source name a file of the start with what a check expects, or read
    /// what git holds beside such a file.
    fn names_what_is_expected(&self, old: &str, new: &str) -> bool {
        let expects = |it: &&PathBuf| {
            let name = file_name(it).to_lowercase();
            ["expect", "golden", "snapshot"].iter().any(|word| name.contains(word))
        };
        let mut expected = self.harness().iter().filter(expects).peekable();
        if expected.peek().is_none() {
            return false;
        }
        let added: Vec<&str> = new.lines().filter(|line| !old.contains(line.trim())).collect();
        let added = added.join("\n");
        let globs: Vec<GlobMatcher> = added.split_whitespace().filter_map(glob).collect();
        let means = |file: &Path| globs.iter().any(|glob| glob.is_match(file));
        // `git show HEAD:tests/expected.txt`
        let shows = |line: &str| line.contains("git show") && line.contains(':');
        let from_git = added.lines().any(|line| line.contains("git cat-file") || shows(line));
        from_git || expected.any(|file| fixtures::names(&added, file) || means(file))
    }

    /// Whether a link stands where the start has a file, and leads to what decides.
    pub(super) fn leads_to_the_harness(&self, path: &Path) -> bool {
        let is_link = self.now().paths().get(path).is_some_and(|it| it.kind == EntryKind::Link);
        is_link
            && text(self.now(), path)
                .and_then(|target| inside(folder(path), &target))
                .is_some_and(|target| self.harness().contains(&target))
    }
}

/// A word with wildcards that names files below a folder.
fn glob(word: &str) -> Option<GlobMatcher> {
    let word = word.trim_matches(['"', '\'', ';', ')']).trim_start_matches("./");
    let is_glob =
        word.contains(['*', '?']) && word.contains('/') && word.contains(char::is_alphabetic);
    let glob = is_glob.then(|| GlobBuilder::new(word).literal_separator(true).build().ok());
    Some(glob.flatten()?.compile_matcher())
}
