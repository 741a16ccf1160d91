//! Evidence from git and from verify commands, and the judge.
//!
//! Invariant: an agent's words, ticks, and exit reasons are claims. Only what the runner finds in
//! git, on disk, and with the commands it runs itself is evidence, and missing evidence is never
//! proof. The engine acts on the verdict; `task` knows what TASK.md means.
//!
//! An iteration calls, in this order:
//! [`Repo::checkpoint`], [`StateFiles::read`] and [`Repo::settings`] before the turn;
//! [`collect`] after it; then [`plan`] and [`run_checks`]; then [`judge`]; then [`repair`].

mod baseline;
mod checks;
mod clean;
mod collect;
mod error;
mod fingerprint;
mod format;
mod git;
mod ignored;
mod judge;
mod layout;
mod leftovers;
mod named_files;
mod plan;
mod protect;
mod repair;
mod repo;
mod shell;
mod state;

#[cfg(test)]
mod tests;

pub use baseline::Baseline;
pub use checks::{CheckOptions, CheckRun, Checks, not_reproducible, run_checks, run_clean};
pub use clean::CleanTree;
pub use collect::{Collected, Compare, Inputs, collect, edited_meanwhile};
pub use error::{RepoProblem, VerifyError};
pub use fingerprint::{Fingerprint, Fingerprints};
pub use git::{ExcludesLock, ExcludesWatch, GitRepo};
pub use ignored::{Environment, Linked};
pub use judge::{CommitsAlone, JudgeRules, judge, worked};
pub use layout::{GUARDRAILS, Layout, PROGRESS, RECORDS, STATE, TASK};
pub use leftovers::{Leftovers, left_work, leftovers};
pub use named_files::{is_test, named_by};
pub use plan::{CheckPhase, OTHERS, PlannedCheck, plan};
pub use protect::Protection;
pub use repair::{KeepTick, RepairContext, Repairs, repair};
pub use repo::{
    Ancestor, Branch, COMMITS, Dirt, Identity, Person, Preflight, Repo, SavedAttempt, Since, Status,
};
pub use shell::ShellChecks;
pub use state::{StateFiles, keep_list};
