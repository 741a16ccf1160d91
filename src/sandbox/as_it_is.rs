//! The human's machine, unchanged except for one folder whose changes are discarded.
//!
//! Invariant: this sandbox runs the human's own commands, before any agent works. It only discards
//! their writes in that folder, and ends their processes.

use std::fs;
use std::path::Path;

use super::network::Network;
use super::profile::{Bind, Overlay, Profile};

/// Folders that a sandbox has for itself.
const OWN: [&str; 3] = ["/dev", "/proc", "/sys"];

/// The profile of a command that sees the current state of `folder`, and whose changes are visible
/// only to itself and to later commands.
pub fn as_it_is(folder: &Path, overlay: Overlay) -> Profile {
    let top = fs::read_dir("/").into_iter().flatten().filter_map(Result::ok);
    let folders = top.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let paths = folders.map(|entry| entry.path());
    let shown = paths.filter(|path| OWN.iter().all(|own| path != Path::new(own)));
    let tree = Bind::Writable { from: overlay.merged.clone(), at: folder.to_owned() };
    let mounts = shown.map(Bind::writable).chain([Bind::Device("/dev".into()), tree]);
    Profile {
        home: Some(overlay),
        mounts: mounts.collect(),
        network: Network::Host,
        ports: Vec::new(),
        watched: Vec::new(),
    }
}
