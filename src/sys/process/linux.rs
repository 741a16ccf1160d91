//! Finding and ending descendants through `/proc`.
//!
//! Invariant: a process is signalled only through a descriptor that was opened before it
//! was looked at again, so that a number that was given away meanwhile hits nobody; and
//! only children that were not started here are reaped here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::sync::{Mutex, Once, PoisonError};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpgrp, getpid, pidfd_open, pidfd_send_signal,
    set_child_subreaper, waitpid,
};
use tokio::process::{Child, Command};

use super::{CHILD_VARIABLE, RUN_VARIABLE};

/// Children that tokio reaps; every other zombie below us is an orphan that we adopted.
static CHILDREN: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Starts a child and notes it before anybody can take it for an orphan.
pub(super) fn spawn(command: &mut Command) -> io::Result<Child> {
    static ADOPT: Once = Once::new();
    ADOPT.call_once(|| {
        if let Err(error) = set_child_subreaper(Some(getpid())) {
            tracing::warn!(%error, "orphans of the agent will not come to us");
        }
    });
    let mut children = CHILDREN.lock().unwrap_or_else(PoisonError::into_inner);
    let child = command.spawn()?;
    children.extend(child.id());
    Ok(child)
}

/// The child was reaped.
pub(super) fn ended(pid: u32) {
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner).remove(&pid);
}

/// What tells the descendants of one child from every other process.
#[derive(Debug)]
pub(super) struct Mark {
    leader: u32,
    /// When the child started, in clock ticks since the machine did: nothing older
    /// descends from it.
    since: u64,
    token: String,
}

/// A process as `/proc` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) pid: u32,
    parent: u32,
    group: u32,
    session: u32,
    zombie: bool,
    start: u64,
}

impl Mark {
    /// The mark of a child that was started a moment ago.
    pub(super) fn of(leader: u32, token: String) -> Self {
        Self { leader, since: stat(leader).map_or(0, |found| found.start), token }
    }

    /// Every living process that descends from the child, without the child itself.
    pub(super) fn members(&self) -> Vec<Found> {
        let own = getpid().as_raw_pid().cast_unsigned();
        let all = processes();
        let descends = |mut pid: u32, from: u32| {
            // Parents form no circle, but they change while they are read.
            for _ in 0..all.len() {
                match all.get(&pid) {
                    _ if pid == from => return true,
                    Some(found) if found.parent != 0 => pid = found.parent,
                    _ => return false,
                }
            }
            false
        };
        all.values()
            .filter(|found| {
                found.pid != own
                    && found.pid != self.leader
                    && !found.zombie
                    && found.start >= self.since
                    && (carries(found.pid, CHILD_VARIABLE, &self.token)
                        || (descends(found.pid, own)
                            && (found.session == self.leader || descends(found.pid, self.leader))))
            })
            .copied()
            .collect()
    }
}

/// Every process of a run, whoever started it, us excepted: those that carry its name, and
/// orphans that came to us without one.
pub(super) fn of_run(run: &str) -> Vec<Found> {
    let own = getpid().as_raw_pid().cast_unsigned();
    let group = own_group();
    let known = CHILDREN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    processes()
        .into_values()
        .filter(|found| {
            found.pid != own
                && !found.zombie
                && (carries(found.pid, RUN_VARIABLE, run)
                    || (found.parent == own && found.group != group && !known.contains(&found.pid)))
        })
        .collect()
}

/// Sends a signal to each of them that is still the process that was found.
pub(super) fn signal(found: &[Found], signal: Signal) {
    for one in found {
        let Some(pid) = Pid::from_raw(one.pid.cast_signed()) else { continue };
        // Whoever is gone by now needs no signal.
        let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        if stat(one.pid).is_some_and(|now| now.start == one.start) {
            let _ = pidfd_send_signal(&descriptor, signal);
            if signal != Signal::KILL {
                // A stopped process takes no signal but SIGKILL before it is continued.
                let _ = pidfd_send_signal(&descriptor, Signal::CONT);
            }
        }
    }
}

/// Takes the exit status of dead orphans that came to us, and says how many there were.
/// Children of [`Supervised`](super::Supervised), and children in our own process group,
/// are left to whoever waits for them: who gives a child a group of its own starts it
/// as `Supervised`.
pub fn reap_orphans() -> usize {
    let own = getpid().as_raw_pid().cast_unsigned();
    let group = own_group();
    let children = CHILDREN.lock().unwrap_or_else(PoisonError::into_inner);
    processes()
        .values()
        .filter(|found| {
            found.zombie
                && found.parent == own
                && found.group != group
                && !children.contains(&found.pid)
        })
        .filter_map(|found| Pid::from_raw(found.pid.cast_signed()))
        .filter(|pid| matches!(waitpid(Some(*pid), WaitOptions::NOHANG), Ok(Some(_))))
        .count()
}

fn own_group() -> u32 {
    getpgrp().as_raw_pid().cast_unsigned()
}

fn processes() -> BTreeMap<u32, Found> {
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeMap::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, stat(pid)?)))
        .collect()
}

fn stat(pid: u32) -> Option<Found> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads a line of `/proc/<pid>/stat`. The program's name stands in parentheses and may
/// hold spaces and parentheses of its own, so the fields are counted from the last one.
fn parse(line: &str) -> Option<Found> {
    let pid = line.split(' ').next()?.parse().ok()?;
    let fields: Vec<&str> = line[line.rfind(')')? + 1..].split_whitespace().collect();
    Some(Found {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        zombie: matches!(*fields.first()?, "Z" | "X"),
        start: fields.get(19)?.parse().ok()?,
    })
}

/// Whether a process was started with this variable. Processes of other users show us
/// nothing and are none of ours.
fn carries(pid: u32, name: &str, value: &str) -> bool {
    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
        environment.split(|byte| *byte == 0).any(|entry| {
            entry
                .strip_prefix(name.as_bytes())
                .and_then(|rest| rest.strip_prefix(b"="))
                .is_some_and(|found| found == value.as_bytes())
        })
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
            Some(Found { pid: 42, parent: 7, group: 42, session: 42, zombie: false, start: 98765 })
        );
        assert_eq!(parse("42 (cut"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn our_own_process_is_found_as_it_is() {
        let own = std::process::id();
        let found = stat(own).expect("own stat");
        assert_eq!(found.pid, own);
        assert_eq!(
            Some(found.parent),
            rustix::process::getppid().map(|pid| pid.as_raw_pid().cast_unsigned())
        );
        assert!(!found.zombie);
        assert!(processes().contains_key(&own));
    }
}
