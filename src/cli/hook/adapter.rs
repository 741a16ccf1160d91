//! `hook preToolUse` without a run.
//!
//! The order of decision: XPIA and amplihack by their precedence, then the project's Claude hooks
//! that match the call, then the guard.

use std::fs;
use std::path::{Path, PathBuf};

use futures::future::join_all;
use serde_json::Value;
use tokio::process::Command;
use tokio::time::Instant;

use super::hook_context::HookContext;
use super::xpia::find_defender;
use crate::cli::environment::{self, NESTED};
use crate::hooks::{
    ENGINE_VARIABLE, HookAnswer, HookCall, HookEngine, HookInput, ScriptRun, XPIA_HOOK, ask_human,
    blocked, blocked_reason, claude_input, combine, find_engine, is_staged, matching_hooks, pass,
    payload_of, read_answer, read_hook_input, run_script, strictest,
};
use crate::model::{Answer, Asked, AuditDecision, AuditEntry, HookType, SessionId};

/// The two stacks, below the project.
const AMPLIHACK: &str = ".claude/tools/amplihack/hooks/pre_tool_use.py";
/// The Rust engine's name for amplihack's hook.
const SUBCOMMAND: &str = "pre-tool-use";
/// The settings that name Claude's hooks, below the project.
const SETTINGS: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];
/// The script that is asked where no settings name it.
const CORE: &str = "hooks/core/pre-tool-use.sh";

/// An answer and its source.
struct Decided {
    /// The printed text; an empty one leaves the call to the CLI.
    output: String,
    answer: Answer,
    rule: String,
    reason: String,
}

impl Decided {
    fn deny(rule: impl Into<String>, reason: &str) -> Self {
        let reason = blocked_reason(reason);
        Self { output: blocked(&reason), answer: Answer::Deny, rule: rule.into(), reason }
    }

    fn allow(rule: impl Into<String>, reason: impl Into<String>) -> Self {
        let (rule, reason) = (rule.into(), reason.into());
        Self { output: String::new(), answer: Answer::Allow, rule, reason }
    }
}

/// Answers `preToolUse`.
pub(super) async fn before(
    directory: Option<&Path>,
    contract: Contract,
    input: &[u8],
    until: Instant,
) -> String {
    let began = Instant::now();
    let ground = match HookContext::find(directory) {
        Ok(ground) => ground,
        Err(failure) => return refuse(&failure.source.to_string()),
    };
    let (asked, decided) = match read_hook_input(input) {
        Ok(asked) => {
            let decided = decide(&ground, contract, &asked, until).await;
            (Some(asked), decided)
        }
        Err(error) => {
            (None, Some(Decided::deny("hook.malformed", &format!("{error}. Nothing ran."))))
        }
    };
    // In a run, the runner decides the rest, and logs it.
    let Some(decided) = decided else { return String::new() };
    let session = asked.as_ref().and_then(|asked| session_of(&asked.call));
    let output = match (contract, decided.answer) {
        (Contract::Adapter, Answer::Allow) => String::new(),
        (Contract::Adapter | Contract::Wrapper, _) => decided.output,
    };
    let entry = AuditEntry {
        tool: asked.as_ref().map(|asked| asked.call.tool.clone()),
        input: asked.map(|asked| asked.call.input),
        elapsed: Some(began.elapsed()),
        decision: Some(AuditDecision {
            answer: decided.answer,
            rule: decided.rule,
            reason: decided.reason,
            asked: Some(Asked::Hook),
        }),
        ..AuditEntry::new(HookType::PreToolUse, session)
    };
    match ground.audit(&entry) {
        Ok(()) => output,
        Err(error) => refuse(&format!("the decision cannot be audited: {error}")),
    }
}

/// The session, where the CLI names one.
pub(super) fn session_of(call: &HookCall) -> Option<SessionId> {
    let named = Some(&call.session).filter(|session| !session.is_empty());
    named.map(|session| SessionId::new(session.clone()))
}

/// Who decides; none where a run does.
async fn decide(
    ground: &HookContext,
    contract: Contract,
    asked: &HookInput,
    until: Instant,
) -> Option<Decided> {
    if std::env::var_os(NESTED).is_some() {
        return Some(guard(ground, asked));
    }
    let stacked = match precedence(ground, contract, asked, until).await {
        Ok(stacked) => stacked,
        Err(denied) => return Some(denied),
    };
    let staged = match stacked {
        Stacked::Decided(decided) => return Some(decided),
        Stacked::Undecided => true,
        Stacked::Absent => false,
    };
    let mut decided = match claude(ground, asked, until).await {
        Some(decided) => decided,
        None if ground.in_a_run(asked) => {
            return staged.then(|| Decided {
                output: pass(),
                ..Decided::allow("run.decides", "the run's own hook decides")
            });
        }
        None => guard(ground, asked),
    };
    if staged && decided.output.is_empty() {
        decided.output = pass();
    }
    Some(decided)
}

/// Asks the guard.
fn guard(ground: &HookContext, asked: &HookInput) -> Decided {
    let decision = ground.guard(asked);
    if decision.allowed() {
        Decided::allow(decision.rule, decision.reason)
    } else {
        Decided::deny(decision.rule, &decision.reason)
    }
}

/// The answers of the two stacks.
enum Stacked {
    /// Neither stack exists.
    Absent,
    /// No decision.
    Undecided,
    /// A decision.
    Decided(Decided),
}

