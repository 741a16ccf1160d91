//! Every noun of the flow, as plain data.
//!
//! Invariant: nothing here does I/O, is async, or decides anything; a type that
//! crosses a room's border lives here once and has no twin elsewhere. The
//! functions that make these values live in the rooms named after the verbs.

mod activity;
mod audit;
mod check;
mod commit_prefix;
mod credits;
mod diagnostic;
mod event;
mod evidence;
mod exit_code;
mod gateway;
mod ids;
mod openings;
mod outcome;
mod permission;
mod plan;
mod policy;
mod prompt;
mod recipe;
mod record;
mod redact;
mod reporter;
mod setting;
mod state;
mod surrogates;
mod task;
mod turn;
mod verdict;

pub use activity::Activity;
pub use audit::{AuditDecision, AuditEntry, HookType};
pub use check::{Cell, CellRun, CheckResult, CheckStatus, TestCount, all_passed};
pub use commit_prefix::CommitPrefix;
pub use credits::Credits;
pub use diagnostic::{Diagnostic, Severity};
pub use event::{AgentIdentity, Event, EventKind, Totals};
pub use evidence::{
    Attribution, ChangeKind, CheckWrote, Checkpoint, CommitSeen, Evidence, History, HoldOutCount,
    MustFail, PathChange, PutBackRun, SignsChange, TaskEdit, TaskFileChange, Unmoved,
};
pub use exit_code::ExitCode;
pub use gateway::{EventLevel, GatewayUse, GivenWith};
pub use ids::{Oid, RunId, SessionId};
pub use openings::{Device, NetworkAccess, ReadableFile, Service, VisiblePath};
pub use outcome::{CriterionSummary, Limit, Obstacle, Outcome, RunSummary};
pub use permission::{Answer, Asked, Decided, Decision, ToolRequest};
pub use plan::{Complexity, SubTask, TaskPlan};
pub use policy::{
    Access, CommandRule, PathRule, Pattern, PolicyDefault, PolicyRules, RuleDecision, RulePlace,
};
pub use prompt::{Cut, Prompt};
pub use recipe::{
    RECIPE_FOLDERS, RecipeFault, RecipeName, RecipeNameError, RecipeStep, StepStatus,
};
pub use record::{ReadBack, Record, RecordError};
pub use redact::{EachText, EditText, Keep, Redact};
pub use reporter::{ReportError, Reporter};
pub use setting::{
    Escalate, OnStuck, Premium, ProofMode, Sandbox, Tier, UnaskedCalls, Via, WriteScope,
};
pub use state::{
    Blocked, BlockedKind, CriterionState, FirstSeen, FirstStatus, HeldWork, TaskState,
    forget_tests, tests_are_there,
};
pub use surrogates::whole_letters;
pub use task::{Criterion, CriterionKey, Task, TaskSettings, VerifyCommand, in_quotes, one_line};
pub use turn::{
    CallStatus, ClockTime, ContextFill, Day, ExecutedCall, Fault, FaultClass, Reset, Stuck, Turn,
    TurnEnd, Usage,
};
pub use verdict::{Finding, FindingKind, Proof, Repair, Verdict, VerdictResult, Weight};
