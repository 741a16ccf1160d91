//! The run's own MCP server, as the CLI uses it: memory, and what the guard says about it.

use std::path::{Path, PathBuf};

use ralph_copilot::model::{Answer, Asked, CallStatus, Event, EventKind};
use serde_json::{Value, json};

use super::copilot::Scene;
use super::model::{Model, Step, bash, call, route, say, tool_names, tool_results};
use super::{ONE, focus, honest};

/// What was decided about the calls of a tool: layer, answer, and rule.
pub(crate) fn decided(journal: &[Event], name: &str) -> Vec<(Asked, Answer, String)> {
    let decisions = journal.iter().filter_map(|event| match &event.kind {
        EventKind::ToolDecided { tool, asked, answer, rule, .. } if tool == name => {
            Some((*asked, *answer, rule.clone()))
        }
        _ => None,
    });
    decisions.collect()
}

/// How the calls of the run ended.
fn ended(journal: &[Event]) -> Vec<CallStatus> {
    let calls = journal.iter().filter_map(|event| match &event.kind {
        EventKind::ToolFinished { call, .. } => Some(call.status),
        _ => None,
    });
    calls.collect()
}

/// The results in the audit of a tool's calls.
pub(crate) fn audited(scene: &Scene, tool: &str) -> Vec<Value> {
    let folder = scene.repo().join(".ralph/audit");
    let files = std::fs::read_dir(folder).expect("the audit").flatten();
    let text: String = files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines
        .filter(|line| line["hookType"] == "post_tool_use" && line["toolName"] == tool)
        .map(|line| line["output"].clone())
        .collect()
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path()).filter(|path| !path.is_symlink());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// A scene with memory.
fn with_memory(task: &str) -> Option<Scene> {
    let scene = Scene::new(task)?;
    scene.commit(".ralph/memory/MEMORY.md", "Install with pnpm, never with npm.\n");
    scene.commit(".ralph/USER.md", "Prefers short names.\n");
    Some(scene)
}

/// What the model was told about each of its calls, in order.
fn told(model: &Model) -> Vec<String> {
    model.requests().last().map(tool_results).unwrap_or_default()
}

