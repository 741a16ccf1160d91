//! `mcp serve`: the official client lists and calls every tool.

use std::process::Command;

use ralph_copilot::mcp::TOOL_NAMES;
use serde_json::{Value, json};

use crate::mcp::{Seen, client, server, tool};
use crate::repo::{Repo, processes_of};
use crate::{HONEST, TASK};

/// The server in a repository with a scripted agent.
fn serve(repo: &Repo, script: &str, args: &[&str]) -> Command {
    let agent = repo.agent(script);
    let mut command = repo.command(&[&["mcp", "serve"], args].concat());
    command.env("RALPH_COPILOT_AGENT", agent);
    command
}

fn plan(command: &Command, calls: &[Value]) -> Value {
    json!({"server": server(command), "calls": calls})
}

fn json_of(seen: &Seen, at: usize) -> Value {
    let (_, text) = seen.result(at);
    serde_json::from_str(text).expect(text)
}

#[test]
fn the_loop_checks_runs_and_shows_a_task() {
    let repo = Repo::new(TASK);
    let command = serve(&repo, HONEST, &["--allow-task", "demo"]);
    let task = json!({"task": "demo"});
    let calls = [
        tool("check_task", task.clone()),
        tool("policy_check", json!({"command": "git push"})),
        tool("run_task", json!({"task": "demo", "wait": true})),
        tool("task_status", task.clone()),
        tool("task_log", json!({"task": "demo", "lines": 3})),
        tool("check_task", json!({"task": "--help"})),
        tool("run_task", json!({"task": "other"})),
        tool("task_log", json!({"task": "demo", "lines": 0})),
        tool("no_such_tool", json!({})),
    ];
    let Some(seen) = client(&plan(&command, &calls)) else { return };
    let loop_tools = ["check_task", "run_task", "task_status", "task_log", "policy_check"];
    assert_eq!(seen.tools(), loop_tools);
    for tool in seen.0["tools"].as_array().expect("tools") {
        assert_eq!(tool["inputSchema"]["type"], "object");
        assert_eq!(tool["inputSchema"]["properties"]["_depth"]["default"], 0);
        assert_eq!(tool["annotations"]["readOnlyHint"], tool["name"] != "run_task");
    }
    assert_eq!(json_of(&seen, 0)["criteria"][0]["text"], "a is there");
    assert_eq!(json_of(&seen, 1)["rule"], "git.push");
    assert!(!seen.result(1).0, "a denial is an answer");
    let ran = json_of(&seen, 2);
    assert_eq!((&ran["exit_code"], &ran["outcome"]), (&json!(0), &json!("proven")), "{ran}");
    assert!(seen.0["results"][2]["progress"].as_array().is_some_and(|it| it.len() > 3));
    assert_eq!(json_of(&seen, 3)["criteria"][0]["checked"], true);
    let (failed, log) = seen.result(4);
    assert!(!failed && log.lines().count() == 3 && log.contains("proven"), "{log}");
    let (failed, text) = seen.result(5);
    assert!(failed && text.contains("--help"), "{text}");
    assert!(seen.result(6).0 && seen.result(6).1.contains("allowed: demo"));
    assert!(seen.result(7).0 && seen.result(7).1.contains("from 1 to 1000"));
    // An unknown tool is an error of the protocol.
    assert_eq!(seen.0["results"][8]["code"], -32602);
    let run = ran["run"].as_str().expect("a run");
    assert_eq!(processes_of(run), Vec::<String>::new());
    assert!(repo.task().contains("- [x] a is there"));
}

