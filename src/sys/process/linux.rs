//! The process table of Linux, read from `/proc`.
//!
//! Invariant: a process is signalled only through a pidfd that was opened before the process was
//! checked again, so a signal never reaches a reused process id (without pidfds: right after the
//! check). Only children that were not started by us are reaped here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{LazyLock, Once};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, pidfd_open, pidfd_send_signal,
    set_child_subreaper, waitpid,
};

use super::children::children;
use super::info::ProcessInfo;

/// Orphans of our children are reparented to this process.
pub(super) const ORPHANS_COME: bool = true;

/// Makes this process the new parent of its children's orphans.
pub(super) fn adopt_orphans() {
    static ADOPT: Once = Once::new();
    ADOPT.call_once(|| {
        if let Err(error) = become_subreaper() {
            tracing::warn!(%error, "cannot become the subreaper: orphans of the agent may outlive the run");
        }
    });
}

/// The same, told whether it worked.
///
/// # Errors
/// If the kernel refuses.
pub fn become_subreaper() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// A process that is not mistaken for a later one with its number.
pub struct ProcessHandle(OwnedFd);

impl ProcessHandle {
    /// A process that is alive.
    #[must_use]
    pub fn open(process: u32) -> Option<Self> {
        let pid = Pid::from_raw(process.try_into().ok()?)?;
        Some(Self(pidfd_open(pid, PidfdFlags::empty()).ok()?))
    }

    /// Kills it, and tells whether it ended within the limit.
    #[must_use]
    pub fn kill(&self, limit: Duration) -> bool {
        // One that is gone already cannot be killed; the wait below says so.
        let _gone = pidfd_send_signal(&self.0, Signal::KILL);
        let limit = Timespec::try_from(limit).ok();
        let mut waits = [PollFd::new(&self.0, PollFlags::IN)];
        matches!(poll(&mut waits, limit.as_ref()), Ok(1..))
    }
}

/// All processes, by their ids.
pub(super) struct ProcessTable {
    pub(super) all: BTreeMap<u32, ProcessInfo>,
}

impl ProcessTable {
    pub(super) fn read() -> Self {
        if !shows_our_namespace() {
            return Self { all: BTreeMap::new() };
        }
        Self { all: numbers("/proc").filter_map(|pid| Some((pid, stat(pid)?))).collect() }
    }

    /// Returns whether a process was started with this variable. The environment of other users'
    /// processes is unreadable, and they are not ours.
    pub(super) fn carries(&self, pid: u32, name: &str, value: &str) -> bool {
        fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
            environment.split(|byte| *byte == 0).any(|entry| {
                entry
                    .strip_prefix(name.as_bytes())
                    .and_then(|rest| rest.strip_prefix(b"="))
                    .is_some_and(|found| found == value.as_bytes())
            })
        })
    }
}

/// The start of a process, in clock ticks since the boot.
pub(super) fn start_of(pid: u32) -> Option<u64> {
    stat(pid).map(|found| found.start)
}

/// The session of a process.
pub(super) fn session_of(pid: u32) -> Option<u32> {
    stat(pid).map(|found| found.session)
}

/// Our own process group. Read from `/proc`, since a group that began outside our container is 0,
/// which the types of the system calls cannot represent.
pub(super) fn own_group() -> u32 {
    stat(std::process::id()).map_or(0, |found| found.group)
}

/// Interval for [`record_descendants`], which takes less than 1 ms.
pub(super) const LOOK: Duration = Duration::from_secs(1);

/// Adds the current descendants of `root` with their start times, and removes those that have
/// ended. It runs often, so it reads the family only, not the whole table.
pub(super) fn record_descendants(root: u32, own: u32, known: &mut BTreeMap<u32, u64>) {
    known.retain(|pid, start| start_of(*pid) == Some(*start));
    let mut seen = BTreeSet::from([own, root]);
    let mut below = vec![root];
    while let Some(parent) = below.pop() {
        for child in children_of(parent).into_iter().filter(|pid| seen.insert(*pid)) {
            known.extend(start_of(child).map(|start| (child, start)));
            below.push(child);
        }
    }
}

/// The children of all threads of a process; none if the kernel was built without these lists.
fn children_of(pid: u32) -> Vec<u32> {
    numbers(&format!("/proc/{pid}/task"))
        .filter_map(|thread| fs::read_to_string(format!("/proc/{pid}/task/{thread}/children")).ok())
        .flat_map(|list| list.split(' ').filter_map(|it| it.parse().ok()).collect::<Vec<u32>>())
        .collect()
}

/// Our own children. It runs often, so it avoids the whole table where the kernel lists children.
fn own_children() -> Vec<ProcessInfo> {
    static LISTED: LazyLock<bool> =
        LazyLock::new(|| Path::new("/proc/thread-self/children").exists());
    let own = std::process::id();
    if *LISTED && shows_our_namespace() {
        return children_of(own).into_iter().filter_map(stat).collect();
    }
    let all = ProcessTable::read().all.into_values();
    all.filter(|found| found.parent == own).collect()
}

/// Sends a signal to each process that is still the one found.
pub(super) fn signal(found: &[ProcessInfo], signal: Signal) {
    for one in found {
        let Some(pid) = Pid::from_raw(one.pid.cast_signed()) else { continue };
        deliver(one, pid, signal, pidfd_open(pid, PidfdFlags::empty()));
    }
}

/// Sends a signal to a process if it is still the one found.
fn deliver(one: &ProcessInfo, pid: Pid, signal: Signal, descriptor: Result<OwnedFd, Errno>) {
    // It may have ended meanwhile.
    if stat(one.pid).is_none_or(|now| now.start != one.start) {
        return;
    }
    let send = |signal| match &descriptor {
        Ok(descriptor) => pidfd_send_signal(descriptor, signal),
        // A sandbox or an old kernel has no pidfds. Without a signal the process would outlive the
        // run, and its id can hardly have been reused since the check above.
        Err(_) => kill_process(pid, signal),
    };
    let _ = send(signal);
    if signal != Signal::KILL {
        // A stopped process handles SIGTERM only once it is continued.
        let _ = send(Signal::CONT);
    }
}

