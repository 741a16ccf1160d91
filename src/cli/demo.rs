//! `demo`: a real run of `tasks-example/` in a temporary repository, with the built-in scripted
//! agent over real ACP pipes.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::args::{DemoArgs, RunArgs};
use super::command_names::quoted;
use super::failure::Failure;
use super::print::{complain, say};
use super::usage::task_of_that_name;
use super::{json_error, paths, run};
use crate::model::ExitCode;
use crate::sys::env;

/// The example, compiled in, so that the demo needs nothing but the program and git.
const FILES: [(&str, &str); 7] = [
    ("README.md", include_str!("../../tasks-example/README.md")),
    ("agent.yaml", include_str!("../../tasks-example/agent.yaml")),
    ("check.sh", include_str!("../../tasks-example/check.sh")),
    ("greet.sh", include_str!("../../tasks-example/greet.sh")),
    ("tasks/hello/TASK.md", include_str!("../../tasks-example/tasks/hello/TASK.md")),
    ("tasks/hello/guardrails.md", include_str!("../../tasks-example/tasks/hello/guardrails.md")),
    ("tasks/hello/progress.md", include_str!("../../tasks-example/tasks/hello/progress.md")),
];
/// The example's task.
const TASK: &str = "hello";

/// Makes the repository, works on it, and says where it is.
pub(super) fn demo(directory: Option<&Path>, args: &DemoArgs) -> Result<u8, Failure> {
    // `demo` is a command even if a task has this name; the message names the other.
    let meant = task_of_that_name(directory, "demo");
    let (folder, agent) = match prepare(directory, args) {
        Ok(prepared) => prepared,
        Err(failure) => {
            let failure = failure.hints(meant);
            if args.json {
                json_error::line(&failure);
            }
            return Err(failure);
        }
    };
    if let Some(meant) = meant {
        complain(&format!("note: {meant}\n"));
    }
    let shown = folder.display();
    if !args.json {
        say(&format!(
            "A copy of tasks-example/ is in {shown}\n\
             The agent is a script. It works honestly, lies once, and is denied once.\n"
        ));
    }
    let mut run_args =
        RunArgs { task: Some(TASK.to_owned()), json: args.json, ..RunArgs::default() };
    run_args.settings.name_agent(agent);
    let code = run::run(Some(&folder), &run_args)?;
    let shown = folder.to_string_lossy();
    let shown = quoted(&shown);
    let told = format!(
        "\nResults:\n  \
         git -C {shown} log --oneline\n  \
         cat {shown}/tasks/{TASK}/progress.md\n  \
         cat {shown}/tasks/{TASK}/activity.log"
    );
    if args.json {
        complain(&told)
    } else {
        say(&told)
    }
    Ok(code)
}

/// The repository, and the command of its agent.
fn prepare(directory: Option<&Path>, args: &DemoArgs) -> Result<(PathBuf, String), Failure> {
    let named = args.folder.as_deref().map(|named| paths::typed(directory, named));
    let folder = make_folder(named.transpose()?.as_deref())?;
    for (path, text) in FILES {
        let path = folder.join(path);
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| std::fs::write(&path, text))
            .map_err(|error| Failure::cannot_write(&path, &error))?;
    }
    git(&folder, &["init", "--quiet", "--initial-branch=main"])?;
    git(&folder, &["config", "user.name", "ralph-copilot demo"])?;
    git(&folder, &["config", "user.email", "demo@localhost"])?;
    git(&folder, &["add", "--all"])?;
    git(
        &folder,
        &["commit", "--quiet", "--no-gpg-sign", "--message=A greeting, and a task about it"],
    )?;
    let program = paths::own_program()?;
    let words = [&program, &PathBuf::from("agent"), &folder.join("agent.yaml")];
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let agent = shlex::try_join(words.iter().map(AsRef::as_ref))
        .map_err(|error| Failure::new(ExitCode::Internal, error))?;
    Ok((folder, agent))
}

fn make_folder(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let Some(named) = named else {
        let base = paths::temporary();
        let made = tempfile::Builder::new().prefix("ralph-demo-").tempdir_in(&base);
        let folder = made.map_err(|error| {
            Failure::cannot_write(&base, &error)
                .hint("or name a folder: `ralph-copilot demo FOLDER`")
        })?;
        // It is the result, so it is kept.
        return Ok(folder.keep());
    };
    std::fs::create_dir_all(named).map_err(|error| Failure::cannot_write(named, &error))?;
    let mut entries =
        std::fs::read_dir(named).map_err(|error| Failure::cannot_write(named, &error))?;
    if entries.next().is_some() {
        return Err(Failure::new(ExitCode::Usage, format!("{} is not empty", named.display()))
            .hint("name a new folder, or leave it out to use a temporary one"));
    }
    named.canonicalize().map_err(|error| Failure::cannot_write(named, &error))
}

pub(super) fn git(folder: &Path, args: &[&str]) -> Result<(), Failure> {
    let mut command = Command::new("git");
    command.args(args).current_dir(folder);
    for (name, _) in std::env::vars_os() {
        if env::is_git_context(&name.to_string_lossy()) {
            command.env_remove(name);
        }
    }
    let output = command.output().map_err(|error| {
        Failure::new(ExitCode::Repository, format!("cannot start git: {error}")).hint("install git")
    })?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Failure::new(ExitCode::Repository, format!("git {} failed: {words}", args.join(" "))))
}
