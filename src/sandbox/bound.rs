//! The Unix sockets of this machine that have a path: what listens there acts for its clients.
//!
//! Not in this file: which of them a sandbox hides.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::PathBuf;

/// Their paths, as far as they exist here. None where the kernel does not list them.
pub fn bound_sockets() -> Vec<PathBuf> {
    let listed = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let is_socket = |path: &PathBuf| {
        fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
    };
    paths(&listed).into_iter().filter(is_socket).collect()
}

/// The paths of the kernel's list.
fn paths(listed: &str) -> BTreeSet<PathBuf> {
    /// The number, the counts and flags, the type and state, and the inode stand before the path.
    const BEFORE: usize = 7;
    let path = |line: &str| line.split_ascii_whitespace().nth(BEFORE).map(str::to_owned);
    // An abstract name begins with `@`.
    let found = listed.lines().skip(1).filter_map(path).filter(|path| path.starts_with('/'));
    found.map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_from_an_abstract_name_and_from_none() {
        let listed = "Num RefCount Protocol Flags Type St Inode Path\n\
            ffff8a: 00000002 00000000 00010000 0001 01 21 /var/lib/x/unix.socket\n\
            ffff8b: 00000003 00000000 00000000 0001 03 22 /var/lib/x/unix.socket\n\
            ffff8c: 00000002 00000000 00010000 0001 01 23 @/tmp/.X11-unix/X0\n\
            ffff8d: 00000003 00000000 00000000 0001 03 24\n";
        assert_eq!(paths(listed), BTreeSet::from([PathBuf::from("/var/lib/x/unix.socket")]));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_socket_that_listens_is_found_and_one_that_is_gone_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.sock");
        let listener = std::os::unix::net::UnixListener::bind(&path).expect("a socket");
        assert!(bound_sockets().contains(&path));
        std::fs::remove_file(&path).expect("removed");
        assert!(!bound_sockets().contains(&path));
        drop(listener);
    }
}
