//! `policy check`: shows the guard's decision about a call, to test a policy.
//!
//! Nothing is run. The rules are those of a run, from the same settings in the same order, except
//! for data that only a run has: its TMPDIR, and the user's uncommitted files.

use std::io::{BufRead as _, Write as _};
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use super::args::{PolicyArgs, PolicyCommand};
use super::context::{RepoContext, TaskContext};
use super::failure::{Failure, unreadable};
use super::harness::harness_table;
use super::paths::{canonical, temporary};
use super::print::{say, say_json};
use super::told::read_state;
use super::{openings, tier};
use crate::config::{LayerSettings, Settings, resolve};
use crate::guard::{
    Allow, Approval, Explained, Globs, OsFiles, Policy, Rules, TickRule, agent_setting, explain,
};
use crate::model::{Asked, Decision, ExitCode, Sandbox, SessionId, ToolRequest, one_line};
use crate::verify::{Protection, globs};

/// A denied call, in the exit code.
const DENIED: u8 = 1;

/// Longest line of `--stdin`, in bytes: the guard itself looks at less.
const LONGEST: u64 = 4 << 20;

/// Runs a policy command.
pub(super) fn policy(directory: Option<&Path>, command: &PolicyCommand) -> Result<u8, Failure> {
    match command {
        PolicyCommand::Check(args) => check(directory, args),
    }
}

fn check(directory: Option<&Path>, args: &PolicyArgs) -> Result<u8, Failure> {
    let asked = Asks::find(directory, args)?;
    if args.stdin {
        return asked.answer_lines();
    }
    let line = match args.command.as_slice() {
        [line] => line.clone(),
        words => shlex::try_join(words.iter().map(String::as_str))
            .map_err(|error| Failure::new(ExitCode::Usage, error))?,
    };
    let input = json!({ "command": line });
    let explained = asked.explain("execute", input, None);
    if args.json {
        say_json(&as_json(&explained));
    } else {
        say(&as_text(&explained));
    }
    Ok(if explained.decision.allowed() { 0 } else { DENIED })
}

/// Which of these commands the guard would deny an agent, that of a task if one is named: the rule,
/// and why.
pub(super) fn denied(
    directory: Option<&Path>,
    task: Option<&str>,
    commands: &[String],
) -> Result<Vec<(String, String, String)>, Failure> {
    let args = PolicyArgs { task: task.map(str::to_owned), ..PolicyArgs::default() };
    let asked = Asks::find(directory, &args)?;
    let denied = commands.iter().filter_map(|command| {
        let decision = asked.explain("execute", json!({ "command": command }), None).decision;
        let rule = decision.rule.to_string();
        (!decision.allowed()).then(|| (command.clone(), rule, decision.reason))
    });
    Ok(denied.collect())
}

/// The policy of a repository, and the folder that paths are relative to.
struct Asks {
    policy: Policy,
    cwd: PathBuf,
}

/// One line of `--stdin`.
#[derive(Deserialize)]
struct Line {
    tool_kind: String,
    #[serde(default)]
    raw_input: Value,
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default)]
    tool: Option<String>,
}

impl Asks {
    fn find(directory: Option<&Path>, args: &PolicyArgs) -> Result<Self, Failure> {
        let (mut asked, sandbox) = Self::of_place(directory, args)?;
        asked.policy.tier = match args.sandbox {
            Some(tier) => tier,
            None => tier::choose(sandbox, &asked.policy.workspace)?.tier,
        };
        Ok(asked)
    }

    fn of_place(directory: Option<&Path>, args: &PolicyArgs) -> Result<(Self, Sandbox), Failure> {
        let flags = LayerSettings { write_scope: args.write_scope, ..LayerSettings::default() };
        let Some(task) = &args.task else {
            let place = RepoContext::find(directory)?;
            let settings = resolve(&place.layers(flags, None)?);
            let policy = without_task(&place, &settings)?;
            return Ok((Self { policy, cwd: canonical(&place.cwd) }, settings.sandbox));
        };
        let at = TaskContext::find(directory, task)?;
        let task = at.usable()?;
        let settings = resolve(&at.place.layers(flags, Some(&task))?);
        let policy = Policy::new(canonical(at.place.root()), canonical(&at.folder.dir));
        let mut policy = rules(policy, &settings)?;
        let root = policy.workspace.clone();
        let repo = &at.place.repo;
        let mut protection = Protection::of(&task)?.with_names(agent_setting);
        if let Ok(checkpoint) = repo.checkpoint() {
            let table = harness_table(&settings)?;
            let start = repo.files(&checkpoint.head, &[])?;
            let own = task.criteria.iter().flat_map(|criterion| &criterion.may_change);
            let may_change = globs(task.settings.may_change.iter().chain(own))?;
            protection = protection.with_links(&start).with_files(&start);
            let seen = read_state(&at)?.first_seen;
            let judged = protection.with_judges(&task, (&start, &table), &seen);
            protection = judged.without(&may_change);
        }
        policy.protect_paths = protection.named().map(|path| root.join(path)).collect();
        let open = task.criteria.iter().find(|criterion| !criterion.checked);
        policy.focus = open.map(|criterion| TickRule { mark: criterion.mark });
        Ok((Self { policy, cwd: canonical(&at.place.cwd) }, settings.sandbox))
    }

