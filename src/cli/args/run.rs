//! Arguments of `run`, and the flags that override settings.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use strum::VariantNames;

use crate::cli::tell_plan::TellPlan;
use crate::config::{GatewayLayer, Layer, LayerSettings, Span, from_one};
use crate::model::{GatewayUse, OnStuck, ProofMode, Sandbox, UnaskedCalls, Via, WriteScope};
use crate::report::Detail;

/// The default of `jobs` for a plan.
pub(crate) const PLAN_JOBS: u32 = 3;

/// Flags of `run`.
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
    /// Ask at the terminal about calls that the policy leaves to you; a call without an answer
    /// within 15 seconds is denied
    #[arg(long, help_heading = "Guard")]
    pub(crate) ask: bool,
    /// Check everything and show the first prompt, without starting the agent
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) detail: DetailArgs,
    /// Keep this machine awake during the run (with `systemd-inhibit` or `caffeinate`)
    #[arg(long)]
    pub(crate) keep_awake: bool,
    /// Work on this criterion alone, and leave the branch as it was: the work goes to --bundle
    #[arg(long, value_name = "CRITERION", requires = "bundle", help_heading = "Several machines")]
    pub(crate) only: Option<String>,
    /// Write the work and its records to this new file, proven or not, for `land` on another machine
    #[arg(long, value_name = "FILE", requires = "only", help_heading = "Several machines")]
    pub(crate) bundle: Option<PathBuf>,
    /// Run only if TASK.md, apart from its ticks, has this digest (passed by `mcp serve`)
    #[arg(long, value_name = "DIGEST", hide = true)]
    pub(crate) only_as: Option<String>,
    /// Work for another run, in this tree (passed by that run)
    #[arg(long, value_name = "TREE", hide = true)]
    pub(crate) worker: Option<String>,
    /// The plan that the run carries out.
    #[arg(skip)]
    pub(crate) plan: Option<TellPlan>,
    /// Land the work of other machines, and do nothing else.
    #[arg(skip)]
    pub(crate) landing: bool,
}

/// How much of a run is shown.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct DetailArgs {
    /// Also print each call and each check
    #[arg(short, long)]
    verbose: bool,
    /// Print results only
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
}

impl DetailArgs {
    pub(crate) fn detail(self) -> Detail {
        match (self.quiet, self.verbose) {
            (true, _) => Detail::Quiet,
            (false, true) => Detail::Verbose,
            (false, false) => Detail::Normal,
        }
    }
}

