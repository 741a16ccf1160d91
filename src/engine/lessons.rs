//! Lessons: one line for each criterion that passed after failing, for the prompts of later runs.
//!
//! Invariant: the runner writes them from its own observations, never a model; a lesson holds no
//! output of a check. A lesson that cannot be kept is reported, and changes nothing about the run.
//! A file that git tracks is not written, because the tree would no longer be clean.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::EngineError;
use super::iteration::Iteration;
use super::ledger::{Ledger, LessonUse};
use super::past_runs::failed_before;
use crate::model::{CheckResult, CriterionKey, Evidence, one_line};
use crate::sys::{Durability, FileMode, atomic};

/// Where lessons are, from the repository's root. The memory tools read this folder, too.
pub const LESSONS: &str = ".ralph/memory/lessons.md";

/// Most lessons that are kept; the oldest go first.
const MOST: usize = 200;
/// Most lessons in a prompt.
const SHOWN: usize = 3;
/// Most checks and files that a lesson names.
const NAMED: usize = 10;
/// Longest lesson and largest file, in bytes.
const LONGEST: usize = 1000;
const LARGEST: u64 = 1 << 20;
/// Shorter words say nothing.
const SHORTEST_WORD: usize = 3;
const HEAD: &str = "# Lessons\n\n";

/// The checks that failed, as a lesson names them: the command and how it ended.
fn failures(checks: &[CheckResult]) -> Vec<String> {
    let failed = checks.iter().filter(|check| !check.passed());
    failed
        .map(|check| format!("`{}` ({})", one_line(&check.command), one_line(&check.status.how())))
        .collect()
}

/// Adds the checks that failed, each once.
fn add_failures(known: &mut Vec<String>, checks: &[CheckResult]) {
    for check in failures(checks) {
        if !known.contains(&check) {
            known.push(check);
        }
    }
}

/// A lesson as one line of Markdown.
fn lesson(criterion: &str, failed: &[String], files: &BTreeSet<String>) -> String {
    let list = |items: &mut dyn Iterator<Item = &String>, all: usize| {
        let named: Vec<&str> = items.take(NAMED).map(String::as_str).collect();
        let more = all.saturating_sub(named.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        if named.is_empty() { "none".to_owned() } else { named.join(", ") + &more }
    };
    let failed = list(&mut failed.iter(), failed.len());
    let files = list(&mut files.iter(), files.len());
    let mut line =
        format!("- {}; failed first: {failed}; then changed: {files}", one_line(criterion));
    let mut end = line.len().min(LONGEST);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    line.truncate(end);
    line
}

fn lessons(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.lines().filter(|line| line.starts_with("- "))
}

/// The file with one more lesson: no line twice, and at most 200.
fn with_lesson(text: &str, lesson: &str) -> String {
    let mut all: Vec<&str> = lessons(text).filter(|line| *line != lesson).collect();
    all.push(lesson);
    let old = all.len().saturating_sub(MOST);
    format!("{HEAD}{}\n", all[old..].join("\n"))
}

/// The lessons that share most words with a criterion, at most three; the newest of equal ones.
fn chosen(text: &str, criterion: &str) -> Vec<String> {
    let wanted = words(criterion);
    let mut found: Vec<(usize, &str)> = lessons(text)
        .rev()
        .map(|line| (words(line).intersection(&wanted).count(), line))
        .filter(|(shared, _)| *shared > 0)
        .collect();
    found.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));
    found.into_iter().take(SHOWN).map(|(_, line)| line[2..].to_owned()).collect()
}

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| word.chars().count() >= SHORTEST_WORD).map(str::to_lowercase).collect()
}

/// The text of the file; empty if it does not exist or is not ours.
fn read(root: &Path) -> String {
    let Some(path) = place(root) else { return String::new() };
    let small = path.metadata().is_ok_and(|found| found.is_file() && found.len() <= LARGEST);
    if small { std::fs::read_to_string(path).unwrap_or_default() } else { String::new() }
}

/// Where the file is, unless a link leads out of the repository.
fn place(root: &Path) -> Option<PathBuf> {
    let path = root.join(LESSONS);
    let real = path.parent()?.canonicalize().ok()?;
    let inside = root.canonicalize().is_ok_and(|root| real.starts_with(root));
    let link = path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    (inside && !link).then_some(path)
}

/// The lessons of the repository with this root for the prompt of a criterion.
pub fn lessons_for(root: &Path, criterion: &str) -> Vec<String> {
    chosen(&read(root), criterion)
}

/// The lesson about a criterion, if there is one.
pub fn lesson_about(root: &Path, criterion: &str) -> Option<String> {
    let head = format!("- {}; failed first: ", one_line(criterion));
    let text = read(root);
    lessons(&text).rfind(|line| line.starts_with(&head)).map(|line| line[2..].to_owned())
}

impl Ledger {
    /// The lessons for the prompt of a criterion.
    pub(super) fn lessons_for(&self, criterion: &str) -> Vec<String> {
        match self.parts.lessons {
            LessonUse::Kept => lessons_for(self.parts.repo.root(), criterion),
            LessonUse::Off => Vec::new(),
        }
    }

    /// Remembers the checks of a failed attempt.
    pub(super) fn note_failure(&mut self, key: &CriterionKey, evidence: &Evidence) {
        let known = self.failed_checks.entry(key.clone()).or_default();
        add_failures(known, &evidence.checks);
    }

