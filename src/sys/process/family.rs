//! The processes that belong to a run or a child, found in the process table.
//!
//! Invariant: every process found here will be signalled, so nothing is guessed: a process
//! belongs to a run by its environment, by ancestry, or by a process session that the run
//! started. Reading the table and delivering signals live in `linux` and `ps`.

use std::collections::{BTreeMap, BTreeSet};

use super::children::children;
use super::info::ProcessInfo;
use super::system::{self, ProcessTable};
use rustix::process::getpid;

/// Carried by every process of a run; its value is the run's name.
pub const RUN_VARIABLE: &str = "RALPH_RUN_ID";
/// Carried by a supervised child and its descendants; its value is unique to the child.
pub const CHILD_VARIABLE: &str = "RALPH_CHILD_ID";

/// The properties that identify the descendants of one child.
#[derive(Debug)]
pub(super) struct ChildMark {
    leader: u32,
    /// The child's start; older processes cannot descend from it.
    since: u64,
    token: String,
}

impl ChildMark {
    /// The mark of a child that has just started.
    pub(super) fn of(leader: u32, token: String) -> Self {
        Self { leader, since: system::start_of(leader).unwrap_or(0), token }
    }

    /// Finds every living descendant of the child, without the child itself.
    pub(super) fn members(&self) -> Vec<ProcessInfo> {
        let own = own();
        let table = ProcessTable::read();
        let descends = |pid, from| descends(&table.all, pid, from);
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

fn descends(all: &BTreeMap<u32, ProcessInfo>, mut pid: u32, from: u32) -> bool {
    // Bounded, because the table may be inconsistent: parents change while it is read.
    for _ in 0..all.len() {
        match all.get(&pid) {
            _ if pid == from => return true,
            Some(found) if found.parent != 0 => pid = found.parent,
            _ => return false,
        }
    }
    false
}

/// Finds every living descendant of a process.
pub(super) fn below(root: u32) -> Vec<ProcessInfo> {
    let all = ProcessTable::read().all;
    let is_below = |found: &&ProcessInfo| {
        found.pid != root && !found.zombie && descends(&all, found.pid, root)
    };
    all.values().filter(is_below).copied().collect()
}

/// Finds every process of a run except this one: those that carry its name, and orphans that
/// were reparented to this process.
pub(super) fn of_run(run: &str) -> Vec<ProcessInfo> {
    let own = own();
    let table = ProcessTable::read();
    let is_orphan = is_orphan();
    table
        .all
        .values()
        .filter(|found| {
            found.pid != own
                && !found.zombie
                && (table.carries(found.pid, RUN_VARIABLE, run) || is_orphan(found))
        })
        .copied()
        .collect()
}

/// Finds orphans that were reparented to this process, and what they started.
pub(super) fn orphans() -> Vec<ProcessInfo> {
    let all = ProcessTable::read().all;
    let is_orphan = is_orphan();
    let heads: Vec<u32> =
        all.values().filter(|found| is_orphan(found)).map(|found| found.pid).collect();
    let is_below = |pid| heads.iter().any(|head| descends(&all, pid, *head));
    all.values().filter(|found| !found.zombie && is_below(found.pid)).copied().collect()
}

/// Whether a process came to this one when its parent ended.
fn is_orphan() -> impl Fn(&ProcessInfo) -> bool {
    let (own, group, children) = (own(), system::own_group(), children());
    move |found| {
        found.parent == own
            && !found.zombie
            && found.group != group
            && !children.contains(&found.pid)
    }
}

/// The descendants of another process, recorded while it lives: after its death only their
/// environment identifies them, and they may have cleared it.
#[derive(Debug)]
pub(super) struct Descendants {
    root: u32,
    /// The session of `root`, which it shares with strangers; `None` if unknown.
    home: Option<u32>,
    known: BTreeMap<u32, u64>,
}

impl Descendants {
    /// Starts with the session of a living process.
    pub(super) fn of(root: u32) -> Self {
        Self { root, home: system::session_of(root), known: BTreeMap::new() }
    }

    /// Records its current descendants, and forgets those that have ended.
    pub(super) fn look(&mut self) {
        system::record_descendants(self.root, own(), &mut self.known);
    }

    /// Finds every living process that carries the run's name or was recorded below the root, their
    /// descendants, and all that share a session with one of these.
    pub(super) fn members(&self, run: &str) -> Vec<ProcessInfo> {
        let table = ProcessTable::read();
        let named = |found: &ProcessInfo| {
            self.known.get(&found.pid) == Some(&found.start)
                || table.carries(found.pid, RUN_VARIABLE, run)
        };
        self.grown(&table.all, own(), named)
    }

    /// Completes the members, starting from those that `named` selects.
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
                // A child that has not entered its own session yet is in the user's.
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
    fn members_grow_by_descent_and_session_but_not_into_the_users_session() {
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
