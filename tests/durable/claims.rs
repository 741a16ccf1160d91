//! What state.json says of a task's start, in a clone that has no journal: it is derived again,
//! and what an agent wrote there does not count.

use serde_json::{Value, json};

use super::{Dead, HONEST, cloned, run_in};
use crate::repo::{Ran, Repo};

const TASK: &str = "# Demo\n\n- [ ] squares\n  - verify: `sh tests/run.sh`\n";
const CHECK: &str = "sh tests/run.sh";
const TEST: (&str, &str) = ("tests/run.sh", "test \"$(sh sq.sh 7)\" = 49\n");
const WRONG: (&str, &str) = ("sq.sh", "echo 0\n");
const AGENTS: &str = "ralph(demo): [squares] done";
const STATE: &str = "ralph(demo): state update";
const IDLE: &str = "turns: [{steps: [{say: nothing}]}]";

/// The hash of a commit or of what it holds.
fn hash(repo: &Repo, name: &str) -> String {
    repo.git(&["rev-parse", name]).trim().to_owned()
}

/// An agent's commit that empties the test, ticks, and claims what it likes in the runner's name.
fn forged(repo: &Repo, claim: impl Fn(&Repo) -> Value) -> Ran {
    repo.write("tests/run.sh", "true\n");
    repo.write("tasks/demo/TASK.md", repo.task().replace("[ ]", "[x]"));
    repo.commit(AGENTS);
    let proven = json!({"text": "squares", "occurrence": 0, "proof": "check", "iteration": 1});
    let mut state = json!({"version": 1, "iteration": 1, "criteria": [proven]});
    let claim = claim(repo);
    state.as_object_mut().expect("an object").extend(claim.as_object().expect("one").clone());
    repo.write("tasks/demo/state.json", state.to_string());
    repo.commit(STATE);
    repo.run(IDLE, &["--max-iterations", "1"])
}

fn seen(status: &str) -> Value {
    json!([{"command": CHECK, "status": status}])
}

fn is_refused(name: &str, ran: &Ran) {
    assert!([Some(3), Some(4)].contains(&ran.code), "{name}: {} {}", ran.stdout, ran.stderr);
    let taken_back = ["criterion_reopened", "criterion_held"];
    assert!(taken_back.iter().any(|it| ran.stdout.contains(it)), "{name}: {}", ran.stdout);
}

#[test]
fn a_start_that_is_later_or_earlier_than_the_first_work_does_not_count() {
    // The agent's own commit, in which the test is empty already.
    let repo = Repo::with(TASK, &[TEST, WRONG]);
    let start = hash(&repo, "HEAD");
    let ran = forged(&repo, |repo| json!({"start": hash(repo, "HEAD"), "first_seen": seen("red")}));
    is_refused("later", &ran);
    let told = format!("the history shows that it began at {}", &start[..7]);
    assert!(ran.stdout.contains(&told), "{}", ran.stdout);
    assert_eq!(repo.state()["start"], json!(start));

    // A commit that has no test yet.
    let repo = Repo::with(TASK, &[WRONG]);
    let before = hash(&repo, "HEAD");
    repo.write(TEST.0, TEST.1);
    repo.commit("a test");
    let start = hash(&repo, "HEAD");
    let ran = forged(&repo, |_| json!({"start": before, "first_seen": seen("missing")}));
    is_refused("earlier", &ran);
    assert_eq!(repo.state()["start"], json!(start));
}

#[test]
fn a_harness_that_no_run_here_knows_does_not_count() {
    let repo = Repo::with(TASK, &[TEST, WRONG]);
    let start = hash(&repo, "HEAD");
    let ran = forged(
        &repo,
        |repo| json!({"start": start, "harness": hash(repo, "HEAD^{tree}"), "first_seen": seen("red")}),
    );
    is_refused("harness", &ran);
    assert!(ran.stdout.contains("names tests and scripts that no run"), "{}", ran.stdout);
}

/// Without a test at the start there would be nothing to put back.
#[test]
fn how_a_check_ended_at_the_start_is_seen_again() {
    let repo = Repo::with(TASK, &[TEST, WRONG]);
    let start = hash(&repo, "HEAD");
    let ran = forged(&repo, |_| json!({"start": start, "first_seen": seen("missing")}));
    is_refused("first seen", &ran);
    assert!(ran.stdout.contains("but before the work `sh tests/run.sh` finds a test"));
    assert_eq!(repo.state()["first_seen"][0]["status"], "red");
    // The next run finds its own journal, and a state that was put right.
    let ran = repo.run(IDLE, &["--max-iterations", "1"]);
    assert!(!ran.stdout.contains("state.json says"), "{}", ran.stdout);
}

#[test]
fn a_commit_that_is_no_work_on_the_task_is_no_earlier_work() {
    let repo = Repo::new("# Demo\n\n- [ ] notes\n");
    let start = hash(&repo, "HEAD");
    let worked = json!({"text": "notes", "occurrence": 0, "attempts": 0, "worked": start});
    let state = json!({"version": 1, "iteration": 1, "start": start, "criteria": [worked]});
    repo.write("tasks/demo/state.json", state.to_string());
    repo.commit(STATE);
    let ran = repo.run("turns: [{steps: [{tick: \"{criterion}\"}]}]", &["--max-iterations", "1"]);
    assert_eq!(ran.code, Some(3), "{} {}", ran.stdout, ran.stderr);
    assert_eq!(repo.state()["criteria"][0]["attempts"], 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("left work in a commit"), "{}", ran.stdout);
}

