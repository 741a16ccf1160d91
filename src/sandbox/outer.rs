//! The view of an agent's own process in the tier `full`. The commands of the Copilot CLI run in
//! separate sandboxes. Its own process sees everything, read-only except for the workspace, its
//! state, and its temporary folders. Another agent runs its commands itself, and sees the same as
//! they, and its own folders.
//!
//! Invariant: as for [`full`](super::full()). The network is the host's: an agent must reach its
//! model.

use std::path::{Path, PathBuf};

use super::full::{Mounts, View, full, hide};
use super::network::Network;
use super::profile::{Bind, Overlay, Profile};

/// Folders of the agent itself.
#[derive(Clone, Debug, Default)]
pub struct AgentFolders {
    /// Its state, which it writes.
    pub writable: Vec<PathBuf>,
    /// Its configuration, which is read-only.
    pub fixed: Vec<PathBuf>,
    /// Other paths that it reads: its program, and files that its command line names.
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

    /// Empties hidden folders, after mounting the agent's own folders, which may contain them.
    fn hide(&self, view: &View, mounts: &mut Mounts) {
        let writable: Vec<&Path> =
            self.writable.iter().chain([&view.tree]).map(PathBuf::as_path).collect();
        view.hidden.iter().for_each(|folder| hide(folder, &writable, mounts));
    }
}

/// The profile of an agent whose commands run in separate sandboxes.
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
    own.hide(view, &mut mounts);
    let mounts = mounts.list();
    Profile { home: None, mounts, network: Network::Host, ports: Vec::new(), watched: Vec::new() }
}

/// The profile of an agent that runs its commands itself.
pub fn whole(view: &View, home: Overlay, own: &AgentFolders) -> Profile {
    let mut profile = full(view, home);
    let mut mounts = Mounts::default();
    own.mount(&mut mounts);
    own.hide(view, &mut mounts);
    profile.mounts.extend(mounts.list());
    profile
}

/// Does this path lie below a folder that is replaced by a private one? That folder itself stays
/// private.
fn is_temporary(path: &Path) -> bool {
    let private = ["/tmp", "/var/tmp"].map(Path::new);
    private.iter().any(|folder| path.starts_with(folder)) && !private.contains(&path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn no_folder_above_a_hidden_one_can_be_renamed() {
        let place = tempfile::tempdir().expect("a folder");
        let own = place.path().join(".copilot");
        let hidden = own.join("extensions/tap");
        let view = View { hidden: vec![hidden.clone()], ..View::default() };
        let folders = AgentFolders { writable: vec![own.clone()], ..AgentFolders::default() };
        let mounts = || outer(&view, &folders).mounts;
        // A missing path is not created.
        fs::create_dir_all(own.join("extensions")).expect("made");
        assert!(mounts().ends_with(&[Bind::writable(&own)]), "{:?}", mounts());
        fs::create_dir(&hidden).expect("made");
        let expected = [
            Bind::writable(&own),
            Bind::writable(own.join("extensions")),
            Bind::Empty(hidden.clone()),
        ];
        assert!(mounts().ends_with(&expected), "{:?}", mounts());
    }

    #[test]
    fn the_host_s_temporary_folder_is_not_shown_with_a_program_in_it() {
        let dir = tempfile::tempdir_in("/tmp").expect("a folder");
        let program = dir.path().join("program");
        fs::write(&program, "").expect("written");
        let readable = vec![program.clone(), "/tmp".into(), "/var/tmp".into()];
        let folders = AgentFolders { readable, ..AgentFolders::default() };
        let mounts = outer(&View::default(), &folders).mounts;
        assert!(mounts.contains(&Bind::read_only(&program)), "{mounts:?}");
        for folder in ["/tmp", "/var/tmp"] {
            assert!(!mounts.contains(&Bind::read_only(folder)), "{mounts:?}");
        }
    }

    #[test]
    fn a_tree_around_a_hidden_folder_does_not_show_it() {
        let place = tempfile::tempdir().expect("a folder");
        let tree = place.path().to_owned();
        let hidden = tree.join(".copilot/extensions/tap");
        fs::create_dir_all(&hidden).expect("made");
        let view = View {
            tree: tree.clone(),
            seen_at: tree.clone(),
            hidden: vec![hidden.clone()],
            ..View::default()
        };
        let overlay = Overlay::below(&tree, tree.clone());
        for mounts in [
            full(&view, overlay.clone()).mounts,
            outer(&view, &AgentFolders::default()).mounts,
            whole(&view, overlay, &AgentFolders::default()).mounts,
        ] {
            let expected = [
                Bind::writable(tree.join(".copilot")),
                Bind::writable(tree.join(".copilot/extensions")),
                Bind::Empty(hidden.clone()),
            ];
            assert!(mounts.ends_with(&expected), "{mounts:?}");
        }
    }
}
