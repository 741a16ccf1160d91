//! The files that a command sees in the tier `full`: a read-only system, the workspace, a private
//! HOME and temporary folders, and only those parts of git that a commit needs.
//!
//! Invariant: pure over [`View`] and the file system; nothing is created. A path that does not
//! exist is not mounted.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::network::Network;
use super::profile::{Bind, Overlay, Profile};

/// Parts of a git folder that configure it, or that other repositories borrow from.
const GIT_SETTINGS: [&str; 7] =
    ["config", "config.worktree", "commondir", "hooks", "info", "objects/info", "objects/pack"];
/// Folders of other people.
pub(super) const HOMES: [&str; 3] = ["/home", "/root", "/Users"];
/// Folders that commands share with no other process.
pub(super) const PRIVATE: [&str; 3] = ["/tmp", "/var/tmp", "/run"];
/// The visible part of `/run`: name resolution, and the system of NixOS.
const RUN: [&str; 2] = ["/run/systemd/resolve", "/run/current-system"];
/// System files with secrets that root can read.
pub(super) const SYSTEM_SECRETS: [&str; 6] = [
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/shadow-",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/krb5.keytab",
];
/// Variables that name a socket of a program outside.
const SOCKETS: [&str; 2] = ["SSH_AUTH_SOCK", "GPG_AGENT_INFO"];

/// The input for a session's sandbox. Paths are absolute, and canonical where they exist.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The working tree that commands change.
    pub tree: PathBuf,
    /// Where it is seen: the repository's own path.
    pub seen_at: PathBuf,
    /// Its git folder, and the one that it shares with other working trees.
    pub git: Vec<PathBuf>,
    /// Paths of the tree that commands must not change.
    pub protected: Vec<PathBuf>,
    /// Paths below protected ones that they may change.
    pub writable: Vec<PathBuf>,
    /// Files that are shown as others: the path, and the file to show.
    pub replaced: Vec<(PathBuf, PathBuf)>,
    /// More paths to show, read-only.
    pub visible: Vec<PathBuf>,
    /// Folders that are not shown.
    pub hidden: Vec<PathBuf>,
    /// Folders of tools, as [`tools`](super::tools) finds them.
    pub tools: BTreeSet<PathBuf>,
    /// The user's HOME.
    pub home: PathBuf,
    /// The run's own folder outside the repository: hidden.
    pub scratch: PathBuf,
    /// The commands' TMPDIR, on disk.
    pub tmp: PathBuf,
    /// The replacement for `/var/tmp`, on disk.
    pub var_tmp: PathBuf,
    /// The user's runtime folder, if the environment names one.
    pub runtime: Option<PathBuf>,
    /// An empty file.
    pub empty: PathBuf,
    /// Sockets of programs outside that are reached.
    pub sockets: Vec<PathBuf>,
    /// Sockets that the environment names or that are bound, and that are not reached.
    pub unreached: Vec<PathBuf>,
    /// Ports of the host's loopback that are reached.
    pub ports: Vec<u16>,
    /// Devices that are seen.
    pub devices: Vec<PathBuf>,
    /// The network that is reached.
    pub network: Network,
}

/// The paths of sockets that this environment names.
pub fn sockets_of(variable: &dyn Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let docker =
        variable("DOCKER_HOST").and_then(|host| Some(host.strip_prefix("unix://")?.into()));
    let agents = SOCKETS.iter().filter_map(|name| variable(name));
    agents.filter_map(|value| Some(PathBuf::from(value.split(':').next()?))).chain(docker).collect()
}

