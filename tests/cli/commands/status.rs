//! `status` and `log`: where a task stands and what happened.

use serde_json::json;

use crate::repo::Repo;
use crate::runs::{HONEST, THREE};

#[test]
fn before_any_run() {
    let repo = Repo::new(THREE);
    let ran = repo.ralph(&["status", "demo"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(ran.stdout, @r"
    demo
        3  [ ] a is there
        5  [ ] b is there
        7  [ ] c is there

    No runs yet
      next: ralph-copilot run demo
    ");
    let log = repo.ralph(&["log"]);
    assert_eq!((log.code, log.stdout.as_str()), (Some(2), ""));
    insta::assert_snapshot!(log.stderr.replace(&repo.root().display().to_string(), "REPO"), @r"
    error: no runs in this repository yet
    hint: runs are recorded in REPO/.ralph/runs
    ");
}

#[test]
fn a_tick_without_a_verdict_is_not_called_a_human_s() {
    let repo = Repo::new(&THREE.replacen("[ ]", "[x]", 1));
    let ran = repo.ralph(&["status", "demo"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let line = ran.stdout.lines().nth(1).expect("the first criterion").trim();
    assert_eq!(line, "3  [x] a is there  ticked but not proven");
}

#[test]
fn without_criteria_it_says_how_to_write_one() {
    let repo = Repo::new("Nothing here.\n");
    let ran = repo.ralph(&["status", "demo"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.starts_with("demo\nNo criteria\n"), "{}", ran.stdout);
    let help = "help: add at least one list item with a checkbox: `- [ ] what must be true`";
    assert!(ran.stderr.contains(help), "{}", ran.stderr);
}

#[test]
fn a_check_that_changed_since_it_proved_a_criterion_is_told() {
    let repo = Repo::new(THREE);
    assert_eq!(repo.run(HONEST, &[]).code, Some(0));
    let told = "its check has changed since it was proven; the next run proves it again";
    let standing = || {
        let ran = repo.ralph(&["status", "demo"]);
        let lines = ran.stdout.lines().filter(|line| line.contains("[x]"));
        let standing = lines.map(|line| line.split("is there  ").nth(1).expect("a standing"));
        standing.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(standing(), ["proven by its check"; 3]);
    for (old, new) in [
        ("  - verify: `test -e a.txt`\n", ""),
        ("`test -e b.txt`", "`test -e b.txt`\n  - verify: `grep -qx b b.txt`"),
        ("`test -e c.txt`", "`grep -qx c c.txt`"),
    ] {
        repo.write("tasks/demo/TASK.md", repo.task().replacen(old, new, 1));
    }
    repo.commit("Other checks");
    assert_eq!(standing(), [told; 3]);
    assert_eq!(repo.run("turns: []", &[]).code, Some(0));
    let green = "committed; its check was not red before the work";
    assert_eq!(standing(), ["committed without a check", "proven by its check", green]);
}

/// The runner's own repairs are no news.
#[test]
fn the_newest_line_of_a_run_is_its_last_verdict_or_what_failed_after_it() {
    let repo = Repo::new(THREE);
    let script = HONEST.replace("{progress: did c}, ", "");
    assert_eq!(repo.run(&script, &[]).code, Some(0));
    let told = |told: &str| {
        let ran = repo.ralph(&["status", "demo"]);
        assert!(ran.stdout.contains(told), "{}", ran.stdout);
    };
    told("demo: Done: every criterion is proven\n");
    repo.write("tasks/demo/TASK.md", repo.task().replacen("-e c.txt", "-d c.txt", 1));
    repo.commit("Stricter");
    assert_eq!(repo.run("turns: []", &["--stuck-threshold", "1"]).code, Some(4));
    told("\n  REOPENED \"c is there\": `test -d c.txt` fails at the end (exit 1).\n");
}

#[test]
fn after_a_run_that_proved_one_and_got_stuck_on_the_next() {
    let repo = Repo::new(THREE);
    let script = HONEST.replace("{write: {path: b.txt, text: b}}, ", "");
    assert_eq!(repo.run(&script, &["--stuck-threshold", "2"]).code, Some(4));
    let ran = repo.ralph(&["status", "demo"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    crate::shown(&repo, || {
        insta::assert_snapshot!(ran.stdout, @r#"
        demo: Stuck: `b is there` failed 2 times; last: `test -e b.txt` ended with exit code 1.
        run [run]: exit code 4, [time] to [time] UTC, on main from [commit]
        3 criteria: 1 proven, 1 stuck, 1 open; 3 iterations, [span], 0 premium requests; 1 commit, 1 file changed (+1 −0)
          10 tool calls, 0 denied

        Criteria
            5  [ ] b is there  stuck after 2 attempts
                     `test -e b.txt` ended with exit code 1.
            7  [ ] c is there
            3  [x] a is there  proven by its check

        Next
          fix the criterion or its check (see tasks/demo/guardrails.md), and commit
          then run: ralph-copilot retry demo && ralph-copilot run demo --stuck-threshold 2 --agent [agent]
        "#);
    });
    let object = repo.ralph(&["status", "demo", "--json"]).json();
    assert_eq!(
        object["criteria"],
        json!([
            { "line": 3, "text": "a is there", "checked": true, "blocked": false, "blocked_by": null, "held": null, "skipped": null, "attempts": 0, "proof": "check" },
            { "line": 5, "text": "b is there", "checked": false, "blocked": true, "blocked_by": null, "held": null, "skipped": null, "attempts": 2, "proof": null },
            { "line": 7, "text": "c is there", "checked": false, "blocked": false, "blocked_by": null, "held": null, "skipped": null, "attempts": 0, "proof": null },
        ])
    );
    assert_eq!((&object["standing"], &object["held_by"]), (&json!("ended"), &json!(null)));
}

/// A newer run of another task does not hide this one's.
#[test]
fn each_task_has_a_last_run_of_its_own() {
    let repo = Repo::with(THREE, &[("tasks/other/TASK.md", "- [ ] other\n")]);
    let ran = repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let agent = repo.agent("turns: []\n");
    let other = repo.ralph(&["run", "other", "--agent", &agent, "--max-iterations", "1"]);
    assert_eq!(other.code, Some(3), "{}", other.stderr);
    let status = repo.ralph(&["status", "demo", "--json"]).json();
    let run = ran.events()[0].run.clone();
    assert_eq!(status["run"]["start"]["run"], run.as_str());
    // The log is of the newest run, or of the one that is named, or of a task's newest.
    let of_task = repo.ralph(&["log", "demo", "--json"]);
    assert_eq!(of_task.stdout, ran.stdout);
    let of_path = repo.ralph(&["log", "tasks/demo", "--json"]);
    assert_eq!(of_path.stdout, ran.stdout);
    let named = repo.ralph(&["log", run.as_str(), "--json"]);
    assert_eq!(named.stdout, ran.stdout);
    let newest = repo.ralph(&["log"]);
    assert!(newest.stdout.contains("other (tasks/other)"), "{}", newest.stdout);
    let none = repo.ralph(&["log", "no-such-run"]);
    assert_eq!(none.code, Some(2), "{}", none.stderr);
    insta::assert_snapshot!(none.stderr, @r"
    error: no task or run named `no-such-run`; available tasks: demo, other
    hint: `ralph-copilot status <task>` shows the name of a task's newest run
    ");
    repo.write("tasks/fresh/TASK.md", THREE);
    let none = repo.ralph(&["log", "fresh"]);
    assert_eq!(none.code, Some(2), "{}", none.stderr);
    assert!(none.stderr.contains("task `fresh` has no runs yet"), "{}", none.stderr);
}

#[test]
fn the_log_tells_a_run_as_the_run_told_itself() {
    let repo = Repo::new(THREE);
    let ran = crate::repo::finish(repo.run_command(HONEST, &[]));
    let log = repo.ralph(&["log"]);
    assert_eq!((log.code, log.stdout), (Some(0), ran.stdout));
    assert_eq!(repo.ralph(&["log", "--follow"]).code, Some(0), "a run that has ended ends it");
}

/// The boxes of this branch do not show what a run did on another one.
#[test]
fn the_work_of_a_run_on_another_branch_is_named_until_it_is_merged() {
    let repo = Repo::new(THREE);
    let ran = repo.run(HONEST, &["--branch", "ralph/demo"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let told = "its work is on the branch ralph/demo";
    let status = || repo.ralph(&["status", "demo"]).stdout;
    assert!(!status().contains(told), "{}", status());
    repo.git(&["switch", "--quiet", "main"]);
    assert!(status().contains(told), "{}", status());
    assert!(status().contains("git switch ralph/demo"), "{}", status());
    repo.git(&["merge", "--quiet", "ralph/demo"]);
    assert!(!status().contains(told), "{}", status());
}

#[test]
fn without_a_name_every_task_has_a_line() {
    let none = Repo::empty();
    let ran = none.ralph(&["status"]);
    assert_eq!(ran.code, Some(7), "{}", ran.stdout);
    assert!(ran.stderr.contains("there are no tasks in this repository"), "{}", ran.stderr);
    let repo = Repo::new(THREE);
    assert_eq!(repo.ralph(&["status"]).stdout, repo.ralph(&["status", "demo"]).stdout);
    repo.write("tasks/other/TASK.md", "- [ ] x\n");
    repo.commit("another task");
    assert_eq!(repo.run(HONEST, &["--sandbox=off"]).code, Some(0));
    let ran = repo.ralph(&["status"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("demo   3 criteria: 3 proven; 20"), "{lines:?}");
    assert!(lines[0].ends_with(" UTC: Done: every criterion is proven"), "{lines:?}");
    assert_eq!(lines[1..], ["other  1 criterion: 1 open; no runs yet"]);
    let all = repo.ralph(&["status", "--json"]).json();
    assert_eq!(all["tasks"][1]["task"], "other");
    assert_eq!(all["tasks"][0], repo.ralph(&["status", "demo", "--json"]).json());
}
