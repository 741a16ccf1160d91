//! Runs that come to an end of their own.

use ralph_copilot::model::EventKind;

use super::{HONEST, THREE};
use crate::repo::{Repo, finish, story};

#[test]
fn several_criteria_to_the_end() {
    let repo = Repo::new(THREE);
    let ran = repo.run(HONEST, &[]);
    insta::assert_snapshot!(story(&repo, &ran), @r"
    iteration 1: pass check
    iteration 2: pass check
    iteration 3: pass check
    exit 0: proven
    - [x] a is there
    - [x] b is there
    - [x] c is there
    state: a is there, proven by check, 0 attempts failed
    state: b is there, proven by check, 0 attempts failed
    state: c is there, proven by check, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): [a is there] - a
    commit: ralph(demo): state update
    commit: ralph(demo): [b is there] - b
    commit: ralph(demo): state update
    commit: ralph(demo): [c is there] - c
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    ");
    let events = ran.events();
    let numbers: Vec<u64> = events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
    assert!(matches!(events.last().map(|it| &it.kind), Some(EventKind::RunEnded { .. })));
}

/// The same on plain lines, as CI sees it.
#[test]
fn plain_lines_of_a_run_with_a_lie_in_it() {
    let repo =
        Repo::new("# Demo\n\n- [ ] a is there\n  - verify: `test -e a.txt`\n- [ ] b is there\n");
    let script = r#"
turns:
- match: a is there
  times: 1
  steps: [{tick: "{criterion}"}, {progress: did a}, {commit: a}, {say: "All done!"}]
- match: a is there
  steps: [{write: {path: a.txt, text: a}}, {tick: "{criterion}"}, {progress: did a}, {commit: a}]
- match: b is there
  steps: [{write: {path: b.txt, text: b}}, {tick: "{criterion}"}, {commit: b}]
"#;
    let ran = finish(repo.run_command(script, &[]));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    crate::shown(&repo, || {
        insta::assert_snapshot!("plain_lines_of_a_run", ran.stdout);
        insta::assert_snapshot!("progress_of_a_run", repo.read("tasks/demo/progress.md"));
        insta::assert_snapshot!("activity_of_a_run", repo.read("tasks/demo/activity.log"));
        insta::assert_snapshot!("cost_of_a_run", repo.read("tasks/demo/cost.log"));
        insta::assert_snapshot!("state_of_a_run", repo.read("tasks/demo/state.json"));
    });
}

#[test]
fn a_run_that_reached_its_limit_goes_on_where_it_stopped() {
    let repo = Repo::new(THREE);
    let mut last = None;
    for (number, code) in [(1, 3), (2, 3), (3, 0)] {
        let ran = repo.run(HONEST, &["--max-iterations", "1"]);
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        let iterations: Vec<u32> = ran
            .events()
            .iter()
            .filter_map(|event| match event.kind {
                EventKind::IterationStarted { iteration, .. } => Some(iteration),
                _ => None,
            })
            .collect();
        assert_eq!(iterations, [number]);
        last = Some(ran);
    }
    insta::assert_snapshot!(story(&repo, &last.expect("three runs")), @r"
    iteration 3: pass check
    exit 0: proven
    - [x] a is there
    - [x] b is there
    - [x] c is there
    state: a is there, proven by check, 0 attempts failed
    state: b is there, proven by check, 0 attempts failed
    state: c is there, proven by check, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): [a is there] - a
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    commit: ralph(demo): [b is there] - b
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    commit: ralph(demo): [c is there] - c
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    ");
}