#[test]
fn one_run_at_a_time_and_a_cancelled_call_ends_it() {
    let repo = Repo::new(TASK);
    let command =
        serve(&repo, "turns: [{steps: [{run: ls}, {hang: }]}]", &["--allow-task", "demo"]);
    let mut cancelled = tool("run_task", json!({"task": "demo", "wait": true}));
    cancelled["cancel"] = json!(true);
    let run = || tool("run_task", json!({"task": "demo"}));
    // The second waits for the end of the first, which the client no longer hears of.
    let calls = [cancelled, run(), run()];
    let Some(seen) = client(&plan(&command, &calls)) else { return };
    let busy: Vec<_> =
        (1..3).filter(|at| seen.result(*at).1.contains("only one runs at a time")).collect();
    assert!(!busy.is_empty(), "{:?}", seen.0["results"]);
    for folder in std::fs::read_dir(repo.path(".ralph/runs")).expect("runs").flatten() {
        let name = folder.file_name().to_string_lossy().into_owned();
        assert_eq!(processes_of(&name), Vec::<String>::new(), "{name}");
    }
}

/// TASK.md may change between the server's look at it and the run's.
#[test]
fn a_run_refuses_a_task_that_is_not_the_one_that_was_allowed() {
    let repo = Repo::new(TASK);
    let ran = repo.run(HONEST, &["--only-as", &"0".repeat(64)]);
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
    assert!(ran.stderr.contains("has changed since the server started"), "{}", ran.stderr);
    assert!(repo.task().contains("- [ ] a is there"));
}

#[test]
fn depth_is_counted_before_anything_starts() {
    let repo = Repo::new(TASK);
    let all = ["--tools", "loop", "--tools", "plugin", "--tools", "bridge", "--tools", "memory"];
    let args = [&all[..], &["--allow-task", "demo"]].concat();
    let mut command = serve(&repo, HONEST, &args);
    let seen = client(&plan(&command, &[]));
    let Some(seen) = seen else { return };
    // A provider's tool must not have the name of any of them.
    assert!(seen.tools().iter().all(|name| TOOL_NAMES.contains(name)), "{:?}", seen.tools());
    let calls: Vec<Value> =
        seen.tools().iter().map(|name| tool(name, json!({"_depth": 3}))).collect();
    let told = client(&plan(&command, &calls)).expect("a client");
    command.env("RALPH_COPILOT_DEPTH", "3");
    let calls: Vec<Value> =
        seen.tools().iter().map(|name| tool(name, json!({"_depth": 0}))).collect();
    let inherited = client(&plan(&command, &calls)).expect("a client");
    for seen in [told, inherited] {
        for at in 0..calls.len() {
            assert_eq!(seen.result(at), (true, "Maximum call depth (3) exceeded"));
        }
    }
    let odd = [tool("check_task", json!({"task": "demo", "_depth": -1}))];
    let odd = client(&plan(&serve(&repo, HONEST, &[]), &odd)).expect("a client");
    assert!(odd.result(0).0 && odd.result(0).1.contains("_depth"), "{:?}", odd.result(0));
}