/// Flags that override settings. Each is also a key of `.ralph/config.toml`, and an environment
/// variable: `RALPH_COPILOT_` and the name in capitals.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SettingArgs {
    /// Stop after this many iterations [default: 20]
    #[arg(long, value_name = "N", help_heading = "Limits", value_parser = from_one)]
    max_iterations: Option<NonZeroU32>,
    /// Work on this many criteria at once, each in a tree of its own; work lands one by one, proven
    /// [default: 1]
    #[arg(short, long, value_name = "N")]
    jobs: Option<u32>,
    /// Stop after this much time, such as `30m` or `8h`
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    max_duration: Option<Span>,
    /// Stop after this many premium requests
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_premium_requests: Option<u32>,
    /// Stop after this many tokens, if the agent reports them
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_tokens: Option<u64>,
    /// Stop after this many of GitHub's AI credits
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_ai_credits: Option<u32>,
    /// Wait at most this long for a rate limit or an outage to pass [default: 2h]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    max_wait: Option<Span>,
    /// Failed attempts before a criterion counts as stuck [default: 3]
    #[arg(long, value_name = "N", help_heading = "Limits", value_parser = from_one)]
    stuck_threshold: Option<NonZeroU32>,
    /// What to do about a stuck criterion: stop the run, or skip the criterion [default: stop]
    #[arg(long, value_name = "ACTION", help_heading = "Limits",
        value_parser = word::<OnStuck>())]
    on_stuck: Option<OnStuck>,
    /// End a turn that shows no activity for this long [default: 15m]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    idle_timeout: Option<Span>,
    /// End a turn after this long [default: 2h]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    turn_timeout: Option<Span>,
    /// End a verify command after this long [default: 10m]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    verify_timeout: Option<Span>,
    /// The model to use [default: claude-sonnet-4.5 if listed, or the agent's own]
    #[arg(long, value_name = "MODEL", help_heading = "Agent")]
    model: Option<String>,
    /// The agent: a command that speaks ACP on standard input and output [default: copilot
    /// --acp]
    #[arg(long, value_name = "COMMAND", help_heading = "Agent")]
    agent: Option<String>,
    /// How to run Copilot: `acp`, or `cli` to start `copilot -p` for each iteration if ACP does
    /// not work [default: acp]
    #[arg(long, value_name = "HOW", help_heading = "Agent",
        value_parser = word::<Via>())]
    via: Option<Via>,
    /// Also run the checks in this folder, which the agent never sees, before a criterion counts as
    /// proven: DIR/<task>.md lists them
    #[arg(long, value_name = "DIR", help_heading = "Verification")]
    pub(crate) holdout: Option<PathBuf>,
    /// Use hold-out checks although no sandbox hides them from the agent
    #[arg(long, help_heading = "Verification")]
    holdout_visible: bool,
    /// Run this command when the run has ended, with the report as JSON on standard input
    #[arg(long, value_name = "COMMAND", help_heading = "Afterwards")]
    on_end: Option<String>,
    /// Switch to this branch first, creating it if needed; files are not touched
    #[arg(long, value_name = "NAME", help_heading = "Repository")]
    branch: Option<String>,
    /// Allow unstaged changes; the run never commits, resets, or loses them
    #[arg(long, help_heading = "Repository")]
    allow_dirty: bool,
    /// Let your key agent sign the agent's commits, if git signs here
    #[arg(long, help_heading = "Repository")]
    sign: bool,
    /// Start even if something in TASK.md looks like a criterion or a check but is not read as one
    #[arg(long, help_heading = "Verdict")]
    lenient: bool,
    /// Require a check for every criterion; a commit alone is not proof
    #[arg(long, help_heading = "Verdict")]
    require_checks: bool,
    /// Do not run the verify commands in your tree at the start
    #[arg(long, help_heading = "Verdict")]
    no_baseline: bool,
    /// Do not run the checks when the agent wants to end its turn
    #[arg(long, help_heading = "Verdict")]
    no_stop_check: bool,
    /// Do not keep lessons or add them to prompts
    #[arg(long, help_heading = "Verdict")]
    no_lessons: bool,
    /// Where the agent may write [default: workspace]
    #[arg(long, value_name = "WHERE", help_heading = "Guard",
        value_parser = word::<WriteScope>())]
    write_scope: Option<WriteScope>,
    /// How the kernel confines the agent's commands: `auto` is the best tier of this machine;
    /// `required`, the meaning of a bare `--sandbox`, is the best one except `off` [default: auto]
    #[arg(long, value_name = "TIER", help_heading = "Guard", num_args = 0..=1,
        require_equals = true, default_missing_value = "required",
        value_parser = sandbox())]
    sandbox: Option<Sandbox>,
    /// Where checks run: in the proof room, in the room only at the end, or in your working tree
    /// [default: room]
    #[arg(long, value_name = "PLACE", help_heading = "Verification",
        value_parser = word::<ProofMode>())]
    proof: Option<ProofMode>,
    /// Accept your tool providers on this loopback port during the run [default: 9400, if
    /// it is free]
    #[arg(long, value_name = "PORT", help_heading = "Providers", num_args = 0..=1,
        require_equals = true, default_missing_value = "true")]
    gateway: Option<GatewayUse>,
    /// Also allow this command, such as `npm run lint`; repeatable
    #[arg(long, value_name = "COMMAND", help_heading = "Guard")]
    allow: Vec<String>,
    /// Deny changes to files that match this glob; repeatable
    #[arg(long, value_name = "GLOB", help_heading = "Guard")]
    protect: Vec<String>,
    /// What to do when an agent other than Copilot runs a call without asking: stop the run, or
    /// allow it inside the sandbox `full` [default: stop]
    #[arg(long, value_name = "ACTION", help_heading = "Guard",
        value_parser = word::<UnaskedCalls>())]
    unasked: Option<UnaskedCalls>,
}

