//! Changes to a task's rules on the base since a branch began.
//!
//! Invariant: pure but for reading the two trees. A branch chooses where it begins, so rules that it
//! may have avoided that way do not count as met.

use std::path::PathBuf;

use super::records::same_but_ticks;
use super::seen::{Remark, RemarkKind};
use crate::model::Task;
use crate::verify::classify::{SourceTree as _, Table, judges};
use crate::verify::git::TreeFiles;

/// A commit's files, and the task that it holds.
pub type TaskTree<'a> = (&'a TreeFiles, Option<&'a Task>);

/// Says which files that decide differ between the commit on which a branch began and the tip of
/// its base. `task_file` is the path of TASK.md.
pub fn moved_on(
    (then, old): TaskTree<'_>,
    (now, new): TaskTree<'_>,
    table: &Table,
    task_file: PathBuf,
) -> Option<Remark> {
    let is_same = match (old, new) {
        (Some(old), Some(new)) => same_but_ticks(old, new),
        (None, None) => return None,
        (Some(_), None) | (None, Some(_)) => false,
    };
    let mut changed: Vec<PathBuf> = (!is_same).then_some(task_file).into_iter().collect();
    let tasks = [old, new].into_iter().flatten();
    let commands: Vec<&str> = tasks.flat_map(commands).collect();
    let files = [then, now].map(|tree| judges(tree, table, &commands).files);
    let differs = |path: &&PathBuf| then.paths().get(*path) != now.paths().get(*path);
    changed.extend(files[0].union(&files[1]).filter(differs).cloned());
    let names = changed.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
    let what = format!("is where the branch began; the base changed since: {}", names.join(", "));
    (!changed.is_empty()).then_some(Remark { kind: RemarkKind::Outdated, at: 0, what })
}

/// The checks of a task.
fn commands(task: &Task) -> impl Iterator<Item = &str> {
    let own = task.criteria.iter().flat_map(|it| &it.verify).map(|it| it.command.as_str());
    own.chain(task.settings.verify.iter().map(String::as_str))
}
