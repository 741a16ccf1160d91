//! Files inside the workspace that the agent must not change: git's data, agent settings, the
//! runner's files, secrets, the human's unfinished work, and the task's protected files.

use std::path::{Component, Path};

use crate::model::{Access, WriteScope};

use super::call_context::{CallContext, WriteKind, secret};
use super::denial::Denial;
use super::files::FileKind;
use super::places::{TASK_FILES, is_setting};
use super::secrets;

/// The alternative to a change that only the human may make.
const LEAVE: &str = "leave it unchanged, and note in progress.md what should change";

impl CallContext<'_> {
    /// Checks a canonical path inside the workspace against everything protected.
    pub(super) fn protected(&mut self, path: &Path, write: WriteKind) -> Result<(), Denial> {
        let relative = path.strip_prefix(&self.policy().workspace).unwrap_or(path).to_owned();
        let shown = relative.display();
        let parts: Vec<String> = relative
            .components()
            .filter_map(|part| match part {
                Component::Normal(name) => Some(plain_name(&name.to_string_lossy())),
                _ => None,
            })
            .collect();
        let names: Vec<&str> = parts.iter().map(String::as_str).collect();
        if names.is_empty() {
            return Err(Denial::new("path.protected", "the workspace itself must stay as it is"));
        }
        let modules = names.last() == Some(&".gitmodules")
            && (names.len() == 1 || self.kind(&path.with_file_name(".git")) != FileKind::Missing);
        if names.contains(&".git") || modules {
            return Err(Denial::new("path.git", format!("{shown} belongs to git itself"))
                .instead("use git's own commands: `git add FILE`, `git commit -m '…'`"));
        }
        self.ruled_path(path, Access::Write, true)?;
        let policy = self.policy();
        if policy.in_own_task(path) {
            self.task_folder(path, &names, write)?;
        } else {
            if names[0] == ".ralph" {
                return Err(Denial::new("state.runner", format!("{shown} belongs to the runner"))
                    .instead(LEAVE));
            }
            if self.of_another_task(path, &names) {
                return Err(Denial::new("state.task", format!("{shown} belongs to another task")));
            }
            if policy.write_scope == WriteScope::Task {
                return Err(Denial::new(
                    "path.scope",
                    format!(
                        "{shown} is outside the task's folder, and this run may write there only"
                    ),
                ));
            }
        }
        if is_setting(&names) {
            return Err(Denial::new(
                "path.settings",
                format!("{shown} configures what agents may do, and only the human changes it"),
            )
            .instead(LEAVE));
        }
        if secrets::path(&relative) {
            return Err(secret(&relative));
        }
        if policy.human.iter().any(|human| path.starts_with(human) || *human == path) {
            return Err(Denial::new(
                "human.work",
                format!("{shown} is the human's own unfinished work"),
            )
            .instead("leave it as it is and work in other files"));
        }
        let denial = || Denial::new("path.protected", format!("{shown} is protected in this task"));
        if policy.protect.covers(&relative) {
            return Err(denial().instead(LEAVE));
        }
        if policy.protect_paths.iter().any(|fixed| path.starts_with(fixed)) {
            return Err(denial().instead(format!(
                "change the code so that it passes as the file stands; only the human may change a \
                 check, or allow it in TASK.md: `may_change: [{:?}]`",
                relative.to_string_lossy()
            )));
        }
        Ok(())
    }

    /// Refuses to go into a folder whose files are protected: the shell may stay
    /// there, and later names would be read from the wrong place.
    pub(super) fn enterable(&mut self, path: &Path) -> Result<(), Denial> {
        let names: Vec<String> = path
            .strip_prefix(&self.policy().workspace)
            .unwrap_or(Path::new(""))
            .components()
            .map(|part| part.as_os_str().to_string_lossy().to_lowercase())
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let runner = names.first() == Some(&".ralph") && !self.policy().in_own_task(path);
        if names.contains(&".git") || runner || is_setting(&names) {
            return Err(Denial::new(
                "path.protected",
                format!("{} is protected, and commands cannot run inside it", path.display()),
            )
            .instead("stay in the workspace's own folders"));
        }
        Ok(())
    }

    /// Whether a path lies in the folder of a task that is not worked on here: below
    /// `tasks/`, all of it; anywhere else, the files that make a folder a task's.
    fn of_another_task(&self, path: &Path, names: &[&str]) -> bool {
        let below_tasks = names[0] == "tasks";
        let named = names.last().is_some_and(|name| TASK_FILES.contains(name));
        if below_tasks && names.len() == 3 && named {
            return true;
        }
        if !below_tasks && !named {
            return false;
        }
        let policy = self.policy();
        let folders = path.ancestors().skip(usize::from(!below_tasks));
        let mut folders = folders.take_while(|folder| self.inside(folder));
        let is_task = |folder: &Path, context: &Self| {
            !policy.in_own_task(folder)
                && (below_tasks && folder != policy.workspace || Some(folder) == path.parent())
                && context.kind(&folder.join("TASK.md")) != FileKind::Missing
        };
        folders.any(|folder| is_task(folder, self))
    }

    fn task_folder(&self, path: &Path, names: &[&str], write: WriteKind) -> Result<(), Denial> {
        let name = names.last().copied().unwrap_or_default();
        if name == "progress.md" && path.parent() == self.policy().task_dir.as_deref() {
            return if write == WriteKind::Append {
                Ok(())
            } else {
                Err(Denial::new("state.progress", "progress.md is append-only")
                    .instead("append a line: `echo \"- $(date +%F) what was done\" >> progress.md` in the task's folder"))
            };
        }
        if name == "task.md" {
            return Err(Denial::new(
                "state.task",
                "the only change allowed in TASK.md is ticking the box of the current criterion",
            )
            .instead("use the edit tool to change `[ ]` to `[x]` on that one line"));
        }
        match self.policy().write_scope {
            WriteScope::Task
                if Some(path) != self.policy().task_dir.as_deref()
                    && !TASK_FILES.contains(&name) =>
            {
                Ok(())
            }
            WriteScope::Task | WriteScope::Workspace => Err(Denial::new(
                "state.runner",
                format!("{} belongs to the runner and the human", path.display()),
            )
            .instead(LEAVE)),
        }
    }
}

/// A name as the file systems of other machines read it, where a checkout may end up: in
/// lower case, without characters that some of them pass over, or a dot or blank at its end.
fn plain_name(name: &str) -> String {
    let kept: String = name.chars().filter(|c| !is_passed_over(*c)).collect();
    let kept = kept.trim_end_matches(['.', ' ']).to_lowercase();
    let short = kept.strip_prefix("git~").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    if short { ".git".to_owned() } else { kept }
}

fn is_passed_over(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}
