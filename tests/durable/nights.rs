//! Each night works in a clone of its own, as a scheduled job does: what counts as an old test
//! comes from the history.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{cloned, run_in};
use crate::repo::{Ran, Repo, finish};

const TASK: &str = "\
# Nights

- [ ] one is there
  - verify: `test -e one.txt`
- [ ] two is right
  - verify: `sh tests/two.sh`
- [ ] three is tested
  - verify: `sh tests/three.sh`
";

/// The work of the first night: one criterion, and a new test.
const FIRST: &str = r#"
turns:
- match: one is there
  steps: [{write: {path: one.txt, text: one}}, {tick: "{criterion}"}, {commit: one}]
- match: two is right
  steps: [{progress: nothing yet}]
- match: three is tested
  steps:
  - write: {path: three.txt, text: three}
  - write: {path: tests/three.sh, text: "grep -q three three.txt"}
  - tick: "{criterion}"
  - commit: three
"#;

/// What the guard does not see through.
const WEAKEN: &str = "\
echo true > tests/two.sh
git -c user.name=Human -c user.email=human@example.org commit -qam 'two is fine'
";

fn repo() -> Repo {
    Repo::with(TASK, &[("tests/two.sh", "grep -q two two.txt\n"), ("weaken.sh", WEAKEN)])
}

/// A night in a clone of what the last one left.
fn night(from: &Path, repo: &Repo, name: &str, script: &str) -> (PathBuf, Ran) {
    short_night(from, repo, name, script, &["--on-stuck", "skip", "--stuck-threshold", "1"])
}

/// The same with other limits.
fn short_night(
    from: &Path,
    repo: &Repo,
    name: &str,
    script: &str,
    args: &[&str],
) -> (PathBuf, Ran) {
    let root = cloned(from, repo, name);
    let ran = run_in(&root, repo, script, args);
    (root, ran)
}

fn git(root: &Path, args: &[&str]) {
    let human = ["-c", "user.name=Human", "-c", "user.email=human@example.org"];
    let mut git = Command::new("git");
    let status = git.args(human).args(args).current_dir(root).status().expect("git");
    assert!(status.success(), "{args:?}");
}

/// What state.json says of a criterion's proof.
fn proof(root: &Path, criterion: usize) -> serde_json::Value {
    let text = std::fs::read_to_string(root.join("tasks/demo/state.json")).expect("state.json");
    let state: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let texts = ["one is there", "two is right", "three is tested"];
    let mut entries = state["criteria"].as_array().expect("criteria").iter();
    let entry = entries.find(|entry| entry["text"] == texts[criterion]);
    entry.map(|entry| entry["proof"].clone()).unwrap_or_default()
}

/// Tries a blocked criterion again.
fn retry(root: &Path, repo: &Repo) {
    let mut command = repo.command(&["retry", "demo"]);
    command.current_dir(root);
    assert_eq!(finish(command).code, Some(0));
}

#[test]
fn a_test_that_a_human_corrects_in_the_morning_counts_the_next_night() {
    const SECOND: &str = r#"
turns:
- steps: [{write: {path: two.txt, text: zwei}}, {tick: "{criterion}"}, {commit: two}]
"#;
    let repo = repo();
    let (first, ran) = night(&repo.root(), &repo, "first", FIRST);
    assert_eq!(ran.code, Some(4), "{}", ran.stdout);
    assert_eq!(proof(&first, 2), "check", "{}", ran.stdout);
    retry(&first, &repo);
    std::fs::write(first.join("tests/two.sh"), "grep -q zwei two.txt\n").expect("written");
    git(&first, &["commit", "--quiet", "-am", "two is zwei"]);
    let (second, ran) = night(&first, &repo, "second", SECOND);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert_eq!(proof(&second, 1), "check");
}

#[test]
fn a_test_that_a_proof_of_an_earlier_night_rested_on_is_an_old_one() {
    const GUTS: &str = r#"
turns:
- steps:
  - write: {path: two.txt, text: two}
  - write: {path: three.txt, text: gone}
  - write: {path: tests/three.sh, text: "grep -q gone three.txt"}
  - tick: "{criterion}"
  - commit: two
"#;
    let repo = repo();
    let (first, ran) = night(&repo.root(), &repo, "first", FIRST);
    assert_eq!(proof(&first, 2), "check", "{}", ran.stdout);
    retry(&first, &repo);
    let (second, ran) = night(&first, &repo, "second", GUTS);
    assert_eq!(ran.code, Some(4), "{}", ran.stdout);
    assert_eq!(proof(&second, 1), serde_json::Value::Null, "{}", ran.stdout);
    assert!(ran.stdout.contains("tests/three.sh"), "it is named: {}", ran.stdout);
}

/// An agent that weakens a test in its first or in its second turn, by a commit like a human's.
const WEAKENS: &str = r#"
turns:
- match: WORKS
  steps: [{write: {path: one.txt, text: one}}, {tick: "{criterion}"}, {commit: one}]
- steps:
  - run: sh weaken.sh
  - progress: two is fine
"#;

#[test]
fn what_an_agent_commits_under_another_title_is_no_human_s_the_next_night() {
    const TICKS: &str = r#"
turns:
- match: one is there
  steps: [{write: {path: one.txt, text: one}}, {tick: "{criterion}"}, {commit: one}]
- steps: [{write: {path: two.txt, text: no}}, {tick: "{criterion}"}, {commit: two}]
"#;
    for (turns, works) in [("1", "nothing"), ("2", "one is there")] {
        let repo = repo();
        let script = WEAKENS.replace("WORKS", works);
        let (first, ran) =
            short_night(&repo.root(), &repo, "first", &script, &["--max-iterations", turns]);
        assert_eq!(ran.code, Some(3), "{}", ran.stdout);
        let weak = std::fs::read_to_string(first.join("tests/two.sh")).expect("the test");
        assert!(weak.starts_with("true"), "the commit is on the branch: {weak} {}", ran.stdout);
        let (second, ran) = short_night(&first, &repo, "second", TICKS, &["--max-iterations", "2"]);
        assert!([Some(3), Some(4)].contains(&ran.code), "{}", ran.stdout);
        assert_eq!(proof(&second, 0), "check", "{}", ran.stdout);
        assert_eq!(proof(&second, 1), serde_json::Value::Null, "{}", ran.stdout);
    }
}
