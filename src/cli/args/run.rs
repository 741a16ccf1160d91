//! Arguments of `run`, and the flags that override settings.

use std::num::NonZeroU32;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};

use crate::config::{LayerSettings, Span, from_one};
use crate::model::{OnStuck, Sandbox, Via, WriteScope};

/// Flags of a run; each is also a key of `.ralph/config.toml` and, in capitals
/// with `RALPH_COPILOT_` before it, a variable.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RunArgs {
    /// The task: a folder with TASK.md, or its name below tasks/ or .ralph/active/
    #[arg(required = true)]
    pub(crate) task: Option<String>,
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
    /// Print the events as JSON lines
    #[arg(long)]
    pub(crate) json: bool,
    /// Ask at the terminal for what the policy leaves to a human; without an answer in 15
    /// seconds it is denied
    #[arg(long, help_heading = "Guard")]
    pub(crate) ask: bool,
    /// Check everything, show the first prompt and what would be done, start no agent
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Flags that override settings.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SettingArgs {
    /// Stop after this many iterations [default: 20]
    #[arg(long, value_name = "N", help_heading = "Limits", value_parser = from_one)]
    max_iterations: Option<NonZeroU32>,
    /// Stop after this much time, as `30m` or `8h`
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    max_duration: Option<Span>,
    /// Stop after this many premium requests
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_premium_requests: Option<u32>,
    /// Stop after this many tokens, as far as the agent reports them
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_tokens: Option<u64>,
    /// Wait at most this long in a row for rate limits, network and server to pass
    /// [default: 2h]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    max_wait: Option<Span>,
    /// Attempts on a criterion before it counts as stuck [default: 3]
    #[arg(long, value_name = "N", help_heading = "Limits", value_parser = from_one)]
    stuck_threshold: Option<NonZeroU32>,
    /// What to do with a stuck criterion: stop the run, or put it aside and go on
    /// [default: stop]
    #[arg(long, value_name = "WHAT", help_heading = "Limits",
        value_parser = PossibleValuesParser::new(["stop", "skip"]).map(on_stuck))]
    on_stuck: Option<OnStuck>,
    /// A turn without any sign of life for this long is stuck [default: 15m]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    idle_timeout: Option<Span>,
    /// A turn may not take longer than this [default: 2h]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    turn_timeout: Option<Span>,
    /// One verify command may not take longer than this [default: 10m]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    verify_timeout: Option<Span>,
    /// The model to ask for [default: claude-sonnet-4.5, or the provider's own]
    #[arg(long, value_name = "MODEL", help_heading = "Agent")]
    model: Option<String>,
    /// Any command that speaks ACP on its standard streams [default: copilot --acp]
    #[arg(long, value_name = "COMMAND", help_heading = "Agent")]
    agent: Option<String>,
    /// How Copilot is driven: `acp`, or `cli` for one `copilot -p` per iteration, where ACP
    /// does not come up [default: acp]
    #[arg(long, value_name = "HOW", help_heading = "Agent",
        value_parser = PossibleValuesParser::new(["acp", "cli"]).map(via))]
    via: Option<Via>,
    /// Make or take this branch first, without touching the tree
    #[arg(long, value_name = "NAME", help_heading = "Repository")]
    branch: Option<String>,
    /// Go on although files are uncommitted; they are never committed, reset or lost
    #[arg(long, help_heading = "Repository")]
    allow_dirty: bool,
    /// Refuse criteria that only a commit proves
    #[arg(long, help_heading = "Verdict")]
    require_checks: bool,
    /// Do not run the verify commands before the work
    #[arg(long, help_heading = "Verdict")]
    no_baseline: bool,
    /// Do not check the work when the agent wants to end its turn
    #[arg(long, help_heading = "Verdict")]
    no_stop_check: bool,
    /// Where the agent may write [default: workspace]
    #[arg(long, value_name = "WHERE", help_heading = "Guard",
        value_parser = PossibleValuesParser::new(["workspace", "task"]).map(write_scope))]
    write_scope: Option<WriteScope>,
    /// Let the operating system confine the agent (Linux): `full` runs every shell command in
    /// a sandbox without network; the others limit where the agent writes
    #[arg(long, value_name = "MODE", help_heading = "Guard", num_args = 0..=1,
        require_equals = true, default_missing_value = "required",
        value_parser = PossibleValuesParser::new(["full", "off", "required", "best-effort"]).map(sandbox))]
    sandbox: Option<Sandbox>,
    /// Allow a command on top of the built-in list, as in `npm run lint`; repeatable
    #[arg(long, value_name = "COMMAND", help_heading = "Guard")]
    allow: Vec<String>,
    /// A glob that the agent must not change; repeatable
    #[arg(long, value_name = "GLOB", help_heading = "Guard")]
    protect: Vec<String>,
}

impl SettingArgs {
    /// Names an agent that speaks ACP, as `--agent` and `--via` would.
    pub(crate) fn name_agent(&mut self, command: String) {
        self.agent = Some(command);
        self.via = Some(Via::Acp);
    }

    /// The layer that these flags make.
    pub(crate) fn layer(&self) -> LayerSettings {
        let set = |flag: bool| flag.then_some(true);
        LayerSettings {
            max_iterations: self.max_iterations,
            max_duration: self.max_duration,
            max_premium_requests: self.max_premium_requests,
            max_tokens: self.max_tokens,
            max_wait: self.max_wait,
            stuck_threshold: self.stuck_threshold,
            on_stuck: self.on_stuck,
            model: self.model.clone(),
            agent: self.agent.clone(),
            via: self.via,
            branch: self.branch.clone(),
            allow_dirty: set(self.allow_dirty),
            require_checks: set(self.require_checks),
            baseline: self.no_baseline.then_some(false),
            stop_check: self.no_stop_check.then_some(false),
            write_scope: self.write_scope,
            sandbox: self.sandbox,
            verify_timeout: self.verify_timeout,
            idle_timeout: self.idle_timeout,
            turn_timeout: self.turn_timeout,
            protect: self.protect.clone(),
            allow: self.allow.clone(),
            ..LayerSettings::default()
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "clap hands the value over")]
fn on_stuck(word: String) -> OnStuck {
    if word == "skip" { OnStuck::Skip } else { OnStuck::Stop }
}

#[expect(clippy::needless_pass_by_value, reason = "clap hands the value over")]
pub(super) fn write_scope(word: String) -> WriteScope {
    if word == "task" { WriteScope::Task } else { WriteScope::Workspace }
}

#[expect(clippy::needless_pass_by_value, reason = "clap hands the value over")]
fn via(word: String) -> Via {
    if word == "cli" { Via::Cli } else { Via::Acp }
}

#[expect(clippy::needless_pass_by_value, reason = "clap hands the value over")]
fn sandbox(word: String) -> Sandbox {
    match word.as_str() {
        "full" => Sandbox::Full,
        "required" => Sandbox::Required,
        "best-effort" => Sandbox::BestEffort,
        _ => Sandbox::Off,
    }
}
