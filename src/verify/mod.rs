//! What really happened: evidence from git and from verify commands, and the judge.
//!
//! Invariant: an agent's words, ticks and exit reasons are claims; only what the runner
//! sees in git, on disk and in the commands it runs itself becomes evidence, and what
//! cannot be seen is never taken as proof. What does NOT live here: what is done about a
//! verdict (the engine), and what TASK.md means (`task`).
//!
//! An iteration goes through this room like this:
//! [`Repo::checkpoint`], [`StateFiles::read`] and [`Repo::settings`] before the turn;
//! [`collect`] after it; then [`plan`] and [`run_checks`]; then [`judge`]; then [`repair`].

mod baseline;
mod checks;
mod clean;
mod collect;
mod error;
mod fingerprint;
mod git;
mod ignored;
mod judge;
mod layout;
mod leftovers;
mod names;
mod plan;
mod protect;
mod repair;
mod repo;
mod shell;
mod state;
mod words;

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
pub use names::{is_test, named_by};
pub use plan::{CheckPhase, OTHERS, PlannedCheck, plan};
pub use protect::Protection;
pub use repair::{KeepTick, RepairContext, Repairs, repair};
pub use repo::{
    Ancestor, Branch, COMMITS, Dirt, Identity, Person, Preflight, Repo, SavedAttempt, Since, Status,
};
pub use shell::ShellChecks;
pub use state::{StateFiles, keep_list};
