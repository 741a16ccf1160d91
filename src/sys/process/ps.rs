//! Processes as `ps` prints them, where there is no `/proc`.
//!
//! Limits: orphans do not come to us, nothing kills a child when we are killed (the
//! guardian does), the environment of the system's own programs is hidden, and a number
//! that was given away between the look and the signal is hit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, getpgrp, getsid, kill_process};

use super::family::ProcessInfo;

/// Whether orphans of our children come to us.
pub(super) const ORPHANS_COME: bool = false;

/// Orphans go to the system's first process here.
pub(super) fn adopt() {}

/// All processes, by their numbers.
pub(super) struct ProcessTable {
    pub(super) all: BTreeMap<u32, ProcessInfo>,
    /// What each was started with: its words, and its environment where that is shown.
    words: BTreeMap<u32, String>,
}

impl ProcessTable {
    pub(super) fn read() -> Self {
        let mut table = Self { all: BTreeMap::new(), words: BTreeMap::new() };
        let output = Command::new("/bin/ps")
            .args(["-axEww", "-o", "pid=,ppid=,pgid=,stat=,lstart=,command="])
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output();
        let text = output.map(|output| output.stdout).unwrap_or_default();
        for line in String::from_utf8_lossy(&text).lines() {
            if let Some((mut found, words)) = super::ps_line::parse(line) {
                found.session = session_of(found.pid).unwrap_or(0);
                table.words.insert(found.pid, words.to_owned());
                table.all.insert(found.pid, found);
            }
        }
        table
    }

    /// Whether a process was started with this variable, as far as the system shows it.
    pub(super) fn carries(&self, pid: u32, name: &str, value: &str) -> bool {
        let entry = format!("{name}={value}");
        self.words.get(&pid).is_some_and(|words| words.split(' ').any(|word| word == entry))
    }
}

/// Asking for one process costs as much as asking for all, so nobody is asked.
pub(super) fn start_of(_pid: u32) -> Option<u64> {
    None
}

/// The session of a process.
pub(super) fn session_of(pid: u32) -> Option<u32> {
    let session = getsid(Some(Pid::from_raw(pid.cast_signed())?)).ok()?;
    Some(session.as_raw_pid().cast_unsigned())
}

/// The process group that we are in.
pub(super) fn own_group() -> u32 {
    getpgrp().as_raw_pid().cast_unsigned()
}

/// How often it may be looked who descends from a process: each look starts `ps`.
pub(super) const LOOK: Duration = Duration::from_secs(5);

/// Adds whoever descends from `root` now, each with its start, and takes away who has ended.
pub(super) fn remember(root: u32, own: u32, known: &mut BTreeMap<u32, u64>) {
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

/// Sends a signal to each of them.
pub(super) fn signal(found: &[ProcessInfo], signal: Signal) {
    for pid in found.iter().filter_map(|one| Pid::from_raw(one.pid.cast_signed())) {
        // Whoever is gone by now needs no signal.
        let _ = kill_process(pid, signal);
        if signal != Signal::KILL {
            // A stopped process takes no signal but SIGKILL before it is continued.
            let _ = kill_process(pid, Signal::CONT);
        }
    }
}

/// Whether a living program whose name begins so may be at work in one of the folders. Where a
/// process stands is not told here, so each of that name may.
pub fn may_be_at_work(program: &str, _folders: &[&Path]) -> bool {
    let table = ProcessTable::read();
    // Not even we are in a table that could not be read.
    let unread = table.all.is_empty();
    let named = |words: &String| {
        let first = words.split(' ').next().unwrap_or_default();
        first.rsplit('/').next().is_some_and(|name| name.starts_with(program))
    };
    let living = |pid: &u32| table.all.get(pid).is_some_and(|found| !found.zombie);
    unread || table.words.iter().any(|(pid, words)| living(pid) && named(words))
}

/// Orphans do not come to us here.
pub fn reap_orphans() -> usize {
    0
}
