//! `init --ci`: writes the workflow.

use serde_json::json;

use crate::cli::args::InitArgs;
use crate::cli::ask::agreed;
use crate::cli::context::{RepoContext, TaskContext};
use crate::cli::failure::Failure;
use crate::cli::print::{say, say_json};
use crate::model::ExitCode;
use crate::sys::{Durability, FileMode, atomic};
use crate::task::task_names;

/// Where the workflow goes.
const FILE: &str = ".github/workflows/ralph.yml";
/// The workflow of a night, with `@NAME@` in place of values.
const NIGHT: &str = include_str!("../../../templates/ci/night.yml");
const SCHEDULE: &str = include_str!("../../../templates/ci/schedule.yml");
/// The same for a fleet.
const FLEET_FILE: &str = ".github/workflows/ralph-fleet.yml";
const FLEET: &str = include_str!("../../../templates/ci/fleet.yml");
/// The action of this release, as its build knows it.
const ACTION: Option<&str> = option_env!("RALPH_COPILOT_ACTION");

/// Writes the workflow; asks before it overwrites another text.
pub(in crate::cli) fn workflow(place: &RepoContext, args: &InitArgs) -> Result<u8, Failure> {
    let names = task_names(place.root(), &place.cwd)?;
    let task = match (&args.nightly, names.as_slice()) {
        (Some(name), _) => Some(TaskContext::find(Some(&place.cwd), name)?.folder.name),
        (None, [only]) => Some(only.clone()),
        (None, []) => None,
        (None, _) => {
            return Err(Failure::new(ExitCode::Usage, "which task shall the nights work on?")
                .hint(format!("name it with --task: {}", names.join(", "))));
        }
    };
    let (template, file) = match args.fleet {
        Some(_) => (FLEET, FLEET_FILE),
        None => (NIGHT, FILE),
    };
    if args.fleet.is_some() && task.is_none() {
        return Err(Failure::new(ExitCode::Usage, "a fleet needs a task")
            .hint("create one with `ralph-copilot init <task>`"));
    }
    let text = rendered(template, task.as_deref(), &action(args)?)?;
    let text = text.replace("@MACHINES@", &args.fleet.unwrap_or_default().to_string());
    let path = place.root().join(file);
    let there = std::fs::read_to_string(&path).ok();
    if there.as_ref().is_some_and(|there| *there != text)
        && !args.yes
        && !agreed(&format!("Overwrite {file}?"))
    {
        return Err(Failure::new(ExitCode::Usage, format!("{file} exists, with other content"))
            .hint("compare and remove it, or overwrite it with --yes"));
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| Failure::cannot_write(folder, &error))?;
    }
    atomic::write(&path, text.as_bytes(), Durability::Process, FileMode::Umask)?;
    if args.json {
        say_json(&json!({ "created": [file], "task": task }));
        return Ok(0);
    }
    say(&format!(
        "wrote  {file}\n\nNext: store the token of a person with a Copilot subscription as the \
         secret COPILOT_GITHUB_TOKEN,\nallow workflows to create pull requests (Settings, Actions), \
         commit, and push. See ralph-copilot's docs/ci.md."
    ));
    Ok(0)
}

/// The action that installs this program, by its commit.
fn action(args: &InitArgs) -> Result<String, Failure> {
    let named = args.action.as_deref().or(ACTION).unwrap_or_default();
    let (repository, commit) = named.split_once('@').unwrap_or_default();
    let is_name = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.' | '/');
    let is_commit = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_commit && repository.contains('/') && repository.chars().all(is_name) {
        return Ok(format!("{named} # v{}", env!("CARGO_PKG_VERSION")));
    }
    Err(Failure::new(ExitCode::Usage, "the workflow needs the action that installs this program")
        .hint("name it by its commit: --action OWNER/ralph-copilot@COMMIT (40 hexadecimal digits)"))
}

fn rendered(template: &str, task: Option<&str>, action: &str) -> Result<String, Failure> {
    // The name becomes part of expressions and of shell words.
    let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.');
    if let Some(task) = task.filter(|task| !task.chars().all(is_plain)) {
        return Err(Failure::new(
            ExitCode::Usage,
            format!("`{task}` cannot be named in a workflow"),
        )
        .hint("use letters, digits, `-`, `_`, and `.` in the name of the task"));
    }
    // Without a task, only a label starts a run.
    let (schedule, name) = task.map_or(("", ""), |task| (SCHEDULE, task));
    let text = template.replace("@SCHEDULE@\n", schedule).replace("@ACTION@", action);
    let text = text.replace("@TASK@", name);
    Ok(text.replace("@MINUTE@", &minute(name).to_string()))
}

/// A minute that differs from task to task: at full hours, GitHub drops scheduled runs.
fn minute(task: &str) -> u32 {
    task.bytes().fold(17, |sum, byte| (sum * 31 + u32::from(byte)) % 50) + 5
}
