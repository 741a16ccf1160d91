//! Hold-out checks: commands and files of the human's that the agent never sees.
//!
//! Invariant: they run last, each time in a room in which nothing ran before and that is removed at
//! once. Their commands and output are in no evidence: only how many passed is.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use super::broken_line::{syntax_error, unknown_program};
use super::classify::scan;
use super::classify::{EntryKind, TreeEdit};
use super::error::VerifyError;
use super::plan::PlannedCheck;
use crate::model::{CheckResult, CheckStatus, CriterionKey, HoldOutCount, Task};

/// The hold-out checks of a task.
#[derive(Clone, Debug, Default)]
pub struct HoldOuts {
    pub(super) checks: Vec<HoldOutCheck>,
    /// Files that are laid over the room.
    pub(super) files: Vec<TreeEdit>,
}

/// One of them.
#[derive(Clone, Debug)]
pub(super) struct HoldOutCheck {
    pub(super) criterion: CriterionKey,
    command: String,
    /// Its line in the list.
    line: usize,
    /// It passed before any work.
    was_green: bool,
}

impl HoldOuts {
    /// The checks of a list, which has the form of a TASK.md: each of its criteria names one of the
    /// task's, by its `id` or its text. `folder` has the files.
    ///
    /// # Errors
    /// In words: a criterion that the task does not have or that has no check, or a file that cannot
    /// be read.
    pub fn new(list: &Task, folder: &Path, task: &Task) -> Result<Self, String> {
        let mut checks = Vec::new();
        for listed in &list.criteria {
            let names = [Some(&listed.key.text), listed.id.as_ref()];
            let is_meant = |id: &String| names.iter().flatten().any(|name| *name == id);
            let mut own = task.criteria.iter();
            let own = own
                .find(|it| it.key == listed.key || it.id.as_ref().is_some_and(is_meant))
                .ok_or_else(|| {
                format!("line {}: the task has no such criterion", listed.line)
            })?;
            if listed.verify.is_empty() {
                return Err(format!("line {}: there is no `- verify:` below it", listed.line));
            }
            checks.extend(listed.verify.iter().map(|verify| HoldOutCheck {
                criterion: own.key.clone(),
                command: verify.command.clone(),
                line: verify.line,
                was_green: false,
            }));
        }
        let mut files = Vec::new();
        match add_files(folder, Path::new(""), &mut files) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(format!("cannot read {}: {error}", folder.display()))
            }
            _ => Ok(Self { checks, files }),
        }
    }

    /// Has a criterion such checks?
    pub fn has(&self, key: &CriterionKey) -> bool {
        self.checks.iter().any(|check| check.criterion == *key)
    }

    /// Takes the checks that ran before any work. Remembers those that pass, and says that they
    /// prove nothing.
    ///
    /// # Errors
    /// The first that cannot run, and why.
    pub fn tried<'r>(
        &mut self,
        all: &'r [CheckResult],
        task: &Task,
        is_there: impl Fn(&Path) -> bool,
    ) -> Result<Vec<String>, (&'r CheckResult, String)> {
        let mut told = Vec::new();
        for ran in all {
            if let Some(why) = self.cannot_run(ran, task, &is_there) {
                return Err((ran, why));
            }
            let same = self.checks.iter_mut().filter(|it| is_of(it, ran) && ran.passed());
            for check in same {
                check.was_green = true;
                told.push(format!(
                    "the hold-out check of {} in line {} of its list passes before any work, so it \
                     proves nothing",
                    check.criterion.quoted(),
                    check.line
                ));
            }
        }
        Ok(told)
    }

    /// Why a check cannot run, whatever the work is, without its content. `task` is the task, and
    /// `is_there` says whether the repository has a file.
    pub fn cannot_run(
        &self,
        ran: &CheckResult,
        task: &Task,
        is_there: impl Fn(&Path) -> bool,
    ) -> Option<String> {
        let why = match &ran.status {
            CheckStatus::NotRun(_) => "did not start",
            CheckStatus::NothingRan(_) => "ran no test",
            _ if syntax_error(ran).is_some() => "is a line that the shell cannot read",
            _ if unknown_program(ran).is_some() => "names a program that this machine lacks",
            CheckStatus::Failed(_) if self.names_no_file(ran, task, is_there) => {
                "names a file that neither the repository nor the folder of the hold-out has"
            }
            _ => return None,
        };
        let line = self.checks.iter().find(|it| is_of(it, ran)).map_or(0, |it| it.line);
        Some(format!(
            "the hold-out check of {} in line {line} of its list {why}",
            ran.criteria.first().map(CriterionKey::quoted).unwrap_or_default()
        ))
    }

    /// Is a file missing that the line names, and of which the criterion says nothing? The work may
    /// have to make others.
    fn names_no_file(
        &self,
        ran: &CheckResult,
        task: &Task,
        is_there: impl Fn(&Path) -> bool,
    ) -> bool {
        const SAYS: [&str; 7] = [
            "No such file",
            "can't open",
            "cannot open",
            "not found",
            "Cannot find module",
            "Could not find",
            "No module named",
        ];
        let says = |word: &str| {
            let name = word.trim_start_matches("./");
            let module = name.strip_suffix(".py").unwrap_or(name);
            let mut lines = ran.output.lines();
            lines.any(|line| line.contains(module) && SAYS.iter().any(|said| line.contains(said)))
        };
        let is_asked_for = |word: &str| {
            let name = word.rsplit('/').next().unwrap_or(word);
            task.source.contains(name)
                || name.split('.').next().is_some_and(|it| task.source.contains(it))
        };
        let words = scan(&ran.command).into_iter().flat_map(|command| command.words);
        words.filter(|word| word.contains('.') && !word.starts_with('-')).any(|word| {
            let path = Path::new(word.trim_start_matches("./"));
            let is_laid = self.files.iter().any(|file| file.path() == path);
            says(&word) && !is_laid && !is_there(path) && !is_asked_for(&word)
        })
    }
}

