//! `check` and `run --dry-run`.

use serde_json::json;

use crate::repo::{Repo, finish};
use crate::runs::{HONEST, THREE};

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
                "occurrence": occurrence, "recipe": null, "id": null,
                "after": [], "verify": verify,
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
    let settings = json!({
        "verify": ["sh check.sh"], "max_iterations": 5, "max_duration": null,
        "max_premium_requests": null, "jobs": null, "stuck_threshold": null,
        "on_stuck": null,
        "model": null, "escalate": null, "commit_prefix": null, "sign": null, "require_checks": null,
        "write_scope": null, "proof": null,
        "setup": [], "setup_network": null, "may_change": [], "harness": [],
        "protect": [], "allow": [], "services": [], "network": null, "network_for": [],
        "readable": [], "visible": [], "devices": [], "gateway": null,
        "policy": {
            "default": null, "allowed_tools": [], "blocked_tools": [], "ask_tools": [],
            "blocked_patterns": [], "command": [], "path": [],
        },
    });
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
            "settings": settings,
            "diagnostics": [{
                "severity": "warning",
                "line": 15, "column": 3,
                "message": "`same` appears more than once: on lines 13 and 15",
                "hint": "give each its own wording: criteria with the same text are told apart only by their order",
            }],
            "usable": true,
            "refusal": null,
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
       12  [x] README mentions retry  ticked but not proven
       13  [ ] same
       14  [ ] nested
       15  [ ] same

    after every iteration: sh check.sh

    1 of 5 ticked; next on line 9: The client **retries** on 503
    ");
    insta::assert_snapshot!(ran.stderr, @r"

    warning: `same` appears more than once: on lines 13 and 15
      --> tasks/demo/TASK.md:15:3
       |
    15 | - [ ] same
       |   ^^^
       |
       = help: give each its own wording: criteria with the same text are told apart only by their order
    ");
}

