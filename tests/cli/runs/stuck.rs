//! Criteria that are not met: attempts, the sign, stop and skip, retry.

use super::{HONEST, THREE, only_a_proven, then_honest};
use crate::repo::{Repo, finish, story};

const LIES: &str = "turns: [{match: a is there, steps: [{say: 'Done!'}]}]";

#[test]
fn a_criterion_that_uses_up_its_attempts_stops_the_run_with_one_sign() {
    let repo = Repo::new(THREE);
    let ran = repo.run(LIES, &[]);
    insta::assert_snapshot!(story(&repo, &ran), @r"
    iteration 1: fail
      fails: not_ticked
      fails: no_commit
      said: no_progress_entry
      mended: progress_line
    iteration 2: fail
      fails: not_ticked
      fails: no_commit
      said: no_progress_entry
      mended: progress_line
    iteration 3: fail
      fails: not_ticked
      fails: no_commit
      said: no_progress_entry
      mended: progress_line
    blocked: a is there
    exit 4: stuck
    - [ ] a is there
    - [ ] b is there
    - [ ] c is there
    state: a is there, unproven, 3 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    ");
    // Started again, the run goes on with the others, and the stuck one stays stuck.
    let again = repo.run(HONEST, &[]);
    insta::assert_snapshot!(story(&repo, &again), @r"
    iteration 4: pass check
    iteration 5: pass check
    exit 4: stuck
    - [ ] a is there
    - [x] b is there
    - [x] c is there
    state: a is there, unproven, 3 attempts failed
    state: b is there, proven by check, 0 attempts failed
    state: c is there, proven by check, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    commit: ralph(demo): [b is there] - b
    commit: ralph(demo): state update
    commit: ralph(demo): [c is there] - c
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    ");
    let signs = repo.read("tasks/demo/guardrails.md");
    assert_eq!(signs.matches("Criterion 'a is there' caused loop").count(), 1, "{signs}");
}

/// Unfinished work is saved under a ref, so that the tree is clean and the next run can begin.
#[test]
fn the_next_command_of_a_stuck_run_works_when_copied() {
    let repo = Repo::with(THREE, &[("human.txt", "old\n")]);
    let half = "turns: [{steps: [{write: {path: half.txt, text: half}}, {say: 'Done!'}]}]";
    for (number, args) in [(1, &[][..]), (2, &["--allow-dirty"])] {
        if number == 2 {
            repo.write("human.txt", "half a sentence");
        }
        let args = [&["--stuck-threshold", "1"], args].concat();
        let ran = finish(repo.run_command(half, &args));
        assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
        let name = format!("refs/ralph/demo/attempts/{number}");
        assert!(ran.stdout.contains(&format!("uncommitted work is saved under {name}\n")));
        assert_eq!(repo.git(&["show", &format!("{name}:half.txt")]), "half");
        assert!(!repo.path("half.txt").exists());
        let next = ran.stdout.split("then run: ").nth(1).expect("a command");
        let (retry, again) = next.trim().split_once(" && ").expect("two commands");
        let again = again.lines().next().expect("a line");
        // The same agent, which works honestly now.
        let words = |line: &str| shlex::split(line).expect("words")[1..].to_vec();
        repo.agent(HONEST);
        let limit = ["--max-iterations", "1"].map(str::to_owned);
        let again = [words(again), limit.to_vec()].concat();
        // Beside a human's changes, `git add -A` is denied.
        for (words, code) in [(words(retry), 0), (again, if number == 1 { 3 } else { 4 })] {
            let words: Vec<_> = words.iter().map(String::as_str).collect();
            let ran = repo.ralph(&words);
            assert_eq!(ran.code, Some(code), "{words:?}: {}{}", ran.stdout, ran.stderr);
        }
    }
    assert_eq!(repo.status(), " M human.txt\n");
}

/// The branch is as it was before the attempts, so that what was proven holds, and they are kept.
#[test]
fn a_stuck_run_takes_the_attempts_off_the_branch_and_names_where_they_are() {
    let task = "# Two\n\n- [ ] a is there\n  - verify: `test -e a.txt && test ! -e bad.txt`\n- [ ] b is \
                there\n  - verify: `test -e b.txt`\n";
    let repo = Repo::new(task);
    let script = r#"
turns:
- match: a is there
  steps: [{write: {path: a.txt, text: a}}, {tick: "{criterion}"}, {progress: did a}, {commit: a}]
- match: b is there
  steps: [{write: {path: bad.txt, text: b}}, {tick: "{criterion}"}, {progress: did b}, {commit: b}]
"#;
    let ran = finish(repo.run_command(script, &["--stuck-threshold", "2"]));
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(repo.status(), "");
    assert!(repo.task().contains("- [x] a is there"), "{}", repo.task());
    assert!(!ran.stdout.contains("REOPENED"), "{}", ran.stdout);
    assert!(!repo.path("bad.txt").exists() && repo.path("a.txt").exists());
    let kept = repo.attempts().pop().expect("a kept attempt");
    assert_eq!(repo.git(&["show", &format!("{kept}:bad.txt")]), "b");
    let summary = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let named = format!("its commits are off the branch: git log -p HEAD..{kept}");
    assert!(summary.contains(&named), "{}", ran.stdout);
    assert!(repo.git(&["log", "-p", &format!("HEAD..{kept}")]).contains("+b"));
    // The rest goes on from there.
    repo.ralph(&["retry", "demo"]);
    let ran = repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn retry_clears_the_attempts_and_the_sign_stays() {
    let repo = Repo::new(THREE);
    assert_eq!(repo.run(LIES, &["--stuck-threshold", "1"]).code, Some(4));
    let signs = repo.read("tasks/demo/guardrails.md");
    let retry = repo.ralph(&["retry", "demo", "a is there"]);
    assert_eq!((retry.code, retry.stderr.as_str()), (Some(0), ""));
    let start = "reset  a is there\n\nNext: work on what is open: ralph-copilot run demo --";
    assert!(retry.stdout.starts_with(start), "{}", retry.stdout);
    assert_eq!(repo.status(), "");
    let ran = repo.run(HONEST, &[]);
    insta::assert_snapshot!(story(&repo, &ran), @r"
    iteration 2: pass check
    iteration 3: pass check
    iteration 4: pass check
    exit 0: proven
    - [x] a is there
    - [x] b is there
    - [x] c is there
    state: a is there, proven by check, 0 attempts failed
    state: b is there, proven by check, 0 attempts failed
    state: c is there, proven by check, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    commit: ralph(demo): [a is there] - a
    commit: ralph(demo): state update
    commit: ralph(demo): [b is there] - b
    commit: ralph(demo): state update
    commit: ralph(demo): [c is there] - c
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    ");
    assert_eq!(repo.read("tasks/demo/guardrails.md"), signs);
}

#[test]
fn skipped_criteria_are_put_aside_with_all_that_was_done_and_the_rest_goes_on() {
    let repo = Repo::new(THREE);
    let script = then_honest(
        r#"
- match: a is there
  times: 1
  steps: [{write: {path: wrong.txt, text: "1"}}, {progress: tried}, {commit: try}]
- match: a is there
  steps: [{write: {path: wrong.txt, text: "2"}}, {progress: tried again}]
"#,
    );
    let ran = repo.run(&script, &["--on-stuck", "skip", "--stuck-threshold", "2"]);
    insta::assert_snapshot!(story(&repo, &ran), @r"
    iteration 1: fail
      fails: check_failed
      fails: not_ticked
    iteration 2: fail
      fails: not_ticked
      fails: uncommitted
      fails: check_failed
      mended: state_commit
    blocked: a is there, refs/ralph/demo/attempts/1
    iteration 3: pass check
    iteration 4: pass check
    exit 4: stuck
    - [ ] a is there
    - [x] b is there
    - [x] c is there
    state: a is there, unproven, 2 attempts failed
    state: b is there, proven by check, 0 attempts failed
    state: c is there, proven by check, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    commit: ralph(demo): [b is there] - b
    commit: ralph(demo): state update
    commit: ralph(demo): [c is there] - c
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    ");
    assert!(!repo.path("wrong.txt").exists());
    let kept = repo.attempts().pop().expect("a kept attempt");
    assert_eq!(repo.git(&["show", &format!("{kept}:wrong.txt")]), "2");
    let progress = repo.read("tasks/demo/progress.md");
    for line in ["tried\n", "tried again\n", "did b\n", "STUCK \"a is there\""] {
        assert!(progress.contains(line), "{line:?} in {progress}");
    }
    let activity = repo.read("tasks/demo/activity.log");
    let of_first = activity.lines().filter(|line| line.contains("\"iteration\":1,"));
    assert!(of_first.count() >= 3, "{activity}");
    assert_eq!(repo.status(), "");
}

#[test]
fn a_denial_cuts_a_turn_and_the_same_session_is_prompted_again_with_the_reason() {
    let repo = Repo::new(THREE);
    let script = r#"
turns:
- match: a is there
  times: 1
  steps: [{run: "curl -fsSL https://example.invalid/a -o a.txt"}, {say: never}]
- match: a is there
  steps: [{write: {path: a.txt, text: a}}, {tick: "{criterion}"}, {progress: did a}, {commit: a}]
"#;
    let ran = repo.run(script, &["--max-iterations", "1"]);
    assert_eq!(story(&repo, &ran), only_a_proven(1));
    let wire = crate::wire(&repo);
    let prompts: Vec<&str> = wire.lines().filter(|it| it.contains("session/prompt")).collect();
    assert_eq!(prompts.len(), 2, "{wire}");
    assert_eq!(wire.matches("\"session/new\"").count(), 1);
    assert!(prompts[1].contains("curl"), "{}", prompts[1]);
}

/// Denied again and again: the turn ends, and counts as an attempt.
#[test]
fn denials_without_end_are_an_attempt() {
    let repo = Repo::new(THREE);
    let script = "turns: [{steps: [{run: 'curl https://example.invalid'}]}]";
    let ran = repo.run(script, &["--max-iterations", "1"]);
    insta::assert_snapshot!(story(&repo, &ran), @r"
    iteration 1: fail
      fails: denied
      fails: not_ticked
      fails: no_commit
      said: no_progress_entry
      mended: progress_line
    exit 3: limit_reached
    - [ ] a is there
    - [ ] b is there
    - [ ] c is there
    state: a is there, unproven, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    ");
    assert_eq!(crate::wire(&repo).matches("\"session/prompt\"").count(), 4);
}

/// The story of a run of one iteration whose turn was ended.
const STUCK_ONCE: &str = "\
iteration 1: fail
  fails: turn_stuck
  fails: not_ticked
  fails: no_commit
  said: no_progress_entry
  mended: progress_line
exit 3: limit_reached
- [ ] a is there
- [ ] b is there
- [ ] c is there
state: a is there, unproven, 1 attempts failed
on refs/heads/main
commit: ralph(demo): state update";

#[test]
fn a_turn_without_a_sign_of_life_is_ended_and_counts() {
    let repo = Repo::new(THREE);
    let script = "turns: [{steps: [{say: hm}, {hang: }]}]";
    let ran = repo.run(script, &["--max-iterations", "1", "--idle-timeout", "1s"]);
    assert_eq!(story(&repo, &ran), STUCK_ONCE);
    let progress = repo.read("tasks/demo/progress.md");
    assert!(ran.stdout.contains(r#""end":{"stuck":{"idle":1}}"#), "{}", ran.stdout);
    assert!(progress.contains("no activity for 1"), "{progress}");
}

#[test]
fn the_same_failing_command_again_and_again_ends_the_turn() {
    let repo = Repo::new(THREE);
    let fail = "{run: 'ls nowhere'}";
    let steps = [fail; 5].join(", ");
    let script = format!("turns: [{{steps: [{steps}, {{hang: }}]}}]");
    let ran = repo.run(&script, &["--max-iterations", "1", "--idle-timeout", "30s"]);
    assert_eq!(story(&repo, &ran), STUCK_ONCE);
    assert!(
        ran.stdout.contains(r#""repeating":{"command":"ls nowhere","times":"#),
        "{}",
        ran.stdout
    );
}

/// A name with code in it is in other quotes than code is.
#[test]
fn the_backticks_of_a_name_are_not_doubled() {
    let repo = Repo::new("# T\n\n- [ ] `a.txt` is there\n  - verify: `test -f a.txt`\n");
    let args = ["--stuck-threshold", "1", "--max-iterations", "1"];
    let mut ran = repo.run("turns: []\n", &args);
    ran.stdout.push_str(&repo.ralph(&["status", "demo"]).stdout);
    ran.stdout.push_str(&repo.ralph(&["retry", "demo", "`b.txt`"]).stderr);
    assert!(ran.stdout.contains("\"`a.txt` is there\""), "{}", ran.stdout);
    assert!(!ran.stdout.contains("``"), "{}", ran.stdout);
}
