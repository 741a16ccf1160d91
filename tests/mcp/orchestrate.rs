//! `copilot_orchestrate`: plans, the order of sub-tasks, and what is told meanwhile.

use serde_json::{Value, json};

use crate::TASK;
use crate::mcp::{Seen, client, server, tool};
use crate::repo::Repo;

/// Plans: `b` fails, which `c` and `d` need; `a` and `e` need nothing.
const PLAN: &str = r#"Here it is: {"tasks": [{"id": "a", "description": "write a"},
{"id": "b", "description": "write b", "estimatedComplexity": "L"},
{"id": "c", "description": "write c"}, {"id": "d", "description": "write d"},
{"id": "e", "description": "write e"}], "dependencies": {"c": ["b"], "d": ["b", "c"], "e": ["a"]}}"#;

/// What the client saw of these calls, each turn of the script being that of one session.
fn orchestrate(repo: &Repo, turns: &str, calls: &[Value]) -> Option<Seen> {
    let agent = repo.agent(&format!("memory: seen.txt\nturns:\n{turns}"));
    let mut command = repo.command(&["mcp", "serve", "--tools", "plugin"]);
    let tmp = repo.beside("tmp");
    std::fs::create_dir(&tmp).expect("a folder");
    command.env("RALPH_COPILOT_AGENT", agent).env("TMPDIR", &tmp);
    let seen = client(&json!({"server": server(&command), "calls": calls}))?;
    let left: Vec<_> = std::fs::read_dir(tmp).expect("tmp").flatten().collect();
    assert!(left.is_empty(), "a session left {left:?}");
    Some(seen)
}

/// The messages of the progress of a call.
fn told(seen: &Seen, at: usize) -> Vec<String> {
    let steps = seen.0["results"][at]["progress"].as_array().expect("steps");
    let text = |step: &Value| step["message"].as_str().expect("a message").to_owned();
    let mut last = 0.0;
    for step in steps {
        let done = step["progress"].as_f64().expect("a number");
        assert!(done > last, "{steps:?}");
        last = done;
    }
    steps.iter().map(text).collect()
}

/// Honest work on a and e, in the tree of whichever worker.
const WORK: &str = "- {match: write a, steps: [{write: {path: a.txt, text: a}}, {tick: '{criterion}'}, {commit: a}]}\n\
- {match: write e, steps: [{run: cat a.txt > e.txt}, {tick: '{criterion}'}, {commit: e}]}\n\
- {match: write b, steps: [{say: I would rather not.}]}\n";

