//! The workflow as `init --ci` writes it.

use serde_json::{Value, json};

use crate::repo::Repo;

const ACTION: &str = "me/ralph-copilot@3d3c42e5aac5ba805825da76410c181273ba90b1";
const FILE: &str = ".github/workflows/ralph.yml";

fn written(repo: &Repo, file: &str) -> (String, Value) {
    let text = repo.read(file);
    let value = serde_saphyr::from_str(&text).expect("YAML");
    (text, value)
}

#[test]
fn no_job_has_more_rights_than_it_needs() {
    let repo = Repo::new("- [ ] a\n");
    let ran = repo.ralph(&["init", "--ci", "--action", ACTION]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let (text, workflow) = written(&repo, FILE);
    assert_eq!(workflow["permissions"], json!({}));
    let jobs = workflow["jobs"].as_object().expect("jobs");
    let rights = |job: &str| jobs[job]["permissions"].clone();
    assert_eq!(rights("work"), json!({ "contents": "read" }));
    assert_eq!(rights("prove"), json!({ "contents": "read" }));
    assert_eq!(rights("push"), json!({ "contents": "write", "pull-requests": "write" }));
    assert_eq!(rights("tell"), json!({ "issues": "write" }));
    assert_eq!(jobs.len(), 4);
    // The only secret is in the one step that works; the job with rights checks nothing out.
    assert_eq!(text.matches("secrets.").count(), 1);
    assert!(jobs["work"]["steps"].to_string().contains("secrets.COPILOT_GITHUB_TOKEN"));
    assert!(!jobs["prove"].to_string().contains("github.token"));
    for job in ["push", "tell"] {
        assert!(!jobs[job].to_string().contains("checkout"), "{job}");
    }
    steps_are_safe(&workflow);
}

/// No expression is part of a script, and every action is named by its commit.
fn steps_are_safe(workflow: &Value) {
    let jobs = workflow["jobs"].as_object().expect("jobs");
    for step in jobs.values().flat_map(|job| job["steps"].as_array().expect("steps")) {
        assert!(!step["run"].as_str().unwrap_or_default().contains("${{"), "{step}");
        let Some(action) = step["uses"].as_str() else { continue };
        let (_, commit) = action.split_once('@').expect("a commit");
        assert!(commit.len() == 40 && commit.bytes().all(|it| it.is_ascii_hexdigit()), "{action}");
        if action.starts_with("actions/checkout@") {
            assert_eq!(step["with"]["persist-credentials"], json!(false));
        }
    }
    assert_eq!(workflow["concurrency"]["cancel-in-progress"], json!(false));
}

#[test]
fn a_fleet_has_no_more_rights_than_a_night() {
    let repo = Repo::new("- [ ] a\n");
    let init = ["init", "--ci", "--fleet=3", "--action", ACTION, "--json"];
    let file = ".github/workflows/ralph-fleet.yml";
    assert_eq!(repo.ralph(&init).json(), json!({ "created": [file], "task": "demo" }));
    let (text, workflow) = written(&repo, file);
    assert_eq!(workflow["permissions"], json!({}));
    let jobs = workflow["jobs"].as_object().expect("jobs");
    let rights = |job: &str| jobs[job]["permissions"].clone();
    assert_eq!(rights("plan"), json!({ "contents": "read" }));
    assert_eq!(rights("work"), json!({ "contents": "read" }));
    assert_eq!(rights("prove"), json!({ "contents": "read", "actions": "read" }));
    let push = json!({ "contents": "write", "pull-requests": "write", "actions": "write" });
    assert_eq!(rights("push"), push);
    assert_eq!(jobs.len(), 4);
    assert_eq!(text.matches("secrets.").count(), 1);
    assert!(!jobs["push"].to_string().contains("checkout"));
    // What runs the checks has no token.
    let steps = jobs["prove"]["steps"].as_array().expect("steps");
    for step in steps.iter().filter(|it| it["run"].to_string().contains("ralph-copilot")) {
        assert!(!step.to_string().contains("github.token"), "{step}");
    }
    steps_are_safe(&workflow);
    assert_eq!(jobs["work"]["strategy"]["max-parallel"], json!(3));
    assert!(text.contains("TASK: \"demo\"") && text.contains("-ge 10"), "{text}");
    assert_eq!(Repo::empty().ralph(&init).code, Some(2), "a fleet needs a task");
}

#[test]
fn another_text_is_overwritten_only_if_asked() {
    let repo = Repo::new("- [ ] a\n");
    let init = |more: &[&str]| repo.ralph(&[&["init", "--ci", "--action", ACTION], more].concat());
    for _ in 0..2 {
        assert_eq!(init(&[]).code, Some(0), "the same text is no change");
    }
    repo.write(FILE, "mine\n");
    let refused = init(&[]);
    assert_eq!((refused.code, repo.read(FILE).as_str()), (Some(2), "mine\n"), "{}", refused.stderr);
    assert_eq!(init(&["--yes"]).code, Some(0));
    assert!(written(&repo, FILE).1["on"]["schedule"].is_array());
    // The action must be named by its commit.
    for action in [
        "me/ralph-copilot@v1",
        "me/ralph-copilot",
        "$(x)/y@3d3c42e5aac5ba805825da76410c181273ba90b1",
    ] {
        assert_eq!(repo.ralph(&["init", "--ci", "--action", action]).code, Some(2), "{action}");
    }
    // With several tasks, one must be named; without any, only a label starts a run.
    repo.write("tasks/more/TASK.md", "- [ ] b\n");
    assert!(init(&[]).stderr.contains("--task: demo, more"));
    assert_eq!(init(&["--task", "more", "--yes"]).code, Some(0));
    assert!(repo.read(FILE).contains("|| 'more' }}"));
    std::fs::remove_dir_all(repo.path("tasks")).expect("removed");
    assert_eq!(init(&["--yes"]).code, Some(0));
    let on = written(&repo, FILE).1["on"].clone();
    assert_eq!(on, json!({ "issues": { "types": ["labeled"] } }));
}
