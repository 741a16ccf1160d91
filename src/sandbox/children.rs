//! The processes below a sandbox's first program: shells that a call waits for, and orphans of
//! commands that have ended. An orphan that is not waited for stays a zombie, which `kill -0` takes
//! for a living process.
//!
//! Invariant: only one thread takes the ends of processes, and never while one is started.

use std::collections::HashMap;
use std::io;
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions, WaitStatus, wait, waitid};

/// Shells by their number; with their end, once they have ended.
type Shells = HashMap<u32, Option<WaitStatus>>;

/// All children of this process.
#[derive(Default)]
pub(super) struct Children {
    shells: Mutex<Shells>,
    changed: Condvar,
}

impl Children {
    /// Begins to take the ends of this process's children.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub(super) fn reaped() -> io::Result<Arc<Self>> {
        let children = Arc::<Self>::default();
        let reaper = Arc::clone(&children);
        thread::Builder::new().name("reaper".to_owned()).spawn(move || reaper.reap())?;
        Ok(children)
    }

    /// Starts a shell and returns its number.
    pub(super) fn start(&self, shell: &mut Command) -> io::Result<u32> {
        let mut shells = self.shells();
        let number = shell.spawn()?.id();
        shells.insert(number, None);
        self.changed.notify_all();
        Ok(number)
    }

    /// Waits for the end of a shell.
    pub(super) fn end_of(&self, shell: u32) -> Option<WaitStatus> {
        let goes_on = |shells: &mut Shells| shells.get(&shell).is_some_and(Option::is_none);
        let shells = self.changed.wait_while(self.shells(), goes_on);
        shells.unwrap_or_else(PoisonError::into_inner).remove(&shell).flatten()
    }

    fn shells(&self) -> MutexGuard<'_, Shells> {
        self.shells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reap(&self) {
        loop {
            // Only looks: whose end it is gets taken when nothing is being started.
            match waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
                Err(Errno::CHILD) => self.wait_for_a_child(),
                Ok(_) | Err(_) => self.take_ends(),
            }
        }
    }

    /// Without a child there is no orphan either.
    fn wait_for_a_child(&self) {
        let idle = |shells: &mut Shells| shells.values().all(Option::is_some);
        drop(self.changed.wait_while(self.shells(), idle));
    }

    fn take_ends(&self) {
        let mut shells = self.shells();
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if let Some(end) = shells.get_mut(&number(pid)) {
                *end = Some(status);
            }
        }
        self.changed.notify_all();
    }
}

fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}