    /// Answers every line as soon as it arrives.
    fn answer_lines(&self) -> Result<u8, Failure> {
        let mut input = std::io::stdin().lock();
        let mut out = std::io::stdout().lock();
        loop {
            let mut line = Vec::new();
            let read = std::io::Read::take(&mut input, LONGEST).read_until(b'\n', &mut line);
            if read.map_err(unreadable)? == 0 {
                return Ok(0);
            }
            let whole = line.ends_with(b"\n") || (line.len() as u64) < LONGEST;
            if !whole {
                input.skip_until(b'\n').map_err(unreadable)?;
            }
            if whole && line.trim_ascii().is_empty() {
                continue;
            }
            let decision = if whole { self.answer(&line) } else { invalid(&"it is too long") };
            let answer = json!({
                "decision": word(&decision),
                "rule": decision.rule,
                "reason": decision.reason,
                "sandboxed": decision.sandboxed,
            });
            // A closed stream ends the command without an error.
            if writeln!(out, "{answer}").and_then(|()| out.flush()).is_err() {
                return Ok(0);
            }
        }
    }

    fn answer(&self, line: &[u8]) -> Decision {
        match serde_json::from_slice::<Line>(line) {
            Ok(line) => {
                let tool = line.tool.unwrap_or(line.tool_kind);
                self.explain(&tool, line.raw_input, line.cwd.as_deref()).decision
            }
            Err(error) => invalid(&error),
        }
    }

    fn explain(&self, tool: &str, input: Value, cwd: Option<&Path>) -> Explained {
        let mut policy = self.policy.clone();
        policy.cwd = cwd.map_or_else(|| self.cwd.clone(), |cwd| canonical(&self.cwd.join(cwd)));
        let up = policy.cwd.components().any(|part| part == Component::ParentDir);
        if up || !policy.cwd.starts_with(&policy.workspace) {
            let reason = format!(
                "Denied (path.outside): {} is outside the workspace. Nothing \
                 was run.",
                policy.cwd.display()
            );
            let decision = Decision::deny("path.outside", reason);
            return Explained { decision, parts: Vec::new() };
        }
        let request = ToolRequest {
            session: SessionId::new("policy-check"),
            call: None,
            tool: tool.to_owned(),
            input,
            asked: Asked::Permission,
        };
        explain(&request, &policy, &OsFiles)
    }
}

/// The policy outside a run.
pub(super) fn without_task(place: &RepoContext, settings: &Settings) -> Result<Policy, Failure> {
    rules(Policy::without_task(canonical(place.root())), settings)
}

/// Adds the settings to a policy.
pub(super) fn rules(mut policy: Policy, settings: &Settings) -> Result<Policy, Failure> {
    let invalid = |error| Failure::new(ExitCode::Invalid, error);
    policy.home = etcetera::home_dir().ok();
    // A run creates this folder for its agent; a check does not need it.
    policy.tmp = Some(temporary().join("ralph-of-a-run").join("tmp"));
    policy.write_scope = settings.write_scope;
    policy.allow = Allow::new(&settings.allow).map_err(invalid)?;
    policy.protect = Globs::new(&settings.protect).map_err(invalid)?;
    policy.rules = Rules::compile(&settings.policy, &policy.workspace, policy.home.as_deref())
        .map_err(invalid)?;
    policy.readable = openings::readable(settings, &policy.workspace);
    policy.visible = openings::visible(settings, &policy.workspace)?;
    policy.network = settings.network;
    policy.network_for.clone_from(&settings.network_for);
    policy.approval = if settings.auto_approve { Approval::Automatic } else { Approval::Human };
    Ok(policy)
}

fn invalid(why: &dyn std::fmt::Display) -> Decision {
    let reason = format!("Denied (tool.malformed): not a tool call: {why}. Nothing was run.");
    Decision::deny("tool.malformed", reason)
}

fn word(decision: &Decision) -> &'static str {
    if decision.allowed() { "allow" } else { "deny" }
}

fn as_json(explained: &Explained) -> Value {
    let Explained { decision, parts } = explained;
    json!({
        "decision": word(decision),
        "rule": decision.rule,
        "reason": decision.reason,
        "sandboxed": decision.sandboxed,
        "parts": parts,
        "writes": decision.writes,
    })
}

fn as_text(explained: &Explained) -> String {
    let Explained { decision, parts } = explained;
    let mut text = format!("{}  {}\n{}", word(decision), decision.rule, decision.reason);
    for part in parts {
        let flat = one_line(part);
        text.push_str(&format!("\n  saw: {flat}"));
    }
    if decision.sandboxed {
        text.push_str("\n  runs in the session's sandbox");
    }
    for path in &decision.writes {
        text.push_str(&format!("\n  writes: {}", path.display()));
    }
    text
}