/// The profile of a session.
pub fn full(view: &View, home: Overlay) -> Profile {
    let mut mounts = Mounts::default();
    for folder in HOMES {
        // All other files in it belong to other users.
        if Path::new(folder) != view.home && readable(Path::new(folder)) {
            mounts.add(Bind::Empty(folder.into()));
        }
    }
    private(view, &mut mounts);
    mounts.add(Bind::Writable { from: home.merged.clone(), at: view.home.clone() });
    for tool in &view.tools {
        if hidden(view, tool) {
            mounts.existing(Bind::read_only(tool));
        }
    }
    for path in &view.visible {
        mounts.existing(Bind::read_only(path));
    }
    for folder in view.hidden.iter().filter(|folder| folder.is_dir()) {
        mounts.add(Bind::Empty(folder.clone()));
    }
    view.repository(&mut mounts);
    for path in
        SYSTEM_SECRETS.iter().map(Path::new).chain(view.unreached.iter().map(PathBuf::as_path))
    {
        if path.exists() && !hidden(view, path) {
            mounts.add(Bind::ReadOnly { from: view.empty.clone(), at: path.to_owned() });
        }
    }
    for socket in &view.sockets {
        mounts.existing(Bind::read_only(socket));
    }
    for device in &view.devices {
        mounts.existing(Bind::Device(device.clone()));
    }
    // The tree may be a HOME, and hold them.
    for folder in view.hidden.iter().filter(|folder| folder.starts_with(&view.tree)) {
        hide(folder, &[&view.tree], &mut mounts);
    }
    let (network, ports) = (view.network, view.ports.clone());
    let Mounts { list: mounts, watched } = mounts;
    Profile { home: Some(home), mounts, network, ports, watched }
}

/// Temporary folders, and the run's own.
fn private(view: &View, mounts: &mut Mounts) {
    mounts.add(Bind::Empty("/run".into()));
    for path in RUN {
        mounts.existing(Bind::read_only(path));
    }
    if let Some(runtime) = view.runtime.as_ref().filter(|path| path.starts_with("/run")) {
        mounts.add(Bind::Empty(runtime.clone()));
    }
    mounts.add(Bind::Writable { from: view.tmp.clone(), at: "/tmp".into() });
    mounts.add(Bind::Writable { from: view.var_tmp.clone(), at: "/var/tmp".into() });
    mounts.add(Bind::Empty(view.scratch.clone()));
    mounts.add(Bind::writable(&view.tmp));
}

/// Does one of the private folders, or a person's, hide this path?
fn hidden(view: &View, path: &Path) -> bool {
    let places = PRIVATE.iter().chain(&HOMES).map(Path::new);
    places.chain([view.home.as_path(), &view.scratch]).any(|place| path.starts_with(place))
        && !path.starts_with(&view.home)
}

/// A git folder cannot be renamed, and its configuration cannot be changed.
fn git_folder(view: &View, git: &Path, mounts: &mut Mounts) {
    let at = view.shown(git);
    mounts.existing(Bind::Writable { from: git.to_owned(), at });
    let mut folders = vec![git.to_owned()];
    submodules(&git.join("modules"), &mut folders);
    for folder in folders {
        for part in GIT_SETTINGS {
            let path = folder.join(part);
            mounts.watched.push(path.clone());
            mounts.existing(Bind::ReadOnly { at: view.shown(&path), from: path });
        }
    }
}

/// The git folders of submodules, whose names may hold slashes.
fn submodules(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path();
        if path.join("HEAD").is_file() {
            submodules(&path.join("modules"), found);
            found.push(path);
        } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            submodules(&path, found);
        }
    }
}

/// The protected paths by their real names. A link cannot be mounted, but its target can.
fn really(view: &View) -> BTreeSet<PathBuf> {
    let mut found: BTreeSet<PathBuf> = view.protected.iter().cloned().collect();
    if view.tree.canonicalize().is_ok_and(|real| real != view.tree) {
        return found;
    }
    for path in &view.protected {
        let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
        let in_place = folder.zip(path.file_name()).map(|(folder, name)| folder.join(name));
        if in_place.as_ref().is_some_and(|real| real != path) {
            // It lies behind a link.
            found.remove(path);
        }
        // A link may lead to the whole tree, or to a folder around it.
        let target = path.canonicalize().ok().filter(|target| *target != view.tree);
        let real = in_place.into_iter().chain(target);
        found.extend(real.filter(|path| path.starts_with(&view.tree)));
    }
    found
}

