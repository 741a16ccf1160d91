//! The real Copilot CLI behind code tasks, and as a client that hands a task to the loop.

use serde_json::json;

use crate::copilot::Scene;
use crate::mcp::{Seen, client, server, tool};
use crate::model::{Model, Step, bash, call, route, say, tool_results};

const ONE: &str = "# Demo\n\n- [ ] one\n  - verify: `sh check.sh one`\n";

/// What the agent of the loop does.
fn honest(scene: &Scene) -> Vec<Step> {
    let task = scene.repo().join("tasks/job/TASK.md");
    let out = scene.repo().join("out/one.txt");
    vec![
        bash("mkdir -p out"),
        call("create", json!({"path": out, "file_text": "one\n"})),
        call("edit", json!({"path": task, "old_str": "- [ ] one\n", "new_str": "- [x] one\n"})),
        bash("echo \"- $(date +%F) one is written\" >> tasks/job/progress.md"),
        bash("git add -A && git commit -m 'ralph(job): [one] - write it'"),
        say("Done: one."),
    ]
}

/// The id in a result.
fn session(seen: &Seen, at: usize) -> String {
    let (failed, text) = seen.result(at);
    assert!(!failed, "{text}");
    let (_, rest) = text.split_once("sessionId: `").expect("an id");
    rest.split('`').next().expect("an id").to_owned()
}

#[test]
fn a_code_task_is_guarded_and_its_session_goes_on_after_a_restart() {
    let Some(scene) = Scene::new(ONE) else { return };
    let remote = scene.add_remote();
    let first = [bash("echo hi > made.txt"), bash("git push origin HEAD"), say("Made it.")];
    let model = Model::start([
        route("make a file", first),
        route("and another", [bash("echo ho > more.txt"), say("More.")]),
    ]);
    let scene = scene.with(&model);
    let command = scene.command(&["mcp", "serve", "--tools", "bridge"]);
    let plan = |arguments: serde_json::Value| {
        let calls = [tool("copilot_code_task", arguments)];
        json!({"server": server(&command), "calls": calls})
    };
    let Some(seen) = client(&plan(json!({"prompt": "make a file", "timeout": 120_000}))) else {
        return;
    };
    let id = session(&seen, 0);
    assert!(seen.result(0).1.contains("Made it."), "{}", seen.result(0).1);
    assert_eq!(scene.read("made.txt"), "hi\n");
    let told = model.requests().last().map(tool_results).unwrap_or_default();
    assert!(told.iter().any(|result| result.contains("git.push")), "{told:?}");
    let refs = std::process::Command::new("git").args(["-C", &remote, "for-each-ref"]).output();
    assert_eq!(refs.expect("git").stdout, b"", "something was pushed");
    // Another server: the session is the CLI's, and has the history.
    let again = json!({"prompt": "and another", "sessionId": id, "timeout": 120_000});
    let seen = client(&plan(again)).expect("a client");
    assert_eq!(session(&seen, 0), id);
    assert_eq!(scene.read("more.txt"), "ho\n");
    let last = model.requests().last().expect("a request").to_string();
    assert!(last.contains("make a file") && last.contains("and another"), "{last}");
    let left: Vec<_> = std::fs::read_dir(scene.tmp()).expect("tmp").flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    let unknown = json!({"prompt": "x", "sessionId": "00000000-0000-0000-0000-000000000000"});
    let seen = client(&plan(unknown)).expect("a client");
    assert!(seen.result(0).0, "{}", seen.result(0).1);
}

/// Writes a file of this name, and hands it in.
fn part(scene: &Scene, name: &str, command: &str) -> Vec<Step> {
    let task = scene.repo().join("tasks/both-sides/TASK.md");
    let (open, done) = (format!("- [ ] write {name}\n"), format!("- [x] write {name}\n"));
    vec![
        bash(&format!("{command} > {name}.txt")),
        call("edit", json!({"path": task, "old_str": open, "new_str": done})),
        bash(&format!("git add -A && git commit -m 'ralph(both-sides): [write {name}] - it'")),
        say(format!("Wrote {name}.")),
    ]
}