/// The journal redacts the criterion's text; the run that resumes knows it all the same.
#[test]
fn work_on_a_criterion_with_a_secret_counts_after_the_run_died() {
    let secret = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let repo = Repo::new(&format!("# One\n\n- [ ] {secret} is refused\n"));
    let forgets = "turns: [{steps: [{write: {path: a.txt, text: a}}, {commit: a}]}]";
    assert_eq!(repo.run(forgets, &["--max-iterations", "1"]).code, Some(3));
    // The run as it was before its verdict.
    let commit = repo.git(&["log", "-1", "--format=%H", "--", "a.txt"]);
    repo.git(&["reset", "--quiet", "--hard", commit.trim()]);
    let journal = crate::run_folder(&repo).expect("a run").join("events.jsonl");
    let text = std::fs::read_to_string(&journal).expect("a journal");
    assert!(!text.contains(&secret), "{text}");
    let verdict = text.lines().position(|line| line.contains("\"event\":\"verdict_reached\""));
    let before: Vec<_> = text.lines().take(verdict.expect("a verdict")).collect();
    std::fs::write(&journal, before.join("\n") + "\n").expect("cut");
    // A human who works here afterwards, so that nothing is put back.
    repo.write("human.txt", "half a sentence");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    let human = std::fs::File::options().write(true).open(repo.path("human.txt"));
    human.and_then(|file| file.set_modified(later)).expect("touched");
    let ran =
        repo.run("turns: [{steps: [{say: hm}]}]", &["--max-iterations", "1", "--allow-dirty"]);
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    let criteria = &repo.state()["criteria"];
    assert_eq!(criteria.as_array().map(Vec::len), Some(1), "{criteria}");
    assert_eq!(criteria[0]["worked"], commit.trim(), "{criteria}");
}

/// Its check was green before this run began, and there is nothing left to commit.
#[test]
fn work_that_a_failed_attempt_committed_counts_in_the_next_run_too() {
    let repo = Repo::new("# One\n\n- [ ] a is there\n  - verify: `test -e a.txt`\n");
    let forgets = "turns: [{steps: [{write: {path: a.txt, text: a}}, {commit: a}]}]";
    assert_eq!(repo.run(forgets, &["--max-iterations", "1"]).code, Some(3));
    let commit = repo.git(&["log", "-1", "--format=%H", "--", "a.txt"]);
    assert_eq!(repo.state()["criteria"][0]["worked"], commit.trim());
    let ticks = "turns: [{steps: [{tick: \"{criterion}\"}, {progress: did a}, {commit: tick}]}]";
    let ran = repo.run(ticks, &[]);
    insta::assert_snapshot!(story(&repo, &ran), @r"
    iteration 2: pass check
    exit 0: proven
    - [x] a is there
    state: a is there, proven by check, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): [a is there] - a
    commit: ralph(demo): state update
    commit: ralph(demo): [a is there] - tick
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    ");
    assert_eq!(repo.state()["criteria"][0].get("worked"), None, "no longer of any use");
}