fn reads_memory(args: &[&str], wrapped: bool) {
    let Some(mut scene) = with_memory(ONE) else { return };
    if wrapped {
        scene.without_http_servers();
    }
    let mut steps = vec![
        call("*-memory_search", json!({"query": "pnpm or npm"})),
        call("*-user_prefs", json!({})),
        call("*-memory_read", json!({"file": "../../README.md"})),
        call("*-memory_read", json!({"_depth": 3})),
        Step::Call(vec![
            ("*-user_prefs", json!({})),
            ("*-memory_read", json!({})),
            ("*-user_prefs", json!({})),
        ]),
        bash("cat $TMPDIR/../mcp.json"),
    ];
    steps.extend(honest(&scene, "one"));
    let model = Model::start([route(focus("one"), steps)]);
    let scene = scene.with(&model);
    scene.run(args).expect(0);

    let offered = tool_names(&model.requests()[0]);
    let server = offered.iter().find_map(|name| name.strip_suffix("-user_prefs"));
    assert_eq!(server.map(str::len), Some(7), "{offered:?}");
    let told = told(&model);
    assert_eq!(told[0], "[MEMORY.md] (score: 0.67) Install with pnpm, never with npm.");
    assert_eq!(told[1], "Prefers short names.\n");
    assert!(told[2].contains("Access denied"), "{}", told[2]);
    assert!(told[3].contains("Maximum call depth (3) exceeded"), "{}", told[3]);
    assert_eq!(told[4..7], [told[1].as_str(), "Install with pnpm, never with npm.\n", &told[1]]);
    assert!(!told[7].contains("rtk-"), "{}", told[7]);

    // Each call was decided by the hook, and by the second layer at most once more; the server
    // took that decision.
    let journal = scene.journal();
    let search = decided(&journal, "memory_search");
    assert_eq!(search[0], (Asked::Hook, Answer::Allow, "tool.memory".to_owned()), "{search:?}");
    assert!(search[1..].iter().all(|(asked, ..)| *asked == Asked::Permission), "{search:?}");
    assert!(search.len() <= 2, "{search:?}");
    assert_eq!(ended(&journal)[..2], [CallStatus::Completed; 2]);
    // And each result was recorded once.
    assert_eq!(audited(&scene, "memory_search"), [json!(told[0])]);
    assert_eq!(audited(&scene, "user_prefs"), vec![json!(told[1]); 3]);
    assert_eq!(audited(&scene, "memory_read").len(), 3);
    let folder = scene.repo().parent().expect("a folder").to_owned();
    for file in files(&folder) {
        let bytes = std::fs::read(&file).unwrap_or_default();
        let token = bytes.windows(4).any(|part| part == b"rtk-");
        assert!(!token, "{} holds a token", file.display());
    }
    if wrapped {
        let wire = scene.runs().pop().expect("a run").join("wire.log");
        let wire = std::fs::read_to_string(wire).expect("frames");
        assert!(wire.contains(r#""mcpServers":[]"#), "the session was told of the server");
    }
    scene.assert_nothing_left();
}

#[test]
fn memory_is_read_in_a_run() {
    reads_memory(&["job"], false);
}

#[test]
fn memory_is_read_in_each_tier() {
    for tier in ["--sandbox=partial", "--sandbox=off"] {
        reads_memory(&["job", tier], false);
    }
}

#[test]
fn memory_is_read_without_acp() {
    reads_memory(&["job", "--via", "cli"], false);
}

#[test]
fn a_cli_that_takes_no_servers_in_its_sessions_reads_them_from_a_file() {
    reads_memory(&["job"], true);
}

#[test]
fn a_sub_agent_reads_memory_too() {
    let Some(scene) = with_memory(ONE) else { return };
    let sub_agent = json!({"description": "look it up", "prompt": "Find the package manager.",
        "agent_type": "general-purpose", "name": "reader"});
    let mut steps = vec![call("task", sub_agent)];
    steps.extend(honest(&scene, "one"));
    let search = call("*-memory_search", json!({"query": "pnpm"}));
    let model = Model::start([
        route(focus("one"), steps),
        route("Find the package manager.", [search, say("It is pnpm.")]),
    ]);
    let scene = scene.with(&model);
    scene.run(&["job"]).expect(0);
    let decided = decided(&scene.journal(), "memory_search");
    assert_eq!(decided, [(Asked::Hook, Answer::Allow, "tool.memory".to_owned())]);
    assert_eq!(audited(&scene, "memory_search").len(), 1);
    let requests = model.requests();
    let told = requests.iter().flat_map(tool_results);
    assert!(told.into_iter().any(|text| text.contains("never with npm")), "nothing was found");
    scene.assert_nothing_left();
}

#[test]
fn a_blocked_tool_is_denied_and_the_turn_goes_on() {
    let task = format!("---\npolicy:\n  blocked_tools: [memory_re*]\n---\n{ONE}");
    for args in [&["job"][..], &["job", "--via", "cli"]] {
        let Some(scene) = with_memory(&task) else { return };
        let mut steps = vec![
            call("*-memory_read", json!({})),
            call("*-memory_search", json!({"query": "pnpm"})),
        ];
        steps.extend(honest(&scene, "one"));
        let model = Model::start([route(focus("one"), steps)]);
        let scene = scene.with(&model);
        scene.run(args).expect(0);
        let told = told(&model);
        assert!(told[0].contains("memory_read is blocked"), "{}", told[0]);
        assert!(told[1].contains("pnpm"), "{}", told[1]);
        let read = decided(&scene.journal(), "memory_read");
        assert_eq!(read, [(Asked::Hook, Answer::Deny, "policy.blocked-tool".to_owned())]);
        assert_eq!(audited(&scene, "memory_read"), [] as [Value; 0]);
        scene.assert_nothing_left();
    }
}

#[test]
fn without_memory_nothing_is_offered() {
    let Some(scene) = Scene::new(ONE) else { return };
    let model = Model::start([route(focus("one"), honest(&scene, "one"))]);
    let scene = scene.with(&model);
    scene.run(&["job"]).expect(0);
    let offered = tool_names(&model.requests()[0]);
    assert!(!offered.iter().any(|name| name.contains("memory")), "{offered:?}");
}
