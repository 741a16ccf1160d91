//! The example that the demo plays: what its TASK.md, its check and its script promise.

use std::path::Path;
use std::process::Command;

use ralph_copilot::agent::scripted::AgentScript;
use serde_json::Value;

use crate::client::Client;
use crate::repo::git;

/// Copies a folder as the demo does.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("copied");
        }
    }
}

/// As the guard: a program that nobody allowed is denied.
fn deny_curl(call: &Value) -> Option<&'static str> {
    let command = call["rawInput"]["command"].as_str().unwrap_or_default();
    Some(if command.starts_with("curl") { "reject_once" } else { "allow_once" })
}

#[tokio::test]
async fn the_example_is_one_lie_one_denial_and_honest_work() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("tasks-example");
    let folder = tempfile::tempdir().expect("a folder");
    let repo = folder.path();
    copy(&example, repo);
    git(repo, &["init", "-q", "-b", "main"]);
    git(repo, &["config", "user.name", "Agent"]);
    git(repo, &["config", "user.email", "agent@example.com"]);
    git(repo, &["add", "-A"]);
    git(repo, &["commit", "-qm", "start"]);
    let check = |name: &str| {
        let output = Command::new("sh").args(["check.sh", name]).current_dir(repo).output();
        output.expect("sh runs").status.success()
    };
    let criteria = [
        ("greet.sh greets a person by name", "name"),
        ("Without a name it greets the world", "world"),
        ("Without a name it greets the world", "world"),
        ("An unknown option prints a usage line and exits with code 2", "usage"),
        ("An unknown option prints a usage line and exits with code 2", "usage"),
        ("README.md shows how to greet Ada", "readme"),
    ];
    let task = repo.join("tasks/hello/TASK.md");
    let mut script = AgentScript::load(&repo.join("agent.yaml")).expect("a script");
    script.pace = 0;
    let mut client = Client::with(script);
    client.open(repo).await;
    client.answer = deny_curl;
    let mut course = Vec::new();
    for (criterion, name) in criteria {
        let before = check(name);
        client.prompt(criterion).await;
        let text = std::fs::read_to_string(&task).expect("a task");
        let ticked = text.contains(&format!("- [x] {criterion}\n"));
        if ticked && !check(name) {
            // As the runner: a false tick is taken back.
            let open = text.replace(&format!("[x] {criterion}"), &format!("[ ] {criterion}"));
            std::fs::write(&task, open).expect("written");
        }
        course.push((name, before, ticked, check(name)));
    }
    assert_eq!(
        course,
        [
            ("name", false, true, true),
            ("world", false, true, false),
            ("world", false, true, true),
            ("usage", false, false, false),
            ("usage", false, true, true),
            ("readme", false, true, true),
        ]
    );
    assert!(["syntax", "name", "world", "usage", "readme"].into_iter().all(check));
    assert_eq!(git(repo, &["status", "--short"]), "");
    assert_eq!(client.said().matches("Operation cancelled").count(), 1);
}
