//! Whether a tool call may run, and which secrets a text must not show.
//!
//! [`decide`] is a pure function of the call, a [`Policy`], and the files that [`Files`] shows; it
//! changes nothing, never waits, and has no memory. Invariant: a call that is not understood is
//! denied, with a rule and a reason. [`Redactor`] removes secrets from all text that is written,
//! shown, or sent.
//!
//! Not in this room: the callers (the hook and the permission handler), the audit of decisions, and
//! configuration files.
//!
//! Order: the input's shape (`tools`), then for a command line its syntax (`line`), its programs
//! (`commands`, by what `programs` lists), and in the end paths (`call_context`); the first denial
//! wins, so the strictest rule does.
//!
//! In a sandbox ([`crate::model::Tier`]) a shell call is denied for plain intent only.

mod call_context;
mod commands;
mod committed;
mod denial;
mod explain;
mod families;
mod files;
mod line;
mod offered;
mod patches;
mod places;
mod policy;
mod policy_error;
mod prefix;
mod programs;
mod protected;
mod redact;
mod rules;
mod secrets;
mod task_files;
mod tool_input;
mod tools;
mod tracked;
mod trees;

pub use committed::committed_secret;
pub use explain::Explained;
pub use files::{FileKind, Files, OsFiles};
pub use offered::{OfferedKind, OfferedTool, decide_offered};
pub use places::{agent_setting, is_system, task_file};
pub use policy::{Allow, Approval, Globs, Policy, TickRule};
pub use policy_error::PolicyError;
pub use redact::{RedactStream, Redactor, Scrambler};
pub use rules::{FLOOR, Rules, liftable};
pub use secrets::path as secret_name;
pub use tool_input::{FieldEffect, field_effect};
pub use tools::{decide, explain};
