//! What an agent's own process sees in the tier `full`. The commands of the Copilot CLI run in
//! sandboxes of their own, and its process sees everything, read-only but for the workspace, its
//! state, and its temporary folders. Another agent runs its commands itself, and sees what they
//! may see, and its own folders.
//!
//! Invariant: as for [`full`](super::full()). The network is the host's: an agent must reach its
//! model.

use std::path::{Path, PathBuf};

use super::full::{Mounts, View, full};
use super::network::Network;
use super::profile::{Bind, Overlay, Profile};

/// Folders of the agent itself.
#[derive(Clone, Debug, Default)]
pub struct AgentFolders {
    /// Its state, which it writes.
    pub writable: Vec<PathBuf>,
    /// What configures it, which it only reads.
    pub fixed: Vec<PathBuf>,
    /// What else it reads: its program, and files that its command line names.
    pub readable: Vec<PathBuf>,
}

impl AgentFolders {
    fn mount(&self, mounts: &mut Mounts) {
        for path in &self.writable {
            mounts.existing(Bind::writable(path));
        }
        for path in &self.fixed {
            mounts.existing(Bind::read_only(path));
        }
    }
}

/// The profile of an agent whose commands run in sandboxes of their own.
pub fn outer(view: &View, own: &AgentFolders) -> Profile {
    let mut mounts = Mounts::default();
    mounts.add(Bind::Writable { from: view.tmp.clone(), at: "/tmp".into() });
    mounts.add(Bind::Writable { from: view.var_tmp.clone(), at: "/var/tmp".into() });
    mounts.existing(Bind::read_only(&view.scratch));
    mounts.existing(Bind::writable(&view.tmp));
    let shown = view.tools.iter().chain(&own.readable).chain([&view.home]);
    for path in shown.filter(|path| is_temporary(path)) {
        mounts.existing(Bind::read_only(path));
    }
    view.repository(&mut mounts);
    own.mount(&mut mounts);
    let mut mounts = mounts.list();
    hide(view, &mut mounts);
    Profile { home: None, mounts, network: Network::Host, ports: Vec::new(), watched: Vec::new() }
}

/// The profile of an agent that runs its commands itself.
pub fn whole(view: &View, home: Overlay, own: &AgentFolders) -> Profile {
    let mut profile = full(view, home);
    let mut mounts = Mounts::default();
    own.mount(&mut mounts);
    profile.mounts.extend(mounts.list());
    hide(view, &mut profile.mounts);
    profile
}

/// Empties what is not shown, after the agent's own folders, which may hold it.
fn hide(view: &View, mounts: &mut Vec<Bind>) {
    let hidden = view.hidden.iter().filter(|folder| folder.is_dir());
    mounts.extend(hidden.cloned().map(Bind::Empty));
}

fn is_temporary(path: &Path) -> bool {
    ["/tmp", "/var/tmp"].iter().any(|folder| path.starts_with(folder))
}
