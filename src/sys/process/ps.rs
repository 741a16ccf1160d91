//! The process table as `ps` prints it, for systems without `/proc`.
//!
//! Limits: orphans are not reparented to this process, children do not die with it (the guardian
//! ends them), the environment of the system's own programs is hidden, and a process id reused
//! between look and signal is hit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, getpgrp, getsid, kill_process, test_kill_process};

use super::info::ProcessInfo;
use super::ps_line;

/// Orphans of our children are not reparented to this process.
pub(super) const ORPHANS_COME: bool = false;

/// Does nothing: orphans go to the system's first process.
pub(super) fn adopt_orphans() {}

/// There is nothing like it on this system: orphans are found by the run's name.
///
/// # Errors
/// None.
pub fn become_subreaper() -> std::io::Result<()> {
    Ok(())
}

/// A process, known by its number.
pub struct ProcessHandle(Pid);

impl ProcessHandle {
    /// A process that is alive.
    #[must_use]
    pub fn open(process: u32) -> Option<Self> {
        let pid = Pid::from_raw(process.try_into().ok()?)?;
        test_kill_process(pid).is_ok().then_some(Self(pid))
    }

    /// Kills it, and tells whether it ended within the limit.
    #[must_use]
    pub fn kill(&self, limit: Duration) -> bool {
        let began = std::time::Instant::now();
        // One that is gone already cannot be killed; the wait below says so.
        let _gone = kill_process(self.0, Signal::KILL);
        while test_kill_process(self.0).is_ok() {
            if began.elapsed() >= limit {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }
}

/// All processes, by their ids.
pub(super) struct ProcessTable {
    pub(super) all: BTreeMap<u32, ProcessInfo>,
    /// Command lines, with the environment where the system shows it.
    command_lines: BTreeMap<u32, String>,
}

impl ProcessTable {
    pub(super) fn read() -> Self {
        let mut table = Self { all: BTreeMap::new(), command_lines: BTreeMap::new() };
        let output = Command::new("/bin/ps")
            .args(["-axEww", "-o", "pid=,ppid=,pgid=,stat=,lstart=,command="])
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output();
        let text = output.map(|output| output.stdout).unwrap_or_default();
        for line in String::from_utf8_lossy(&text).lines() {
            if let Some((mut found, command_line)) = ps_line::parse(line) {
                found.session = session_of(found.pid).unwrap_or(0);
                table.command_lines.insert(found.pid, command_line.to_owned());
                table.all.insert(found.pid, found);
            }
        }
        table
    }

    /// Returns whether a process was started with this variable, as far as the system shows it.
    pub(super) fn carries(&self, pid: u32, name: &str, value: &str) -> bool {
        let entry = format!("{name}={value}");
        self.command_lines
            .get(&pid)
            .is_some_and(|command_line| command_line.split(' ').any(|word| word == entry))
    }
}

/// Returns `None`: reading one process costs as much as reading all.
pub(super) fn start_of(_pid: u32) -> Option<u64> {
    None
}

/// The session of a process.
pub(super) fn session_of(pid: u32) -> Option<u32> {
    let session = getsid(Some(Pid::from_raw(pid.cast_signed())?)).ok()?;
    Some(session.as_raw_pid().cast_unsigned())
}

/// Our own process group.
pub(super) fn own_group() -> u32 {
    getpgrp().as_raw_pid().cast_unsigned()
}

/// Interval for [`record_descendants`], which starts `ps`.
pub(super) const LOOK: Duration = Duration::from_secs(5);

/// Adds the current descendants of `root` with their start times, and removes those that have
/// ended.
pub(super) fn record_descendants(root: u32, own: u32, known: &mut BTreeMap<u32, u64>) {
    let all = ProcessTable::read().all;
    known.retain(|pid, start| all.get(pid).is_some_and(|found| found.start == *start));
    let mut seen = BTreeSet::from([own, root]);
    let mut below = vec![root];
    while let Some(parent) = below.pop() {
        for child in all.values().filter(|it| it.parent == parent && seen.insert(it.pid)) {
            below.push(child.pid);
            known.insert(child.pid, child.start);
        }
    }
}

/// Sends a signal to each process.
pub(super) fn signal(found: &[ProcessInfo], signal: Signal) {
    for pid in found.iter().filter_map(|one| Pid::from_raw(one.pid.cast_signed())) {
        // It may have ended meanwhile.
        let _ = kill_process(pid, signal);
        if signal != Signal::KILL {
            // A stopped process handles SIGTERM only once it is continued.
            let _ = kill_process(pid, Signal::CONT);
        }
    }
}

/// Returns whether a living process whose program name starts with `program` may be working in one
/// of these folders. Current folders are unknown here, so any such process counts.
pub fn may_be_at_work(program: &str, _folders: &[&Path]) -> bool {
    let table = ProcessTable::read();
    // A table that was read contains at least this process.
    let unread = table.all.is_empty();
    let named = |command_line: &String| {
        let first = command_line.split(' ').next().unwrap_or_default();
        first.rsplit('/').next().is_some_and(|name| name.starts_with(program))
    };
    let living = |pid: &u32| table.all.get(pid).is_some_and(|found| !found.zombie);
    unread || table.command_lines.iter().any(|(pid, line)| living(pid) && named(line))
}

/// Returns 0: orphans are not reparented to this process.
pub fn reap_orphans() -> usize {
    0
}