#[test]
fn code_tasks_are_guarded_sessions_with_numbers() {
    let repo = Repo::new(TASK);
    let script =
        "turns: [{steps: [{say: Hello.}, {write: {path: b.txt, text: b}}, {run: git push}]}]";
    let args = ["--tools", "plugin", "--tools", "bridge"];
    let command = serve(&repo, script, &args);
    let calls = [
        tool("copilot_code", json!({"task": "write b"})),
        tool("copilot_code_verbose", json!({"task": "write b"})),
        tool("copilot_code_task", json!({"prompt": "write b", "workingDir": "tasks"})),
        tool("copilot_code_task", json!({"prompt": "write b", "workingDir": ".."})),
        tool("copilot_code_task", json!({"prompt": "write b", "sessionId": "../x"})),
        tool("copilot_code_task", json!({})),
    ];
    let Some(seen) = client(&plan(&command, &calls)) else { return };
    let names = seen.tools();
    let first =
        ["copilot_code", "copilot_code_verbose", "copilot_code_task", "copilot_orchestrate"];
    assert_eq!(names[..4], first);
    let timeout = &seen.0["tools"][2]["inputSchema"]["properties"]["timeout"];
    assert_eq!(timeout["default"], 120_000);
    let (failed, text) = seen.result(0);
    assert!(!failed, "{text}");
    for part in ["Hello.", "## Tool calls", "## Stats", "sessionId: `", "denied"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(repo.read("b.txt"), "b");
    assert!(seen.result(1).1.contains("## Execution log\n\n1. "), "{}", seen.result(1).1);
    assert_eq!(repo.read("tasks/b.txt"), "b", "{}", seen.result(2).1);
    assert!(seen.result(3).0 && seen.result(3).1.contains("outside"));
    assert!(seen.result(4).0 && seen.result(4).1.contains("sessionId"));
    assert!(seen.result(5).0 && seen.result(5).1.contains("`prompt` is missing"));
    let audit = std::fs::read_dir(repo.path(".ralph/audit")).expect("an audit").flatten().next();
    let audit = std::fs::read_to_string(audit.expect("a day").path()).expect("lines");
    assert!(audit.contains("git.push") && audit.contains("\"deny\""), "{audit}");
    assert!(!repo.status().contains(".ralph"), "{}", repo.status());
}

#[test]
fn a_code_task_ends_in_time_and_the_next_one_runs() {
    let repo = Repo::new(TASK);
    let script = "memory: seen.txt\nturns: [{times: 1, steps: [{run: ls}, {hang: }]}, {steps: [{say: Second.}]}]";
    let command = serve(&repo, script, &["--tools", "bridge"]);
    let calls = [
        tool("copilot_code_task", json!({"prompt": "a", "timeout": 1500})),
        tool("copilot_code_task", json!({"prompt": "b"})),
    ];
    let Some(seen) = client(&plan(&command, &calls)) else { return };
    assert!(seen.result(0).0, "{}", seen.result(0).1);
    let (failed, text) = seen.result(1);
    assert!(!failed && text.contains("Second."), "{text}");
}

#[test]
fn files_and_memory_are_read_and_nothing_is_overwritten() {
    let repo = Repo::with(TASK, &[(".ralph/memory/MEMORY.md", "use pnpm\n"), (".env", "A=1\n")]);
    let command = serve(&repo, HONEST, &["--tools", "bridge", "--tools", "memory"]);
    let calls = [
        tool("copilot_list_files", json!({})),
        tool("copilot_read_file", json!({"path": "README.md"})),
        tool("copilot_create_file", json!({"path": "src/new.rs", "content": "new\n"})),
        tool("copilot_create_file", json!({"path": "README.md", "content": "mine"})),
        tool("copilot_read_file", json!({"path": ".env"})),
        tool("copilot_create_file", json!({"path": ".git/hooks/pre-commit", "content": "x"})),
        tool("copilot_read_file", json!({"path": "../home/x"})),
        tool("memory_search", json!({"query": "pnpm"})),
        tool("memory_read", json!({})),
        tool("user_prefs", json!({})),
    ];
    let Some(seen) = client(&plan(&command, &calls)) else { return };
    assert!(seen.result(0).1.contains("README.md\n"), "{}", seen.result(0).1);
    assert_eq!(seen.result(1), (false, "# A project\n"));
    assert!(!seen.result(2).0 && repo.read("src/new.rs") == "new\n");
    for at in 3..7 {
        assert!(seen.result(at).0, "{at}: {}", seen.result(at).1);
    }
    assert_eq!(repo.read("README.md"), "# A project\n");
    assert_eq!(seen.result(7), (false, "[MEMORY.md] (score: 1.00) use pnpm"));
    assert_eq!(seen.result(8), (false, "use pnpm\n"));
    assert_eq!(seen.result(9), (true, "USER.md not found"));
}

/// Values that only a secret file of the repository holds, also one that is newer than the server.
#[test]
fn values_of_the_workspaces_secret_files_are_in_no_result() {
    let secret = "Zx98Yw76Vu54Ts32";
    let env = format!("API_KEY={secret}\n");
    let note = format!("the key is {secret}, they say\n");
    let repo = Repo::with(
        TASK,
        &[("note.txt", &note), (".ralph/memory/MEMORY.md", &note), (".gitignore", ".env\n")],
    );
    repo.write(".env", &env);
    let command = serve(&repo, HONEST, &["--tools", "bridge", "--tools", "memory"]);
    let calls = [
        tool("copilot_read_file", json!({"path": "note.txt"})),
        tool("memory_read", json!({})),
        tool("memory_search", json!({"query": "key"})),
        tool("copilot_create_file", json!({"path": "new.txt", "content": note})),
    ];
    let Some(seen) = client(&plan(&command, &calls)) else { return };
    for at in 0..3 {
        let (failed, text) = seen.result(at);
        assert!(!failed && text.contains("the key is [REDACTED]"), "{text}");
    }
    assert_eq!(repo.read("new.txt"), note);
    let audit = std::fs::read_dir(repo.path(".ralph/audit")).expect("an audit").flatten().next();
    let audit = std::fs::read_to_string(audit.expect("a day").path()).expect("lines");
    assert!(!audit.contains(secret), "{audit}");
}

#[test]
fn no_link_leads_file_tools_out_of_the_folder() {
    let repo = Repo::new(TASK);
    let outside = repo.beside("outside");
    std::fs::create_dir(&outside).expect("made");
    std::fs::write(outside.join("note.txt"), "theirs\n").expect("written");
    for (to, link) in [(outside.clone(), "out"), (outside.join("new.txt"), "dangling")] {
        std::os::unix::fs::symlink(to, repo.path(link)).expect("a link");
    }
    std::os::unix::fs::symlink("README.md", repo.path("inner")).expect("a link");
    let command = serve(&repo, HONEST, &["--tools", "bridge"]);
    let calls = [
        tool("copilot_read_file", json!({"path": "out/note.txt"})),
        tool("copilot_list_files", json!({"directory": "out"})),
        tool("copilot_create_file", json!({"path": "out/new.txt", "content": "x"})),
        tool("copilot_create_file", json!({"path": "dangling", "content": "x"})),
        tool("copilot_read_file", json!({"path": "inner"})),
        tool("copilot_list_files", json!({"directory": "tasks"})),
    ];
    let Some(seen) = client(&plan(&command, &calls)) else { return };
    for at in 0..4 {
        assert!(seen.result(at).0 && seen.result(at).1.contains("denied"), "{:?}", seen.result(at));
    }
    assert_eq!(std::fs::read_dir(outside).expect("listed").count(), 1);
    assert_eq!(seen.result(4), (false, "# A project\n"), "a link that stays inside is followed");
    assert_eq!(seen.result(5), (false, "demo/"));
}

#[test]
fn only_the_users_configuration_leads_memory_out_of_the_repository() {
    let repo = Repo::with(TASK, &[(".ralph/config.toml", "[memory]\ndir = \"../home/notes\"\n")]);
    let ran = repo.ralph(&["mcp", "serve", "--tools", "memory"]);
    assert_eq!(ran.code, Some(7));
    assert!(ran.stderr.contains("`memory.dir`") && ran.stderr.contains("out of the repository"));
    let repo = Repo::new(TASK);
    let config = repo.beside("home/.config/ralph-copilot");
    std::fs::create_dir_all(&config).expect("made");
    std::fs::write(config.join("config.toml"), "[memory]\nopenclaw = true\n").expect("written");
    let own = repo.beside("home/.openclaw");
    std::fs::create_dir_all(own.join("memory")).expect("made");
    std::fs::write(own.join("memory/MEMORY.md"), "claw\n").expect("written");
    std::fs::write(own.join("USER.md"), "tabs\n").expect("written");
    let command = serve(&repo, HONEST, &["--tools", "memory"]);
    let calls = [tool("openclaw_memory_read", json!({})), tool("openclaw_user_prefs", json!({}))];
    let Some(seen) = client(&plan(&command, &calls)) else { return };
    assert_eq!((seen.result(0), seen.result(1)), ((false, "claw\n"), (false, "tabs\n")));
}
