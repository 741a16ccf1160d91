//! Ending every process of a run, including those that it started and lost sight of.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::{Instant, sleep};

use super::family::{self, Descendants};
use super::info::ProcessInfo;
use super::system::{self, reap_orphans};

/// First pause between two looks at the process table; it doubles up to [`LONGEST_LOOK`].
const LOOK: Duration = Duration::from_millis(2);
/// Longest pause between two looks.
const LONGEST_LOOK: Duration = Duration::from_millis(50);
/// Time between SIGTERM and SIGKILL for processes that outlived their parent, at most a third of
/// the limit: git removes its lock on SIGTERM, and leaves it behind when killed.
pub(super) const GRACE: Duration = Duration::from_millis(250);

/// How long [`end_below`] takes at most.
const BELOW: Duration = Duration::from_secs(10);

/// The result of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sweep {
    /// Processes that were ended.
    pub ended: Vec<u32>,
    /// Processes that are still alive.
    pub left: Vec<u32>,
}

/// Kills every process that carries a run's name, without waiting: for a run that must end at
/// once. Looks again a few times for processes forked meanwhile.
pub fn kill_now(run: &str) {
    for _ in 0..5 {
        let found = family::of_run(run);
        if found.is_empty() {
            return;
        }
        system::signal(&found, Signal::KILL);
        std::thread::sleep(LOOK);
    }
}

/// The number of living processes below another one.
#[must_use]
pub fn count_below(root: u32) -> usize {
    family::below(root).len()
}

/// Kills every process below a living one that is their subreaper, within ten seconds. They are
/// stopped first: a stopped process does not fork. False if one is left.
pub fn end_below(root: u32) -> bool {
    let began = std::time::Instant::now();
    loop {
        let found = family::below(root);
        if found.is_empty() {
            return true;
        }
        if began.elapsed() >= BELOW {
            return false;
        }
        system::signal(&found, Signal::STOP);
        if family::below(root).iter().all(|one| found.contains(one)) {
            system::signal(&found, Signal::KILL);
        }
        std::thread::sleep(LOOK);
    }
}

/// Ends every process of a run except this one: those that carry its name in
/// [`RUN_VARIABLE`](super::RUN_VARIABLE), and orphans that were reparented to this process.
/// Sends SIGTERM, a moment later SIGKILL, and looks again until none is left or the limit is over.
pub async fn sweep(run: &str, limit: Duration) -> Sweep {
    clear(|| family::of_run(run), GRACE.min(limit / 3), limit).await
}

/// Ends the orphans that were reparented to this process, in the same way. Its children go on.
pub async fn sweep_orphans(limit: Duration) -> Sweep {
    clear(family::orphans, GRACE.min(limit / 3), limit).await
}

/// The processes of a run whose runner may die: recorded while it lives, ended afterwards.
#[derive(Debug)]
pub(in crate::sys) struct OrphanedRun {
    run: String,
    descendants: Descendants,
}

impl OrphanedRun {
    /// Tracks the processes of a run that this living runner leads.
    pub(in crate::sys) fn of(run: String, runner: u32) -> Self {
        Self { run, descendants: Descendants::of(runner) }
    }

    /// How often [`OrphanedRun::look`] can be called at a negligible cost.
    pub(in crate::sys) const LOOK: Duration = system::LOOK;

    /// Records the runner's current descendants.
    pub(in crate::sys) fn look(&mut self) {
        self.descendants.look();
    }

    /// Ends them: SIGTERM, and SIGKILL after `grace`, until two looks in a row find none or the
    /// limit is over.
    pub(in crate::sys) async fn end(&self, grace: Duration, limit: Duration) -> Sweep {
        clear(|| self.descendants.members(&self.run), grace, limit).await
    }
}

/// Ends the processes that `find` returns: SIGTERM to each once, SIGKILL after `grace`. Looks
/// again and again, since a process may fork before it dies.
pub(super) async fn clear(
    find: impl Fn() -> Vec<ProcessInfo>,
    grace: Duration,
    limit: Duration,
) -> Sweep {
    let began = Instant::now();
    let mut ended = BTreeSet::new();
    let mut killed = false;
    let mut pause = LOOK;
    // A process forked while the table is read may be missed. So after finding any, only two empty
    // looks in a row prove that none is left.
    let mut quiet = true;
    loop {
        let found = find();
        reap_orphans();
        let left: Vec<u32> = found.iter().map(|found| found.pid).collect();
        if (left.is_empty() && quiet) || (began.elapsed() >= limit && killed) {
            ended.retain(|pid| !left.contains(pid));
            return Sweep { ended: ended.into_iter().collect(), left };
        }
        quiet = left.is_empty();
        if began.elapsed() < grace {
            let new: Vec<_> = found.into_iter().filter(|it| ended.insert(it.pid)).collect();
            system::signal(&new, Signal::TERM);
        } else {
            killed = true;
            ended.extend(left);
            system::signal(&found, Signal::KILL);
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_LOOK);
    }
}
