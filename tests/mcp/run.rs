//! The run's own server: an agent whose turns are the official client lists its tools and calls
//! them.

use std::net::TcpStream;

use ralph_copilot::model::{Answer, Asked, Event, EventKind};
use serde_json::{Value, json};

use crate::mcp::{packages, tool};
use crate::repo::{Ran, Repo, finish};

/// A task with a rule about a tool.
const TASK: &str = "---\npolicy:\n  blocked_tools: [user_prefs]\n---\n# Demo\n\n- [ ] a is there\n  \
                    - verify: `test -e a.txt`\n";

const MEMORY: &str = ".ralph/memory/MEMORY.md";

/// Runs the task by an agent that carries out this plan; what it saw, if it did.
fn run(repo: &Repo, plan: &Value) -> Option<(Ran, Value)> {
    let home = packages()?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/agent.mjs");
    let (planned, seen) = (repo.beside("plan.json"), repo.beside("seen.json"));
    std::fs::write(&planned, plan.to_string()).expect("written");
    let words = [home.as_path(), &planned, &seen].map(|path| format!("'{}'", path.display()));
    let agent = format!("node '{script}' {}", words.join(" "));
    let args = ["run", "demo", "--agent", &agent, "--sandbox=off", "--json"];
    let mut command = repo.command(&args);
    command.args(["--stuck-threshold", "1", "--no-stop-check"]);
    let ran = finish(command);
    repo.is_in_order(&ran);
    let seen = std::fs::read_to_string(seen).unwrap_or_else(|_| "null".to_owned());
    Some((ran, serde_json::from_str(&seen).expect("JSON")))
}

fn decided(events: &[Event], name: &str) -> Vec<(Asked, Answer)> {
    let decided = events.iter().filter_map(|event| match &event.kind {
        EventKind::ToolDecided { tool, asked, answer, .. } if tool == name => {
            Some((*asked, *answer))
        }
        _ => None,
    });
    decided.collect()
}

fn asked(mut call: Value) -> Value {
    call["asks"] = json!(true);
    call
}

#[test]
fn every_tool_is_listed_called_decided_and_recorded() {
    let repo = Repo::with(TASK, &[(MEMORY, "use pnpm\n"), (".ralph/USER.md", "short names\n")]);
    let calls = [
        tool("memory_search", json!({"query": "pnpm"})),
        asked(tool("memory_read", json!({}))),
        tool("user_prefs", json!({})),
        asked(tool("user_prefs", json!({}))),
        tool("memory_search", json!({})),
        tool("other", json!({})),
    ];
    let Some((ran, seen)) = run(&repo, &json!({"calls": calls})) else { return };
    assert_eq!(ran.code, Some(4), "{}\n{seen}", ran.stdout);
    assert_eq!(seen["outside"], json!([401, 401, 403, 403, 404]), "{seen}");
    let tools = seen["tools"].as_array().expect("tools");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["memory_search", "memory_read", "user_prefs", "report_blocked"]);
    assert!(tools.iter().take(3).all(|tool| tool["annotations"]["readOnlyHint"] == true));
    let text = |at: usize| seen["results"][at]["text"].as_str().unwrap_or_default();
    assert_eq!(text(0), "[MEMORY.md] (score: 1.00) use pnpm");
    assert_eq!(text(1), "use pnpm\n");
    assert!(text(2).contains("user_prefs is blocked"), "{seen}");
    assert_eq!(seen["results"][3]["refused"], true, "{seen}");
    assert_eq!((text(4), &seen["results"][4]["isError"]), ("`query` is missing", &json!(true)));
    assert!(text(5).starts_with("NOT_FOUND: "), "{seen}");

    let events = ran.events();
    let (server, permission) = (Asked::Server, Asked::Permission);
    let (yes, no) = (Answer::Allow, Answer::Deny);
    assert_eq!(decided(&events, "memory_search"), [(server, yes), (server, yes)]);
    assert_eq!(decided(&events, "memory_read"), [(permission, yes)], "its permission counts");
    assert_eq!(decided(&events, "user_prefs"), [(server, no), (permission, no)]);
    let audit = repo.path(".ralph/audit");
    let audit = std::fs::read_dir(audit).expect("the audit").flatten();
    let audit: String =
        audit.map(|file| std::fs::read_to_string(file.path()).expect("text")).collect();
    let results: Vec<Value> = audit
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|line: &Value| line["hookType"] == "post_tool_use")
        .collect();
    let recorded: Vec<&str> = results.iter().filter_map(|line| line["toolName"].as_str()).collect();
    assert_eq!(recorded[..2], ["memory_search", "memory_read"], "{recorded:?}");
    assert_eq!(results[0]["output"], text(0));
    assert!(results[0]["elapsedMs"].is_number(), "{}", results[0]);

    // The token is nowhere, and the server is gone with the run.
    let token = seen["authorization"].as_str().and_then(|value| value.strip_prefix("Bearer "));
    let token = token.expect("a bearer token");
    let run = std::fs::read_dir(repo.path(".ralph/runs")).expect("runs").flatten();
    for file in run
        .filter(|run| run.path().is_dir())
        .flat_map(|run| std::fs::read_dir(run.path()).expect("files").flatten().collect::<Vec<_>>())
    {
        let text = std::fs::read(file.path()).unwrap_or_default();
        let found = String::from_utf8_lossy(&text).contains(token);
        assert!(!found, "{} holds the token", file.path().display());
    }
    let address = seen["url"].as_str().and_then(|url| url.split('/').nth(2)).expect("an address");
    assert!(TcpStream::connect(address).is_err(), "the server is still there");
}

#[test]
fn an_agent_without_servers_over_http_gets_none_and_the_run_says_so() {
    let repo = Repo::with(TASK, &[(MEMORY, "use pnpm\n")]);
    let Some((ran, seen)) = run(&repo, &json!({"calls": [], "http": false})) else { return };
    assert_eq!((ran.code, &seen), (Some(4), &Value::Null), "{}", ran.stdout);
    assert!(ran.stdout.contains("takes no MCP servers over http"), "{}", ran.stdout);
}

#[test]
fn memory_that_the_repository_may_not_name_stops_the_run() {
    let config = "[memory]\ndir = \"../elsewhere\"\n";
    let repo = Repo::with(TASK, &[(".ralph/config.toml", config)]);
    let ran = repo.ralph(&["run", "demo", "--agent", "true"]);
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
    assert!(ran.stderr.contains("`memory.dir`"), "{}", ran.stderr);
    let dry = repo.ralph(&["run", "demo", "--agent", "true", "--dry-run"]);
    assert_eq!((dry.code, &dry.stderr), (Some(7), &ran.stderr));
}
