//! A layer: the settings of one source.

use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;

use serde::Deserialize;

use super::{GatewayLayer, Span};
use crate::model::{
    CommitPrefix, Device, Escalate, NetworkAccess, OnStuck, PolicyRules, ProofMode, ReadableFile,
    Sandbox, Service, UnaskedCalls, Via, VisiblePath, WriteScope,
};

/// Where a value was written, strongest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// On the command line.
    Flag,
    /// In an environment variable.
    Environment,
    /// In the front matter of TASK.md.
    Task,
    /// In the repository's `.ralph/config.toml`.
    Repository(PathBuf),
    /// In the user's own configuration file.
    User(PathBuf),
    /// Nowhere.
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("command line"),
            Self::Environment => f.write_str("environment"),
            Self::Task => f.write_str("TASK.md"),
            Self::Repository(path) | Self::User(path) => path.display().fmt(f),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A layer with the place it came from.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The place.
    pub source: Source,
    /// The value as written.
    pub values: LayerSettings,
}

/// The settings of one layer; `None` is "not set". The names are those of the keys in
/// `.ralph/config.toml`, of the flags (with `-`), and of the variables (`RALPH_COPILOT_…` in
/// capitals).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LayerSettings {
    /// Iterations a run may use.
    pub max_iterations: Option<NonZeroU32>,
    /// Wall time a run may use.
    pub max_duration: Option<Span>,
    /// Premium requests a run may use.
    pub max_premium_requests: Option<u32>,
    /// Tokens a run may use, as far as the agent reports them.
    pub max_tokens: Option<u64>,
    /// AI credits a run may use.
    pub max_ai_credits: Option<u32>,
    /// How long a run waits for a rate limit to pass.
    pub max_wait: Option<Span>,
    /// How often a failure of the model is tried again at most.
    pub max_retries: Option<NonZeroU32>,
    /// How many criteria are worked on at once.
    pub jobs: Option<u32>,
    /// Attempts on a criterion before it counts as stuck.
    pub stuck_threshold: Option<NonZeroU32>,
    /// The action for a stuck criterion.
    pub on_stuck: Option<OnStuck>,
    /// The agent's model.
    pub model: Option<String>,
    /// What the last attempt at a criterion uses instead.
    pub escalate: Option<Escalate>,
    /// The command that speaks ACP on its standard streams.
    pub agent: Option<String>,
    /// The command to run after a run; refused in a repository's configuration.
    pub on_end: Option<String>,
    /// The folder of checks that the agent never sees; refused in a repository's configuration.
    pub holdout: Option<PathBuf>,
    /// Use it although no sandbox hides it; refused there, too.
    pub holdout_visible: Option<bool>,
    /// How Copilot is driven.
    pub via: Option<Via>,
    /// The branch to be on.
    pub branch: Option<String>,
    /// What commit messages begin with.
    pub commit_prefix: Option<CommitPrefix>,
    /// Go on although the human left changes in the tree.
    pub allow_dirty: Option<bool>,
    /// Start although something in TASK.md looks like a criterion or a check and is neither.
    pub lenient: Option<bool>,
    /// Refuse criteria that only a commit speaks for.
    pub require_checks: Option<bool>,
    /// Let the human's key agent sign the agent's commits.
    pub sign: Option<bool>,
    /// Run the verify commands once before the work.
    pub baseline: Option<bool>,
    /// Check the work when the agent wants to end its turn, and send back the problems.
    pub stop_check: Option<bool>,
    /// Keep lessons, and put them into prompts.
    pub lessons: Option<bool>,
    /// Where the agent may write.
    pub write_scope: Option<WriteScope>,
    /// Let the operating system confine the agent's writes.
    pub sandbox: Option<Sandbox>,
    /// What happens when another agent than Copilot runs a call unasked.
    pub unasked: Option<UnaskedCalls>,
    /// Approve safe calls without asking.
    pub auto_approve: Option<bool>,
    /// Use the next model of the list when one is not available.
    pub fallback: Option<bool>,
    /// Limit of one verify command.
    pub verify_timeout: Option<Span>,
    /// The time limit for re-running other criteria's commands, per iteration.
    pub regression_budget: Option<Span>,
    /// A turn without any update for this long is stuck.
    pub idle_timeout: Option<Span>,
    /// A turn may not take longer than this.
    pub turn_timeout: Option<Span>,
    /// Where checks prove something.
    pub proof: Option<ProofMode>,
    /// Globs of more tests and configuration, added up over all layers.
    pub harness: Vec<String>,
    /// Globs the agent must not change, added up over all layers.
    pub protect: Vec<String>,
    /// Commands allowed on top of the built-in list, added up over all layers.
    pub allow: Vec<String>,
    /// Services of the host that commands reach, added up over all layers.
    pub services: Vec<Service>,
    /// The network that commands reach.
    pub network: Option<NetworkAccess>,
    /// Commands that run with the host's network, added up over all layers.
    pub network_for: Vec<String>,
    /// Secret-looking files that the agent may read, added up over all layers.
    pub readable: Vec<ReadableFile>,
    /// Paths outside the repository that commands may read, added up over all layers.
    pub visible: Vec<VisiblePath>,
    /// Devices that commands may use, added up over all layers.
    pub devices: Vec<Device>,
    /// Models that count as free; every other one is premium.
    pub free_models: Option<Vec<String>>,
    /// Rules for tools, commands and paths, added up over all layers.
    pub policy: PolicyRules,
    /// Where the memory tools look.
    pub memory: MemoryLayer,
    /// The gateway for tool providers.
    pub gateway: GatewayLayer,
}

/// One layer's settings for memory; `None` is "not set".
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryLayer {
    /// Offer the names and read the folder of OpenClaw.
    pub openclaw: Option<bool>,
    /// The folder to read instead of ours.
    pub dir: Option<PathBuf>,
    /// The file with preferences to read instead of ours.
    pub prefs: Option<PathBuf>,
}
