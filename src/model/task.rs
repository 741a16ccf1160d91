//! A task as it was understood from its TASK.md.

use serde::{Deserialize, Serialize};

use super::{
    CommitPrefix, Device, Diagnostic, Escalate, GatewayUse, NetworkAccess, OnStuck, PolicyRules,
    ProofMode, ReadableFile, RecipeName, Service, VisiblePath, WriteScope,
};

/// A task: a folder with a TASK.md.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// The folder's name, used in commit messages and refs.
    pub name: String,
    /// The first heading, if there is one.
    pub title: Option<String>,
    /// The checkboxes, in the order of the file.
    pub criteria: Vec<Criterion>,
    /// The YAML front matter.
    pub settings: TaskSettings,
    /// The file's text exactly as read; all offsets point into it.
    pub source: String,
    /// Remarks, errors first.
    pub diagnostics: Vec<Diagnostic>,
}

impl Task {
    /// The name of the file that makes a folder a task.
    pub const FILE_NAME: &str = "TASK.md";

    /// The maximum size of a TASK.md. A larger file fits into no prompt and is not read.
    pub const MOST_BYTES: u64 = 16 * 1024 * 1024;
}

/// The identity of a criterion across edits of the file: its text as
/// written, and which of several equal texts it is (0 for the first).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CriterionKey {
    /// The text as written, without the box.
    pub text: String,
    /// 0-based number among the criteria with this same text.
    #[serde(default, skip_serializing_if = "is_first")]
    pub occurrence: usize,
}

impl CriterionKey {
    /// The text in the quotes that messages put around code, or in others if it has code in it.
    pub fn quoted(&self) -> String {
        in_quotes(&self.text)
    }
}

/// A text in backticks, or in double quotes if there are backticks in it.
pub fn in_quotes(text: &str) -> String {
    if text.contains('`') { format!("\"{text}\"") } else { format!("`{text}`") }
}

/// A text on one line, with single spaces, as a trailer names it.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_first(occurrence: &usize) -> bool {
    *occurrence == 0
}

/// One checkbox of the task list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Criterion {
    /// Its identity.
    pub key: CriterionKey,
    /// 1-based line of the box.
    pub line: usize,
    /// 1-based column of the `[`, in characters.
    pub column: usize,
    /// Whether the box is ticked (`[x]` or `[X]`).
    pub checked: bool,
    /// Byte offset, in the file, of the one byte between the brackets.
    pub mark: usize,
    /// Its own verify commands, in order.
    pub verify: Vec<VerifyCommand>,
    /// The recipe that is run for it in the place of a prompt.
    pub recipe: Option<RecipeName>,
    /// Globs of tests and configuration that the work on it may change.
    pub may_change: Vec<String>,
    /// A name for it in `after:` of other criteria.
    pub id: Option<String>,
    /// The criteria that must be done before the work on it begins.
    pub after: Vec<CriterionKey>,
}

/// A command under a criterion, with the place it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyCommand {
    /// The command for `sh -c`, as written.
    pub command: String,
    /// 1-based line.
    pub line: usize,
}

/// The front matter as written; `None` and empty mean "not said".
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TaskSettings {
    /// Commands for the whole task, run after each iteration (one, or a list).
    pub verify: Vec<String>,
    /// Iterations a run may use.
    pub max_iterations: Option<u32>,
    /// Wall time of a run, as `1s`, `5m`, `2h`.
    pub max_duration: Option<String>,
    /// Premium requests a run may use.
    pub max_premium_requests: Option<u32>,
    /// How many criteria are worked on at once.
    pub jobs: Option<u32>,
    /// Attempts on a criterion before it counts as stuck.
    pub stuck_threshold: Option<u32>,
    /// The reaction to that.
    pub on_stuck: Option<OnStuck>,
    /// The agent's model.
    pub model: Option<String>,
    /// What the last attempt at a criterion uses instead.
    pub escalate: Option<Escalate>,
    /// What commit messages begin with.
    pub commit_prefix: Option<CommitPrefix>,
    /// Refuse criteria that only a commit speaks for.
    pub require_checks: Option<bool>,
    /// Let the human's key agent sign the agent's commits.
    pub sign: Option<bool>,
    /// Where the agent may write.
    pub write_scope: Option<WriteScope>,
    /// Where checks prove something.
    pub proof: Option<ProofMode>,
    /// Commands that make the proof room ready for checks.
    pub setup: Vec<String>,
    /// They may use the network when they run again, after the agent changed a manifest.
    pub setup_network: Option<bool>,
    /// Globs, relative to the repository, of tests and configuration that may change.
    pub may_change: Vec<String>,
    /// Globs, relative to the repository, of more tests and configuration.
    pub harness: Vec<String>,
    /// Globs, relative to the repository, that the agent must not change.
    pub protect: Vec<String>,
    /// Commands allowed on top of the built-in list.
    pub allow: Vec<String>,
    /// Services of the host that commands reach.
    pub services: Vec<Service>,
    /// The network that commands reach.
    pub network: Option<NetworkAccess>,
    /// Commands that run with the host's network, word for word.
    pub network_for: Vec<String>,
    /// Secret-looking files that the agent may read.
    pub readable: Vec<ReadableFile>,
    /// Paths outside the repository that commands may read.
    pub visible: Vec<VisiblePath>,
    /// Devices that commands may use.
    pub devices: Vec<Device>,
    /// Whether runs have a gateway for tool providers.
    pub gateway: Option<GatewayUse>,
    /// Rules for tools, commands, and paths, in addition to those of the configuration files.
    pub policy: PolicyRules,
}