#[test]
fn the_real_cli_plans_without_writing_and_works_on_the_sub_tasks() {
    let Some(scene) = Scene::new(ONE) else { return };
    let plan = r#"{"tasks": [{"id": "left", "description": "write left"},
        {"id": "right", "description": "write right"}], "dependencies": {"left": ["right"]}}"#;
    let model = Model::start([
        route("Divide the goal", [bash("touch planned.txt"), bash("ls"), say(plan)]),
        route("Focus on: write right", part(&scene, "right", "echo r")),
        route("Focus on: write left", part(&scene, "left", "cat right.txt")),
    ]);
    let scene = scene.with(&model);
    let command = scene.command(&["mcp", "serve", "--tools", "plugin"]);
    let calls = [tool("copilot_orchestrate", json!({"task": "both sides", "timeout": 120_000}))];
    let Some(seen) = client(&json!({"server": server(&command), "calls": calls})) else { return };
    let (failed, text) = seen.result(0);
    assert!(!failed && text.starts_with("2/2 tasks succeeded, 0 skipped, 0 failed\n"), "{text}");
    assert!(text.contains("### left: write left\n\n**succeeded**"), "{text}");
    assert_eq!(scene.read("left.txt"), "r\n");
    assert!(!scene.repo().join("planned.txt").exists(), "the planner wrote");
    let requests = model.requests();
    let planning = requests.iter().filter(|it| it.to_string().contains("Divide the goal"));
    let told: Vec<String> = planning.flat_map(tool_results).collect();
    assert!(told.iter().any(|result| result.contains("approval.human")), "{told:?}");
    let left: Vec<_> = std::fs::read_dir(scene.tmp()).expect("tmp").flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Lets the CLI call `run_task` in a server that starts at this depth; what the model was told.
fn hand_over(depth: &str) -> Option<(Scene, String)> {
    let scene = Scene::new(ONE)?;
    let run = call("loop-run_task", json!({"task": "job", "wait": true}));
    let model = Model::start([
        route("Focus on: one", honest(&scene)),
        route("hand it over", [run, say("Handed over.")]),
    ]);
    let scene = scene.with(&model);
    let command = scene.command(&["mcp", "serve", "--allow-task", "job"]);
    let mut entry = server(&command);
    entry["type"] = json!("local");
    entry["tools"] = json!(["*"]);
    entry["timeout"] = json!(150_000);
    entry["env"]["RALPH_COPILOT_DEPTH"] = json!(depth);
    let config = scene.tmp().join("mcp.json");
    std::fs::write(&config, json!({"mcpServers": {"loop": entry}}).to_string()).expect("written");
    let config = format!("@{}", config.display());
    let words = ["-p", "hand it over", "--allow-all-tools", "--additional-mcp-config", &config];
    scene.cli(&words).expect(0);
    let requests = model.requests();
    let told: Vec<String> = requests
        .iter()
        .filter(|request| request.to_string().contains("hand it over"))
        .flat_map(tool_results)
        .collect();
    Some((scene, told.join("\n")))
}

#[test]
fn the_real_cli_hands_a_task_to_the_loop_which_drives_the_real_cli() {
    let Some((scene, told)) = hand_over("1") else { return };
    assert!(told.contains("\"outcome\":\"proven\""), "{told}");
    assert!(scene.read("tasks/job/TASK.md").contains("- [x] one"));
    scene.assert_no_process_left();
}

#[test]
fn a_loop_three_agents_deep_does_not_start() {
    let Some((scene, told)) = hand_over("2") else { return };
    assert!(told.contains("nested 3 deep"), "{told}");
    assert!(scene.read("tasks/job/TASK.md").contains("- [ ] one"));
}

/// The entry is for all of the user's folders.
#[test]
fn the_real_cli_outside_of_a_repository_gets_the_tools_and_is_told_what_they_need() {
    let Some(scene) = Scene::new(ONE) else { return };
    let check = call("ralph-copilot-check_task", json!({"task": "job"}));
    let model = Model::start([route("check the job", [check, say("Checked.")])]);
    let scene = scene.with(&model);
    let installed = scene.command(&["mcp", "install", "copilot"]).output().expect("started");
    assert!(installed.status.success(), "{installed:?}");
    let outside = scene.tmp().join("outside");
    std::fs::create_dir(&outside).expect("made");
    scene.cli_in(&outside, &["-p", "check the job", "--allow-all-tools"]).expect(0);
    let told: Vec<String> = model.requests().iter().flat_map(tool_results).collect();
    let why = "is not inside a git repository: start the MCP client in a repository";
    assert!(told.iter().any(|result| result.contains(why)), "{told:?}");
}
