//! `plan` and `orchestrate`: from a goal or a file to a task, and the plan's events of its run.

use std::process::Stdio;

use ralph_copilot::model::EventKind;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::repo::{Ran, Repo, collect, signal, until};

/// A plan whose `d` is never done, which `e` needs.
const PLAN: &str = r#"{"tasks": [
  {"id": "a", "description": "a is there", "verify": "test -e a.txt"},
  {"id": "b b", "description": "b is there", "verify": ["test -e b.txt"]},
  {"id": "c", "description": "c is there - verify: `false`"},
  {"id": "d", "description": "nobody does it"},
  {"id": "e", "description": "nor this"}],
 "dependencies": {"c": ["a", "b b", "a"], "e": ["d"]}}"#;

/// Honest work on the first three, in any tree.
const WORK: &str = r#"
- match: a is there
  steps: [{write: {path: a.txt, text: a}}, {tick: "{criterion}"}, {progress: did a}, {commit: a}]
- match: b is there
  steps: [{write: {path: b.txt, text: b}}, {tick: "{criterion}"}, {progress: did b}, {commit: b}]
- match: c is there
  steps: [{run: cat a.txt b.txt > c.txt}, {tick: "{criterion}"}, {progress: did c}, {commit: c}]
"#;

/// A repository whose work is not yet planned.
fn repo() -> Repo {
    let repo = Repo::empty();
    repo.write("README.md", "# A project\n");
    repo.commit("begin");
    repo
}

fn plan_file(repo: &Repo, plan: &str) -> String {
    let path = repo.beside("the plan.json");
    std::fs::write(&path, plan).expect("a file");
    path.to_str().expect("UTF-8").to_owned()
}

/// Runs `orchestrate` with this agent and these words.
fn orchestrate(repo: &Repo, turns: &str, words: &[&str]) -> Ran {
    let agent = repo.agent(&format!("memory: seen.txt\nturns:{turns}"));
    let fixed = ["orchestrate", "--sandbox=off", "--agent", &agent];
    repo.ralph(&[&fixed[..], words].concat())
}

/// The plan's events on standard output, in a short form.
fn events(ran: &Ran) -> Vec<String> {
    let short = |line: &str| {
        let event: Value = serde_json::from_str(line).expect("JSON");
        let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        match event["event"].as_str().expect("an event") {
            "task_start" => format!("start {}", text("id")),
            "task_complete" => format!("complete {} {}", text("id"), event["success"]),
            "task_skipped" => format!("skipped {}: {}", text("id"), text("reason")),
            "plan_complete" => text("summary"),
            other => panic!("{other} in {line}"),
        }
    };
    ran.stdout.lines().map(short).collect()
}

/// The last event's tasks: id, status, and reason.
fn ends(ran: &Ran) -> Vec<String> {
    let last: Value =
        serde_json::from_str(ran.stdout.lines().last().expect("a line")).expect("JSON");
    let tasks = last["tasks"].as_array().expect("tasks").clone();
    let end = |it: &Value| {
        let reason = it["reason"].as_str().map(|why| format!(": {why}")).unwrap_or_default();
        format!(
            "{} {}{reason}",
            it["id"].as_str().expect("an id"),
            it["status"].as_str().expect("s")
        )
    };
    tasks.iter().map(end).collect()
}

