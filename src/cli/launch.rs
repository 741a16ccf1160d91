//! Everything that a start of the agent takes: which program, which model, which
//! environment, and the guard's mount.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;

use super::environment;
use super::failure::Failure;
use super::gc::SCRATCH_PREFIX;
use super::paths::{canonical, temporary};
use crate::agent::acp::AcpAgent;
use crate::agent::oneshot::OneShot;
use crate::agent::{
    Agent, AgentCommand, AgentError, AgentKind, AgentLaunch, ForAgent, Gate, Greeting, GuardServer,
    PROVIDER_URL, ProgramLookup, ProviderError, StopHook, for_agent, provider_variables,
};
use crate::config::Settings;
use crate::engine::{PremiumOf, Starter};
use crate::hooks::{Plugin, PluginUse};
use crate::model::{ExitCode, Premium, Via};
use crate::report::PremiumTable;
use crate::sys::remove_tree;

/// Variables that send requests over http through a proxy.
const PROXIES: [&str; 4] = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];

/// The agent's command.
pub(super) fn find_agent(settings: &Settings) -> Result<AgentCommand, Failure> {
    let found = lookup(settings.agent.as_deref());
    match settings.via {
        Via::Acp => Ok(found?),
        Via::Cli => Ok(found?.for_prompts()?),
    }
}

/// The Copilot CLI's command, even if the settings name another agent.
pub(super) fn find_copilot() -> Result<AgentCommand, Failure> {
    Ok(lookup(None)?)
}

fn lookup(named: Option<&str>) -> Result<AgentCommand, AgentError> {
    AgentCommand::find(
        named,
        &ProgramLookup { variable: &environment::variable, which: &|name| which::which(name).ok() },
    )
}

/// Where the Copilot CLI keeps its records.
pub(super) fn copilot_home() -> Option<PathBuf> {
    let named = std::env::var_os("COPILOT_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    named.or_else(|| etcetera::home_dir().ok().map(|home| home.join(".copilot")))
}

/// A private folder of a run, removed with everything that the agent's programs left in it.
pub(super) struct Scratch(tempfile::TempDir);

impl Scratch {
    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = remove_tree(self.path()) {
            tracing::warn!(folder = %self.path().display(), %error, "a folder stays");
        }
    }
}

/// A folder of the run's own outside the repository: socket, plugin and the agent's
/// TMPDIR. It is short, because a socket's path has few bytes.
pub(super) fn scratch() -> Result<Scratch, Failure> {
    let base = canonical(&temporary());
    let failed = |source| {
        Failure::from(AgentError::Prepare { path: base.clone(), source })
            .hint("set TMPDIR to a writable folder")
    };
    let folder =
        tempfile::Builder::new().prefix(SCRATCH_PREFIX).tempdir_in(&base).map_err(failed)?;
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700))
        .map_err(failed)?;
    std::fs::create_dir(folder.path().join("tmp")).map_err(failed)?;
    Ok(Scratch(folder))
}

/// Where the guard listens.
pub(super) fn socket(scratch: &Path) -> Result<PathBuf, Failure> {
    let path = scratch.join("guard.sock");
    match SocketAddr::from_pathname(&path) {
        Ok(_) => Ok(path),
        Err(source) => Err(Failure::from(AgentError::Prepare { path, source })
            .hint("set TMPDIR to a folder with a shorter path: the path of a socket is limited to about 100 bytes")),
    }
}

/// The parts that install the guard.
pub(super) struct Mount {
    pub(super) server: GuardServer,
    pub(super) plugin: Option<Plugin>,
}

/// Serves the hooks and writes the plugin, for the Copilot CLI. Reports turns that are about to end
/// to `stops`.
pub(super) fn mount(
    command: &AgentCommand,
    scratch: &Path,
    gate: &Arc<Gate>,
    greeting: Greeting,
    via: Via,
    stops: Option<mpsc::Sender<StopHook>>,
) -> Result<Mount, Failure> {
    let socket = socket(scratch)?;
    let server = GuardServer::start(&socket, Arc::clone(gate), greeting, stops, command.kind)?;
    match command.kind {
        AgentKind::Other => Ok(Mount { server, plugin: None }),
        AgentKind::Copilot => {
            let program = std::env::current_exe()
                .map_err(|source| AgentError::Prepare { path: "ralph-copilot".into(), source })?;
            let mounted = match via {
                Via::Acp => PluginUse::Acp,
                Via::Cli => PluginUse::Prompt,
            };
            let plugin = Plugin::write(&scratch.join("plugin"), &program, &socket, mounted)
                .map_err(AgentError::from)?;
            Ok(Mount { server, plugin: Some(plugin) })
        }
    }
}

/// Starts the agent as often as it takes.
pub(super) fn starter(launch: AgentLaunch, via: Via) -> Starter {
    Box::new(move |model, effort| {
        let mut launch = launch.clone();
        let arguments = &mut launch.environment.arguments;
        if let Some(plugin) = &launch.plugin {
            arguments.extend(["--plugin-dir".into(), plugin.folder().into()]);
        }
        if launch.command.kind == AgentKind::Copilot {
            arguments.extend(["--log-dir".into(), launch.logs.clone().into()]);
            for (flag, value) in [("--model", model), ("--reasoning-effort", effort)] {
                arguments.extend(value.into_iter().flat_map(|it| [flag.into(), it.into()]));
            }
        }
        Box::pin(async move {
            if via == Via::Cli && launch.plugin.is_some() {
                return Ok(Box::new(OneShot::new(launch)) as Box<dyn Agent>);
            }
            Ok(Box::new(AcpAgent::start(&launch).await?) as Box<dyn Agent>)
        })
    })
}

