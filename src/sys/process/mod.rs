//! Processes of a run: start, supervision and a complete end.
//!
//! Invariant: every process of a run is started here, in a process session of its own and with
//! [`RUN_VARIABLE`] in its environment, and ends by a ladder of named steps with limits, its
//! descendants included. The data exchanged with a child does not live here.
//!
//! Linux: the kernel kills a direct child when this process dies, orphans of a child are
//! reparented to this process (it is their subreaper), and descendants are found in `/proc` by
//! ancestry, session, group and environment. macOS: they are found in the output of `ps`; the
//! environment of the system's own programs is hidden there, so such a program is not found once
//! it has left its session and outlived its parent. If this process itself is killed, the
//! [guardian](super::guardian) ends the rest.

mod children;
mod family;
mod info;
#[cfg(target_os = "linux")]
mod linux;
mod output;
#[cfg(not(target_os = "linux"))]
mod ps;
#[cfg(any(test, not(target_os = "linux")))]
mod ps_line;
mod spawn;
mod supervised;
mod sweep;
#[cfg(test)]
mod tests;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use ps as system;

pub use family::{CHILD_VARIABLE, RUN_VARIABLE};
pub use output::exit_of;
pub use spawn::spawn_beside;
pub(super) use spawn::{ended_apart, spawn_apart};
pub use supervised::{ExitReport, ExitStep, Ladder, Supervised};
pub(super) use sweep::OrphanedRun;
pub use sweep::{Sweep, count_below, end_below, kill_now, sweep, sweep_orphans};
pub use system::{ProcessHandle, become_subreaper, may_be_at_work, reap_orphans};
