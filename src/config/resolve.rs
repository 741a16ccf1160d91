//! Layers → settings.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use super::{Layer, LayerSettings, Source, Span};
use crate::model::{
    CommitPrefix, Device, Escalate, GatewayUse, NetworkAccess, OnStuck, PolicyRules, ProofMode,
    ReadableFile, Sandbox, Service, UnaskedCalls, Via, VisiblePath, WriteScope,
};

/// The winning value, for `doctor`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingOrigin {
    /// The setting's name.
    pub name: &'static str,
    /// Its value as people write it.
    pub value: String,
    /// Who said so.
    pub source: Source,
}

/// A value with the layer that it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Who said so.
    pub source: Source,
}

/// Where the memory tools look. Whether a layer may name a place is decided where it is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemorySettings {
    /// The names and folders of OpenClaw.
    pub openclaw: Option<Sourced<bool>>,
    /// The folder.
    pub dir: Option<Sourced<PathBuf>>,
    /// The file with preferences.
    pub prefs: Option<Sourced<PathBuf>>,
}

/// A default that is at least 1.
const fn from_one(number: u32) -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(number.saturating_sub(1))
}

macro_rules! settings {
    ($( $(#[$doc:meta])* $name:ident : $type:ty = $default:expr, $show:expr; )*) => {
        /// Every setting, resolved.
        #[derive(Clone, Debug)]
        pub struct Settings {
            $( $(#[$doc])* pub $name: $type, )*
            /// The model, where one was named; else the agent's default or ours.
            pub model: Option<String>,
            /// What the last attempt at a criterion uses instead.
            pub escalate: Option<Escalate>,
            /// The agent's command, where one was named; else Copilot is looked for.
            pub agent: Option<String>,
            /// The command to run after a run.
            pub on_end: Option<String>,
            /// The folder of checks that the agent never sees.
            pub holdout: Option<Sourced<PathBuf>>,
            /// The branch to be on, where one was named.
            pub branch: Option<String>,
            /// What commit messages begin with, where the project wants something.
            pub commit_prefix: Option<CommitPrefix>,
            /// Wall time a run may use, where it is limited.
            pub max_duration: Option<Span>,
            /// Premium requests a run may use, where they are limited.
            pub max_premium_requests: Option<u32>,
            /// Tokens a run may use, where they are limited.
            pub max_tokens: Option<u64>,
            /// AI credits a run may use, where they are limited.
            pub max_ai_credits: Option<u32>,
            /// How often a failure of the model is tried again, where that is limited.
            pub max_retries: Option<NonZeroU32>,
            /// Models that count as free, where the built-in table is overridden.
            pub free_models: Option<Vec<String>>,
            /// Globs the agent must not change.
            pub protect: Vec<String>,
            /// Globs of more tests and configuration, of all layers.
            pub harness: Vec<String>,
            /// Commands allowed on top of the built-in list.
            pub allow: Vec<String>,
            /// Services of the host that commands reach.
            pub services: Vec<Service>,
            /// Commands that run with the host's network.
            pub network_for: Vec<String>,
            /// Secret-looking files that the agent may read.
            pub readable: Vec<ReadableFile>,
            /// Paths outside the repository that commands may read.
            pub visible: Vec<VisiblePath>,
            /// Devices that commands may use.
            pub devices: Vec<Device>,
            /// Rules for tools, commands and paths.
            pub policy: PolicyRules,
            /// Where the memory tools look.
            pub memory: MemorySettings,
            /// Whether runs have a gateway for tool providers.
            pub gateway: GatewayUse,
            /// Commands that start providers.
            pub providers: Vec<String>,
            /// Which layer each value came from.
            pub chosen: Vec<SettingOrigin>,
        }

        /// Resolves the layers, strongest first.
        pub fn resolve(layers: &[Layer]) -> Settings {
            let mut chosen = Vec::new();
            $(
                let (value, source) = first(layers, |values| values.$name.clone());
                let $name: $type = value.unwrap_or_else(|| $default);
                let show: fn(&$type) -> String = $show;
                chosen.push(SettingOrigin { name: stringify!($name), value: show(&$name), source });
            )*
            let model = optional(&mut chosen, "model", layers, |values| values.model.clone());
            let escalate =
                optional(&mut chosen, "escalate", layers, |values| values.escalate.clone());
            let agent = optional(&mut chosen, "agent", layers, |values| values.agent.clone());
            let on_end = optional(&mut chosen, "on_end", layers, |values| values.on_end.clone());
            let holdout = chosen_by(layers, |values| values.holdout.clone());
            let shown = holdout.as_ref().map(|it| it.value.display().to_string());
            let source = holdout.as_ref().map_or(Source::Default, |it| it.source.clone());
            let value = shown.unwrap_or_else(|| "-".to_owned());
            chosen.push(SettingOrigin { name: "holdout", value, source });
            let branch = optional(&mut chosen, "branch", layers, |values| values.branch.clone());
            let commit_prefix =
                optional(&mut chosen, "commit_prefix", layers, |values| values.commit_prefix.clone());
            let max_duration =
                optional(&mut chosen, "max_duration", layers, |values| values.max_duration);
            let max_premium_requests = optional(&mut chosen, "max_premium_requests", layers, |values| {
                values.max_premium_requests
            });
            let max_tokens =
                optional(&mut chosen, "max_tokens", layers, |values| values.max_tokens);
            let max_ai_credits =
                optional(&mut chosen, "max_ai_credits", layers, |values| values.max_ai_credits);
            let max_retries =
                optional(&mut chosen, "max_retries", layers, |values| values.max_retries);
            let (gateway, source) = first(layers, |values| values.gateway.chosen);
            let gateway = gateway.unwrap_or_default();
            chosen.push(SettingOrigin { name: "gateway", value: gateway.to_string(), source });
            let providers = all(layers, |values| &values.gateway.providers);
            if !providers.is_empty() {
                let programs = first(layers, |values| {
                    let some = &values.gateway.providers;
                    (!some.is_empty()).then(|| some.clone())
                });
                let value = providers.join("; ");
                let source = programs.1;
                chosen.push(SettingOrigin { name: "gateway.provider", value, source });
            }
            let (free_models, _) = first(layers, |values| values.free_models.clone());
            Settings {
                $( $name, )*
                model,
                escalate,
                agent,
                on_end,
                holdout,
                branch,
                commit_prefix,
                max_duration,
                max_premium_requests,
                max_tokens,
                max_ai_credits,
                max_retries,
                free_models,
                protect: all(layers, |values| &values.protect),
                harness: all(layers, |values| &values.harness),
                allow: all(layers, |values| &values.allow),
                services: all(layers, |values| &values.services),
                network_for: all(layers, |values| &values.network_for),
                readable: all(layers, |values| &values.readable),
                visible: all(layers, |values| &values.visible),
                devices: all(layers, |values| &values.devices),
                policy: policy(layers),
                memory: MemorySettings {
                    openclaw: chosen_by(layers, |values| values.memory.openclaw),
                    dir: chosen_by(layers, |values| values.memory.dir.clone()),
                    prefs: chosen_by(layers, |values| values.memory.prefs.clone()),
                },
                gateway,
                providers,
                chosen,
            }
        }
    };
}

settings! {
    /// Iterations a run may use.
    max_iterations: NonZeroU32 = from_one(20), NonZeroU32::to_string;
    /// How long a run waits for a rate limit to pass.
    max_wait: Span = Span(Duration::from_secs(2 * 3600)), Span::to_string;
    /// How many criteria are worked on at once.
    jobs: u32 = 1, u32::to_string;
    /// Attempts on a criterion before it counts as stuck.
    stuck_threshold: NonZeroU32 = from_one(3), NonZeroU32::to_string;
    /// The action for a stuck criterion.
    on_stuck: OnStuck = OnStuck::Stop, OnStuck::to_string;
    /// Where checks prove something.
    proof: ProofMode = ProofMode::Room, ProofMode::to_string;
    /// Use hold-out checks although no sandbox hides them.
    holdout_visible: bool = false, bool::to_string;
    /// How Copilot is driven.
    via: Via = Via::Acp, Via::to_string;
    /// Go on although the human left changes in the tree.
    allow_dirty: bool = false, bool::to_string;
    /// Start although something in TASK.md looks like a criterion or a check and is neither.
    lenient: bool = false, bool::to_string;
    /// Refuse criteria that only a commit speaks for.
    require_checks: bool = false, bool::to_string;
    /// Let the human's key agent sign the agent's commits.
    sign: bool = false, bool::to_string;
    /// Run the verify commands once before the work.
    baseline: bool = true, bool::to_string;
    /// Check the work when the agent wants to end its turn, and send back the problems.
    stop_check: bool = true, bool::to_string;
    /// Keep lessons, and put them into prompts.
    lessons: bool = true, bool::to_string;
    /// Where the agent may write.
    write_scope: WriteScope = WriteScope::Workspace, WriteScope::to_string;
    /// Let the operating system confine the agent's writes.
    sandbox: Sandbox = Sandbox::Auto, Sandbox::to_string;
    /// The network that commands in the sandbox reach.
    network: NetworkAccess = NetworkAccess::Closed, NetworkAccess::to_string;
    /// What happens when another agent than Copilot runs a call unasked.
    unasked: UnaskedCalls = UnaskedCalls::Stop, UnaskedCalls::to_string;
    /// Approve safe calls without asking.
    auto_approve: bool = true, bool::to_string;
    /// Use the next model of the list when one is not available.
    fallback: bool = false, bool::to_string;
    /// Limit of one verify command.
    verify_timeout: Span = Span(Duration::from_secs(600)), Span::to_string;
    /// The time limit for re-running other criteria's commands, per iteration.
    regression_budget: Span = Span(Duration::from_secs(30)), Span::to_string;
    /// A turn without any update for this long is stuck. Copilot itself is silent
    /// for up to ten minutes while it retries, so the default is above that.
    idle_timeout: Span = Span(Duration::from_secs(15 * 60)), Span::to_string;
    /// A turn may not take longer than this.
    turn_timeout: Span = Span(Duration::from_secs(2 * 3600)), Span::to_string;
}

fn first<T>(layers: &[Layer], get: impl Fn(&LayerSettings) -> Option<T>) -> (Option<T>, Source) {
    for layer in layers {
        if let Some(value) = get(&layer.values) {
            return (Some(value), layer.source.clone());
        }
    }
    (None, Source::Default)
}

fn chosen_by<T>(layers: &[Layer], get: impl Fn(&LayerSettings) -> Option<T>) -> Option<Sourced<T>> {
    let (value, source) = first(layers, get);
    value.map(|value| Sourced { value, source })
}

/// All rules; the first layer that names a default decides that.
fn policy(layers: &[Layer]) -> PolicyRules {
    let mut all = PolicyRules::default();
    for PolicyRules {
        default,
        allowed_tools,
        blocked_tools,
        ask_tools,
        blocked_patterns,
        command,
        path,
    } in layers.iter().map(|layer| &layer.values.policy)
    {
        all.default = all.default.or(*default);
        all.allowed_tools.extend_from_slice(allowed_tools);
        all.blocked_tools.extend_from_slice(blocked_tools);
        all.ask_tools.extend_from_slice(ask_tools);
        all.blocked_patterns.extend_from_slice(blocked_patterns);
        all.command.extend_from_slice(command);
        all.path.extend_from_slice(path);
    }
    all
}

fn optional<T: ToString>(
    chosen: &mut Vec<SettingOrigin>,
    name: &'static str,
    layers: &[Layer],
    get: impl Fn(&LayerSettings) -> Option<T>,
) -> Option<T> {
    let (value, source) = first(layers, get);
    let shown = value.as_ref().map_or_else(|| "-".to_owned(), T::to_string);
    chosen.push(SettingOrigin { name, value: shown, source });
    value
}

fn all<'a, T: Clone + PartialEq + 'a>(
    layers: &'a [Layer],
    get: impl Fn(&'a LayerSettings) -> &'a Vec<T>,
) -> Vec<T> {
    let mut found: Vec<T> = Vec::new();
    for entry in layers.iter().flat_map(|layer| get(&layer.values)) {
        if !found.contains(entry) {
            found.push(entry.clone());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(source: Source, values: LayerSettings) -> Layer {
        Layer { source, values }
    }

    #[test]
    fn the_first_layer_that_says_something_wins() {
        let layers = [
            layer(
                Source::Flag,
                LayerSettings { stuck_threshold: Some(from_one(7)), ..LayerSettings::default() },
            ),
            layer(
                Source::Environment,
                LayerSettings {
                    stuck_threshold: Some(from_one(8)),
                    max_iterations: Some(from_one(4)),
                    ..LayerSettings::default()
                },
            ),
        ];
        let settings = resolve(&layers);
        assert_eq!((settings.stuck_threshold, settings.max_iterations), (from_one(7), from_one(4)));
        let winner = |name: &str| {
            settings.chosen.iter().find(|chosen| chosen.name == name).map(|chosen| &chosen.source)
        };
        assert_eq!(winner("stuck_threshold"), Some(&Source::Flag));
        assert_eq!(winner("max_iterations"), Some(&Source::Environment));
        assert_eq!(winner("on_stuck"), Some(&Source::Default));
    }

    #[test]
    fn lists_add_up_without_repeating() {
        let layers = [
            layer(
                Source::Task,
                LayerSettings { allow: vec!["a".into(), "b".into()], ..LayerSettings::default() },
            ),
            layer(
                Source::Flag,
                LayerSettings { allow: vec!["b".into(), "c".into()], ..LayerSettings::default() },
            ),
        ];
        assert_eq!(resolve(&layers).allow, ["a", "b", "c"]);
    }
}
