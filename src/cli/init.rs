//! `init`: creates a task and the project's instructions from templates; never overwrites.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::args::InitArgs;
use super::assemble;
use super::ci::workflow;
use super::command_names::start_command;
use super::context::{RepoContext, TASKS};
use super::failure::Failure;
use super::issue::Issue;
use super::paths::shown_from;
use super::print::{say, say_json};
use crate::model::ExitCode;
use crate::prompt::ScaffoldValues;
use crate::task::{TASK_FILE, wrong_with_name};

/// The instructions that every Copilot session in the repository reads.
const INSTRUCTIONS: &str = ".github/copilot-instructions.md";

/// Creates the files that are missing, and lists all of them.
pub(super) fn init(directory: Option<&Path>, args: &InitArgs) -> Result<u8, Failure> {
    let place = RepoContext::find(directory)?;
    if args.ci {
        return workflow(&place, args);
    }
    let templates = assemble::templates(&place)?;
    let mut files = Vec::new();
    let issue = match (&args.from_file, args.from_issue) {
        (Some(file), _) => Some(Issue::of_file(file)?),
        (None, Some(number)) => Some(Issue::of_github(place.root(), number)?),
        (None, None) => None,
    };
    let named = args.task.clone().or_else(|| issue.as_ref().map(Issue::name));
    if args.instructions {
        files.push((PathBuf::from(INSTRUCTIONS), templates.instructions()?));
    }
    if let Some(task) = &named {
        if let Some(why) = wrong_with_name(task) {
            return Err(Failure::new(
                ExitCode::Usage,
                format!("`{task}` is not a valid task name: {why}"),
            )
            .hint("it becomes a folder below tasks/: use letters, digits, `-`, and `_`"));
        }
        let values = ScaffoldValues { task_name: task.clone() };
        let folder = Path::new(TASKS).join(task);
        let text = match &issue {
            Some(issue) => issue.task(task)?,
            None => templates.task(&values)?,
        };
        files.push((folder.join("TASK.md"), text));
        files.push((folder.join("guardrails.md"), templates.guardrails(&values)?));
        files.push((folder.join("progress.md"), templates.progress(&values)?));
    }
    let mut made = Vec::new();
    let mut kept = Vec::new();
    for (path, text) in files {
        let created = create(&place.root().join(&path), &text)?;
        if created { made.push(path) } else { kept.push(path) }
    }
    if args.json {
        say_json(&json!({ "created": made, "kept": kept }));
        return Ok(0);
    }
    let shown = |path: &Path| shown_from(&place.cwd, place.root(), path).display().to_string();
    for path in &made {
        say(&format!("created  {}", shown(path)));
    }
    for path in &kept {
        say(&format!("kept     {} (already exists)", shown(path)));
    }
    if let Some(task) = &named {
        let what = if issue.is_some() { "give the criteria checks" } else { "write the criteria" };
        let file = shown(&Path::new(TASKS).join(task).join(TASK_FILE));
        say(&format!(
            "\nNext: {what} in {file}, validate them with\n`ralph-copilot check {task}`, commit, and start with `{}`.",
            start_command(directory, task)
        ));
        place.where_checks_run().into_iter().for_each(|line| say(&format!("\n{line}")));
    }
    Ok(0)
}

/// Creates a file unless it exists. Returns whether it did.
pub(super) fn create(path: &Path, text: &str) -> Result<bool, Failure> {
    let failed = |error| Failure::cannot_write(path, &error);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => file.write_all(text.as_bytes()).map(|()| true).map_err(failed),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed(error)),
    }
}
