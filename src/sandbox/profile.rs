//! The view of a sandbox, as plain data: mounts in the order in which they are made, and the
//! unshared namespaces.
//!
//! Invariant: nothing is mounted over a path that does not exist, since bubblewrap would make
//! it on the host. Which paths those are is decided by the caller and by `home`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::limits::LandlockRules;
use super::network::Network;

/// One step in setting up a sandbox's view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bind {
    /// A path of the host at the same or another path, read-only.
    ReadOnly {
        /// On the host.
        from: PathBuf,
        /// In the sandbox.
        at: PathBuf,
    },
    /// The same, writable.
    Writable {
        /// On the host.
        from: PathBuf,
        /// In the sandbox.
        at: PathBuf,
    },
    /// A device of the host.
    Device(PathBuf),
    /// A new, empty folder in memory.
    Empty(PathBuf),
}

impl Bind {
    /// A path of the host at the same path, read-only.
    pub fn read_only(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self::ReadOnly { from: path.clone(), at: path }
    }

    /// A path of the host at the same path, writable.
    pub fn writable(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self::Writable { from: path.clone(), at: path }
    }

    fn words(&self) -> Vec<OsString> {
        match self {
            Self::ReadOnly { from, at } => vec!["--ro-bind".into(), from.into(), at.into()],
            Self::Writable { from, at } => vec!["--bind".into(), from.into(), at.into()],
            Self::Device(path) => vec!["--dev-bind".into(), path.into(), path.into()],
            Self::Empty(path) => vec!["--tmpfs".into(), path.into()],
        }
    }
}

/// A folder shown with changes that are thrown away: the real one below, ours above.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Overlay {
    /// The real folder, which is never changed.
    pub lower: PathBuf,
    /// The replacement for parts of it, which takes the writes.
    pub upper: PathBuf,
    /// The kernel's own folder beside `upper`.
    pub work: PathBuf,
    /// Where the two are seen as one.
    pub merged: PathBuf,
}

impl Overlay {
    /// One whose folders lie in `folder`.
    pub fn below(folder: &Path, lower: PathBuf) -> Self {
        let (upper, work, merged) =
            (folder.join("upper"), folder.join("work"), folder.join("home"));
        Self { lower, upper, work, merged }
    }
}

/// Root's expectation of its own files, whatever their mode.
const ROOT: [&str; 3] = ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER"];

/// Settings of the kernel, of which some run programs on the host.
const KERNEL: [&str; 10] = [
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/acpi",
    "/proc/bus",
    "/proc/driver",
    "/proc/dynamic_debug",
    "/proc/fs",
    "/proc/irq",
    "/proc/mtrr",
    "/proc/scsi",
];

/// Everything that a sandbox is.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The folder that stands in for HOME, or for another one, if there is one.
    pub home: Option<Overlay>,
    /// The mounts over a read-only view of the whole system.
    pub mounts: Vec<Bind>,
    /// Its network.
    pub network: Network,
    /// Ports of the host's loopback that are reached at the same port of the sandbox's.
    pub ports: Vec<u16>,
    /// Read-only paths that an outside process may replace, which ends their mounts.
    pub watched: Vec<PathBuf>,
}

impl Profile {
    /// bubblewrap's arguments, up to the program that it starts in `cwd`.
    pub(super) fn words(&self, cwd: &Path) -> Vec<OsString> {
        let mut words: Vec<OsString> = ["--unshare-user", "--unshare-pid", "--unshare-ipc"]
            .into_iter()
            .chain(["--die-with-parent", "--new-session", "--ro-bind", "/", "/"])
            .chain(["--dev", "/dev", "--proc", "/proc"])
            .map(OsString::from)
            .collect();
        // Root has capabilities in the sandbox, and could unmount the protection.
        words.extend(["--cap-drop", "ALL"].map(OsString::from));
        if rustix::process::geteuid().is_root() {
            words.extend(ROOT.iter().flat_map(|name| ["--cap-add", name]).map(OsString::from));
            // The kernel lets root write these without any capability.
            let settings = KERNEL.iter().filter(|path| Path::new(path).exists());
            words.extend(settings.flat_map(|path| ["--ro-bind", path, path]).map(OsString::from));
        }
        match self.network {
            Network::Own => words.push("--unshare-net".into()),
            Network::Host => {}
        }
        words.extend(self.mounts.iter().flat_map(Bind::words));
        words.extend(["--chdir".into(), cwd.into()]);
        words
    }
}

/// The kernel's limits on the processes of a sandbox.
#[derive(Clone, Debug)]
pub enum Walls {
    /// Namespaces, made by bubblewrap.
    Namespaces(Profile),
    /// Landlock.
    Landlock(LandlockRules),
}

impl Walls {
    /// The folder that stands in for HOME, if there is one.
    pub(super) fn home(&self) -> Option<&Overlay> {
        match self {
            Self::Namespaces(profile) => profile.home.as_ref(),
            Self::Landlock(_) => None,
        }
    }

    /// The same walls with the host's network, beside a sandbox that has the folder that stands in
    /// for HOME already.
    #[must_use]
    pub fn online(&self) -> Self {
        let network = Network::Host;
        match self {
            Self::Namespaces(profile) => {
                let profile = profile.clone();
                Self::Namespaces(Profile { home: None, network, ports: Vec::new(), ..profile })
            }
            Self::Landlock(limits) => Self::Landlock(LandlockRules { network, ..limits.clone() }),
        }
    }

    /// Paths whose mounts end if an outside process replaces them.
    pub(super) fn watched(&self) -> &[PathBuf] {
        match self {
            Self::Namespaces(profile) => &profile.watched,
            Self::Landlock(_) => &[],
        }
    }

    /// Ports of the sandbox's own loopback that lead to the host's.
    pub(super) fn forwarded(&self) -> &[u16] {
        match self {
            Self::Namespaces(profile) => &profile.ports,
            Self::Landlock(_) => &[],
        }
    }
}
