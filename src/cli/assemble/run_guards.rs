//! The values that live as long as a run, and their end.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Child;

use crate::agent::GuardServer;
use crate::cli::failure::Failure;
use crate::cli::gc::Heartbeat;
use crate::cli::guardian::command;
use crate::cli::launch::Scratch;
use crate::cli::second_signal::SecondSignal;
use crate::events::Emitter;
use crate::model::{EventKind, Record as _, RunId};
use crate::report::LiveLines;
use crate::sys::guardian::Guardian;
use crate::sys::lock::TreeLock;
use crate::sys::process::{reap_orphans, sweep};
use crate::verify::ExcludesWatch;

/// Time limit for ending the processes of the last run.
pub(super) const LEFT_BEHIND: Duration = Duration::from_secs(5);

/// Guards that must live as long as the run.
pub(in crate::cli) struct RunGuards {
    /// The run's folder below `.ralph/runs/`.
    pub(in crate::cli) folder: PathBuf,
    pub(super) run: RunId,
    pub(super) guardian: Guardian,
    pub(super) _lock: TreeLock,
    pub(super) _excludes: ExcludesWatch,
    pub(super) _server: GuardServer,
    pub(super) _scratch: Scratch,
    /// That the run lives, and the program that keeps the machine awake.
    pub(super) _alive: (Heartbeat, Option<Child>),
}

impl RunGuards {
    /// Ends the processes that the run left, then releases the working tree.
    pub(in crate::cli) async fn end(self) {
        let swept = sweep(self.run.as_str(), LEFT_BEHIND).await;
        if swept.left.is_empty() {
            tracing::debug!(?swept, "no process of the run is left");
            self.guardian.dismiss().await;
        } else {
            // The guardian keeps trying.
            tracing::warn!(?swept, "processes of the run cannot be ended");
        }
    }
}

/// Starts the process that ends the run's processes if this one is killed. Without a guardian,
/// the run does not start. If the guardian is killed later, the run continues.
pub(super) fn guardian(
    run: &RunId,
    scratch: &Path,
    events: &Arc<Emitter>,
) -> Result<Guardian, Failure> {
    let events = Arc::clone(events);
    let lost = move |status: Option<ExitStatus>| {
        let how = status.map_or_else(String::new, |status| format!(" ({status})"));
        let message = format!(
            "the guardian process ended{how}: if this run is killed, its processes keep running until the next run ends them"
        );
        if let Err(error) = events.record(EventKind::Notice { message }) {
            tracing::warn!(%error, "cannot record that the guardian ended");
        }
    };
    Ok(Guardian::start(command(run, scratch)?, lost)?)
}

/// Ends everything at the second signal. Children have their own sessions, so each is ended
/// separately.
pub(super) fn at_once(run: &RunId, live: Option<&LiveLines>, second: &SecondSignal, signal: i32) {
    if second.skip() {
        return;
    }
    if let Some(live) = live {
        live.end();
    }
    crate::sys::process::kill_now(run.as_str());
    second.clean_up();
    reap_orphans();
    std::process::exit(128 + signal);
}
