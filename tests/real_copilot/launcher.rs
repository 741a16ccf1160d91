//! A nested launch of the CLI stays under a guard: its own, or that of the run that it is
//! part of. Without its hook in force the CLI runs nothing.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixListener;

use serde_json::Value;

use super::copilot::Scene;
use super::model::{Model, Step, bash, route, say, tool_results};

const WRITE: &str = "echo hi > made.txt";
const PUSH: &str = "git push origin HEAD";

fn steps() -> Vec<Step> {
    vec![bash(WRITE), bash(PUSH), say("Done.")]
}

/// The scene, and the model that asks for one command that passes and one that does not.
fn scene() -> Option<(Scene, Model, String)> {
    let scene = Scene::new("- [ ] one\n")?;
    let remote = scene.add_remote();
    let model = Model::start([route("do it", steps())]);
    let scene = scene.with(&model);
    Some((scene, model, remote))
}

/// What the model was told about its two calls.
pub(crate) fn told(model: &Model) -> Vec<String> {
    model.requests().last().map(tool_results).unwrap_or_default()
}

/// The audit, entry by entry.
pub(crate) fn audited(scene: &Scene) -> Vec<Value> {
    let folder = scene.repo().join(".ralph/audit");
    let file = std::fs::read_dir(folder).expect("audit").next().expect("a day").expect("entry");
    let text = std::fs::read_to_string(file.path()).expect("audit");
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

#[test]
fn a_launch_of_its_own_is_guarded_and_audited() {
    let Some((scene, model, remote)) = scene() else { return };
    let words = ["copilot", "--", "--allow-all-tools", "-p", "do it"];
    let ended = scene.run(&words).expect(0);
    assert!(ended.stdout.contains("Done."), "{}", ended.stdout);
    assert_eq!(scene.read("made.txt"), "hi\n");
    let told = told(&model);
    assert!(told.iter().any(|result| result.contains("git.push")), "{told:?}");
    let refs = std::process::Command::new("git").args(["-C", &remote, "for-each-ref"]).output();
    assert_eq!(refs.expect("git").stdout, b"", "something was pushed");
    let lines = audited(&scene);
    let decisions: Vec<_> = lines
        .iter()
        .filter(|line| line["hookType"] == "pre_tool_use" && line["asked"] == "hook")
        .filter_map(|line| line["decision"].as_str())
        .collect();
    assert_eq!(decisions, ["allow", "deny"], "{lines:?}");
    assert_eq!(scene.git(&["status", "--porcelain"]), "?? made.txt");
    let left: Vec<_> = std::fs::read_dir(scene.tmp()).expect("tmp").flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The CLI works where it was started, and so it must be judged from there.
#[test]
fn a_launch_in_a_folder_is_judged_from_that_folder() {
    let Some(scene) = Scene::new("- [ ] one\n") else { return };
    let (allowed, denied) = (bash("echo hi > made.txt"), bash("echo '- [x] one' > TASK.md"));
    let model = Model::start([
        route("in the task", [denied, say("Done.")]),
        route("in a folder", [allowed, say("Done.")]),
    ]);
    let scene = scene.with(&model);
    scene.run(&["-C", "tasks/job", "copilot", "--", "-p", "in the task"]).expect(0);
    assert_eq!(scene.read("tasks/job/TASK.md"), "- [ ] one\n", "{:?}", told(&model));
    scene.write("deeper/here", "");
    scene.run(&["-C", "deeper", "copilot", "-p", "in a folder"]).expect(0);
    assert_eq!(scene.read("deeper/made.txt"), "hi\n", "{:?}", told(&model));
    // The CLI may leave the repository by a flag of its own; nothing runs there.
    let model = Model::start([route("outside", [bash("echo hi > made.txt"), say("Done.")])]);
    let scene = scene.with(&model);
    let outside = scene.tmp().display().to_string();
    scene.run(&["copilot", "--", "-C", &outside, "-p", "outside"]).expect(0);
    assert!(!scene.tmp().join("made.txt").exists(), "{:?}", told(&model));
}

#[test]
fn where_hooks_are_switched_off_nothing_runs_and_the_launch_fails() {
    let Some((scene, model, _)) = scene() else { return };
    scene.disable_hooks();
    let ended = scene.run(&["copilot", "--", "--yolo", "-p", "do it"]).expect(125);
    assert!(ended.stderr.contains("was not active"), "{}", ended.stderr);
    assert!(!scene.has("made.txt"), "{:?}", told(&model));
}

#[test]
fn narrow_permissions_of_the_caller_still_count() {
    let Some((scene, model, _)) = scene() else { return };
    scene.run(&["copilot", "--", "--allow-tool=shell(git:*)", "-p", "do it"]).expect(0);
    assert!(!scene.has("made.txt"), "{:?}", told(&model));
}

#[test]
fn a_launch_within_a_run_asks_the_run() {
    let Some((mut scene, model, _)) = scene() else { return };
    let socket = scene.tmp().join("guard.sock");
    let listener = UnixListener::bind(&socket).expect("socket");
    let asked = std::thread::spawn(move || {
        let mut asked = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.expect("a hook");
            let mut question = String::new();
            stream.read_to_string(&mut question).expect("a question");
            if question.is_empty() {
                // The launch looks whether anybody is there.
                continue;
            }
            let denied = question.starts_with("preToolUse\n") && question.contains("git push");
            let answer = match question.lines().next() {
                Some("preToolUse") if denied => {
                    r#"{"permissionDecision":"deny","permissionDecisionReason":"the run says no"}"#
                }
                Some("permit") => r#"{"behavior":"allow"}"#,
                _ => "{}",
            };
            stream.write_all(answer.as_bytes()).expect("an answer");
            let event = question.lines().next().unwrap_or_default().to_owned();
            let over = event == "sessionEnd";
            asked.push(event);
            if over {
                return asked;
            }
        }
        asked
    });
    scene.set("RALPH_COPILOT_SOCKET", &socket.display().to_string());
    scene.run(&["copilot", "--", "-p", "do it"]).expect(0);
    assert_eq!(scene.read("made.txt"), "hi\n");
    let told = told(&model);
    assert!(told.iter().any(|result| result.contains("the run says no")), "{told:?}");
    let asked = asked.join().expect("the run");
    assert_eq!(asked.iter().filter(|event| *event == "preToolUse").count(), 2, "{asked:?}");
}
