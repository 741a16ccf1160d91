//! The model that a run asks for, and those it may fall back to.
//!
//! The installed Copilot CLI lists its models with `copilot help config`, offline and without a
//! login. Unless the user names a model, a run asks for its default model only if the CLI lists
//! it. Invariant: a list that cannot be read changes nothing, and no program of the repository
//! is started to read it.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::launch::own_provider;
use super::paths::cache;
use crate::agent::{AgentCommand, AgentKind};
use crate::config::Settings;
use crate::sys::{Durability, FileMode, atomic};

/// The model that is asked for unless the user or their provider says otherwise.
const MODEL: &str = "claude-sonnet-4.5";
/// Models to continue with if RALPH_COPILOT_FALLBACK allows it, in this order.
const FALLBACKS: [&str; 3] = [MODEL, "gpt-5", "claude-4"];
/// How long the CLI may take to print its list; the first start of a version unpacks it.
const LIMIT: Duration = Duration::from_secs(20);
/// Similar names that a warning shows.
const SIMILAR: usize = 3;

/// The models of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ModelChoice {
    /// The model to ask for; `None` for the agent's own default.
    pub(super) model: Option<String>,
    /// Models to continue with; `None` is the agent's own default.
    pub(super) fallbacks: VecDeque<Option<String>>,
    /// What the user should know before the first turn.
    pub(super) notice: Option<String>,
}

/// Chooses the models for an agent. Only the Copilot CLI can be told which model to use, so other
/// agents have no default and no fallback.
pub(super) fn choose(settings: &Settings, command: &AgentCommand, root: &Path) -> ModelChoice {
    let named = settings.model.as_deref();
    match command.kind {
        AgentKind::Other => {
            ModelChoice { model: named.map(str::to_owned), ..ModelChoice::default() }
        }
        AgentKind::Copilot if own_provider() => {
            let fallbacks = fallbacks(settings.fallback, named, None);
            ModelChoice { model: named.map(str::to_owned), fallbacks, notice: None }
        }
        AgentKind::Copilot => {
            let inside = command.program.starts_with(root);
            let list = if inside { None } else { listed(&command.program) };
            decide(named, settings.fallback, list.as_deref())
        }
    }
}

/// The choice for the Copilot CLI with GitHub's models.
fn decide(named: Option<&str>, fall_back: bool, list: Option<&[String]>) -> ModelChoice {
    let lists = |model: &str| list.is_none_or(|list| list.iter().any(|it| it == model));
    let model = named.map_or_else(|| lists(MODEL).then_some(MODEL), Some);
    let about_model = match (named, list) {
        (Some(named), Some(list)) if !lists(named) => Some(unlisted(named, list)),
        (None, Some(_)) if model.is_none() => Some(format!(
            "the Copilot CLI does not list {MODEL}, so it uses its own default (name another with --model)"
        )),
        _ => None,
    };
    let absent: Vec<&str> = FALLBACKS.into_iter().filter(|it| fall_back && !lists(it)).collect();
    let absent = (!absent.is_empty()).then(|| {
        format!("fallbacks that the CLI does not list are not used: {}", absent.join(", "))
    });
    let told: Vec<String> = about_model.into_iter().chain(absent).collect();
    let notice = (!told.is_empty()).then(|| format!("model: {}", told.join("; ")));
    let fallbacks = fallbacks(fall_back, model, list);
    ModelChoice { model: model.map(str::to_owned), fallbacks, notice }
}

fn fallbacks(
    allowed: bool,
    model: Option<&str>,
    list: Option<&[String]>,
) -> VecDeque<Option<String>> {
    if !allowed {
        return VecDeque::new();
    }
    let lists = |other: &str| list.is_none_or(|list| list.iter().any(|it| it == other));
    let others = FALLBACKS.into_iter().filter(|other| Some(*other) != model && lists(other));
    let others = others.map(|other| Some(other.to_owned()));
    // Where a list is known, the CLI's own default is known to exist, too.
    others.chain((list.is_some() && model.is_some()).then_some(None)).collect()
}

fn unlisted(named: &str, list: &[String]) -> String {
    let mut similar: Vec<&String> = list.iter().collect();
    similar.sort_by(|a, b| {
        let closeness = |model: &str| strsim::jaro_winkler(named, model);
        closeness(b).total_cmp(&closeness(a))
    });
    let similar: Vec<&str> = similar.into_iter().take(SIMILAR).map(String::as_str).collect();
    format!(
        "the Copilot CLI does not list {named}; it lists {} and others (`copilot help config`)",
        similar.join(", ")
    )
}

/// The list that was last read, and the file of the program that printed it.
#[derive(Serialize, Deserialize)]
struct ListedModels {
    program: OsString,
    bytes: u64,
    modified: i64,
    models: Vec<String>,
}

