//! What state.json claims, and what a run that works on nothing leaves behind.

use std::fs;

use super::BUILDS;
use crate::repo::{Repo, story};

const TASK: &str = "---\nallow: [\"sh build.sh\"]\n---\n# Demo\n\n- [ ] squares\n  - verify: `sh tests/sq.sh`\n- [ ] more\n  - verify: `test -e more`\n";
const FILES: [(&str, &str); 2] =
    [("tests/sq.sh", "test \"$(sh sq.sh 3)\" = 9\n"), ("sq.sh", "echo 0\n")];
const IDLE: &str = "turns: [{steps: [{say: Nothing to do.}]}]";

/// An agent can write what it likes into state.json. Even a run that passes nothing looks at it
/// where no journal tells of the proof.
#[test]
fn a_forged_proof_is_not_in_the_table_of_a_run_that_passes_nothing() {
    let repo = Repo::with(TASK, &FILES);
    let once = ["--stuck-threshold", "1"];
    assert_eq!(repo.run(IDLE, &once).code, Some(4));
    repo.write("tests/sq.sh", "true\n");
    repo.write("tasks/demo/TASK.md", repo.task().replace("- [ ] squares", "- [x] squares"));
    repo.commit("ralph(demo): [squares] - work");
    let mut state = repo.state();
    state["iteration"] = (state["iteration"].as_u64().expect("a number") + 1).into();
    state["criteria"][0] =
        serde_json::json!({ "text": "squares", "attempts": 0, "proof": "check", "iteration": 2 });
    repo.write("tasks/demo/state.json", state.to_string());
    repo.commit("ralph(demo): state update");
    let ran = repo.run(IDLE, &once);
    assert_eq!(ran.code, Some(4), "{}", story(&repo, &ran));
    assert!(repo.task().contains("- [ ] squares"), "{}", story(&repo, &ran));
    assert!(repo.state()["criteria"][0]["proof"].is_null(), "{}", repo.state());
    assert_eq!(repo.status(), "", "all of it is committed");
}

/// A human's word is a commit: state.json alone does not tell of it.
#[test]
fn a_forged_acceptance_does_not_count() {
    let repo = Repo::with("# Demo\n\n- [ ] notes\n- [ ] more\n", &FILES);
    let once = ["--stuck-threshold", "1"];
    assert_eq!(repo.run(IDLE, &once).code, Some(4));
    repo.write("tasks/demo/TASK.md", repo.task().replace("- [ ] notes", "- [x] notes"));
    let mut state = repo.state();
    state["criteria"][0] =
        serde_json::json!({ "text": "notes", "attempts": 0, "proof": "accepted", "iteration": 1 });
    repo.write("tasks/demo/state.json", state.to_string());
    repo.commit("ralph(demo): state update");
    let ran = repo.run(IDLE, &once);
    assert_eq!(ran.code, Some(4), "{}", story(&repo, &ran));
    assert!(ran.stdout.contains("`notes` was accepted, but no commit"), "{}", ran.stdout);
    assert!(repo.state()["criteria"][0]["proof"].is_null(), "{}", repo.state());
}

/// A criterion that a human opens again is work to do, with all its attempts.
#[test]
fn an_open_criterion_has_no_proof_and_all_attempts() {
    let task = TASK.split("- [ ] more").next().expect("a part");
    let repo = Repo::with(task, &FILES);
    let one = ["--max-iterations", "1"];
    assert_eq!(repo.run(IDLE, &one).code, Some(3));
    let honest = "turns: [{steps: [{write: {path: sq.sh, text: \"echo $(($1 * $1))\\n\"}}, \
                  {tick: squares}, {commit: squares}]}]";
    let ran = repo.run(honest, &one);
    assert_eq!(ran.code, Some(0), "{}", story(&repo, &ran));
    assert_eq!(repo.state()["criteria"][0]["attempts"], 1, "{}", repo.state());
    assert_eq!(repo.ralph(&["tick", "demo", "squares", "--off"]).code, Some(0));
    repo.write("tests/sq.sh", "test \"$(sh sq.sh 3)\" = '9 squared'\n");
    repo.commit("a stricter check");
    let told = repo.ralph(&["status", "demo"]).stdout;
    assert!(!told.contains("proven by its check"), "{told}");
    let ran = repo.run(IDLE, &one);
    assert_eq!(ran.code, Some(3), "{}", story(&repo, &ran));
    let entry = &repo.state()["criteria"][0];
    assert!(entry["proof"].is_null() && entry["attempts"] == 1, "{entry}");
    let again = repo.ralph(&["retry", "demo"]);
    assert!(again.stdout.contains("reset  squares"), "{}{}", again.stdout, again.stderr);
}