#[test]
fn a_goal_is_planned_and_carried_out_and_its_events_are_progress() {
    let repo = Repo::new(TASK);
    let plan = serde_json::to_string(PLAN).expect("a text");
    let turns = format!(
        "- {{times: 1, on_reject: continue, steps: [{{write: {{path: planned.txt, text: x}}}}, \
         {{say: {plan}}}]}}\n{WORK}"
    );
    let calls =
        [tool("copilot_orchestrate", json!({"task": "write five files", "maxConcurrency": 2}))];
    let Some(seen) = orchestrate(&repo, &turns, &calls) else { return };
    let (failed, text) = seen.result(0);
    assert!(failed, "{text}");
    assert!(text.starts_with("2/5 tasks succeeded, 2 skipped, 1 failed\n"), "{text}");
    for part in [
        "### e: write e\n\n**succeeded**\n",
        "### d\n\n**skipped**: b failed\n",
        "### b: write b\n\n**failed**: it used up its attempts\n- The box of \"write b\" is still",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    let all = told(&seen, 0);
    let at = |what: &str| all.iter().position(|it| it == what).unwrap_or_else(|| panic!("{all:?}"));
    for (first, then) in [
        ("task_start a: write a", "task_complete a: succeeded"),
        ("task_complete a: succeeded", "task_start e: write e"),
        ("task_start b: write b", "task_complete b: failed"),
        ("task_complete b: failed", "task_skipped d: b failed"),
        ("task_complete e: succeeded", "plan_complete 2/5 tasks succeeded, 2 skipped, 1 failed"),
    ] {
        assert!(at(first) < at(then), "{first} before {then} in {all:?}");
    }
    assert_eq!(all.len(), 9, "{all:?}");
    assert!(!repo.path("planned.txt").exists(), "the planner wrote");
    assert_eq!((repo.read("a.txt"), repo.read("e.txt")), ("a".to_owned(), "a".to_owned()));
    assert_eq!(repo.status(), "");
}

#[test]
fn a_planner_without_a_plan_leaves_the_goal_as_one_sub_task() {
    let repo = Repo::new(TASK);
    let turns = format!("- {{times: 1, steps: [{{say: I would rather not.}}]}}\n{WORK}");
    let calls = [
        tool("copilot_orchestrate", json!({"task": "x", "maxConcurrency": 0})),
        tool("copilot_orchestrate", json!({"task": " "})),
        tool("copilot_orchestrate", json!({"task": "x", "timeout": 0})),
        tool("copilot_orchestrate", json!({"task": "write a", "timeout": 60_000})),
    ];
    let Some(seen) = orchestrate(&repo, &turns, &calls) else { return };
    let parameters = &seen.0["tools"][2]["inputSchema"];
    assert_eq!(seen.tools()[2], "copilot_orchestrate");
    assert_eq!(parameters["properties"]["maxConcurrency"]["default"], 3);
    assert_eq!(parameters["required"], json!(["task"]));
    assert!(seen.result(0).0 && seen.result(0).1.contains("`maxConcurrency` must be"));
    assert!(seen.result(1).0 && seen.result(1).1.contains("`task` is empty"));
    assert!(seen.result(2).0 && seen.result(2).1.contains("`timeout` must be"));
    let (failed, text) = seen.result(3);
    assert!(!failed && text.starts_with("1/1 tasks succeeded, 0 skipped, 0 failed\n"), "{text}");
    assert!(text.contains("### t1: write a\n\n**succeeded**"), "{text}");
    assert_eq!(repo.read("a.txt"), "a");
}

#[test]
fn what_cannot_begin_says_why() {
    let repo = Repo::new(TASK);
    repo.write("README.md", "not committed");
    let calls = [tool("copilot_orchestrate", json!({"task": "write a"}))];
    let Some(seen) = orchestrate(&repo, WORK, &calls) else { return };
    let (failed, text) = seen.result(0);
    assert!(failed && text.contains("README.md"), "{text}");
}

#[test]
fn a_cancelled_call_ends_its_run_and_starts_no_other() {
    let repo = Repo::new(TASK);
    let plan = r#"{"tasks": [{"description": "one"}, {"description": "two"}]}"#;
    let turns = format!(
        "- {{times: 1, steps: [{{say: '{plan}'}}]}}\n\
         - {{match: one, steps: [{{hang: }}]}}\n\
         - {{match: two, steps: [{{hang: }}]}}\n\
         - {{steps: [{{say: Next.}}]}}\n"
    );
    let mut cancelled = tool("copilot_orchestrate", json!({"task": "x"}));
    cancelled["cancel"] = json!("task_start t1");
    let calls = [cancelled, tool("copilot_code", json!({"task": "y"}))];
    let Some(seen) = orchestrate(&repo, &turns, &calls) else { return };
    assert!(seen.0["results"][0]["isError"].is_null(), "{}", seen.0["results"][0]);
    let (failed, text) = seen.result(1);
    assert!(!failed && text.contains("Next."), "{text}");
}

#[test]
fn each_tool_call_of_a_code_task_is_progress_and_a_cancel_ends_its_session() {
    let repo = Repo::new(TASK);
    let turns = "- {times: 1, steps: [{run: ls}, {write: {path: b.txt, text: b}}, {run: pwd}]}\n\
                 - {times: 1, steps: [{run: ls}, {hang: }]}\n\
                 - {steps: [{say: Next.}]}\n";
    let mut cancelled = tool("copilot_code", json!({"task": "y"}));
    cancelled["cancel"] = json!("execute");
    let calls = [
        tool("copilot_code", json!({"task": "x"})),
        cancelled,
        tool("copilot_code", json!({"task": "z"})),
    ];
    let Some(seen) = orchestrate(&repo, turns, &calls) else { return };
    assert!(!seen.result(0).0, "{}", seen.result(0).1);
    let steps = told(&seen, 0);
    assert_eq!(steps.len(), 3, "{steps:?}");
    assert!(steps[0].starts_with("execute: ") && steps[0].contains("done"), "{steps:?}");
    assert!(steps[1].starts_with("edit: "), "{steps:?}");
    let (failed, text) = seen.result(2);
    assert!(!failed && text.contains("Next."), "{text}");
}