#[test]
fn a_task_that_is_done_is_proven_again_without_an_agent() {
    let repo = Repo::new(THREE);
    assert_eq!(repo.run(HONEST, &[]).code, Some(0));
    let head = repo.git(&["rev-parse", "HEAD"]);
    let ran = repo.run("turns: [{steps: [{die: {exit: 1}}]}]", &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(repo.status(), "");
}

/// What a human ticked by hand has to hold too.
#[test]
fn a_box_that_was_ticked_by_hand_and_does_not_hold_is_no_success() {
    let repo = Repo::new(&THREE.replace("[ ]", "[x]"));
    let ran = repo.run(HONEST, &[]);
    insta::assert_snapshot!(story(&repo, &ran), @r"
    exit 4: stuck
    - [x] a is there
    - [x] b is there
    - [x] c is there
    on refs/heads/main
    ");
}

#[test]
fn the_task_may_be_named_in_short_and_lie_in_ralph_active() {
    let repo = Repo::empty();
    repo.write(".ralph/active/three/TASK.md", THREE);
    repo.commit("start");
    let agent = repo.agent(HONEST);
    let ran = repo.ralph(&["three", "--agent", &agent]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.contains("3 criteria: 3 proven."), "{}", ran.stdout);
    assert_eq!(repo.status(), "");
    let task = repo.read(".ralph/active/three/TASK.md");
    assert_eq!(task, THREE.replace("[ ]", "[x]"));
}

#[test]
fn a_time_limit_ends_a_turn_and_the_next_run_begins_on_a_clean_tree() {
    let repo = Repo::new(THREE);
    let script = "turns: [{steps: [{write: {path: half.txt, text: half}}, {hang: }]}]";
    let ran = repo.run(script, &["--max-duration", "5s"]);
    insta::assert_snapshot!(story(&repo, &ran), @r"
    exit 3: limit_reached
    - [ ] a is there
    - [ ] b is there
    - [ ] c is there
    on refs/heads/main
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    ");
    let kept = repo.git(&["show", "refs/ralph/demo/attempts/1:half.txt"]);
    assert_eq!(kept, "half");
}

/// No premium request is counted for an agent that is not GitHub's.
#[test]
fn a_scripted_agent_costs_no_premium_request() {
    let repo = Repo::new(THREE);
    let ran = repo.run(HONEST, &["--max-premium-requests", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let cost = repo.read("tasks/demo/cost.log");
    assert_eq!(cost.lines().count(), 3, "{cost}");
    assert!(cost.lines().all(|line| line.contains("premium=false")), "{cost}");
}

/// A model that is named and known to cost one counts, whatever agent serves it.
#[test]
fn a_premium_model_that_is_named_counts_for_any_agent() {
    for (model, files, code, lines, premium) in [
        ("claude-sonnet-4.5", None, 3, 2, "premium=true"),
        ("gpt-5", None, 3, 2, "premium=true"),
        ("gpt-4.1", None, 0, 3, "premium=false"),
        ("llama3", None, 0, 3, "premium=false"),
        ("gpt-5", Some("free_models = [\"gpt-5\"]\n"), 0, 3, "premium=false"),
    ] {
        let config: Vec<_> = files.map(|text| (".ralph/config.toml", text)).into_iter().collect();
        let repo = Repo::with(THREE, &config);
        let ran = repo.run(HONEST, &["--model", model, "--max-premium-requests", "2"]);
        assert_eq!(ran.code, Some(code), "{model}: {}", ran.stderr);
        let cost = repo.read("tasks/demo/cost.log");
        assert_eq!(cost.lines().count(), lines, "{model}: {cost}");
        let line = format!("model={model}, {premium}");
        assert!(cost.lines().all(|it| it.contains(&line)), "{model}: {cost}");
    }
    // Served by a provider of one's own, too; the one that the provider names is not known.
    for (args, code) in [(&["--model", "claude-sonnet-4.5"][..], 3), (&[], 0)] {
        let repo = Repo::new(THREE);
        let mut command = repo.run_command(HONEST, args);
        command.args(["--json", "--max-premium-requests", "1"]);
        command.env("COPILOT_PROVIDER_BASE_URL", "http://127.0.0.1:9");
        let ran = finish(command);
        assert_eq!(ran.code, Some(code), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn a_wall_clock_that_was_put_back_does_not_hide_the_newest_run() {
    let repo = Repo::new(THREE);
    let one = ["--max-iterations", "1"];
    assert_eq!(repo.run(HONEST, &one).code, Some(3));
    // As if that run had been in another century.
    let folder = crate::run_folder(&repo).expect("a run");
    let ahead = folder.with_file_name("20991231T235959.999Z-1");
    std::fs::rename(&folder, &ahead).expect("renamed");
    let ran = repo.run(HONEST, &one);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let run = ran.events().first().expect("events").run.as_str().to_owned();
    assert!(run.starts_with("21000101T000000.000Z-"), "{run}");
    let status = repo.ralph(&["status", "demo", "--json"]).json();
    assert!(status.to_string().contains(&run), "{status}");
}

#[test]
fn a_limit_that_is_further_away_than_time_is_counted_is_none() {
    let repo = Repo::new(THREE);
    let ran = repo.run(HONEST, &["--max-duration", "500000000000years"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}