/// What a run wrote is what the history says.
#[test]
fn an_honest_state_is_not_doubted() {
    let dead = Dead::new();
    let root = cloned(&dead.repo.root(), &dead.repo, "clone");
    let ran = run_in(&root, &dead.repo, HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{} {}", ran.stdout, ran.stderr);
    assert!(!ran.stdout.contains("state.json says"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("state.json names"), "{}", ran.stdout);
    // One that was done and removed before has another start.
    let repo = Repo::with(TASK, &[TEST, WRONG]);
    let work = "turns: [{steps: [{write: {path: sq.sh, text: 'echo $(($1 * $1))'}}, {tick: squares}, {commit: a}]}]";
    assert_eq!(repo.run(work, &[]).code, Some(0));
    repo.git(&["rm", "-r", "--quiet", "tasks/demo"]);
    repo.commit("done");
    repo.write("tasks/demo/TASK.md", "# Demo\n\n- [ ] notes\n- [ ] more\n");
    repo.commit("again");
    let start = hash(&repo, "HEAD");
    let work =
        "turns: [{steps: [{write: {path: notes.txt, text: a}}, {tick: notes}, {commit: a}]}]";
    assert_eq!(repo.run(work, &["--max-iterations", "1"]).code, Some(3));
    let root = cloned(&repo.root(), &repo, "clone");
    let ran = run_in(&root, &repo, IDLE, &["--max-iterations", "1"]);
    assert!(!ran.stdout.contains("state.json says"), "{}", ran.stdout);
    let state = std::fs::read_to_string(root.join("tasks/demo/state.json")).expect("state.json");
    assert!(state.contains(&start), "{state}");
}

/// Without a claim, HEAD is no start where the history shows work.
#[test]
fn a_claim_that_was_removed_is_derived_from_the_history() {
    let repo = Repo::with(TASK, &[TEST, WRONG]);
    let start = hash(&repo, "HEAD");
    repo.write("tests/run.sh", "test -e done.txt\n");
    repo.commit("ralph(demo): [squares] a test");
    let work = "turns: [{steps: [{write: {path: done.txt, text: a}}, {tick: squares}, {progress: a}, {commit: a}]}]";
    let ran = repo.run(work, &["--max-iterations", "1"]);
    assert!([Some(3), Some(4)].contains(&ran.code), "{} {}", ran.stdout, ran.stderr);
    assert!(!repo.task().contains("[x]"), "{}", ran.stdout);
    let told = "state.json does not say where the task began: the history shows that it began at";
    assert!(ran.stdout.contains(&format!("{told} {}", &start[..7])), "{}", ran.stdout);
    assert_eq!(repo.state()["start"], json!(start));
}

/// A run here vouches for the start that it knew, and for no later claim.
#[test]
fn a_journal_vouches_for_its_own_start_only() {
    let repo = Repo::with(TASK, &[TEST, WRONG]);
    let start = hash(&repo, "HEAD");
    assert_eq!(repo.run(IDLE, &["--max-iterations", "1"]).code, Some(3));
    let ran = forged(&repo, |repo| json!({"start": hash(repo, "HEAD"), "first_seen": seen("red")}));
    assert_eq!(ran.code, Some(3), "{} {}", ran.stdout, ran.stderr);
    assert!(!repo.task().contains("[x]"), "{}", ran.stdout);
    // What the pull brought of the work is no human's, and is put back.
    let put_back = r#""put_back":{"harness":[{"path":"tests/run.sh""#;
    assert!(ran.stdout.contains(put_back), "{}", ran.stdout);
    let told = format!("the history shows that it began at {}", &start[..7]);
    assert!(ran.stdout.contains(&told), "{}", ran.stdout);
    // Neither the first run's start nor the derived one is doubted later.
    let ran = repo.run(IDLE, &["--max-iterations", "1"]);
    assert!(!ran.stdout.contains("state.json says"), "{}", ran.stdout);
}

/// A clone of some commits shows what a start cannot be.
#[test]
fn a_start_that_a_shallow_clone_shows_to_be_work_is_refused() {
    let repo = Repo::with(TASK, &[TEST, WRONG]);
    repo.write("before.txt", "by hand");
    repo.commit("before");
    let start = hash(&repo, "HEAD");
    repo.write("tests/run.sh", "true\n");
    repo.commit(AGENTS);
    let state = json!({"version": 1, "iteration": 1, "start": hash(&repo, "HEAD"), "criteria": []});
    repo.write("tasks/demo/state.json", state.to_string());
    repo.commit(STATE);
    let url = format!("file://{}", repo.root().display());
    let run = |depth: &str| {
        let to = repo.beside(depth);
        let depth = format!("--depth={depth}");
        repo.git(&["clone", "--quiet", &depth, &url, to.to_str().expect("UTF-8")]);
        run_in(&to, &repo, IDLE, &["--max-iterations", "1"])
    };
    // Its oldest commit is that work.
    let ran = run("2");
    assert_eq!(ran.code, Some(7), "{} {}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("git fetch --unshallow"), "{}", ran.stderr);
    // The commit before it is there.
    repo.write("notes.txt", "by hand");
    repo.commit("by hand");
    let ran = run("4");
    let told = format!("the history shows that it began at {}", &start[..7]);
    assert!(ran.stdout.contains(&told), "{} {}", ran.stdout, ran.stderr);
}