/// Asks XPIA and amplihack.
async fn precedence(
    ground: &HookContext,
    contract: Contract,
    asked: &HookInput,
    until: Instant,
) -> Result<Stacked, Decided> {
    let there =
        |path: &str| Some(ground.project.join(path)).filter(|path| path.symlink_metadata().is_ok());
    // The adapter knows nothing of a defender: without one our own hook could but deny every
    // call, and the guard, which is asked next, judges it.
    let judges = |path: &PathBuf| {
        contract == Contract::Wrapper || !is_staged(path) || find_defender().is_some()
    };
    let (xpia, amplihack) = (there(XPIA_HOOK).filter(judges), there(AMPLIHACK));
    let engine = HookEngine::read(std::env::var_os(ENGINE_VARIABLE).as_deref());
    let native = match engine {
        Ok(HookEngine::Rust) => {
            find_engine(&|name| which::which(name).ok(), etcetera::home_dir().ok().as_deref())
        }
        Ok(HookEngine::Python | HookEngine::Auto) | Err(_) => None,
    };
    if xpia.is_none() && amplihack.is_none() && native.is_none() {
        return Ok(Stacked::Absent);
    }
    engine.map_err(|error| Decided::deny("hook.engine", &format!("{error}. Nothing ran.")))?;
    // The names of both worlds: the names that these hooks read depend on their version.
    let mut told = asked.whole.clone();
    if let Value::Object(claudes) = claude_input(asked, &ground.project) {
        told.extend(claudes);
    }
    let told = Value::Object(told).to_string();
    let run = async |name: &str, command: Option<Command>| {
        let ran = script(ground, command?, told.as_bytes(), until).await;
        payload_of(name, &ran)
    };
    let (xpia, amplihack) = tokio::join!(
        run("the XPIA hook", xpia.as_deref().map(script_command)),
        run(
            "the amplihack hook",
            match &native {
                Some(program) => {
                    let mut command = Command::new(program);
                    command.arg(SUBCOMMAND);
                    Some(command)
                }
                None => amplihack.as_deref().map(script_command),
            }
        ),
    );
    Ok(match combine(xpia.as_ref(), amplihack.as_ref()) {
        None => Stacked::Undecided,
        Some(output) => {
            let said: Value = serde_json::from_str(&output).unwrap_or_default();
            let allows = said["permissionDecision"] == "allow";
            Stacked::Decided(Decided {
                answer: if allows { Answer::Allow } else { Answer::Deny },
                rule: "hook.precedence".to_owned(),
                reason: output.clone(),
                output,
            })
        }
    })
}

/// Asks the Claude hooks that match the call. Returns none if there are none, or if Claude itself
/// would have to run one of them and no other denies.
async fn claude(ground: &HookContext, asked: &HookInput, until: Instant) -> Option<Decided> {
    let denied = |why: String| Some(Decided::deny("hook.claude", &format!("{why}. Nothing ran.")));
    let mut files = Vec::new();
    for name in SETTINGS {
        match fs::read_to_string(ground.project.join(name)) {
            Ok(text) => files.push((name, text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return denied(format!("{name} cannot be read: {error}")),
        }
    }
    let found = match matching_hooks(&files, &asked.call) {
        Ok(found) => found,
        Err(error) => return denied(error.to_string()),
    };
    let mut hooks: Vec<(String, Command, Option<u64>)> = Vec::new();
    for hook in &found.hooks {
        let mut command = Command::new("sh");
        command.args(["-c", "--", &hook.command]);
        hooks.push((hook.command.clone(), command, hook.timeout));
    }
    let core = ground.project.join(CORE);
    let named = found.hooks.iter().any(|hook| hook.command.contains(CORE));
    if !named && core.symlink_metadata().is_ok() {
        hooks.push((CORE.to_owned(), Command::new(core), None));
    }
    if hooks.is_empty() {
        return None;
    }
    let told = claude_input(asked, &ground.project).to_string();
    let asking = hooks.into_iter().map(async |(name, command, own)| {
        let own = own.map(|limit| Instant::now() + std::time::Duration::from_secs(limit));
        let until = own.map_or(until, |own| own.min(until));
        let ran = script(ground, command, told.as_bytes(), until).await;
        read_answer(&name, &ran)
    });
    match strictest(join_all(asking).await) {
        HookAnswer::Deny(reason) => Some(Decided::deny("hook.claude", &reason)),
        HookAnswer::Ask(reason) => Some(Decided {
            output: ask_human(&reason),
            answer: Answer::Deny,
            rule: "hook.claude.ask".to_owned(),
            reason,
        }),
        HookAnswer::Allow if found.foreign => None,
        HookAnswer::Allow => Some(Decided::allow("hook.claude", "the project's hooks allow it")),
    }
}

/// Runs a script of the project.
async fn script(
    ground: &HookContext,
    mut command: Command,
    input: &[u8],
    until: Instant,
) -> ScriptRun {
    command.env("CLAUDE_PROJECT_DIR", &ground.project).env(NESTED, "1");
    command.current_dir(&ground.project);
    let limit = until.saturating_duration_since(Instant::now());
    run_script(command, input, limit, &environment::run_name("hook")).await
}

/// A script that names its interpreter and may be executed is; any other is Python.
fn script_command(path: &Path) -> Command {
    use std::os::unix::fs::PermissionsExt as _;
    let runs = fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o111 != 0);
    if runs && fs::read(path).is_ok_and(|text| text.starts_with(b"#!")) {
        return Command::new(path);
    }
    let mut command = Command::new("python3");
    command.arg(path);
    command
}

/// By whose contract a call is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contract {
    /// The wrapper's: where a stack of hooks is asked there is an object, `{}` for no decision.
    Wrapper,
    /// The adapter's: a call that may run is answered with nothing.
    Adapter,
}

pub(super) fn refuse(why: &str) -> String {
    blocked(&format!("{why}. Nothing ran."))
}