#[test]
fn a_dry_run_shows_the_waves_and_writes_nothing() {
    let repo = repo();
    let file = plan_file(&repo, PLAN);
    let words = ["--plan", &file, "--dry-run"];
    let ran = orchestrate(&repo, " []", &[&words[..], &["--json"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let shown = ran.json();
    assert_eq!(shown["waves"], json!([["a", "b b", "d"], ["c", "e"]]));
    assert_eq!(shown["dependencies"], json!({"c": ["a", "b b"], "e": ["d"]}));
    assert_eq!(shown["tasks"].as_array().map(Vec::len), Some(5));
    assert_eq!(shown.as_object().map(serde_json::Map::len), Some(3));
    let text = orchestrate(&repo, " []", &words).stdout;
    assert!(text.contains("wave 2    c  c is there - verify: `false` (after a, b b)"), "{text}");
    assert_eq!(repo.status(), "");
    assert!(!repo.path("tasks").exists());
}

#[test]
fn a_plan_is_carried_out_and_its_events_are_told_and_it_goes_on_where_it_was() {
    let repo = repo();
    let file = plan_file(&repo, PLAN);
    let words = ["--plan", &file, "--json", "--stuck-threshold", "1"];
    let ran = orchestrate(&repo, WORK, &words);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    let told = events(&ran);
    assert_eq!(told.last().map(String::as_str), Some("3/5 tasks succeeded, 1 skipped, 1 failed"));
    let at =
        |what: &str| told.iter().position(|it| it == what).unwrap_or_else(|| panic!("{told:?}"));
    for (first, then) in [
        ("start a", "complete a true"),
        ("complete a true", "start c"),
        ("complete b b true", "start c"),
        ("start c", "complete c true"),
        ("complete d false", "skipped e: d failed"),
    ] {
        assert!(at(first) < at(then), "{first} before {then} in {told:?}");
    }
    assert_eq!(told.len(), 10, "{told:?}");
    let all = ends(&ran);
    assert_eq!(all[..3], ["a succeeded", "b b succeeded", "c succeeded"]);
    assert_eq!(all[3..], ["d failed: it used up its attempts", "e skipped: d failed"]);
    assert!(
        ran.stdout.contains("The box of \\\"nobody does it\\\" is still open"),
        "{}",
        ran.stdout
    );
    assert_eq!(repo.read("c.txt"), "ab");
    assert_eq!(repo.status(), "");
    let task = repo.read("tasks/the-plan/TASK.md");
    for part in [
        "- [x] a is there\n  - id: a\n  - verify: `test -e a.txt`\n- [x] b is there\n  - id: b-b\n",
        "- [x] c is there - verify\\: \\`false\\`\n  - id: c\n  - after: a, b-b\n- [ ]",
    ] {
        assert!(task.contains(part), "{task}");
    }
    let subjects = repo.subjects();
    assert!(subjects.contains(&"Add the task the-plan, from a plan".to_owned()), "{subjects:?}");

    // The same plan goes on; another one of that name does not.
    let ran = orchestrate(&repo, WORK, &words);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    let all = ends(&ran);
    assert_eq!(all[2..4], ["c succeeded", "d failed: it used up its attempts in an earlier run"]);
    let cleared = repo.ralph(&["retry", "the-plan"]);
    assert_eq!(cleared.code, Some(0), "{}", cleared.stderr);
    let more = format!(
        "{WORK}- match: nobody\n  steps: [{{write: {{path: d.txt, text: d}}}}, {{tick: '{{criterion}}'}}, \
         {{commit: d}}]\n- match: nor\n  steps: [{{write: {{path: e.txt, text: e}}}}, \
         {{tick: '{{criterion}}'}}, {{commit: e}}]\n"
    );
    let ran = orchestrate(&repo, &more, &words);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(
        events(&ran),
        [
            "start d",
            "complete d true",
            "start e",
            "complete e true",
            "5/5 tasks succeeded, 0 skipped, 0 failed"
        ]
    );
    plan_file(&repo, &PLAN.replace("nor this", "nor that"));
    let ran = orchestrate(&repo, WORK, &words);
    assert_eq!(ran.code, Some(7), "{}", ran.stdout);
    assert!(ran.stderr.contains("the task `the-plan` exists, with another plan"), "{}", ran.stderr);
    assert_eq!(ran.json()["event"], "refused");
}

#[test]
fn an_invalid_plan_is_refused_and_an_empty_one_is_done() {
    let repo = repo();
    let (a, b) = (r#"{"id": "a", "description": "x"}"#, r#"{"id": "b", "description": "x"}"#);
    for (tasks, edges, flags, part) in [
        (
            format!("{a}, {b}"),
            r#""a": ["b"], "b": ["a"]"#,
            &[][..],
            "Circular dependency: a → b → a",
        ),
        (a.to_owned(), r#""a": ["x"]"#, &[], "`a` depends on `x`"),
        (a.to_owned(), r#""a": ["a"]"#, &[], "the sub-task `a` depends on itself"),
        (a.replace("description", "descr"), "", &[], "unknown field `descr`"),
        (String::new(), "", &["-j0"], "jobs: 0 is no number of jobs"),
    ] {
        let file =
            plan_file(&repo, &format!(r#"{{"tasks": [{tasks}], "dependencies": {{{edges}}}}}"#));
        let ran = orchestrate(&repo, " []", &[&["--plan", &file][..], flags].concat());
        assert_eq!(ran.code, Some(7), "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
    let file = plan_file(&repo, r#"{"tasks": []}"#);
    let ran = orchestrate(&repo, " []", &["--plan", &file, "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let complete = json!({"event": "plan_complete", "tasks": [],
        "summary": "0/0 tasks succeeded, 0 skipped, 0 failed"});
    assert_eq!(ran.json(), complete);
    let missing = orchestrate(&repo, " []", &["--plan", "nowhere.json"]);
    assert_eq!(missing.code, Some(7));
    assert!(missing.stderr.contains("cannot read nowhere.json"), "{}", missing.stderr);
    assert!(!repo.path("tasks").exists());
}

#[test]
fn what_a_limit_or_a_signal_leaves_is_failed_or_skipped_with_that_reason() {
    let repo = repo();
    let file = plan_file(&repo, PLAN);
    let words = ["--plan", &file, "--json", "-j1", "--max-iterations", "1"];
    let ran = orchestrate(&repo, WORK, &words);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    let limit = "Stopped: iteration limit reached (--max-iterations)";
    assert_eq!(events(&ran)[..3], ["start a", "complete a true", &format!("skipped b b: {limit}")]);
    assert_eq!(events(&ran).last().expect("one"), "1/5 tasks succeeded, 4 skipped, 0 failed");

    let agent = repo.agent("turns:\n- match: b is there\n  steps: [{hang: }]\n");
    let mut command = repo.command(&[
        "orchestrate",
        "--plan",
        &file,
        "--json",
        "-j1",
        "--sandbox=off",
        "--agent",
        &agent,
    ]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    until("the second turn", || {
        let seen = crate::journal(&repo);
        let has = |is: fn(&EventKind) -> bool| seen.iter().any(|event| is(&event.kind));
        let asked = has(|kind| matches!(kind, EventKind::PromptSent { .. }));
        (asked && !has(|kind| matches!(kind, EventKind::RunEnded { .. }))).then_some(())
    });
    signal(child.id(), Signal::TERM);
    let ran = collect(child);
    assert_eq!(ran.code, Some(143), "{}{}", ran.stdout, ran.stderr);
    let all = ends(&ran);
    assert_eq!(
        all[..3],
        ["a succeeded", "b b failed: Interrupted (SIGTERM)", "c skipped: Interrupted (SIGTERM)"]
    );
}

#[test]
fn a_session_that_fails_for_good_fails_its_sub_task_alone() {
    for jobs in ["-j1", "-j3"] {
        let repo = repo();
        let file = plan_file(&repo, PLAN);
        let broken = format!(
            "{WORK}- match: nobody\n  steps: [{{error: {{code: -32603, message: 'it broke'}}}}]\n"
        );
        let ran = orchestrate(&repo, &broken, &["--plan", &file, "--json", jobs]);
        assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
        let all = ends(&ran);
        assert_eq!(
            all[2..],
            ["c succeeded", "d failed: its session failed", "e skipped: d failed"]
        );
        assert!(ran.stdout.contains("it broke"), "{}", ran.stdout);
    }
}

/// A planner that tries to write, and an answer with two checks, one of them denied.
fn planner() -> String {
    let plan = r#"Sure: {"tasks": [{"id": "x", "description": "a is there", "verify": "test -e a.txt"},
{"description": "b is there", "verify": ["git push origin main", "test -e b.txt"]}],
"dependencies": {"x": ["x", "nobody"]}}"#;
    let plan = serde_json::to_string(plan).expect("a text");
    format!(
        "\n- {{times: 1, on_reject: continue, steps: [{{write: {{path: planned.txt, text: x}}}}, \
         {{say: {plan}}}]}}{WORK}"
    )
}

#[test]
fn a_goal_is_planned_and_its_checks_count_only_if_they_are_accepted() {
    for accept in [true, false] {
        let repo = repo();
        let agent = repo.agent(&format!("memory: seen.txt\nturns:{}", planner()));
        let mut words = vec!["orchestrate", "Write two files!", "--agent", &agent];
        words.extend(accept.then_some("--accept-checks"));
        let ran = repo.ralph(&words);
        // Without a sandbox no check of a model's is used.
        let confined = !ran.stderr.contains("no sandbox works here");
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        assert!(
            ran.stdout.contains("\n2/2 tasks succeeded, 0 skipped, 0 failed\n"),
            "{}",
            ran.stdout
        );
        assert!(!repo.path("planned.txt").exists(), "the planner wrote");
        let task = repo.read("tasks/write-two-files/TASK.md");
        assert!(!task.contains("git push"), "{task}");
        assert_eq!(
            task.matches("- verify: `test -e").count(),
            if accept && confined { 2 } else { 0 }
        );
        let state: Value =
            serde_json::from_str(&repo.read("tasks/write-two-files/state.json")).expect("JSON");
        let proof = if accept && confined { "check" } else { "commit" };
        assert_eq!(state["criteria"][0]["proof"], proof, "{state}");
        if confined {
            assert!(ran.stderr.contains("is left out: the guard denies it"), "{}", ran.stderr);
            assert_eq!(
                ran.stderr.contains("2 checks that the planner wrote are not used"),
                !accept
            );
        }
    }
}

#[test]
fn plan_writes_a_task_that_can_be_run_and_overwrites_nothing() {
    let repo = repo();
    let agent = repo.agent(&format!("memory: seen.txt\nturns:{}", planner()));
    let words = ["plan", "Write two\n- [ ] files", "--json", "--agent", &agent];
    let ran = repo.ralph(&words);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let plan = ran.json();
    assert_eq!((&plan["fallback"], &plan["tasks"][1]["id"]), (&json!(false), &json!("t2")));
    assert_eq!(plan["dependencies"], json!({}));
    assert_eq!(plan["file"], "tasks/write-two-files/TASK.md");
    let task = repo.read("tasks/write-two-files/TASK.md");
    if !ran.stderr.contains("no sandbox works here") {
        let marked = "  <!-- the planner wrote this check: read it before you trust it -->\n  \
                      - verify: `test -e a.txt`\n";
        assert!(task.contains(marked), "{task}");
    }
    let checked = repo.ralph(&["check", "write-two-files", "--json"]);
    assert_eq!(checked.code, Some(0), "{}{}", checked.stdout, checked.stderr);
    assert_eq!(checked.json()["criteria"].as_array().map(Vec::len), Some(2));
    assert_eq!(repo.git(&["log", "--format=%s"]), "begin\n");
    let again = repo.ralph(&words);
    assert_eq!(again.code, Some(7), "{}", again.stdout);
    assert!(again.stderr.contains("tasks/write-two-files/TASK.md exists"), "{}", again.stderr);
    assert_eq!(repo.read("tasks/write-two-files/TASK.md"), task);

    // Whoever read and committed it may go on with the goal.
    repo.commit("the plan");
    let ran = repo.ralph(&["orchestrate", words[1], "--agent", &agent, "--json"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(events(&ran).last().expect("one"), "2/2 tasks succeeded, 0 skipped, 0 failed");
}

#[test]
fn a_planner_that_fails_leaves_the_goal_as_one_sub_task() {
    for steps in ["[{say: I would rather not.}]", "[{error: {code: -32000, message: it broke}}]"] {
        let repo = repo();
        let agent = repo.agent(&format!("turns: [{{steps: {steps}}}]\n"));
        let ran = repo.ralph(&["plan", "a is there", "--json", "--agent", &agent]);
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        let task = json!({"id": "t1", "description": "a is there", "estimatedComplexity": "M"});
        assert_eq!((&ran.json()["fallback"], &ran.json()["tasks"]), (&json!(true), &json!([task])));
        assert!(ran.stderr.contains("gave no usable plan"), "{}", ran.stderr);
    }
}

#[test]
fn an_answer_is_parsed_without_a_session() {
    let repo = repo();
    let answer = plan_file(&repo, "```json\n{\"tasks\": [{\"description\": \"one\"}]}\n```");
    let ran = repo.ralph(&["plan", "the goal", "--parse", &answer, "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let task = json!({"id": "t1", "description": "one", "estimatedComplexity": "M"});
    assert_eq!(ran.json(), json!({"fallback": false, "tasks": [task], "dependencies": {}}));
    let mut command = repo.command(&["plan", "the goal", "--parse", "-", "--json"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = collect(command.spawn().expect("it starts"));
    let task = json!({"id": "t1", "description": "the goal", "estimatedComplexity": "M"});
    assert_eq!(ran.json(), json!({"fallback": true, "tasks": [task], "dependencies": {}}));
    assert!(!repo.path("tasks").exists());
}

#[test]
fn an_issue_becomes_a_task_and_nothing_else_of_it_counts() {
    let repo = repo();
    let body = "Please.\r\n\r\n```\r\n- [ ] in code\r\n```\r\n````\r\nsetup: rm -rf /\r\n- [ ] one - verify: `false`\r\n\
                  \x20 - [ ] nested\r\n- [x] done\r\n- [ ] two **b**\r\n\r\n- verify: `true`\r\n";
    // The second fence is never closed: it hides what follows.
    let open = body.replace("````\r\n", "");
    let issue = json!({"number": 7, "title": "Fix the <b>parser</b>!", "body": open,
        "url": "https://github.com/o/r/issues/7"});
    let event = json!({"action": "labeled", "issue": issue, "label": {"name": "ralph"}});
    let path = repo.beside("event.json");
    std::fs::write(&path, event.to_string()).expect("a file");
    let words = ["init", "--from-file", path.to_str().expect("UTF-8")];
    let ran = repo.ralph(&words);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("tasks/fix-the-b-parser-b/TASK.md"), "{}", ran.stdout);
    let checked = repo.ralph(&["check", "fix-the-b-parser-b", "--json"]).json();
    let criteria = checked["criteria"].as_array().expect("criteria");
    let texts: Vec<&str> = criteria.iter().map(|it| it["text"].as_str().expect("text")).collect();
    assert_eq!(texts, ["one - verify\\: \\`false\\`", "two **b**"]);
    assert!(criteria.iter().all(|it| it["verify"] == json!([])), "{checked}");
    let task = repo.read("tasks/fix-the-b-parser-b/TASK.md");
    assert!(
        task.contains("````text\nIssue #7, https://github.com/o/r/issues/7\nFix the <b>"),
        "{task}"
    );

    // Without a task list the title is the criterion; the file may be standard input.
    let hidden = json!({"title": "One thing", "body": body.split("- [ ] one").next()});
    std::fs::write(&path, hidden.to_string()).expect("a file");
    let ran = repo.ralph(&["init", "other", words[1], words[2]]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(repo.read("tasks/other/TASK.md").ends_with("- [ ] One thing\n"));
    std::fs::write(&path, "{}").expect("a file");
    let ran = repo.ralph(&["init", "third", words[1], words[2]]);
    assert_eq!(ran.code, Some(7), "{}", ran.stdout);
    assert!(ran.stderr.contains("it has no `title`"), "{}", ran.stderr);
    assert!(!repo.path("tasks/third").exists());
}

#[test]
fn a_signal_while_it_plans_ends_it_and_nothing_is_written() {
    let repo = repo();
    let agent = repo.agent("turns: [{steps: [{hang: }]}]\n");
    for command in ["plan", "orchestrate"] {
        let mut command = repo.command(&[command, "a goal", "--agent", &agent]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("it starts");
        until("the session", || {
            let audits = std::fs::read_dir(repo.path(".ralph/audit")).ok()?.flatten();
            let texts = audits.filter_map(|it| std::fs::read_to_string(it.path()).ok());
            texts.into_iter().any(|text| text.contains("prompt")).then_some(())
        });
        std::thread::sleep(std::time::Duration::from_millis(300));
        signal(child.id(), Signal::INT);
        let ran = collect(child);
        assert_eq!(ran.code, Some(130), "{}{}", ran.stdout, ran.stderr);
        assert!(!repo.path("tasks").exists());
        std::fs::remove_dir_all(repo.path(".ralph/audit")).expect("removed");
    }
}

#[test]
fn what_cannot_start_is_not_planned() {
    let repo = repo();
    let agent = repo.agent(&format!("memory: seen.txt\nturns:{}", planner()));
    repo.write("README.md", "changed");
    let dirty = repo.ralph(&["orchestrate", "a goal", "--agent", &agent]);
    assert_eq!(dirty.code, Some(8), "{}", dirty.stderr);
    assert!(dirty.stderr.contains("changed README.md"), "{}", dirty.stderr);
    repo.commit("clean");
    let tree = repo.ralph(&["orchestrate", "a goal", "--proof=tree", "--agent", &agent]);
    assert_eq!(tree.code, Some(2), "{}", tree.stderr);
    let file = plan_file(&repo, r#"{"tasks": [{"description": "x"}]}"#);
    let unchecked =
        repo.ralph(&["orchestrate", "--plan", &file, "--require-checks", "--agent", &agent]);
    assert_eq!(unchecked.code, Some(7), "{}", unchecked.stderr);
    assert!(unchecked.stderr.contains("`t1` has no verify command"), "{}", unchecked.stderr);
    let login = repo.agent("session_error: {code: -32000, message: Authentication required}\n");
    let login = repo.ralph(&["orchestrate", "a goal", "--agent", &login]);
    assert_eq!(login.code, Some(5), "{}", login.stderr);
    assert!(!repo.path("tasks").exists() && !dirty.stderr.contains("planning"));
}
