//! Where there is no `/proc`: the process group is all there is.
//!
//! Limit: a descendant that has a process session of its own is not found, and nothing
//! kills a child when we are killed; the guardian closes the second gap.

use std::io;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::{Child, Command};

/// The group of a child, which has the child's own number.
#[derive(Debug)]
pub(super) struct Mark {
    leader: u32,
}

/// A group that still has a member, under the number of its leader.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) pid: u32,
}

impl Mark {
    pub(super) fn of(leader: u32, _token: String) -> Self {
        Self { leader }
    }

    pub(super) fn members(&self) -> Vec<Found> {
        let group = Pid::from_raw(self.leader.cast_signed());
        match group.map(test_kill_process_group) {
            Some(Ok(())) => vec![Found { pid: self.leader }],
            Some(Err(_)) | None => Vec::new(),
        }
    }
}

pub(super) fn spawn(command: &mut Command) -> io::Result<Child> {
    command.spawn()
}

pub(super) fn ended(_pid: u32) {}

pub(super) fn signal(found: &[Found], signal: Signal) {
    for group in found.iter().filter_map(|found| Pid::from_raw(found.pid.cast_signed())) {
        // A group that is gone needs no signal.
        let _ = kill_process_group(group, signal);
    }
}

/// Without `/proc` nothing tells which processes carry a run's name.
pub(super) fn of_run(_run: &str) -> Vec<Found> {
    Vec::new()
}

/// Orphans do not come to us here.
pub fn reap_orphans() -> usize {
    0
}
