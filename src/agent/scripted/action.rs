//! The actions that need permission: first prepared, then, if allowed, really performed.
//!
//! Invariant: `prepare` changes nothing; everything that an action will write is known, and
//! shown in its request, before it happens. `play` asks for permission.

use std::path::{Component, Path, PathBuf};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tokio::process::Command;

use super::diff::unified;
use super::prompt_context::{CheckBox, PromptContext, box_of, quote};
use super::script::ScriptStep;
use super::shapes::{self, ScriptedCall, ScriptedRequest};

/// Bytes of a command's output that are reported.
const OUTPUT: usize = 64 * 1024;

/// An action that is prepared and not yet performed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ScriptedAction {
    /// The announced call.
    pub(super) call: ScriptedCall,
    /// The permission requests, in order.
    pub(super) requests: Vec<ScriptedRequest>,
    work: Result<Work, String>,
}

#[derive(Clone, Debug, PartialEq)]
enum Work {
    Read(PathBuf),
    Write { path: PathBuf, text: String, output: Value },
    Run { command: String, cwd: PathBuf },
}

/// Prepares the step's action; `None` if the step is not an action.
pub(super) fn prepare(
    step: &ScriptStep,
    scene: &PromptContext,
    id: &str,
) -> Option<ScriptedAction> {
    match step {
        ScriptStep::Read(path) => Some(read(scene, id, &scene.fill(path))),
        ScriptStep::Write(write) => {
            Some(create(scene, id, &scene.fill(&write.path), scene.fill(&write.text)))
        }
        ScriptStep::Edit(edit) => {
            let path = absolute(scene, &scene.fill(&edit.path));
            Some(replace(scene, id, path, &scene.fill(&edit.old), &scene.fill(&edit.new)))
        }
        ScriptStep::Run(command) => {
            let command = scene.fill_command(command);
            // Copilot shows the model's own description; ours is the command's first line.
            let title = command.lines().next().unwrap_or_default().chars().take(80).collect();
            Some(run(scene, id, title, command))
        }
        ScriptStep::Tick(text) => Some(tick(scene, id, &scene.fill(text))),
        ScriptStep::Progress(text) => Some(progress(scene, id, &scene.fill(text))),
        ScriptStep::Commit(change) => {
            let prefix =
                scene.prefix.clone().unwrap_or_else(|| format!("ralph({}): ", scene.task()));
            let message = format!("{prefix}[{}] - {}", scene.criterion, scene.fill(change));
            {
                let command = format!("git add -A && git commit -m {}", quote(&message));
                Some(run(scene, id, "Commit the work".to_owned(), command))
            }
        }
        ScriptStep::Say(_)
        | ScriptStep::Think(_)
        | ScriptStep::Plan(_)
        | ScriptStep::Usage(_)
        | ScriptStep::Sleep(_)
        | ScriptStep::Together(_)
        | ScriptStep::AskOnly(_)
        | ScriptStep::Hang
        | ScriptStep::Die(_)
        | ScriptStep::Flood(_)
        | ScriptStep::Line(_)
        | ScriptStep::Raw(_)
        | ScriptStep::Hex(_)
        | ScriptStep::Deep(_)
        | ScriptStep::Update(_)
        | ScriptStep::Error(_)
        | ScriptStep::Stop(_)
        | ScriptStep::Spawn(_) => None,
    }
}

fn read(scene: &PromptContext, id: &str, path: &str) -> ScriptedAction {
    let path = absolute(scene, path);
    let input = json!({"path": path});
    ScriptedAction {
        call: call(id, format!("Viewing {}", path.display()), "read", input, Some(&path), None),
        requests: outside(scene, &path).into_iter().collect(),
        work: Ok(Work::Read(path)),
    }
}

fn create(scene: &PromptContext, id: &str, path: &str, text: String) -> ScriptedAction {
    let path = absolute(scene, path);
    let before = std::fs::read_to_string(&path).ok();
    let input = json!({"path": path, "file_text": text});
    let title = format!("Creating {}", path.display());
    let change = (String::new(), text.clone());
    let message =
        format!("Created file {} with {} characters", path.display(), text.chars().count());
    change_file(scene, id, title, input, change, path, before, text, message)
}

fn replace(scene: &PromptContext, id: &str, path: PathBuf, old: &str, new: &str) -> ScriptedAction {
    let input = json!({"path": path, "old_str": old, "new_str": new});
    let title = format!("Editing {}", path.display());
    let text = match std::fs::read_to_string(&path) {
        Ok(before) => match before.matches(old).count() {
            1 => Ok((before.replacen(old, new, 1), before)),
            0 => Err("No match found".to_owned()),
            _ => Err("Multiple matches found".to_owned()),
        },
        Err(error) => Err(error.to_string()),
    };
    match text {
        Ok((text, before)) => {
            let change = (old.to_owned(), new.to_owned());
            let message = format!("File {} updated with changes.", path.display());
            change_file(scene, id, title, input, change, path, Some(before), text, message)
        }
        Err(why) => ScriptedAction {
            call: call(id, title, "edit", input, Some(&path), None),
            requests: Vec::new(),
            work: Err(why),
        },
    }
}

#[expect(clippy::too_many_arguments, reason = "create and edit differ in each of them")]
fn change_file(
    scene: &PromptContext,
    id: &str,
    title: String,
    input: Value,
    change: (String, String),
    path: PathBuf,
    before: Option<String>,
    text: String,
    message: String,
) -> ScriptedAction {
    let diff = unified(&path, before.as_deref(), &text);
    let name = if before.is_some() { "Edit file" } else { "Create file" };
    let mut requests: Vec<ScriptedRequest> = outside(scene, &path).into_iter().collect();
    requests.push(ScriptedRequest {
        title: name.to_owned(),
        kind: "edit",
        input: json!({"fileName": path, "diff": diff}),
    });
    ScriptedAction {
        call: call(id, title, "edit", input, Some(&path), Some(change)),
        requests,
        work: Ok(Work::Write { path, text, output: shapes::file_output(&message, &diff) }),
    }
}