/// It agrees with the next run about which criterion is next.
#[test]
fn what_waits_for_a_human_is_told_and_is_not_next() {
    let repo = Repo::new(THREE);
    let script = HONEST.replace("{write: {path: a.txt, text: a}}, ", "");
    let args = ["--stuck-threshold", "1", "--on-stuck", "skip", "--max-iterations", "1"];
    repo.run(&script, &args);
    let ran = repo.ralph(&["check", "demo"]);
    assert!(ran.stdout.contains("3  [ ] a is there  stuck after 1 attempt\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("; next on line 5: b is there"), "{}", ran.stdout);
    assert_eq!(repo.ralph(&["check", "demo", "--json"]).json()["next"]["line"], 5);
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

    No criteria

    error: invalid task

    error: there are no criteria
     --> tasks/demo/TASK.md:1:1
      |
    1 | Nothing here.
      | ^
      |
      = help: add at least one list item with a checkbox: `- [ ] what must be true`
    ");
}

/// `check --json` always prints its object, whatever the exit code.
#[test]
fn where_there_is_no_task_to_show_the_object_says_why() {
    let repo = Repo::new(TASK);
    for name in ["gone", "folder", "fifo", "link"] {
        repo.write(&format!("tasks/{name}/notes.md"), "notes\n");
    }
    std::fs::create_dir(repo.path("tasks/folder/TASK.md")).expect("a folder");
    let made = std::process::Command::new("mkfifo").arg(repo.path("tasks/fifo/TASK.md")).status();
    assert!(made.expect("mkfifo runs").success());
    let task = repo.path("tasks/demo/TASK.md");
    std::os::unix::fs::symlink(task, repo.path("tasks/link/TASK.md")).expect("linked");
    let nowhere = repo.beside("").display().to_string();
    for (words, code, task, says) in [
        (&["check", "nope", "--json"][..], 7, json!("nope"), "no task named `nope`"),
        (&["check", "gone", "--json"], 7, json!("gone"), "tasks/gone has no TASK.md"),
        (
            &["check", "--json", "folder"],
            7,
            json!("folder"),
            "it must be a regular file, not a link",
        ),
        (&["check", "--json", "fifo"], 7, json!("fifo"), "it must be a regular file, not a link"),
        (&["check", "--json", "link"], 7, json!("link"), "it must be a regular file, not a link"),
        (&["check", "my task", "--json"], 7, json!("my task"), "no task named `my task`"),
        (
            &["-C", &nowhere, "check", "demo", "--json"],
            8,
            json!("demo"),
            "not inside a git repository",
        ),
        (
            &["check", "demo", "--json", "-C", "/no/dir"],
            2,
            json!("demo"),
            "/no/dir is not a folder",
        ),
        (&["check", "--json"], 2, json!(null), "required arguments were not provided"),
        (&["check", "demo", "--json", "--nope"], 2, json!(null), "unexpected argument '--nope'"),
        (&["check", "demo", "more", "--json"], 2, json!(null), "unexpected argument 'more'"),
    ] {
        let ran = repo.ralph(words);
        assert_eq!(ran.code, Some(code), "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{words:?}: {}", ran.stderr);
        let object = ran.json();
        assert_eq!(
            (&object["task"], &object["criteria"], &object["totals"], &object["usable"]),
            (&task, &json!([]), &json!({ "criteria": 0, "checked": 0, "open": 0 }), &json!(false)),
            "{words:?}"
        );
        let said = &object["diagnostics"][0];
        assert_eq!(said["severity"], "error", "{words:?}");
        assert!(said["message"].as_str().is_some_and(|text| text.contains(says)), "{said}");
        // It has the keys that it has for any task.
        let keys = |object: &serde_json::Value| -> Vec<String> {
            object.as_object().expect("an object").keys().cloned().collect()
        };
        assert_eq!(keys(&object), keys(&repo.ralph(&["check", "demo", "--json"]).json()));
    }
}

/// Whoever reads JSON gets JSON, also where a command cannot be done.
#[test]
fn the_other_commands_say_as_json_why_they_cannot() {
    let repo = Repo::new(TASK);
    for (words, code) in [
        (&["status", "nope", "--json"][..], 7),
        (&["retry", "nope", "--json"], 7),
        (&["retry", "demo", "99", "--json"], 2),
        (&["tick", "nope", "1", "--json"], 7),
        (&["tick", "demo", "one", "--json"], 2),
        (&["init", "a/b", "--json"], 2),
        (&["doctor", "--json", "--nope"], 2),
        (&["policy", "check", "--task", "nope", "--json", "--", "ls"], 7),
        (&["hooks", "export", "README.md/sub", "--json"], 11),
    ] {
        let ran = repo.ralph(words);
        assert_eq!(ran.code, Some(code), "{words:?}: {}", ran.stderr);
        let error = &ran.json()["error"];
        assert_eq!(error["exit_code"], code, "{words:?}");
        assert!(error["reason"].as_str().is_some_and(|why| ran.stderr.contains(why)), "{error}");
        assert!(error["hints"].is_array(), "{words:?}");
    }
    for (words, code) in [
        (&["log", "--json"][..], 2),
        (&["run", "demo", "--json", "--max-iterations", "many"], 2),
        (&["nope", "--json"], 7),
        (&["demo", "README.md/sub", "--json"], 11),
    ] {
        let ran = repo.ralph(words);
        assert_eq!(ran.code, Some(code), "{words:?}: {}", ran.stderr);
        assert_eq!(ran.stdout.lines().count(), 1, "{words:?}: {}", ran.stdout);
        let line = ran.json();
        assert_eq!((&line["event"], &line["exit_code"]), (&json!("refused"), &json!(code)));
    }
    // Whoever did not ask for it gets none.
    for words in [&["check", "nope"][..], &["check"], &["status", "nope"], &["check", "--help"]] {
        assert!(!repo.ralph(words).stdout.contains('{'), "{words:?}");
    }
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

#[test]
fn what_a_task_opens_of_the_sandbox_is_shown_and_a_missing_path_is_an_error() {
    let task = |visible: &str| {
        format!(
            "---\nservices: [5432, /run/x.sock]\nnetwork_for: npm ci\nvisible: [{visible}]\n---\n- [ ] a\n"
        )
    };
    let repo = Repo::new(&task("/usr/share"));
    let ran = repo.ralph(&["check", "demo", "--json"]);
    let settings = ran.json()["settings"].clone();
    assert_eq!(settings["services"], json!([5432, "/run/x.sock"]));
    assert_eq!(settings["visible"], json!(["/usr/share"]));
    let ran = repo.ralph(&["check", "demo"]);
    let shown =
        "in the sandbox: services 5432, /run/x.sock; network for `npm ci`; visible /usr/share\n";
    assert!(ran.stdout.contains(shown), "{}", ran.stdout);
    let repo = Repo::new(&task("/usr/share, ../missing"));
    for command in [&["check", "demo"][..], &["run", "demo", "--dry-run"]] {
        let ran = repo.ralph(command);
        assert_eq!(ran.code, Some(7), "{}", ran.stderr);
        for part in ["cannot show `../missing`: No such file", "TASK.md:4:23", "  ^^^^^^^^^^\n"] {
            assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
        }
    }
}
