//! The state of one judged call: the files that it asked about, its writes, and the checks of
//! single paths that every other part uses.
//!
//! Paths are compared by components, after every link was followed; a path that
//! cannot be resolved is refused. Protected names are compared without regard
//! to case, because on many machines `.GIT` is `.git`.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::model::{Access, RuleDecision};

use super::denial::Denial;
use super::files::{FileKind, Files, Real, resolve};
use super::places::{FILE_READS, HOME_READS, SYSTEM_READS, is_setting, is_system};
use super::policy::Policy;
use super::secrets;
use super::tracked;
use super::trees::Tree;

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

/// The part of a file that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadKind {
    /// Its content.
    Content,
    /// Its content and that of everything below it.
    Tree,
    /// The same without hidden files, as ripgrep searches.
    Search,
    /// That it exists, its name, its size.
    Name,
}

/// The known facts about one call: the policy, the files that it names, its writes.
///
/// Programs and tools ask it about paths, tracked files and the budget; how the shell walks a
/// line is no part of it.
pub(super) struct CallContext<'a> {
    policy: &'a Policy,
    files: &'a dyn Files,
    /// The entries at the paths that were asked about.
    resolved: HashMap<PathBuf, FileKind>,
    /// Folders that were looked through: a long line may name one again and again.
    trees: RefCell<HashMap<PathBuf, Rc<Tree>>>,
    /// The names of all tracked files, once they were asked for.
    tracked: OnceCell<Option<Vec<PathBuf>>>,
    /// Canonical paths that are written.
    writes: BTreeSet<PathBuf>,
    /// Those of them whose content is new: no script that was there before.
    changed: BTreeSet<PathBuf>,
    /// The part that a human has to approve, if the user's rules say so.
    ask: Option<Denial>,
    /// Commands that may still be looked at.
    budget: usize,
}

/// The result of an allowed call.
pub(super) struct Noted {
    /// Canonical paths that are written.
    pub(super) writes: BTreeSet<PathBuf>,
    /// The part that a human has to approve first.
    pub(super) ask: Option<Denial>,
}

/// Cost of compiling a pattern, in commands.
pub(super) const COST_OF_A_GLOB: usize = 300;

/// Cost of judging one more entry of a folder, in commands.
pub(super) const COST_OF_AN_ENTRY: usize = 4;

impl<'a> CallContext<'a> {
    pub(super) fn new(policy: &'a Policy, files: &'a dyn Files) -> Self {
        Self {
            policy,
            files,
            resolved: HashMap::new(),
            trees: RefCell::default(),
            tracked: OnceCell::new(),
            writes: BTreeSet::new(),
            changed: BTreeSet::new(),
            ask: None,
            budget: 60_000,
        }
    }

