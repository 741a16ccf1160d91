//! Who belongs to whom, told from a table of all processes.
//!
//! Invariant: what is found here is what will be signalled, so nothing is found by a guess:
//! a process belongs to a run by its environment, by ancestry, or by a process session that
//! the run began. How the table is read, and how a signal is delivered, is the system's
//! business and lives in `linux` and `ps`.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::getpid;
use tokio::process::{Child, Command};

use super::system::{self, ProcessTable};
use super::{CHILD_VARIABLE, RUN_VARIABLE};

/// Children that tokio reaps; every other zombie below us is an orphan that we adopted.
static CHILDREN: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// The children that tokio reaps. No child is started while this is held.
pub(super) fn children() -> MutexGuard<'static, BTreeSet<u32>> {
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a child and notes it before anybody can take it for an orphan.
pub(super) fn spawn(command: &mut Command) -> io::Result<Child> {
    system::adopt();
    let mut children = children();
    let child = command.spawn()?;
    children.extend(child.id());
    Ok(child)
}

/// The child was reaped.
pub(super) fn ended(pid: u32) {
    children().remove(&pid);
}

/// A process as the system shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessInfo {
    pub(super) pid: u32,
    pub(super) parent: u32,
    /// 0 where it began outside our container.
    pub(super) group: u32,
    /// 0 where it is not known, and where it began outside our container.
    pub(super) session: u32,
    pub(super) zombie: bool,
    /// When it started, in a unit of the system's own: tells a number that was given
    /// away from the one that was meant.
    pub(super) start: u64,
}

/// What tells the descendants of one child from every other process.
#[derive(Debug)]
pub(super) struct Mark {
    leader: u32,
    /// When the child started: nothing older descends from it.
    since: u64,
    token: String,
}

impl Mark {
    /// The mark of a child that was started a moment ago.
    pub(super) fn of(leader: u32, token: String) -> Self {
        Self { leader, since: system::start_of(leader).unwrap_or(0), token }
    }

    /// Every living process that descends from the child, without the child itself.
    pub(super) fn members(&self) -> Vec<ProcessInfo> {
        let own = own();
        let table = ProcessTable::read();
        let descends = |mut pid: u32, from: u32| {
            // Parents form no circle, but they change while they are read.
            for _ in 0..table.all.len() {
                match table.all.get(&pid) {
                    _ if pid == from => return true,
                    Some(found) if found.parent != 0 => pid = found.parent,
                    _ => return false,
                }
            }
            false
        };
        table
            .all
            .values()
            .filter(|found| {
                found.pid != own
                    && found.pid != self.leader
                    && !found.zombie
                    && found.start >= self.since
                    && (table.carries(found.pid, CHILD_VARIABLE, &self.token)
                        || descends(found.pid, self.leader)
                        || (found.session == self.leader
                            && (!system::ORPHANS_COME || descends(found.pid, own))))
            })
            .copied()
            .collect()
    }
}

/// Every process of a run, whoever started it, us excepted: those that carry its name, and
/// orphans that came to us without one.
pub(super) fn of_run(run: &str) -> Vec<ProcessInfo> {
    let (own, group) = (own(), system::own_group());
    let children = children();
    let table = ProcessTable::read();
    table
        .all
        .values()
        .filter(|found| {
            found.pid != own
                && !found.zombie
                && (table.carries(found.pid, RUN_VARIABLE, run)
                    || (found.parent == own
                        && found.group != group
                        && !children.contains(&found.pid)))
        })
        .copied()
        .collect()
}

/// What descends from another process, remembered while that lives: once it is dead nothing
/// tells its descendants any more but their environment, which they may have dropped.
#[derive(Debug)]
pub(super) struct Descendants {
    root: u32,
    /// The session of `root`, in which others are at home; none if it could not be asked.
    home: Option<u32>,
    known: BTreeMap<u32, u64>,
}

impl Descendants {
    /// The descendants of a living process.
    pub(super) fn of(root: u32) -> Self {
        Self { root, home: system::session_of(root), known: BTreeMap::new() }
    }

    /// Remembers who descends from it now, and forgets who has ended.
    pub(super) fn look(&mut self) {
        system::remember(self.root, own(), &mut self.known);
    }

    /// Every living process that carries the run's name or was seen below the root; their
    /// descendants; and whoever shares a session with one of these.
    pub(super) fn members(&self, run: &str) -> Vec<ProcessInfo> {
        let table = ProcessTable::read();
        let named = |found: &ProcessInfo| {
            self.known.get(&found.pid) == Some(&found.start)
                || table.carries(found.pid, RUN_VARIABLE, run)
        };
        self.grown(&table.all, own(), named)
    }

    /// The members, from those that are named for themselves.
    fn grown(
        &self,
        all: &BTreeMap<u32, ProcessInfo>,
        own: u32,
        named: impl Fn(&ProcessInfo) -> bool,
    ) -> Vec<ProcessInfo> {
        let mut members: BTreeSet<u32> =
            all.values().filter(|found| named(found)).map(|found| found.pid).collect();
        loop {
            let sessions: BTreeSet<u32> = members
                .iter()
                .filter_map(|pid| Some(all.get(pid)?.session))
                // A child that was not yet in a session of its own stood in the user's.
                .filter(|session| *session != 0 && self.home.is_some_and(|it| it != *session))
                .collect();
            let before = members.len();
            members.extend(
                all.values()
                    .filter(|it| members.contains(&it.parent) || sessions.contains(&it.session))
                    .map(|it| it.pid)
                    .collect::<Vec<_>>(),
            );
            if members.len() == before {
                break;
            }
        }
        members
            .iter()
            .filter(|pid| **pid != own)
            .filter_map(|pid| all.get(pid))
            .filter(|found| !found.zombie)
            .copied()
            .collect()
    }
}

fn own() -> u32 {
    getpid().as_raw_pid().cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_grow_by_descent_and_session_and_never_into_the_users_session() {
        let process = |pid, parent, session| ProcessInfo {
            pid,
            parent,
            group: session,
            session,
            zombie: pid == 23,
            start: 1,
        };
        let all: BTreeMap<u32, ProcessInfo> = [
            process(10, 1, 10),  // the user's shell
            process(11, 10, 10), // something else of theirs
            process(20, 1, 20),  // named: an agent's tool
            process(21, 20, 20), // its child
            process(22, 21, 22), // its grandchild, in a session of its own
            process(23, 20, 20), // a zombie
            process(24, 1, 22),  // an orphan in the grandchild's session
            process(30, 1, 30),  // named: the guardian's own number
            process(31, 10, 10), // named: forked, not yet in a session of its own
            process(40, 1, 0),   // named, its session is not known
            process(41, 1, 0),   // a stranger whose session is not known either
        ]
        .map(|found| (found.pid, found))
        .into();
        let members = |home| -> Vec<u32> {
            let kin = Descendants { root: 9, home, known: BTreeMap::new() };
            let named = |found: &ProcessInfo| [20, 30, 31, 40].contains(&found.pid);
            kin.grown(&all, 30, named).iter().map(|found| found.pid).collect()
        };
        assert_eq!(members(Some(10)), [20, 21, 22, 24, 31, 40]);
        assert_eq!(members(None), [20, 21, 22, 31, 40], "without a home no session is trusted");
    }
}
