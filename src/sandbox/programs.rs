//! The programs that make up a sandbox.

use std::ffi::OsString;
use std::path::PathBuf;

/// The words with which our own program enters a sandbox; the plan follows.
pub(super) const ENTER: [&str; 2] = ["sandbox", "enter"];
/// Those with which it serves inside.
pub(super) const SERVE: [&str; 2] = ["sandbox", "serve"];
/// Those with which it becomes a command inside; two file descriptors follow, and the command.
pub(super) const BECOME: [&str; 2] = ["sandbox", "become"];

/// The programs that start a sandbox.
#[derive(Clone, Debug)]
pub struct Programs {
    /// bubblewrap.
    pub bubblewrap: PathBuf,
    /// Our own program.
    pub ours: PathBuf,
}

pub(super) fn words(words: [&str; 2]) -> impl Iterator<Item = OsString> {
    words.map(OsString::from).into_iter()
}