/// The agent's environment, and the arguments that go with it.
pub(super) fn environment(
    kind: AgentKind,
    tmp: &Path,
    identity: &[(String, String)],
) -> Result<ForAgent, Failure> {
    let names: Vec<String> =
        std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    let provider = match kind {
        AgentKind::Copilot => provider().map_err(|error| Failure::new(ExitCode::Invalid, error))?,
        AgentKind::Other => Vec::new(),
    };
    let mut change = for_agent(kind, &names, &provider, tmp);
    change.variables.extend(past_proxies(&environment::variable));
    let identity = identity.iter().map(|(name, value)| (name.into(), Some(value.into())));
    change.variables.extend(identity);
    Ok(change)
}

/// The run's own server is on this machine, so the agent must not send its requests to a proxy.
fn past_proxies(variable: &dyn Fn(&str) -> Option<String>) -> Vec<(OsString, Option<OsString>)> {
    let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    if !PROXIES.iter().any(|name| set(name).is_some()) {
        return Vec::new();
    }
    // A program that reads both may stop at the first.
    let except = [("NO_PROXY", "no_proxy"), ("no_proxy", "NO_PROXY")].map(|(name, other)| {
        let others = set(name).or_else(|| set(other));
        let all = others.map_or_else(String::new, |others| format!("{others},")) + "127.0.0.1";
        (name.into(), Some(all.into()))
    });
    except.into()
}

/// Variables as the environments of children take them.
pub(super) fn owned<const N: usize>(variables: [(&str, &str); N]) -> Vec<(String, String)> {
    variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// The cost of a prompt by model. If the user names a model that is known to cost a premium
/// request, it counts with every agent and provider; otherwise the user's limit would do nothing. A
/// model that is not named or not known counts if it can be GitHub's: with GitHub's own CLI and no
/// provider of the user's.
pub(super) fn premium(settings: &Settings, kind: AgentKind) -> PremiumOf {
    let mut table = PremiumTable::default();
    if let Some(free) = &settings.free_models {
        table.premium.retain(|model| !free.contains(model));
        table.free.clone_from(free);
    }
    let named = settings.model.clone();
    let githubs = kind == AgentKind::Copilot && !own_provider();
    Box::new(move |model| {
        let named =
            model.is_some_and(|model| named.as_deref() == Some(model) && table.lists(model));
        if named || githubs && table.is_premium(model) { Premium::Counted } else { Premium::Free }
    })
}

/// The least that the Copilot CLI takes as a limit of AI credits.
const LEAST_CREDITS: u32 = 30;

/// Refuses a limit of AI credits where nothing is known of them.
pub(super) fn counts_credits(settings: &Settings, kind: AgentKind) -> Result<(), Failure> {
    if settings.max_ai_credits.is_none() || kind == AgentKind::Copilot && !own_provider() {
        return Ok(());
    }
    let why = "--max-ai-credits works only with the Copilot CLI and GitHub's models: other agents \
               and providers report no AI credits";
    Err(Failure::new(ExitCode::Usage, why).hint("use --max-tokens or --max-premium-requests"))
}

/// [`environment`] with the CLI's own limit for each session, besides that of the run.
pub(super) fn limited(
    settings: &Settings,
    kind: AgentKind,
    tmp: &Path,
    identity: &[(String, String)],
) -> Result<ForAgent, Failure> {
    let mut change = environment(kind, tmp, identity)?;
    if let Some(limit) = settings.max_ai_credits.filter(|credits| *credits >= LEAST_CREDITS) {
        let limit = ["--max-ai-credits".into(), limit.to_string().into()];
        change.arguments.extend(limit);
    }
    Ok(change)
}

/// Whether the user's own provider serves the model.
pub(super) fn own_provider() -> bool {
    std::env::var_os(PROVIDER_URL).is_some_and(|url| !url.is_empty())
        || provider().is_ok_and(|provider| !provider.is_empty())
}

/// The CLI's variables for a provider that was named in the bridge's.
fn provider() -> Result<Vec<(&'static str, String)>, ProviderError> {
    provider_variables(&environment::variable)
}

pub(super) fn describe(command: &AgentCommand) -> String {
    let mut words = vec![command.program.display().to_string()];
    words.extend(command.args.iter().cloned());
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past(variables: &[(&str, &str)]) -> Vec<String> {
        let find = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let all = past_proxies(&find).into_iter();
        all.map(|(_, value)| value.expect("set").into_string().expect("UTF-8")).collect()
    }

    #[test]
    fn no_proxy_is_asked_for_this_machine() {
        assert_eq!(past(&[("NO_PROXY", "a.example")]), [] as [&str; 0]);
        assert_eq!(past(&[("HTTP_PROXY", "http://p:1")]), ["127.0.0.1"; 2]);
        let both = past(&[("all_proxy", "http://p:1"), ("no_proxy", "a.example")]);
        assert_eq!(both, ["a.example,127.0.0.1"; 2]);
    }
}