/// What a run opens again is saved, even if it has no iteration.
#[test]
fn what_is_opened_again_without_an_iteration_is_committed() {
    let task = TASK.split("- [ ] more").next().expect("a part");
    let repo = Repo::with(task, &FILES);
    let honest = "turns: [{steps: [{write: {path: sq.sh, text: \"echo $(($1 * $1))\\n\"}}, \
                  {tick: squares}, {commit: squares}]}]";
    assert_eq!(repo.run(honest, &[]).code, Some(0));
    repo.write("sq.sh", "echo broken\n");
    repo.commit("my own change");
    let ran = repo.run(IDLE, &["--stuck-threshold", "1"]);
    assert_eq!(ran.code, Some(4), "{}", story(&repo, &ran));
    assert!(!ran.stdout.contains("iteration_started"), "{}", ran.stdout);
    assert!(repo.git(&["show", "HEAD:tasks/demo/TASK.md"]).contains("- [ ] squares"));
    assert_eq!(repo.status(), "");
    let again = repo.ralph(&["retry", "demo"]);
    assert!(again.stdout.contains("reset  squares"), "{}{}", again.stdout, again.stderr);
}

/// Nobody is told to tick a criterion whose check was red when the task began.
#[test]
fn a_check_that_a_weakened_test_turned_green_did_not_pass_before_the_work() {
    let weakens =
        "echo true > tests/sq.sh; echo '#' >> sq.sh; git commit -qam 'ralph(demo): work'\n";
    let repo = Repo::with(TASK, &[FILES[0], FILES[1], ("build.sh", weakens)]);
    for (script, limit, code) in
        [(BUILDS, "--max-iterations=1", 3), (IDLE, "--stuck-threshold=2", 4)]
    {
        let ran = repo.run(script, &[limit, "--sandbox=off"]);
        assert_eq!(ran.code, Some(code), "{}", story(&repo, &ran));
        assert_eq!(repo.read("tests/sq.sh"), "true\n", "{}", story(&repo, &ran));
        let told = [ran.stdout, repo.ralph(&["status", "demo"]).stdout].concat();
        assert!(!told.contains("passed before any work; if you agree"), "{told}");
    }
}

/// A clone without the refs of held work goes on, and says how to fetch them.
#[test]
fn held_work_that_is_not_in_the_clone_stays_held() {
    let changes_a_test = "echo 'test $(sh sq.sh 3) = 7' > tests/sq.sh; echo 'echo 7' > sq.sh\n\
                          sed -i.bak 's/\\[ \\] squares/[x] squares/' tasks/demo/TASK.md\n\
                          rm tasks/demo/TASK.md.bak; git commit -qam 'ralph(demo): work'\n";
    let repo = Repo::with(TASK, &[FILES[0], FILES[1], ("build.sh", changes_a_test)]);
    let ran = repo.run(BUILDS, &["--sandbox=off", "--max-iterations", "1"]);
    assert!(story(&repo, &ran).starts_with("iteration 1: held\n"), "{}", story(&repo, &ran));
    for name in repo.git(&["for-each-ref", "--format=%(refname)", "refs/ralph"]).lines() {
        repo.git(&["update-ref", "-d", name]);
    }
    repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    repo.git(&["gc", "--quiet", "--prune=now"]);
    fs::remove_dir_all(repo.path(".ralph/runs")).expect("no journals");
    let ran = repo.run(IDLE, &["--sandbox=off", "--stuck-threshold", "1"]);
    assert_eq!(ran.code, Some(4), "{}", story(&repo, &ran));
    let fetch = "git fetch origin 'refs/ralph/*:refs/ralph/*'";
    let told = "is not in this clone; fetch it";
    assert!(ran.stdout.contains(told) && ran.stdout.contains(fetch), "{}", ran.stdout);
    let accepted = repo.ralph(&["accept", "demo", "squares"]);
    assert!(accepted.stderr.contains(fetch), "{}", accepted.stderr);
}
