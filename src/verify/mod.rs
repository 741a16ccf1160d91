//! Evidence from git and from verify commands, and the judge.
//!
//! Invariant: an agent's words, ticks, and exit reasons are claims. Only the runner's own findings
//! in git, on disk, and from the commands that it runs itself are evidence, and missing evidence is
//! never proof. The engine acts on the verdict; `task` knows the meaning of TASK.md.
//!
//! An iteration calls, in this order:
//! [`GitRepo::checkpoint`], [`StateFiles::read`] and [`GitRepo::settings`] before the turn;
//! [`collect`] after it; then [`plan`] and [`run_checks`]; then [`judge`]; then [`repair`].

mod around;
mod assess;
mod baseline;
mod branch;
mod broken_line;
mod check_run;
mod checks;
mod classify;
mod collect;
mod commit_hooks;
mod error;
mod excerpt;
mod fingerprint;
mod format;
mod git;
mod harness_at;
mod holdout;
mod judge;
mod layout;
mod learned;
mod leftovers;
mod made_by_line;
mod master;
mod missing;
mod must_fail;
mod not_fetched;
mod plan;
mod proof_room;
mod proof_rooms;
mod proof_rules;
mod protect;
mod prove;
mod recorded;
mod rehearse;
mod repair;
mod repo;
mod room_lacks;
mod room_place;
mod runner;
mod save_work;
mod setup;
mod shell;
mod silent;
mod state;
mod stretches;
mod unfinished;
mod ways_back;
mod worker_tree;

#[cfg(test)]
mod tests;

pub use around::Around;
pub use assess::{HOLD_OUT, Reason, Results, assess, reasons};
pub use baseline::Baseline;
pub use branch::{
    Claims, Derivation, Derived, DerivedCheck, DerivedTick, ProofStage, Remark, RemarkKind, Seen,
    TaskTree, TickClaim, claims, derive, moved_on,
};
pub use check_run::{CheckRun, run_checks};
pub use checks::{CheckOptions, Checks, Purpose};
pub use classify::{
    EntryKind, FileEntry, HarnessCheck, HarnessQuestion, Judges, PutBack, Role, SourceTree, Table,
    TreeEdit, judges, put_back, table_markdown,
};
pub use collect::{Collected, Compare, Inputs, collect, collect_commits, edited_meanwhile};
pub use commit_hooks::{Accepted, CommitHooks, RefusedCommit, TriedCommit};
pub use error::{RepoProblem, VerifyError};
pub use excerpt::said;
pub use fingerprint::{Fingerprint, Fingerprints};
pub use git::{
    BranchCommit, BundleLimits, BundleRefs, ExcludesLock, ExcludesWatch, GitRepo, PrivateRepo,
    RoomSource, Tidied, TreeFiles, clashes, is_git_setting, take_bundle,
};
pub use holdout::{HoldOuts, log_hold_out};
pub use judge::{CommitsAlone, JudgeRules, judge, worked};
pub use layout::{GUARDRAILS, Layout, PROGRESS, RECORDS, STATE, TASK};
pub use learned::{Learned, learned, with_human};
pub use leftovers::{Leftovers, is_work, left_work, leftovers};
pub use master::{Master, MasterFolder, RoomFolders, SeenAt, Warmth};
pub use missing::first_seen;
pub use plan::{CheckPhase, OTHERS, PlannedCheck, plan};
pub use proof_room::{ProofRoom, RoomCheck, Shown};
pub use proof_rooms::ProofRooms;
pub use proof_rules::ProofRules;
pub use protect::Protection;
pub use prove::{Proved, globs, harness_changes, may_change, prove};
pub use rehearse::{
    AcceptedCheat, Rehearsal, Rehearsed, RehearsedCheck, RehearsedCriterion, rehearse,
};
pub use repair::{KeepTick, RepairContext, Repairs, repair};
pub use repo::{
    Ancestor, Branch, COMMITS, Dirt, FirstWork, Identity, Person, Preflight, SavedAttempt,
    SigningKey, Since, Status, UNSIGNED,
};
pub use room_lacks::{file_names, lost_input, room_lacks, setup_failed};
pub use room_place::RoomPlace;
pub use runner::{
    Invocation, Judgment, Summary, TestNames, TestReport, TestRunner, TestScanner, TestTally,
    at_least_as_many, invocations, judge_tests, runner_environment, still_failing, worse,
};
pub use save_work::save_work;
pub use setup::RoomSetup;
pub use shell::{OutputTail, ShellChecks};
pub use silent::silent_services;
pub use state::{StateFiles, keep_list};
pub use stretches::{BASE_TRAILER, CRITERION_TRAILER, Stretch, TASK_TRAILER, stretches};
pub use worker_tree::WorkerTree;