fn run(scene: &PromptContext, id: &str, title: String, command: String) -> ScriptedAction {
    let input = json!({"command": command, "description": title});
    let request = ScriptedRequest {
        title: title.clone(),
        kind: "execute",
        input: json!({"command": command, "commands": [command]}),
    };
    ScriptedAction {
        call: call(id, title, "execute", input, None, None),
        requests: vec![request],
        work: Ok(Work::Run { command, cwd: scene.cwd.clone() }),
    }
}

fn tick(scene: &PromptContext, id: &str, criterion: &str) -> ScriptedAction {
    let path = task_file(scene, "TASK.md");
    let source = std::fs::read_to_string(&path).unwrap_or_default();
    let open = |found: &CheckBox<'_>| source.as_bytes()[found.mark] == b' ';
    let Some(found) = box_of(&source, criterion).filter(open) else {
        // Without an open box, fail as an agent's editing tool does.
        return replace(scene, id, path, &format!("[ ] {criterion}"), &format!("[x] {criterion}"));
    };
    let mut text = source.clone();
    text.replace_range(found.mark..=found.mark, "x");
    let change = (found.line.to_owned(), found.line.replacen("[ ]", "[x]", 1));
    let input = json!({"path": path, "old_str": change.0, "new_str": change.1});
    let title = format!("Editing {}", path.display());
    let message = format!("File {} updated with changes.", path.display());
    change_file(scene, id, title, input, change, path, Some(source), text, message)
}

fn progress(scene: &PromptContext, id: &str, text: &str) -> ScriptedAction {
    let path = task_file(scene, "progress.md");
    let before = std::fs::read_to_string(&path).ok();
    let line = format!("- {} {text}\n", scene.date);
    let Some(before) = before else {
        return create(scene, id, &path.to_string_lossy(), line);
    };
    let joint = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    let text = format!("{before}{joint}{line}");
    let last = before.lines().last().unwrap_or_default().to_owned();
    let change = (last.clone(), format!("{last}\n{}", line.trim_end()));
    let input = json!({"path": path, "old_str": change.0, "new_str": change.1});
    let title = format!("Editing {}", path.display());
    let message = format!("File {} updated with changes.", path.display());
    change_file(scene, id, title, input, change, path, Some(before), text, message)
}

fn task_file(scene: &PromptContext, name: &str) -> PathBuf {
    scene.cwd.join(scene.folder.as_deref().unwrap_or(Path::new(""))).join(name)
}

fn call(
    id: &str,
    title: String,
    kind: &'static str,
    input: Value,
    path: Option<&Path>,
    change: Option<(String, String)>,
) -> ScriptedCall {
    let path = path.map(|path| path.to_string_lossy().into_owned());
    ScriptedCall { id: id.to_owned(), title, kind, input, path, change }
}

fn absolute(scene: &PromptContext, path: &str) -> PathBuf {
    scene.cwd.join(path)
}

/// Copilot's extra request for a path outside the session's folder, also through a symlink; it
/// shows the path as written.
fn outside(scene: &PromptContext, path: &Path) -> Option<ScriptedRequest> {
    let home = scene.cwd.canonicalize().ok()?;
    (!resolved(path).starts_with(&home)).then(|| ScriptedRequest {
        title: "Access paths outside trusted directories".to_owned(),
        kind: "read",
        input: json!({"path": path}),
    })
}

/// The path with symlinks resolved as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut there = path;
    loop {
        if let Ok(real) = there.canonicalize() {
            return rest.iter().rev().fold(real, |mut whole, part: &Component<'_>| {
                if *part == Component::ParentDir {
                    whole.pop();
                } else {
                    whole.push(part);
                }
                whole
            });
        }
        let Some((parent, last)) = there.parent().zip(there.components().next_back()) else {
            return path.to_owned();
        };
        rest.push(last);
        there = parent;
    }
}

impl ScriptedAction {
    /// Performs the action; returns the tool's output.
    ///
    /// # Errors
    /// With the failed call's message.
    pub(super) async fn perform(&self) -> Result<Value, String> {
        match self.work.clone()? {
            Work::Read(path) => std::fs::read_to_string(&path)
                .map(|text| shapes::file_output(&text, &unified(&path, Some(&text), &text)))
                .map_err(|error| error.to_string()),
            Work::Write { path, text, output } => {
                if let Some(parent) = path.parent() {
                    std::fs::create_dir_all(parent).map_err(|error| error.to_string())?;
                }
                std::fs::write(&path, text).map_err(|error| error.to_string())?;
                Ok(output)
            }
            Work::Run { command, cwd } => shell(&command, &cwd).await,
        }
    }
}

/// Runs a command in its own process group, which is killed if the turn is cancelled.
async fn shell(command: &str, cwd: &Path) -> Result<Value, String> {
    let child = Command::new("sh")
        .args(["-c", command])
        .current_dir(cwd)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut group = Group(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
    let output = child.wait_with_output().await.map_err(|error| error.to_string())?;
    group.0 = None;
    let mut bytes = output.stdout;
    bytes.extend_from_slice(&output.stderr);
    bytes.truncate(OUTPUT);
    Ok(shapes::shell_output(
        &String::from_utf8_lossy(&bytes),
        exit_code(output.status),
        &cwd.to_string_lossy(),
    ))
}

/// The exit code as a shell reports it: 128 plus the signal's number.
fn exit_code(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}

/// A process group that is killed on drop.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // The group may be gone already.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
