//! `check` and `run --dry-run`: what was understood of a task.

use serde_json::json;

use crate::repo::{Repo, finish};

const TASK: &str = "\
---
verify: sh check.sh
max_iterations: 5
---
# Retry in the client

Some text.

- [ ] The client **retries** on 503
  - verify: `cargo test retry`
  - verify: `sh check.sh retry`
- [X] README mentions retry
- [ ] same
  1. [ ] nested
- [ ] same
";

#[test]
fn json_is_the_whole_object() {
    let repo = Repo::new(TASK);
    let ran = repo.ralph(&["check", "demo", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let criterion =
        |line: usize, column: usize, checked, text: &str, occurrence: usize, verify: &[&str]| {
            json!({
                "line": line, "column": column, "checked": checked, "text": text,
                "occurrence": occurrence, "recipe": null, "verify": verify,
            })
        };
    let first = criterion(
        9,
        3,
        false,
        "The client **retries** on 503",
        0,
        &["cargo test retry", "sh check.sh retry"],
    );
    assert_eq!(
        ran.json(),
        json!({
            "task": "demo",
            "file": "tasks/demo/TASK.md",
            "title": "Retry in the client",
            "criteria": [
                first,
                criterion(12, 3, true, "README mentions retry", 0, &[]),
                criterion(13, 3, false, "same", 0, &[]),
                criterion(14, 6, false, "nested", 0, &[]),
                criterion(15, 3, false, "same", 1, &[]),
            ],
            "next": first,
            "totals": { "criteria": 5, "checked": 1, "open": 4 },
            "settings": {
                "verify": ["sh check.sh"], "max_iterations": 5, "max_duration": null,
                "max_premium_requests": null, "stuck_threshold": null, "on_stuck": null,
                "model": null, "require_checks": null, "write_scope": null,
                "protect": [], "allow": [],
                "policy": {
                    "default": null, "allowed_tools": [], "blocked_tools": [], "ask_tools": [],
                    "blocked_patterns": [], "command": [], "path": [],
                },
            },
            "diagnostics": [{
                "severity": "warning",
                "line": 15, "column": 3,
                "message": "`same` is written more than once: on lines 13 and 15",
                "hint": "equal texts are told apart by their order alone; better give each its own words",
            }],
            "usable": true,
        })
    );
}

#[test]
fn text_for_people() {
    let repo = Repo::new(TASK);
    let ran = repo.ralph(&["check", "demo"]);
    assert_eq!(ran.code, Some(0));
    insta::assert_snapshot!(ran.stdout, @r"
    demo  tasks/demo/TASK.md
    Retry in the client

        9  [ ] The client **retries** on 503
                 verify: cargo test retry
                 verify: sh check.sh retry
       12  [x] README mentions retry
       13  [ ] same
       14  [ ] nested
       15  [ ] same

    after every iteration: sh check.sh

    1 of 5 ticked; next: line 9, The client **retries** on 503
    ");
    insta::assert_snapshot!(ran.stderr, @r"

    warning: `same` is written more than once: on lines 13 and 15
      --> tasks/demo/TASK.md:15:3
       |
    15 | - [ ] same
       |   ^^^
       |
       = help: equal texts are told apart by their order alone; better give each its own words
    ");
}

#[test]
fn a_task_without_criteria_is_an_object_too_and_exit_7() {
    let repo = Repo::new("Nothing here.\n");
    let ran = repo.ralph(&["check", "demo", "--json"]);
    assert_eq!(ran.code, Some(7));
    let object = ran.json();
    assert_eq!(object["criteria"], json!([]));
    assert_eq!(object["next"], json!(null));
    assert_eq!(object["totals"], json!({ "criteria": 0, "checked": 0, "open": 0 }));
    assert_eq!(object["usable"], json!(false));
    assert_eq!(object["diagnostics"][0]["severity"], json!("error"));
    let ran = repo.ralph(&["check", "demo"]);
    assert_eq!(ran.code, Some(7));
    insta::assert_snapshot!(ran.stdout + &ran.stderr, @r"
    demo  tasks/demo/TASK.md

    no criteria

    error: there are no criteria
     --> tasks/demo/TASK.md:1:1
      |
    1 | Nothing here.
      | ^
      |
      = help: add at least one list item with a box: `- [ ] what must be true`
    ");
}

#[test]
fn odd_files_are_a_clear_result() {
    let many: String = (0..10_000).map(|number| format!("- [ ] criterion {number}\n")).collect();
    let long = format!("- [ ] {}\n", "x".repeat(1 << 20));
    let deep: String =
        (0..200).map(|level| format!("{}- [ ] {level}\n", "  ".repeat(level))).collect();
    let cases: [(&[u8], i32, usize); 6] = [
        (many.as_bytes(), 0, 10_000),
        (long.as_bytes(), 0, 1),
        (b"", 7, 0),
        (b"- [ ] \xff\xfe\n", 7, 0),
        (b"\xef\xbb\xbf- [ ] with a BOM\r\n- [x] and CRLF", 0, 2),
        (deep.as_bytes(), 0, 200),
    ];
    for (at, (bytes, code, criteria)) in cases.into_iter().enumerate() {
        let repo = Repo::new("x");
        repo.write("tasks/demo/TASK.md", bytes);
        let ran = repo.ralph(&["check", "demo", "--json"]);
        assert_eq!(ran.code, Some(code), "case {at}: {}", ran.stderr);
        let object = ran.json();
        assert_eq!(object["criteria"].as_array().map(Vec::len), Some(criteria), "case {at}");
    }
}

#[test]
fn a_dry_run_tells_everything_and_changes_nothing() {
    let repo = Repo::with(TASK, &[("check.sh", "exit 0\n")]);
    let agent = repo.agent("turns: []\n");
    let args = ["run", "demo", "--dry-run", "--agent", &agent];
    let ran = repo.ralph(&args);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    crate::shown(&repo, || {
        insta::assert_snapshot!("dry_run", ran.stdout);
    });
    let mut command = repo.command(&args);
    command.arg("--json");
    let object = finish(command).json();
    assert_eq!(
        object["next"],
        json!({ "line": 9, "text": "The client **retries** on 503", "recipe": null })
    );
    assert_eq!(object["checks"], json!(["sh check.sh", "cargo test retry", "sh check.sh retry"]));
    assert!(object["prompt"].as_str().is_some_and(|prompt| ran.stdout.contains(prompt)));
    assert_eq!(repo.status(), "");
    assert_eq!(repo.subjects(), Vec::<String>::new());
    assert!(!repo.path(".ralph").exists());
}