/// The models that this program lists, read once for each version of it.
fn listed(program: &Path) -> Option<Vec<String>> {
    let file = program.metadata().ok()?;
    let (bytes, modified) = (file.len(), file.mtime());
    let path = cache().map(|cache| cache.join("models.json"));
    let known = path.as_ref().and_then(|path| std::fs::read(path).ok());
    let known = known.and_then(|known| serde_json::from_slice::<ListedModels>(&known).ok());
    let same = |it: &ListedModels| (it.bytes, it.modified) == (bytes, modified);
    if let Some(known) = known.filter(|it| it.program == program.as_os_str() && same(it)) {
        return Some(known.models);
    }
    let models = models_in(&help(program)?);
    if models.is_empty() {
        return None;
    }
    let program = program.as_os_str().to_owned();
    let list = ListedModels { program, bytes, modified, models };
    if let (Some(path), Ok(text)) = (path, serde_json::to_vec(&list)) {
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let kept = atomic::write(&path, &text, Durability::Process, FileMode::Owner);
        if folder.is_err() || kept.is_err() {
            tracing::debug!(path = %path.display(), "the list of models is not kept");
        }
    }
    Some(list.models)
}

/// The CLI's own description of its settings.
fn help(program: &Path) -> Option<String> {
    let mut command = Command::new(program);
    // What it leaves in a temporary folder goes with this one.
    let folder = tempfile::tempdir().ok()?;
    command.args(["help", "config"]).current_dir(folder.path()).env("TMPDIR", folder.path());
    command.env_remove("COPILOT_ALLOW_ALL");
    command.envs([
        ("COPILOT_OFFLINE", "true"),
        ("COPILOT_AUTO_UPDATE", "false"),
        ("NO_COLOR", "1"),
    ]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut stdout = child.stdout.take()?;
    let (sender, printed) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = stdout.read_to_string(&mut text);
        // Nobody listens after the limit.
        let _late = sender.send(read.is_ok().then_some(text));
    });
    let text = printed.recv_timeout(LIMIT).ok().flatten();
    if text.is_none() && child.kill().is_err() {
        tracing::debug!("the CLI has ended already");
    }
    let status = child.wait().ok()?;
    text.filter(|_| status.success())
}

/// The names below `` `model`: `` in the CLI's help.
fn models_in(help: &str) -> Vec<String> {
    let lines = help.lines().map(str::trim).skip_while(|line| !line.starts_with("`model`:"));
    let names = lines.skip(1).map_while(|line| line.strip_prefix("- \"")?.strip_suffix('"'));
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "Settings:\n  `mouse`: x\n    - \"on\"\n\n  `model`: AI model to use\n    - \"claude-sonnet-5\"\n    - \"gpt-5-mini\"\n\n  `other`: y\n    - \"z\"\n";

    #[test]
    fn the_names_below_model_are_the_list() {
        assert_eq!(models_in(HELP), ["claude-sonnet-5", "gpt-5-mini"]);
        assert_eq!(models_in("no such setting\n- \"x\"\n"), Vec::<String>::new());
    }

    #[test]
    fn a_default_that_is_not_listed_is_left_to_the_cli() {
        let list = models_in(HELP);
        let with = [&list[..], &[MODEL.to_owned()]].concat();
        let choice = decide(None, false, Some(&list));
        assert_eq!((choice.model, choice.fallbacks.len()), (None, 0));
        let told = choice.notice.expect("a notice");
        assert!(told.contains("does not list claude-sonnet-4.5"), "{told}");
        for list in [Some(&with[..]), None] {
            let choice = decide(None, false, list);
            assert_eq!((choice.model.as_deref(), choice.notice), (Some(MODEL), None));
        }
    }

    #[test]
    fn a_named_model_stays_and_a_warning_names_similar_ones() {
        let list = models_in(HELP);
        let choice = decide(Some("claude-sonnet-4.5"), true, Some(&list));
        assert_eq!(choice.model.as_deref(), Some("claude-sonnet-4.5"));
        let told = choice.notice.expect("a warning");
        assert!(told.contains("it lists claude-sonnet-5, "), "{told}");
        assert_eq!(choice.fallbacks, [None], "none of the fallbacks is listed");
        let absent = "fallbacks that the CLI does not list are not used: claude-sonnet-4.5, gpt-5, \
                      claude-4";
        assert!(told.ends_with(&format!("; {absent}")), "{told}");
        let choice = decide(Some("gpt-5-mini"), true, Some(&list));
        assert_eq!((choice.notice, choice.fallbacks.len()), (Some(format!("model: {absent}")), 1));
        assert_eq!(decide(Some("gpt-5-mini"), false, Some(&list)).notice, None);
        let blind = decide(Some("x"), true, None);
        assert_eq!(blind.fallbacks, FALLBACKS.map(|it| Some(it.to_owned())));
    }
}
