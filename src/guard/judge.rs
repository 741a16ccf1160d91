//! One call under judgement: what was asked of the files so far, what it would
//! write, and the checks of single paths that every other part ends in.
//!
//! Paths are compared by components, after every link was followed; a path that
//! cannot be resolved is refused. Protected names are compared without regard
//! to case, because on many machines `.GIT` is `.git`.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use crate::model::{Access, RuleDecision, WriteScope};

use super::denial::Denial;
use super::explain::ExplainedParts;
use super::files::{FileKind, Files, Real, resolve};
use super::places::{FILE_READS, HOME_READS, SYSTEM_READS, TASK_FILES, is_setting, is_system};
use super::policy::Policy;
use super::secrets;
use super::trees::Tree;

/// What passes instead of a change that is the human's to make.
const LEAVE: &str = "leave it as it is, and say in progress.md what should change";

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteKind {
    /// Its content is replaced or changed.
    Change,
    /// Something is added at its end.
    Append,
    /// Only its mode or its time.
    Mode,
    /// It, and everything below it, leaves its place.
    Move,
}

/// What of a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadKind {
    /// Its content.
    Content,
    /// Its content and that of everything below it.
    Tree,
    /// That it exists, its name, its size.
    Name,
}

/// The state of one decision.
pub(super) struct Judge<'a> {
    pub(super) policy: &'a Policy,
    pub(super) files: &'a dyn Files,
    seen: HashMap<PathBuf, FileKind>,
    /// Folders that were looked through: a long line may name one again and again.
    pub(super) trees: RefCell<HashMap<PathBuf, Rc<Tree>>>,
    /// The names of all tracked files, once they were asked for.
    pub(super) tracked: OnceCell<Option<Vec<PathBuf>>>,
    /// Canonical paths that are written.
    pub(super) writes: BTreeSet<PathBuf>,
    /// Those of them whose content is new: no script that was there before.
    pub(super) changed: BTreeSet<PathBuf>,
    /// What a human has to approve, if the user's rules say so.
    pub(super) ask: Option<Denial>,
    /// Whether a tool of the project ran before, which may have built programs.
    pub(super) built: bool,
    /// Links that this call itself would make: nothing may be reached through them.
    pub(super) links: Vec<PathBuf>,
    /// The parts looked at, if anybody wants to know.
    pub(super) parts: ExplainedParts,
    /// What traps of the line run.
    pub(super) traps: Vec<String>,
    /// Functions of the line that are being walked.
    pub(super) active: Vec<String>,
    /// Commands that may still be looked at.
    pub(super) budget: usize,
    /// Bytes that may still be parsed.
    pub(super) bytes: usize,
    /// Bytes that values of variables may still put into words: each use of a variable
    /// copies it, so a few lines such as `a=$a$a` would fill the memory.
    pub(super) expanded: usize,
    /// Folders of which a listing was made that may name secrets.
    pub(super) unsifted: BTreeSet<PathBuf>,
    /// How deep in functions, substitutions and nested shells we are.
    pub(super) depth: usize,
}

/// What it costs to make a matcher of a pattern, in commands.
pub(super) const COST_OF_A_GLOB: usize = 300;

/// What it costs to judge one more entry of a folder, in commands.
pub(super) const COST_OF_AN_ENTRY: usize = 4;

impl<'a> Judge<'a> {
    pub(super) fn new(policy: &'a Policy, files: &'a dyn Files) -> Self {
        Self {
            policy,
            files,
            seen: HashMap::new(),
            trees: RefCell::default(),
            tracked: OnceCell::new(),
            writes: BTreeSet::new(),
            changed: BTreeSet::new(),
            ask: None,
            built: false,
            links: Vec::new(),
            parts: ExplainedParts::default(),
            traps: Vec::new(),
            active: Vec::new(),
            budget: 60_000,
            bytes: 2 * 1024 * 1024,
            expanded: 2 * 1024 * 1024,
            unsifted: BTreeSet::new(),
            depth: 0,
        }
    }

