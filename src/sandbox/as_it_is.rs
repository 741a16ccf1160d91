//! The human's machine as it is, but for one folder whose changes are thrown away.
//!
//! Invariant: this encloses what the human's own shell would run before any agent works. It keeps
//! nothing from it but its writes in that folder, and that its processes outlive it.

use std::fs;
use std::path::Path;

use super::network::Network;
use super::profile::{Bind, Overlay, Profile};

/// Folders that a sandbox has of its own.
const OWN: [&str; 3] = ["/dev", "/proc", "/sys"];

/// The profile of a command that sees `folder` as it is, and changes it only for itself and those
/// that come after it.
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