/// Reaps dead orphans that were reparented to this process, and returns their number. Registered
/// children and children in our own process group are left to their waiters.
pub fn reap_orphans() -> usize {
    let group = own_group();
    let children = children();
    own_children()
        .iter()
        .filter(|found| found.zombie && found.group != group && !children.contains(&found.pid))
        .filter_map(|found| Pid::from_raw(found.pid.cast_signed()))
        .filter(|pid| matches!(waitpid(Some(*pid), WaitOptions::NOHANG), Ok(Some(_))))
        .count()
}

/// Returns whether a living process whose program name starts with `program` may be working in one
/// of these canonical folders: its current folder is there, or cannot be read.
pub fn may_be_at_work(program: &str, folders: &[&Path]) -> bool {
    if !shows_our_namespace() {
        return true;
    }
    let named = |pid: u32| {
        fs::read(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with(program.as_bytes()))
    };
    let works_here = |pid: u32| match fs::read_link(format!("/proc/{pid}/cwd")) {
        Ok(at) => folders.iter().any(|folder| at.starts_with(folder)),
        Err(error) => error.kind() != ErrorKind::NotFound,
    };
    let mut all = ProcessTable::read().all.into_values();
    all.any(|found| !found.zombie && named(found.pid) && works_here(found.pid))
}

/// Returns whether `/proc` belongs to our process namespace. A container may show another one,
/// whose process ids mean nothing here.
fn shows_our_namespace() -> bool {
    static SAME: LazyLock<bool> = LazyLock::new(|| {
        let own = fs::read_link("/proc/self").ok();
        let own = own.and_then(|own| own.to_str()?.parse::<u32>().ok());
        let same = own == Some(std::process::id());
        if !same {
            tracing::warn!(
                "/proc shows another process namespace: processes that leave their group are not found"
            );
        }
        same
    });
    *SAME
}

/// The numeric names in a folder.
fn numbers(folder: &str) -> impl Iterator<Item = u32> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// Reads `/proc/<pid>/stat`.
fn stat(pid: u32) -> Option<ProcessInfo> {
    if !shows_our_namespace() {
        return None;
    }
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses `/proc/<pid>/stat`. The program's name is in parentheses and may contain spaces and
/// parentheses, so fields are counted from the last closing one.
fn parse(line: &str) -> Option<ProcessInfo> {
    let pid = line.split(' ').next()?.parse().ok()?;
    let fields: Vec<&str> = line[line.rfind(')')? + 1..].split_whitespace().collect();
    Some(ProcessInfo {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        zombie: matches!(*fields.first()?, "Z" | "X"),
        start: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let line = "42 (a) b (c) R) S 7 42 42 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 1 0 98765 \
                    2600960 100 18446744073709551615";
        assert_eq!(
            parse(line),
            Some(ProcessInfo {
                pid: 42,
                parent: 7,
                group: 42,
                session: 42,
                zombie: false,
                start: 98765
            })
        );
        assert_eq!(parse("42 (cut"), None);
        assert_eq!(parse(""), None);
    }

    /// As in a container whose seccomp profile forbids the call.
    #[test]
    fn a_signal_arrives_without_pidfds() {
        use std::os::unix::process::ExitStatusExt as _;
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
        let found = stat(child.id()).expect("its stat");
        let pid = Pid::from_child(&child);
        let other = ProcessInfo { start: found.start + 1, ..found };
        deliver(&other, pid, Signal::KILL, Err(Errno::NOSYS));
        assert_eq!(child.try_wait().expect("child"), None, "another process has the id");
        deliver(&found, pid, Signal::TERM, Err(Errno::NOSYS));
        assert_eq!(child.wait().expect("child").signal(), Some(15));
    }

    #[test]
    fn a_program_is_at_work_in_its_current_folder_while_it_lives() {
        use std::os::unix::process::CommandExt as _;
        let folder = tempfile::tempdir().expect("folder");
        let here = folder.path().canonicalize().expect("canonical");
        let below = here.join("below");
        std::fs::create_dir(&below).expect("created");
        let elsewhere = here.join("elsewhere");
        // Where other users' processes work is unknown, and they have other names.
        let napper = here.join("ralph-napper");
        std::os::unix::fs::symlink(which::which("sleep").expect("sleep"), &napper).expect("link");
        let mut sleep = std::process::Command::new(napper);
        let mut sleep = sleep.arg0("sleep").arg("60").current_dir(&below).spawn().expect("sleep");
        let at_work = |name, folder: &Path| may_be_at_work(name, &[&elsewhere, folder]);
        assert!(at_work("ralph-napper", &here) && at_work("ralph-nap", &below));
        assert!(!at_work("ralph-napper", &elsewhere) && !at_work("ralph-nap-per", &here));
        sleep.kill().expect("kill");
        // A zombie does not work.
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", sleep.id()));
        while !state().expect("its state").contains(") Z ") {}
        assert!(!at_work("ralph-napper", &here));
        sleep.wait().expect("wait");
    }

    #[test]
    fn our_own_process_is_described_correctly() {
        let own = std::process::id();
        let found = stat(own).expect("own stat");
        assert_eq!(found.pid, own);
        assert_eq!(
            Some(found.parent),
            rustix::process::getppid().map(|pid| pid.as_raw_pid().cast_unsigned())
        );
        assert!(!found.zombie);
        assert!(ProcessTable::read().all.contains_key(&own));
    }
}
