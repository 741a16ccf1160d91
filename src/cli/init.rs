//! `init`: creates a task and the project's instructions from templates; never overwrites.

use std::fs;
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
        let text = with_lines(&text, &proposals(place.root()));
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

/// Manifests, and what they stand for: the file, a text that must be in it, the check of the whole
/// task, a check that is red until its test is there, and the setup.
const KNOWN: [[&str; 5]; 15] = [
    ["Cargo.lock", "", "cargo test --quiet", "cargo test NAME", "cargo fetch --locked"],
    ["Cargo.toml", "", "cargo test --quiet", "cargo test NAME", "cargo fetch"],
    ["go.mod", "", "go test ./...", "go test ./... -run NAME", "go mod download"],
    ["package.json", "node --test", "npm test", "npm test -- --test-name-pattern=NAME", ""],
    ["pnpm-lock.yaml", "", "pnpm test", "pnpm test -t NAME", "pnpm install --frozen-lockfile"],
    ["yarn.lock", "", "yarn test", "yarn test -t NAME", "yarn install --immutable"],
    ["package-lock.json", "", "npm test", "npm test -- -t NAME", "npm ci"],
    ["package.json", "\"test\"", "npm test", "npm test -- -t NAME", "npm install"],
    ["uv.lock", "", "uv run pytest -q", "uv run pytest -q -k NAME", "uv sync --frozen"],
    ["pyproject.toml", "", "python3 -m pytest -q", "python3 -m pytest -q -k NAME", ""],
    ["requirements.txt", "", "python3 -m pytest -q", "python3 -m pytest -q -k NAME", ""],
    ["pom.xml", "", "mvn -q test", "mvn -q test -Dtest=NAME", "mvn -q dependency:go-offline"],
    ["gradlew", "", "./gradlew test", "./gradlew test --tests NAME", ""],
    ["Gemfile", "", "bundle exec rake test", "bundle exec rake test TEST=FILE", "bundle install"],
    ["Makefile", "\ntest:", "make test", "", ""],
];

/// Folders of tests.
const TESTS: [&str; 5] = ["tests", "test", "spec", "__tests__", "e2e"];

/// Lines of front matter for the project in this folder; none if it has no known manifest.
fn proposals(root: &Path) -> Vec<String> {
    let is_there = |name: &str, part: &str| {
        fs::read_to_string(root.join(name)).is_ok_and(|text| format!("\n{text}").contains(part))
    };
    let found = KNOWN.iter().find(|[name, part, ..]| is_there(name, part));
    let Some([name, _, whole, one, setup]) = found else { return Vec::new() };
    let mut lines = vec![format!("# From {name}; remove the first `#` of a line to use it:")];
    lines.push(format!("# verify: {whole}"));
    if !setup.is_empty() {
        lines.push(format!("# setup: [{setup}]"));
        lines.push("# setup_network: true         # if the setup needs the network".to_owned());
    }
    let tests = TESTS.iter().filter(|name| root.join(name).is_dir());
    let tests: Vec<String> = tests.map(|name| format!("\"{name}/**\"")).collect();
    if !tests.is_empty() {
        lines.push(format!("# protect: [{}]", tests.join(", ")));
    }
    if !one.is_empty() {
        lines.push(format!("# A check of a criterion, red until its test is there: {one}"));
    }
    lines
}

/// A TASK.md with these lines at the beginning of its front matter, in the place of other comments
/// about the same settings.
fn with_lines(task: &str, lines: &[String]) -> String {
    let own: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let Some((front, body)) = task.strip_prefix("---\n").and_then(|it| it.split_once("---\n"))
    else {
        return if own.is_empty() { task.to_owned() } else { format!("---\n{own}---\n{task}") };
    };
    let key = |line: &str| line.split_once(':').map(|(key, _)| key.to_owned());
    let is_told = |line: &&str| {
        key(line).is_some_and(|it| lines.iter().any(|own| key(own) == Some(it.clone())))
    };
    let others: String =
        front.lines().filter(|line| !is_told(line)).map(|line| format!("{line}\n")).collect();
    format!("---\n{own}{others}---\n{body}")
}