/// Adds the command and the output of a hold-out check to the human's file. `when` says when it ran.
///
/// # Errors
/// If the file cannot be written.
pub fn log_hold_out(log: &Path, when: &str, ran: &CheckResult) -> Result<(), VerifyError> {
    let whose = ran.criteria.first().map(CriterionKey::quoted).unwrap_or_default();
    let (how, output) = (ran.status.how(), ran.output.trim_end());
    let text = format!("== {when}: {whose} ({how})\n$ {}\n{output}\n", ran.command);
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(log);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|source| {
        let (operation, path) = ("write", log.to_owned());
        VerifyError::Io { operation, path, source }
    })
}

fn is_of(check: &HoldOutCheck, ran: &CheckResult) -> bool {
    check.command == ran.command && ran.criteria.contains(&check.criterion)
}

/// Adds the files below a folder, by their paths in it.
fn add_files(folder: &Path, below: &Path, files: &mut Vec<TreeEdit>) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (from, path) = (entry.path(), below.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            add_files(&from, &path, files)?;
        } else {
            let executable = entry.metadata()?.permissions().mode() & 0o100 != 0;
            let (kind, bytes) = match kind.is_symlink() {
                true => {
                    (EntryKind::Link, fs::read_link(&from)?.into_os_string().into_encoded_bytes())
                }
                false => (EntryKind::Regular { executable }, fs::read(&from)?),
            };
            files.push(TreeEdit::Write { path, kind, bytes });
        }
    }
    Ok(())
}

impl HoldOutCheck {
    pub(super) fn planned(&self) -> PlannedCheck {
        let (command, criteria) = (self.command.clone(), vec![self.criterion.clone()]);
        PlannedCheck { command, criteria, whole_task: false }
    }
}

/// The counts by criterion. A check that did not run has not passed.
pub(super) fn counts(due: &[&HoldOutCheck], ran: &[CheckResult]) -> Vec<HoldOutCount> {
    let mut counts: Vec<HoldOutCount> = Vec::new();
    for check in due {
        let passed = ran.iter().any(|it| is_of(check, it) && it.passed());
        let criterion = check.criterion.clone();
        let at = counts.iter().position(|it| it.criterion == criterion).unwrap_or_else(|| {
            counts.push(HoldOutCount { criterion, passed: 0, of: 0 });
            counts.len() - 1
        });
        counts[at].of += usize::from(!(passed && check.was_green));
        counts[at].passed += usize::from(passed && !check.was_green);
    }
    counts
}