/// Replaced parts of the tree. The folders above a protected path are mounted over themselves: a
/// mounted folder cannot be renamed, and another put in its place.
fn inside(view: &View, mounts: &mut Mounts) {
    let protected = really(view);
    let protected: BTreeSet<&Path> = protected.iter().map(PathBuf::as_path).collect();
    // A folder covers its contents.
    let is_covered = |path: &&Path| path.ancestors().skip(1).any(|above| protected.contains(above));
    let outermost: Vec<&Path> =
        protected.iter().copied().filter(|path| !is_covered(path)).collect();
    let below_tree = |path: &&Path| path.starts_with(&view.tree) && *path != view.tree;
    let above: BTreeSet<&Path> = outermost
        .iter()
        .filter(|path| path.exists())
        .copied()
        .chain(view.replaced.iter().map(|(path, _)| path.as_path()))
        .flat_map(|path| path.ancestors().skip(1))
        .filter(below_tree)
        .collect();
    for folder in above {
        mounts.existing(Bind::Writable { from: folder.to_owned(), at: view.shown(folder) });
    }
    for path in outermost {
        mounts.existing(Bind::ReadOnly { from: path.to_owned(), at: view.shown(path) });
    }
    for path in &view.writable {
        mounts.existing(Bind::Writable { from: path.clone(), at: view.shown(path) });
    }
    let inside_writable =
        |path: &&&Path| view.writable.iter().any(|it| it != *path && path.starts_with(it));
    for path in protected.iter().filter(inside_writable) {
        mounts.existing(Bind::ReadOnly { from: (*path).to_owned(), at: view.shown(path) });
    }
    for (path, shown) in &view.replaced {
        if path.symlink_metadata().is_ok_and(|found| !found.is_symlink()) {
            mounts.add(Bind::ReadOnly { from: shown.clone(), at: view.shown(path) });
        }
    }
}

impl View {
    /// Mounts the working tree, with its read-only parts.
    pub(super) fn repository(&self, mounts: &mut Mounts) {
        mounts.add(Bind::Writable { from: self.tree.clone(), at: self.seen_at.clone() });
        for git in &self.git {
            git_folder(self, git, mounts);
        }
        // A linked working tree has a file there, which names the folder.
        let git = self.tree.join(".git");
        if git.is_file() {
            mounts.existing(Bind::ReadOnly { at: self.shown(&git), from: git });
        }
        inside(self, mounts);
    }

    /// Where a path of the tree is seen.
    fn shown(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.tree).map_or_else(
            |_| path.to_owned(),
            |rest| {
                if rest == Path::new("") { self.seen_at.clone() } else { self.seen_at.join(rest) }
            },
        )
    }
}

#[derive(Default)]
pub(super) struct Mounts {
    list: Vec<Bind>,
    /// Of these, paths that git may replace.
    watched: Vec<PathBuf>,
}

impl Mounts {
    pub(super) fn list(self) -> Vec<Bind> {
        self.list
    }

    pub(super) fn add(&mut self, mount: Bind) {
        self.list.push(mount);
    }

    /// Adds the mount if its source exists and is not a link, which bubblewrap would follow.
    pub(super) fn existing(&mut self, mount: Bind) {
        let (Bind::ReadOnly { from, .. } | Bind::Writable { from, .. } | Bind::Device(from)) =
            &mount
        else {
            return self.add(mount);
        };
        if fs::symlink_metadata(from).is_ok_and(|found| !found.file_type().is_symlink()) {
            self.list.push(mount);
        }
    }
}

/// Empties a folder. The writable folders above it are mounted over themselves, so that none of
/// them can be renamed to expose the folder under another path.
pub(super) fn hide(folder: &Path, writable: &[&Path], mounts: &mut Mounts) {
    if !folder.is_dir() {
        return;
    }
    let in_writable =
        |above: &&Path| writable.iter().any(|it| above.starts_with(it) && above != it);
    let above: Vec<&Path> = folder.ancestors().skip(1).take_while(in_writable).collect();
    for path in above.into_iter().rev() {
        mounts.existing(Bind::writable(path));
    }
    mounts.add(Bind::Empty(folder.to_owned()));
}

fn readable(path: &Path) -> bool {
    fs::read_dir(path).is_ok()
}
