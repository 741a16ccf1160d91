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

/// Defines the settings: those with a default and the way to show it, those that may be missing,
/// and lists that add up over all layers.
macro_rules! settings {
    (
        values { $( $(#[$doc:meta])* $name:ident : $type:ty = $default:expr; )* }
        options { $( $(#[$about:meta])* $option:ident : $kind:ty; )* }
        lists { $( $(#[$of:meta])* $list:ident : $entry:ty; )* }
    ) => {
        /// Every setting, resolved.
        #[derive(Clone, Debug)]
        pub struct Settings {
            $( $(#[$doc])* pub $name: $type, )*
            $( $(#[$about])* pub $option: Option<$kind>, )*
            $( $(#[$of])* pub $list: Vec<$entry>, )*
            /// The folder of checks that the agent never sees.
            pub holdout: Option<Sourced<PathBuf>>,
            /// Models that count as free, where the built-in table is overridden.
            pub free_models: Option<Vec<String>>,
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
                let name = stringify!($name);
                chosen.push(SettingOrigin { name, value: $name.to_string(), source });
            )*
            $(
                let (value, source) = first(layers, |values| values.$option.clone());
                let $option: Option<$kind> = value;
                let value = $option.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
                chosen.push(SettingOrigin { name: stringify!($option), value, source });
            )*
            let holdout = chosen_by(layers, |values| values.holdout.clone());
            let shown = holdout.as_ref().map(|it| it.value.display().to_string());
            let source = holdout.as_ref().map_or(Source::Default, |it| it.source.clone());
            let value = shown.unwrap_or_else(|| "-".to_owned());
            chosen.push(SettingOrigin { name: "holdout", value, source });
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
            Settings {
                $( $name, )*
                $( $option, )*
                $( $list: all(layers, |values| &values.$list), )*
                holdout,
                free_models: first(layers, |values| values.free_models.clone()).0,
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
    values {
        /// Iterations a run may use.
        max_iterations: NonZeroU32 = from_one(20);
        /// How long a run waits for a rate limit to pass.
        max_wait: Span = Span(Duration::from_secs(2 * 3600));
        /// How many criteria are worked on at once.
        jobs: u32 = 1;
        /// Attempts on a criterion before it counts as stuck.
        stuck_threshold: NonZeroU32 = from_one(3);
        /// The action for a stuck criterion.
        on_stuck: OnStuck = OnStuck::Stop;
        /// Where checks prove something.
        proof: ProofMode = ProofMode::Room;
        /// Use hold-out checks although no sandbox hides them.
        holdout_visible: bool = false;
        /// How Copilot is driven.
        via: Via = Via::Acp;
        /// Go on although the human left changes in the tree.
        allow_dirty: bool = false;
        /// Start although something in TASK.md looks like a criterion or a check and is neither.
        lenient: bool = false;
        /// Refuse criteria that only a commit speaks for.
        require_checks: bool = false;
        /// Let the human's key agent sign the agent's commits.
        sign: bool = false;
        /// Run the verify commands once before the work.
        baseline: bool = true;
        /// Check the work when the agent wants to end its turn, and send back the problems.
        stop_check: bool = true;
        /// Keep lessons, and put them into prompts.
        lessons: bool = true;
        /// Where the agent may write.
        write_scope: WriteScope = WriteScope::Workspace;
        /// Let the operating system confine the agent's writes.
        sandbox: Sandbox = Sandbox::Auto;
        /// The network that commands in the sandbox reach.
        network: NetworkAccess = NetworkAccess::Closed;
        /// What happens when another agent than Copilot runs a call unasked.
        unasked: UnaskedCalls = UnaskedCalls::Stop;
        /// Approve safe calls without asking.
        auto_approve: bool = true;
        /// Use the next model of the list when one is not available.
        fallback: bool = false;
        /// Limit of one verify command.
        verify_timeout: Span = Span(Duration::from_secs(600));
        /// The time limit for re-running other criteria's commands, per iteration.
        regression_budget: Span = Span(Duration::from_secs(30));
        /// A turn without any update for this long is stuck. Copilot itself is silent
        /// for up to ten minutes while it retries, so the default is above that.
        idle_timeout: Span = Span(Duration::from_secs(15 * 60));
        /// A turn may not take longer than this.
        turn_timeout: Span = Span(Duration::from_secs(2 * 3600));
    }
    options {
        /// The model, where one was named; else the agent's default or ours.
        model: String;
        /// What the last attempt at a criterion uses instead.
        escalate: Escalate;
        /// The agent's command, where one was named; else Copilot is looked for.
        agent: String;
        /// The command to run after a run.
        on_end: String;
        /// The branch to be on, where one was named.
        branch: String;
        /// What commit messages begin with, where the project wants something.
        commit_prefix: CommitPrefix;
        /// Wall time a run may use, where it is limited.
        max_duration: Span;
        /// Premium requests a run may use, where they are limited.
        max_premium_requests: u32;
        /// Tokens a run may use, where they are limited.
        max_tokens: u64;
        /// AI credits a run may use, where they are limited.
        max_ai_credits: u32;
        /// How often a failure of the model is tried again, where that is limited.
        max_retries: NonZeroU32;
    }
    lists {
        /// Globs the agent must not change.
        protect: String;
        /// Globs of more tests and configuration, of all layers.
        harness: String;
        /// Commands allowed on top of the built-in list.
        allow: String;
        /// Services of the host that commands reach.
        services: Service;
        /// Commands that run with the host's network.
        network_for: String;
        /// Secret-looking files that the agent may read.
        readable: ReadableFile;
        /// Paths outside the repository that commands may read.
        visible: VisiblePath;
        /// Devices that commands may use.
        devices: Device;
    }
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
