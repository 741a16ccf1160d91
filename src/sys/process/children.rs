//! The registry of children that tokio reaps.
//!
//! Invariant: a child is registered before another thread can take it for an orphan; every other
//! zombie below this process is an adopted orphan.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::process::{Child, Command};

static CHILDREN: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Locks the registry. No child starts while the guard is held.
pub(super) fn children() -> MutexGuard<'static, BTreeSet<u32>> {
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a child and registers it.
pub(super) fn spawn(command: &mut Command) -> io::Result<Child> {
    let mut children = children();
    let child = command.spawn()?;
    children.extend(child.id());
    Ok(child)
}

/// Removes a child that was reaped.
pub(super) fn ended(pid: u32) {
    children().remove(&pid);
}