    /// Where an absolute path really leads.
    pub(super) fn resolve(&mut self, path: &Path) -> Result<Real, Denial> {
        let unclear = || {
            Denial::new("path.unclear", format!("it cannot be told where {} leads", path.display()))
        };
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(unclear());
        }
        let real = resolve(path, self.files, &mut self.seen).ok_or_else(unclear)?;
        if self.links.iter().any(|link| real.path.starts_with(link)) {
            return Err(Denial::new(
                "path.symlink",
                "it goes through a link that this same call makes",
            ));
        }
        Ok(real)
    }

    /// Whether a canonical path is the workspace or below it.
    pub(super) fn inside(&self, path: &Path) -> bool {
        path.starts_with(&self.policy.workspace)
    }

    /// Whether a canonical path is below the agent's own TMPDIR.
    pub(super) fn in_tmp(&self, path: &Path) -> bool {
        self.policy.tmp.as_ref().is_some_and(|tmp| path.starts_with(tmp) && path != tmp)
    }

    /// Checks a read of an absolute path.
    pub(super) fn read(&mut self, path: &Path, read: ReadKind) -> Result<Real, Denial> {
        let real = self.resolve(path)?;
        if FILE_READS.iter().any(|file| path == Path::new(file)) {
            return Ok(real);
        }
        let ruling = self.ruled_path(&real.path, Access::Read, read != ReadKind::Name)?;
        let revealing = read != ReadKind::Name;
        if revealing && (secrets::path(path) || secrets::path(&real.path)) {
            return Err(secret(path));
        }
        let tmp_itself = self.policy.tmp.as_deref() == Some(real.path.as_path());
        if !self.inside(&real.path)
            && !self.in_tmp(&real.path)
            && !tmp_itself
            && !self.readable_outside(&real.path)
            && ruling.is_none()
        {
            return Err(Denial::new(
                "path.outside",
                format!("{} is outside the workspace", path.display()),
            )
            .instead("work with files below the workspace"));
        }
        if read == ReadKind::Tree && real.kind == FileKind::Dir {
            self.tree(&real.path)?;
        }
        Ok(real)
    }

    /// What the user's rules say about a path: a denial, or the rule that lets it
    /// through. What a human has to approve is noted.
    pub(super) fn ruled_path(
        &mut self,
        path: &Path,
        access: Access,
        revealing: bool,
    ) -> Result<Option<RuleDecision>, Denial> {
        let Some(ruling) = self.policy.rules.path(path, access).filter(|_| revealing) else {
            return Ok(None);
        };
        match ruling.decision {
            RuleDecision::Deny => return Err(Denial::ruled(ruling)),
            RuleDecision::Ask => self.ask = self.ask.take().or(Some(Denial::ruled(ruling))),
            RuleDecision::Allow => {}
        }
        Ok(Some(ruling.decision))
    }

    fn readable_outside(&self, path: &Path) -> bool {
        FILE_READS.iter().any(|file| path == Path::new(file))
            || SYSTEM_READS.iter().any(|folder| path.starts_with(folder))
            || self.policy.home.as_ref().is_some_and(|home| {
                HOME_READS.iter().any(|folder| path.starts_with(home.join(folder)))
            })
    }

    /// Checks a write of an absolute path and notes it.
    pub(super) fn write(&mut self, path: &Path, write: WriteKind) -> Result<PathBuf, Denial> {
        if matches!(
            path.to_str(),
            Some(
                "/dev/null"
                    | "/dev/stdout"
                    | "/dev/stderr"
                    | "/dev/fd/1"
                    | "/dev/fd/2"
                    | "/dev/fd/63"
            )
        ) && write != WriteKind::Move
        {
            return Ok(path.to_owned());
        }
        let real = self.resolve(path)?;
        if real.links.iter().any(|link| self.inside(link) && *link != self.policy.workspace) {
            return Err(Denial::new(
                "path.symlink",
                format!("{} is reached through a symbolic link", path.display()),
            )
            .instead("write to the real path, if it is inside the workspace"));
        }
        if self.in_tmp(&real.path) {
            return Ok(real.path);
        }
        if !self.inside(&real.path) {
            return self.write_outside(path, real.path);
        }
        self.protected(&real.path, write)?;
        if write == WriteKind::Move || real.kind == FileKind::Dir {
            self.nothing_protected_below(&real, write)?;
        }
        self.writes.insert(real.path.clone());
        if write != WriteKind::Mode {
            self.changed.insert(real.path.clone());
        }
        Ok(real.path)
    }

    /// A write outside the workspace: only where the user's rules let it, and never of
    /// secrets, settings of agents, or what the machine runs on.
    fn write_outside(&mut self, path: &Path, real: PathBuf) -> Result<PathBuf, Denial> {
        let refuse = || {
            Denial::new("path.outside", format!("{} is outside the workspace", path.display()))
                .instead("write below the workspace")
        };
        self.ruled_path(&real, Access::Write, true)?.ok_or_else(refuse)?;
        let names: Vec<String> = real
            .components()
            .map(|part| part.as_os_str().to_string_lossy().to_lowercase())
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let home = self.policy.home.as_ref().and_then(|home| real.strip_prefix(home).ok());
        let first = home.and_then(|below| below.components().next());
        let hidden = first.is_some_and(|name| name.as_os_str().to_string_lossy().starts_with('.'));
        if hidden || is_system(&real) || is_setting(&names) || names.contains(&".git") {
            return Err(refuse());
        }
        if secrets::path(&real) {
            return Err(secret(&real));
        }
        self.writes.insert(real.clone());
        self.changed.insert(real.clone());
        Ok(real)
    }

    /// A folder that moves takes everything below it along.
    fn nothing_protected_below(&mut self, real: &Real, write: WriteKind) -> Result<(), Denial> {
        if write != WriteKind::Move {
            return Ok(());
        }
        let policy = self.policy;
        let workspace = &policy.workspace;
        let fixed =
            [workspace.join(".git"), workspace.join(".ralph"), workspace.join(".github/hooks")];
        let below = fixed
            .iter()
            .chain(&policy.task_dir)
            .chain(&policy.protect_paths)
            .chain(&policy.human)
            .find(|path| path.starts_with(&real.path));
        if let Some(path) = below {
            return Err(Denial::new(
                "path.protected",
                format!("{} would go with it, and that is protected", path.display()),
            ));
        }
        if real.kind == FileKind::Dir {
            let tree = self.entries(&real.path);
            self.spend(tree.paths.len() * COST_OF_AN_ENTRY)?;
            for entry in &tree.paths {
                self.protected(entry, write)?;
            }
            if !tree.all {
                return Err(Denial::new(
                    "path.too-large",
                    "the folder is too large to be looked through",
                )
                .instead("move its parts one by one"));
            }
        }
        Ok(())
    }

    /// Checks a canonical path inside the workspace against everything protected.
    pub(super) fn protected(&mut self, path: &Path, write: WriteKind) -> Result<(), Denial> {
        let relative = path.strip_prefix(&self.policy.workspace).unwrap_or(path).to_owned();
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
            && (names.len() == 1
                || self.files.kind(&path.with_file_name(".git")) != FileKind::Missing);
        if names.contains(&".git") || modules {
            return Err(Denial::new("path.git", format!("{shown} belongs to git itself"))
                .instead("use git's own commands: `git add FILE`, `git commit -m '…'`"));
        }
        self.ruled_path(path, Access::Write, true)?;
        let policy = self.policy;
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
                format!("{shown} decides what agents may do; only the human changes it"),
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
        let fixed = policy.protect_paths.iter().any(|fixed| path.starts_with(fixed));
        if fixed || policy.protect.covers(&relative) {
            return Err(Denial::new(
                "path.protected",
                format!("{shown} is protected in this task"),
            )
            .instead("change the code so that it passes as the file stands"));
        }
        Ok(())
    }

    /// Refuses to go into a folder whose files are protected: the shell may stay
    /// there, and later names would be read from the wrong place.
    pub(super) fn enterable(&mut self, path: &Path) -> Result<(), Denial> {
        let names: Vec<String> = path
            .strip_prefix(&self.policy.workspace)
            .unwrap_or(Path::new(""))
            .components()
            .map(|part| part.as_os_str().to_string_lossy().to_lowercase())
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let runner = names.first() == Some(&".ralph") && !self.policy.in_own_task(path);
        if names.contains(&".git") || runner || is_setting(&names) {
            return Err(Denial::new(
                "path.protected",
                format!("{} is no place to work in", path.display()),
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
        let policy = self.policy;
        let folders = path.ancestors().skip(usize::from(!below_tasks));
        let mut folders = folders.take_while(|folder| self.inside(folder));
        let is_task = |folder: &Path, judge: &Self| {
            !policy.in_own_task(folder)
                && (below_tasks && folder != policy.workspace || Some(folder) == path.parent())
                && judge.files.kind(&folder.join("TASK.md")) != FileKind::Missing
        };
        folders.any(|folder| is_task(folder, self))
    }

    fn task_folder(&self, path: &Path, names: &[&str], write: WriteKind) -> Result<(), Denial> {
        let name = names.last().copied().unwrap_or_default();
        if name == "progress.md" && path.parent() == self.policy.task_dir.as_deref() {
            return if write == WriteKind::Append {
                Ok(())
            } else {
                Err(Denial::new("state.progress", "progress.md may only be added to")
                    .instead("append a line: `echo \"- $(date +%F) what was done\" >> progress.md` in the task's folder"))
            };
        }
        if name == "task.md" {
            return Err(Denial::new(
                "state.task",
                "of TASK.md only the box of the criterion in focus may be ticked, one byte",
            )
            .instead("use the edit tool to change `[ ]` to `[x]` on that one line"));
        }
        match self.policy.write_scope {
            WriteScope::Task
                if Some(path) != self.policy.task_dir.as_deref() && !TASK_FILES.contains(&name) =>
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

/// The denial for a path that holds secrets.
pub(super) fn secret(path: &Path) -> Denial {
    Denial::new("secret.file", format!("{} may hold secrets", path.display()))
        .instead("use a template such as `.env.example`")
}