    /// The checks of a criterion's failed attempts, those of earlier runs first; none if there
    /// were no such attempts.
    fn take_failures(&mut self, key: &CriterionKey) -> Result<Option<Vec<String>>, EngineError> {
        if self.failed_before.is_none() {
            let read = failed_before(&self.parts.run_folder, &self.parts.layout);
            if let Err(error) = &read {
                self.notice(&format!("lessons cannot use earlier runs: {error}"))?;
            }
            self.failed_before = Some(read.unwrap_or_default());
        }
        let before = self.failed_before.as_mut().and_then(|all| all.remove(key));
        let now = self.failed_checks.remove(key);
        if before.is_none() && now.is_none() {
            return Ok(None);
        }
        let mut failed = Vec::new();
        add_failures(&mut failed, &before.unwrap_or_default());
        for check in now.unwrap_or_default() {
            if !failed.contains(&check) {
                failed.push(check);
            }
        }
        Ok(Some(failed))
    }

    /// Writes the lesson of a criterion that passes, if it failed before, in this run or in an
    /// earlier one.
    pub(super) fn keep_lesson(
        &mut self,
        iteration: &Iteration,
        evidence: &Evidence,
    ) -> Result<(), EngineError> {
        if self.parts.lessons == LessonUse::Off {
            return Ok(());
        }
        let key = &iteration.criterion.key;
        let Some(failed) = self.take_failures(key)? else { return Ok(()) };
        if self.parts.repo.tracks(Path::new(LESSONS))? {
            return self.tell_of_tracked_lessons();
        }
        let paths = evidence.commits.iter().flat_map(|commit| &commit.paths);
        let files = paths.map(|change| change.path.to_string_lossy().into_owned()).collect();
        let lesson = lesson(&key.text, &failed, &files);
        let lesson = self.parts.gate.redactor().redact_str(&lesson).into_owned();
        let root = self.parts.repo.root();
        match append(root, &lesson) {
            Ok(()) => Ok(()),
            Err(why) => self.notice(&format!("no lesson was kept: {LESSONS}: {why}")),
        }
    }
}

impl Ledger {
    /// Says once how the file becomes the runner's again.
    fn tell_of_tracked_lessons(&mut self) -> Result<(), EngineError> {
        if std::mem::replace(&mut self.told_of_tracked_lessons, true) {
            return Ok(());
        }
        self.notice(&format!(
            "no lesson was kept: git tracks {LESSONS}; run `git rm --cached {LESSONS}` and commit \
             to keep lessons"
        ))
    }
}

fn append(root: &Path, lesson: &str) -> Result<(), String> {
    let folder = root.join(LESSONS);
    let folder = folder.parent().unwrap_or(root);
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let path = place(root).ok_or("a link leads out of the repository")?;
    let text = with_lesson(&read(root), lesson);
    atomic::write(&path, text.as_bytes(), Durability::Process, FileMode::Owner)
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_lesson_is_one_line_that_names_checks_and_files() {
        let failed = vec!["`make test` (exit 2)".to_owned()];
        assert_eq!(
            lesson("Login\n works", &failed, &files(&["src/b.rs", "src/a.rs"])),
            "- Login works; failed first: `make test` (exit 2); then changed: src/a.rs, src/b.rs"
        );
        let many: BTreeSet<String> = (10..30).map(|number| format!("f{number}")).collect();
        let long = lesson("x", &[], &many);
        assert!(long.ends_with("f19 and 10 more") && long.contains("failed first: none"), "{long}");
        assert!(lesson(&"ä".repeat(5000), &failed, &many).len() <= LONGEST);
    }

    #[test]
    fn lessons_are_kept_once_and_two_hundred_of_them() {
        let mut text = String::new();
        for number in 0..250 {
            text = with_lesson(&text, &format!("- lesson {number}"));
        }
        text = with_lesson(&text, "- lesson 100");
        let kept: Vec<&str> = lessons(&text).collect();
        assert_eq!((kept.len(), kept[0], kept[199]), (200, "- lesson 50", "- lesson 100"));
        assert_eq!(text.matches("- lesson 100\n").count(), 1);
        assert!(text.starts_with("# Lessons\n\n- lesson 50\n"));
    }

    #[test]
    fn a_prompt_gets_the_three_with_most_shared_words_newest_first() {
        let text = "# Lessons\n\n- parser reads dates; old\n- nothing in common\n\
                    - the parser reads dates and times\n- Parser fails on dates\n- a dates list\n";
        assert_eq!(
            chosen(text, "The parser reads dates"),
            [
                "the parser reads dates and times",
                "parser reads dates; old",
                "Parser fails on dates"
            ]
        );
        assert_eq!(chosen(text, "zebra"), Vec::<String>::new());
    }

    #[test]
    fn a_link_out_of_the_repository_is_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let (root, outside) = (folder.path().join("repo"), folder.path().join("outside"));
        std::fs::create_dir_all(root.join(".ralph")).expect("made");
        std::fs::create_dir(&outside).expect("made");
        std::os::unix::fs::symlink(&outside, root.join(".ralph/memory")).expect("a link");
        assert!(append(&root, "- x").is_err());
        std::fs::write(outside.join("lessons.md"), "- x y\n").expect("written");
        assert_eq!(read(&root), "");
        std::fs::remove_file(root.join(".ralph/memory")).expect("removed");
        append(&root, "- parser").expect("kept");
        assert_eq!(read(&root), "# Lessons\n\n- parser\n");
    }
}