impl SettingArgs {
    /// Sets an agent that speaks ACP, as `--agent` and `--via` do.
    pub(crate) fn name_agent(&mut self, command: String) {
        self.agent = Some(command);
        self.via = Some(Via::Acp);
    }

    /// Turns off everything that the run does for its workers.
    pub(crate) fn for_worker(&mut self) {
        // The run names the folder in the environment.
        self.holdout = None;
        (self.proof, self.jobs, self.branch) = (Some(ProofMode::Tree), Some(1), None);
        (self.gateway, self.lenient, self.require_checks) = (Some(GatewayUse::Off), true, false);
    }

    /// Turns off what a run that only lands does not need. What fails must not keep the rest from
    /// landing.
    pub(crate) fn for_landing(&mut self, agent: String, sandbox: Option<Sandbox>) {
        self.name_agent(agent);
        (self.jobs, self.proof) = (Some(1), Some(ProofMode::Room));
        (self.gateway, self.lenient) = (Some(GatewayUse::Off), true);
        (self.on_stuck, self.sandbox) = (Some(OnStuck::Skip), sandbox);
    }

    /// Several jobs, if nobody says how many: as in the task of a plan.
    pub(crate) fn several_jobs(&mut self, layers: &[Layer]) {
        if layers.iter().all(|layer| layer.values.jobs.is_none()) {
            self.jobs = Some(PLAN_JOBS);
        }
    }

    /// These flags as a layer of settings.
    pub(crate) fn layer(&self) -> LayerSettings {
        let set = |flag: bool| flag.then_some(true);
        LayerSettings {
            max_iterations: self.max_iterations,
            jobs: self.jobs,
            max_duration: self.max_duration,
            max_premium_requests: self.max_premium_requests,
            max_tokens: self.max_tokens,
            max_ai_credits: self.max_ai_credits,
            max_wait: self.max_wait,
            stuck_threshold: self.stuck_threshold,
            on_stuck: self.on_stuck,
            unasked: self.unasked,
            model: self.model.clone(),
            agent: self.agent.clone(),
            on_end: self.on_end.clone(),
            holdout: self.holdout.clone(),
            holdout_visible: set(self.holdout_visible),
            via: self.via,
            branch: self.branch.clone(),
            allow_dirty: set(self.allow_dirty),
            lenient: set(self.lenient),
            sign: set(self.sign),
            require_checks: set(self.require_checks),
            baseline: self.no_baseline.then_some(false),
            stop_check: self.no_stop_check.then_some(false),
            lessons: self.no_lessons.then_some(false),
            write_scope: self.write_scope,
            sandbox: self.sandbox,
            verify_timeout: self.verify_timeout,
            idle_timeout: self.idle_timeout,
            turn_timeout: self.turn_timeout,
            proof: self.proof,
            protect: self.protect.clone(),
            allow: self.allow.clone(),
            gateway: GatewayLayer { chosen: self.gateway, ..GatewayLayer::default() },
            ..LayerSettings::default()
        }
    }
}

/// Reads how checks or an agent's commands are confined.
pub(super) fn sandbox() -> impl TypedValueParser<Value = Sandbox> {
    PossibleValuesParser::new(Sandbox::WORDS).try_map(|word| word.parse())
}

/// Reads one of the names of a choice.
pub(super) fn word<T>() -> impl TypedValueParser<Value = T>
where
    T: VariantNames + FromStr<Err = strum::ParseError> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(T::VARIANTS).try_map(|word| word.parse())
}
