//! A run died on a machine that is gone, and its commits were pushed: the next one, in a
//! fresh clone, has no journal that tells of it.

use super::{Dead, HONEST, TWO, cloned, iterations, run_in};
use crate::repo::Repo;

const OPEN_AGAIN: &str = "was ticked in an iteration that died before its verdict: its box is open";
const TICKS: &str = "turns: [{steps: [{tick: \"{criterion}\"}]}]";
const AGENTS: &str = "ralph(demo): [a is there] done";
const STATE: &str = "ralph(demo): state update";

/// Two criteria that only a commit speaks for.
fn by_commits() -> String {
    TWO.lines().filter(|line| !line.contains("verify")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_tick_of_a_killed_run_is_judged_in_a_fresh_clone() {
    let dead = Dead::new();
    let root = cloned(&dead.repo.root(), &dead.repo, "clone");
    let ran = run_in(&root, &dead.repo, HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{} {}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains(&format!("`b is there` {OPEN_AGAIN}")), "{}", ran.stdout);
    assert!(!ran.stdout.contains("`a is there` was ticked"), "{}", ran.stdout);
    assert_eq!(iterations(&root), [2]);
    let state = std::fs::read_to_string(root.join("tasks/demo/state.json")).expect("state.json");
    let state: serde_json::Value = serde_json::from_str(&state).expect("JSON");
    // The work is that of the iteration that died, and its check was red before the first run.
    assert_eq!(state["criteria"][1]["proof"], "check", "{state}");
    assert_eq!(state["criteria"][1]["attempts"], 0, "{state}");
}

/// What stands in the history, and whether the first criterion is judged because of it.
#[test]
fn only_what_an_agent_ticked_after_the_last_judgement_is_open_again() {
    type History = fn(&Repo);
    let histories: [(&str, bool, History); 11] = [
        ("an agent's commit", true, |repo| {
            TICK(repo);
            repo.commit(AGENTS);
        }),
        ("a human's commit after it", true, |repo| {
            TICK(repo);
            repo.commit(AGENTS);
            repo.write("human.txt", "by hand");
            repo.commit("by hand");
        }),
        ("attempts cleared after it", true, |repo| {
            TICK(repo);
            repo.commit(AGENTS);
            repo.write(
                "tasks/demo/state.json",
                "{\"version\": 1, \"iteration\": 0, \"criteria\": []}",
            );
            repo.commit(STATE);
        }),
        ("an agent's commit after a judgement", true, |repo| {
            judged(repo);
            UNTICK(repo);
            repo.commit("once more");
            TICK(repo);
            repo.commit(AGENTS);
        }),
        ("more than a judgement", true, |repo| {
            TICK(repo);
            repo.commit(AGENTS);
            repo.write("tasks/demo/state.json", JUDGEMENT);
            repo.write("work.txt", "work");
            repo.commit(STATE);
        }),
        ("a judgement", false, judged),
        ("a human's commit", false, |repo| {
            TICK(repo);
            repo.commit("by hand");
        }),
        ("a human's tick in the place of an agent's", false, |repo| {
            TICK(repo);
            repo.commit(AGENTS);
            UNTICK(repo);
            repo.commit("no");
            TICK(repo);
            repo.commit("but yes");
        }),
        ("a human's tick beside an agent's commit", false, |repo| {
            repo.write("junk.txt", "junk");
            repo.commit(AGENTS);
            TICK(repo);
        }),
        ("what a human prepared", false, |repo| {
            TICK(repo);
            repo.commit(STATE);
            repo.write("junk.txt", "junk");
            repo.commit("ralph(demo): [b is there] done");
        }),
        ("another task's agent", false, |repo| {
            TICK(repo);
            repo.commit("ralph(other): done");
        }),
    ];
    for (name, again, history) in histories {
        let repo = Repo::new(&by_commits());
        history(&repo);
        let ran = repo.run(HONEST, &[]);
        // A human's tick without a check is a claim.
        let code = if again || name == "a judgement" { 0 } else { 4 };
        assert_eq!(ran.code, Some(code), "{name}: {} {}", ran.stdout, ran.stderr);
        assert_eq!(ran.stdout.contains(OPEN_AGAIN), again, "{name}: {}", ran.stdout);
        assert_eq!(repo.path("a.txt").exists(), again, "{name}: {}", ran.stdout);
        assert!(repo.path("b.txt").exists(), "{name}");
        assert_eq!(repo.task(), by_commits().replace("[ ]", "[x]"), "{name}");
    }
}

const JUDGEMENT: &str = r#"{"version": 1, "iteration": 1, "criteria": [{"text": "a is there", "occurrence": 0, "attempts": 0, "proof": "commit", "iteration": 1}]}"#;
const TICK: fn(&Repo) =
    |repo| repo.write("tasks/demo/TASK.md", repo.task().replace("[ ] a", "[x] a"));
const UNTICK: fn(&Repo) =
    |repo| repo.write("tasks/demo/TASK.md", repo.task().replace("[x] a", "[ ] a"));

/// An agent's work, its tick, and what the runner wrote down about it.
fn judged(repo: &Repo) {
    repo.write("work.txt", "work");
    claimed(repo);
}

/// An agent's tick, and what its own commit says in the runner's name.
fn claimed(repo: &Repo) {
    TICK(repo);
    repo.commit(AGENTS);
    repo.write("tasks/demo/state.json", JUDGEMENT);
    repo.commit(STATE);
}

/// The agent of a killed run titles a commit as the runner does.
#[test]
fn a_proof_that_only_state_json_tells_of_is_derived_again() {
    const UNDERIVED: &str = "state.json says that `a is there` is done, but no commit";
    type History = fn(&Repo);
    let histories: [(&str, bool, History); 4] = [
        ("no work at all", false, claimed),
        ("work on another criterion", false, |repo| {
            repo.write("work.txt", "work");
            let ticked = repo.task().replace("[ ] b", "[x] b");
            repo.write("tasks/demo/TASK.md", ticked);
            repo.commit("ralph(demo): [b is there] done");
            claimed(repo);
        }),
        ("its own work", true, judged),
        ("its own work, in a commit of its own", true, |repo| {
            repo.write("work.txt", "work");
            repo.commit("ralph(demo): work");
            claimed(repo);
        }),
    ];
    for (name, derives, history) in histories {
        let repo = Repo::new(&by_commits());
        history(&repo);
        let ran = repo.run(HONEST, &[]);
        assert_eq!(ran.code, Some(if derives { 0 } else { 4 }), "{name}: {}", ran.stdout);
        assert_eq!(ran.stdout.contains(UNDERIVED), !derives, "{name}: {}", ran.stdout);
        let proof = repo.state()["criteria"][0]["proof"].clone();
        assert_eq!(proof == "commit", derives, "{name}: {proof}");
    }
}

/// It does so before it kills the runner, on the machine that has the journal.
#[test]
fn a_state_without_a_verdict_in_the_journal_is_not_the_runs() {
    let dead = Dead::new();
    let mut state = dead.repo.state();
    state["iteration"] = 2.into();
    let proof = serde_json::json!({"text": "b is there", "occurrence": 0, "attempts": 0,
        "proof": "check", "iteration": 2});
    state["criteria"].as_array_mut().expect("criteria").push(proof);
    dead.repo.write("tasks/demo/state.json", state.to_string());
    dead.repo.commit(STATE);
    let ran = run_in(&dead.repo.root(), &dead.repo, HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{} {}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("verdict_reached"), "it was believed: {}", ran.stdout);
}

/// A job that fetches one commit sees no more of the history: what is in that commit, and
/// whether it is work, cannot be told.
#[test]
fn what_a_shallow_clone_cannot_tell_is_judged_again_and_what_is_proven_is_not() {
    let dead = Dead::new();
    let to = dead.repo.beside("shallow");
    let url = format!("file://{}", dead.repo.root().display());
    dead.repo.git(&["clone", "--quiet", "--depth=1", &url, to.to_str().expect("UTF-8")]);
    let ran = run_in(&to, &dead.repo, &HONEST.replace("text: b}", "text: better}"), &[]);
    assert_eq!(ran.code, Some(0), "{} {}", ran.stdout, ran.stderr);
    assert_eq!(iterations(&to), [2], "{}", ran.stdout);
}

/// On the machine where it died the work that an agent left counts, too.
#[test]
fn work_that_was_pushed_needs_no_other_and_a_tick_alone_is_none() {
    for (works, attempts) in [(true, 0), (false, 1)] {
        let repo = Repo::new("# One\n\n- [ ] a is there\n");
        if works {
            repo.write("a.txt", "a");
        }
        TICK(&repo);
        repo.commit(AGENTS);
        let ran = repo.run(TICKS, &["--max-iterations", "1"]);
        assert_eq!(ran.code, Some(if works { 0 } else { 3 }), "{} {}", ran.stdout, ran.stderr);
        assert_eq!(repo.state()["criteria"][0]["attempts"], attempts, "{}", ran.stdout);
    }
}