    pub(super) fn policy(&self) -> &'a Policy {
        self.policy
    }

    /// The entry at an absolute path, without following links.
    pub(super) fn kind(&self, path: &Path) -> FileKind {
        self.files.kind(path)
    }

    /// The names in a folder, at most `most`; none if it cannot be listed or is hidden: a denial
    /// would say them.
    pub(super) fn list(&self, folder: &Path, most: usize) -> Vec<String> {
        let real = || resolve(folder, self.files, &mut HashMap::new());
        if !self.policy.hidden.is_empty() && real().is_none_or(|real| self.is_hidden(&real)) {
            return Vec::new();
        }
        self.files.list(folder, most).unwrap_or_default()
    }

    fn is_hidden(&self, real: &Real) -> bool {
        self.policy.hidden.iter().any(|hidden| real.path.starts_with(hidden))
    }

    /// Takes from the budget of the decision.
    pub(super) fn spend(&mut self, cost: usize) -> Result<(), Denial> {
        self.budget = self.budget.checked_sub(cost).ok_or_else(|| {
            Denial::new("shell.too-long", "the line is too long to check")
                .instead("split it into several calls")
        })?;
        Ok(())
    }

    /// Notes that a human has to approve the call; the first reason counts.
    pub(super) fn ask_human(&mut self, denial: Denial) {
        self.ask.get_or_insert(denial);
    }

    /// Did this run make a file or folder?
    pub(super) fn is_new(&self, path: &Path) -> bool {
        match (self.policy.started, self.files.born(path)) {
            (Some(started), Some(born)) => born >= started,
            _ => false,
        }
    }

    /// Canonical paths whose content this call changes.
    pub(super) fn changed(&self) -> &BTreeSet<PathBuf> {
        &self.changed
    }

    /// All files that git tracks, if its index can be read.
    pub(super) fn tracked(&self) -> Option<&[PathBuf]> {
        let read = || tracked::read_index(self.files, &self.policy.workspace);
        self.tracked.get_or_init(read).as_deref()
    }

    /// Denies a recursive read that would meet a secret. Folders that hold dependencies or
    /// build output are not looked into, and a large tree only as far as its first entries.
    fn read_tree(&mut self, root: &Path, read: ReadKind) -> Result<(), Denial> {
        const NARROW: &str =
            "narrow it: `rg -n PATTERN`, `git grep -n PATTERN`, a subfolder, or `--include='*.rs'`";
        if read == ReadKind::Tree && self.files.kind(&root.join(".git")) != FileKind::Missing {
            return Err(Denial::new("path.git", "it reads git's own data").instead(NARROW));
        }
        let tree = self.entries(root);
        if self.policy.rules.hides() {
            for path in &tree.paths {
                self.ruled_path(path, Access::Read, true)?;
            }
        }
        let hidden = |path: &Path| {
            let below = path.strip_prefix(root).unwrap_or(path);
            below.components().any(|part| part.as_os_str().to_string_lossy().starts_with('.'))
        };
        let shown =
            |path: &&PathBuf| self.policy.hides(path) && (read == ReadKind::Tree || !hidden(path));
        tree.secrets.iter().find(shown).map_or(Ok(()), |path| Err(secret(path).instead(NARROW)))
    }

    /// The entries below a folder, looked at once in a decision.
    pub(super) fn entries(&self, root: &Path) -> Rc<Tree> {
        if let Some(tree) = self.trees.borrow().get(root) {
            return Rc::clone(tree);
        }
        let tree = Rc::new(Tree::below(root, self.files));
        self.trees.borrow_mut().insert(root.to_owned(), Rc::clone(&tree));
        tree
    }

    /// The result of the call, once all of it was allowed.
    pub(super) fn noted(self) -> Noted {
        Noted { writes: self.writes, ask: self.ask }
    }

    /// Where an absolute path really leads.
    pub(super) fn resolve(&mut self, path: &Path) -> Result<Real, Denial> {
        let unclear =
            || Denial::new("path.unclear", format!("cannot tell where {} leads", path.display()));
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(unclear());
        }
        resolve(path, self.files, &mut self.resolved).ok_or_else(unclear)
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
        self.not_of_gateway(path, &real)?;
        let ruling = self.ruled_path(&real.path, Access::Read, read != ReadKind::Name)?;
        let revealing = read != ReadKind::Name;
        if revealing && (self.policy.hides(path) || self.policy.hides(&real.path)) {
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
        if revealing && self.inside(&real.path) && is_git(&real.path, &self.policy.workspace) {
            return Err(Denial::new(
                "path.git",
                format!("{} belongs to git itself", path.display()),
            )
            .instead("use git's own commands: `git log`, `git show`, `git status`"));
        }
        if matches!(read, ReadKind::Tree | ReadKind::Search) && real.kind == FileKind::Dir {
            self.read_tree(&real.path, read)?;
        }
        Ok(real)
    }

    /// Neither the folder of a gateway's token nor what is in it is listed, read or changed.
    fn not_of_gateway(&self, path: &Path, real: &Real) -> Result<(), Denial> {
        if self.is_hidden(real) || secrets::of_gateway(path) || secrets::of_gateway(&real.path) {
            return Err(secret(path));
        }
        Ok(())
    }

    /// The decision of the user's rules about a path: a denial, or the rule that allows it. A need
    /// for a human's approval is recorded.
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
            RuleDecision::Deny => return Err(ruling.denial()),
            RuleDecision::Ask => self.ask_human(ruling.denial()),
            RuleDecision::Allow => {}
        }
        Ok(Some(ruling.decision))
    }

    fn readable_outside(&self, path: &Path) -> bool {
        FILE_READS.iter().any(|file| path == Path::new(file))
            || self.policy.visible.iter().any(|shown| path.starts_with(shown))
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
        self.not_of_gateway(path, &real)?;
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
                format!("{} would move with it and is protected", path.display()),
            ));
        }
        if real.kind == FileKind::Dir {
            let tree = self.entries(&real.path);
            self.spend(tree.paths.len() * COST_OF_AN_ENTRY)?;
            for entry in &tree.paths {
                self.protected(entry, write)?;
            }
            if !tree.all {
                return Err(Denial::new("path.too-large", "the folder is too large to check")
                    .instead("move its parts one by one"));
            }
        }
        Ok(())
    }
}

/// Whether a canonical path is git's own data.
fn is_git(path: &Path, workspace: &Path) -> bool {
    let relative = path.strip_prefix(workspace).unwrap_or(path);
    relative.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"))
}

/// The denial for a path that holds secrets.
pub(super) fn secret(path: &Path) -> Denial {
    Denial::new("secret.file", format!("{} may hold secrets", path.display()))
        .instead("use a template such as `.env.example`")
}
