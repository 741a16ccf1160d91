//! What a pass rests on: red at the start, green at the commit, green with the old harness.

use super::{BUILDS, once};
use crate::repo::{Repo, finish, story};

const SQUARES: &str = "\
---
allow: [\"sh build.sh\"]
---
# Demo

- [ ] squares
  - verify: `sh tests/run.sh`
";
const TEST: &str = "test \"$(sh sq.sh 7)\" = 49\n";
/// A test that compares a program's output, and the program that is wrong.
const FILES: [(&str, &str); 2] = [("tests/run.sh", TEST), ("sq.sh", "echo 0\n")];

/// Shell lines that write these files, tick the criterion and commit: no guard sees them.
fn writes(criterion: &str, files: &[(&str, &str)]) -> String {
    let writes = files.iter().map(|(path, text)| {
        format!("mkdir -p $(dirname {path}); cat > {path} <<'END'\n{text}END\ngit add {path}\n")
    });
    let writes: String = writes.collect();
    format!(
        "set -e\n{writes}sed -i.bak 's/\\[ \\] {criterion}/[x] {criterion}/' tasks/demo/TASK.md\n\
         rm tasks/demo/TASK.md.bak; echo \"- $(date +%F) did it\" >> tasks/demo/progress.md\n\
         git add tasks; git commit -qm 'ralph(demo): work'\n"
    )
}

fn squares_of(task: &str, files: &[(&str, &str)], change: &[(&str, &str)]) -> (Repo, String) {
    let build = writes("squares", change);
    let all = [files, &[("build.sh", &build)]].concat();
    let repo = Repo::with(task, &all);
    let (_, story) = once(&repo, BUILDS);
    (repo, story)
}

fn squares(change: &[(&str, &str)]) -> (Repo, String) {
    squares_of(SQUARES, &FILES, change)
}

const RIGHT: (&str, &str) = ("sq.sh", "echo $(($1 * $1))\n");
const SEVEN: [(&str, &str); 2] =
    [("sq.sh", "echo seven\n"), ("tests/run.sh", "test \"$(sh sq.sh 7)\" = seven\n")];

#[test]
fn work_that_leaves_the_tests_alone() {
    let (_, story) = squares(&[RIGHT]);
    assert!(story.starts_with("iteration 1: pass check\nexit 0: proven\n"), "{story}");
}

#[test]
fn a_test_that_is_rewritten_with_right_work_says_so() {
    let (repo, story) = squares(&[RIGHT, ("tests/run.sh", "test \"$(sh sq.sh 8)\" = 64\n")]);
    assert!(story.starts_with("iteration 1: pass check\n  said: harness_changed\n"), "{story}");
    let status = repo.ralph(&["status", "demo"]);
    assert!(status.stdout.contains("Next\n  review the changed tests"), "{}", status.stdout);
}

#[test]
fn what_a_human_accepts_lands_with_their_name_and_the_task_is_proven() {
    let (repo, story) = squares(&SEVEN);
    assert!(story.starts_with("iteration 1: held\n  held: harness_needed\n"), "{story}");
    assert!(story.contains("\nexit 4: stuck"), "{story}");
    assert_eq!(repo.read("tests/run.sh"), TEST);
    let status = repo.ralph(&["status", "demo"]);
    assert!(status.stdout.contains("held for review: git diff "), "{}", status.stdout);
    assert!(status.stdout.contains("; take it: "), "{}", status.stdout);
    let nobody = repo.ralph(&["accept", "demo", "cubes"]);
    assert_eq!(nobody.code, Some(2), "{}", nobody.stderr);
    assert!(nobody.stderr.contains("task `demo` has no criterion `cubes`"), "{}", nobody.stderr);

    let accepted = repo.ralph(&["accept", "demo", "squares"]);
    assert_eq!(accepted.code, Some(0), "{}", accepted.stderr);
    let status = repo.ralph(&["status", "demo"]);
    assert!(!status.stdout.contains("take it: "), "{}", status.stdout);
    assert!(!status.stdout.contains("or let the agent"), "{}", status.stdout);
    let (_, next) = status.stdout.split_once("\nNext\n  ").expect("a next step");
    assert!(next.starts_with("review the commits: git log --oneline"), "{next}");
    let message = repo.git(&["log", "-1", "--format=%B"]);
    assert!(message.contains("Ralph-Proof: accepted"), "{message}");
    assert!(message.contains("reviewed the work and accepted it"), "{message}");
    assert_eq!(repo.status(), "");
    assert_eq!(repo.read("sq.sh"), "echo seven\n");
    assert!(repo.task().contains("- [x] squares"));
    // The accepted tests are the old ones from now on.
    let again = repo.run("turns: []", &[]);
    assert_eq!(again.code, Some(0), "{} {}", again.stdout, again.stderr);
    let status = repo.ralph(&["status", "demo"]);
    assert!(status.stdout.contains("accepted by a human"), "{}", status.stdout);
}

#[test]
fn held_work_that_no_longer_fits_is_refused_and_nothing_changes() {
    let (repo, _) = squares(&SEVEN);
    repo.write("sq.sh", "echo mine\n");
    let dirty = repo.ralph(&["accept", "demo", "squares"]);
    assert_eq!(dirty.code, Some(8), "{}", dirty.stderr);
    assert!(dirty.stderr.contains("commit or stash"), "{}", dirty.stderr);
    assert_eq!(repo.read("sq.sh"), "echo mine\n");
    repo.commit("mine");
    let before = repo.git(&["rev-parse", "HEAD"]);
    let refused = repo.ralph(&["accept", "demo", "squares"]);
    assert_eq!(refused.code, Some(8), "{}", refused.stderr);
    assert!(refused.stderr.contains("the same lines: sq.sh"), "{}", refused.stderr);
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), before);
    assert_eq!(repo.status(), "");
    // Or the agent works on it again.
    assert_eq!(repo.ralph(&["retry", "demo", "squares"]).code, Some(0));
    repo.write("build.sh", writes("squares", &[RIGHT]));
    repo.commit("another build");
    let ran = repo.run(BUILDS, &["--sandbox=off"]);
    assert_eq!(ran.code, Some(0), "{}", story(&repo, &ran));
}

#[test]
fn what_the_task_allows_to_change_is_no_reason_to_hold_or_to_deny() {
    for task in [
        SQUARES.replace("---\n#", "may_change: tests/**\n---\n#"),
        format!("{SQUARES}  - may_change: [\"tests/run.sh\"]\n"),
    ] {
        let (_, story) = squares_of(&task, &FILES, &SEVEN);
        assert!(story.starts_with("iteration 1: pass check\nexit 0: proven\n"), "{story}");
        let repo = Repo::with(&task, &FILES);
        let script = "turns: [{steps: [{write: {path: tests/run.sh, text: 'test $(sh sq.sh 7) = seven'}}, {write: {path: sq.sh, text: 'echo seven'}}, {tick: '{criterion}'}, {progress: a}, {commit: a}]}]";
        let ran = repo.run(script, &[]);
        assert_eq!(ran.code, Some(0), "{}", crate::repo::story(&repo, &ran));
    }
    let other = format!("{SQUARES}  - may_change: [\"tests/other.sh\"]\n");
    let (_, story) = squares_of(&other, &FILES, &SEVEN);
    assert!(story.starts_with("iteration 1: held\n"), "{story}");
}

#[test]
fn a_test_that_the_task_asks_for_is_new_and_nothing_is_held() {
    let (_, story) = squares_of(SQUARES, &FILES[1..], &[RIGHT, FILES[0]]);
    assert!(story.starts_with("iteration 1: pass check\n  said: test_is_new\n"), "{story}");
}

/// Work on a later criterion that guts the test an earlier one was proven with.
#[test]
fn a_test_that_a_proof_rested_on_is_old_from_then_on() {
    let task = format!("{SQUARES}- [ ] notes\n  - verify: `test -e notes.txt`\n");
    let first = writes("squares", &[RIGHT, FILES[0]]);
    let guts = [("sq.sh", "exit 1\n"), ("tests/run.sh", "exit 0\n"), ("notes.txt", "n\n")];
    let then = writes("notes", &guts);
    let build = format!("if [ -e tests/run.sh ]; then\n{then}else\n{first}fi\n");
    let repo = Repo::with(&task, &[FILES[1], ("build.sh", &build)]);
    let ran = repo.run(BUILDS, &["--max-iterations", "2", "--sandbox=off"]);
    let story = story(&repo, &ran);
    assert!(story.contains("iteration 2: held\n  held: harness_needed\n"), "{story}");
    assert!(story.contains("- [ ] notes") && story.contains("- [x] squares"), "{story}");
}

/// A new test needs a helper that the same turn adds to an old one, as a fixture of pytest is: from
/// then on both are old together, for an honest turn and for one that guts the test.
#[test]
fn a_new_test_that_needs_a_changed_helper_is_old_together_with_it() {
    let task = format!("{SQUARES}- [ ] notes\n  - verify: `test -e notes.txt`\n");
    let old = ("tests/help.sh", "seven() { echo 7; }\n");
    let help = ("tests/help.sh", "seven() { echo 7; }\nwant() { echo 49; }\n");
    let test = ("tests/run.sh", ". tests/help.sh\ntest \"$(sh sq.sh $(seven))\" = $(want)\n");
    let first = writes("squares", &[RIGHT, help, test]);
    let more = ("tests/run.sh", ". tests/help.sh\nfor n in 7 7; do sh sq.sh $n; done\n");
    let notes = ("notes.txt", "n\n");
    for (second, code) in [
        (vec![more, notes], 0),
        (vec![("sq.sh", "exit 1\n"), ("tests/run.sh", "exit 0\n"), notes], 4),
    ] {
        let then = writes("notes", &second);
        let build = format!("if [ -e tests/run.sh ]; then\n{then}else\n{first}fi\n");
        let repo = Repo::with(&task, &[FILES[1], old, ("build.sh", &build)]);
        let ran = repo.run(BUILDS, &["--max-iterations", "2", "--sandbox=off"]);
        let story = story(&repo, &ran);
        assert_eq!(ran.code, Some(code), "{story}");
        assert!(story.starts_with("iteration 1: pass check\n"), "{story}");
        let held = story.contains("iteration 2: held\n  held: harness_needed\n");
        assert_eq!(held, code == 4, "{story}");
        let verified = repo.ralph(&["verify", "demo", "--base", "main~4"]);
        assert!(code == 4 || verified.code == Some(0), "{}{}", verified.stdout, verified.stderr);
    }
}

#[test]
fn a_check_that_is_green_once_and_red_at_once_after_it_is_flaky_and_costs_no_attempt() {
    let check = "test -e a.txt && echo . >> $HUMAN/n && test $(($(wc -l < $HUMAN/n) % 2)) = 1";
    let repo = Repo::new(&format!("# Demo\n\n- [ ] a\n  - verify: `{check}`\n"));
    let script = "turns: [{steps: [{write: {path: a.txt, text: a}}, {tick: '{criterion}'}, {progress: a}, {commit: a}]}]";
    let ran = repo.run(script, &["--sandbox=off", "--no-stop-check"]);
    let story = story(&repo, &ran);
    assert!(story.starts_with("iteration 1: inconclusive\n  unclear: flaky\n"), "{story}");
    assert!(story.contains("exit 4: stuck"), "{story}");
    assert!(story.contains("a, unproven, 0 attempts failed"), "{story}");
    assert!(repo.read("tasks/demo/guardrails.md").contains("test -e a.txt"), "{story}");
}

/// Twice green for the verdict, then red at the end: three times, and it is blocked.
#[test]
fn a_check_that_is_flaky_at_the_end_costs_no_attempt_and_blocks_in_the_end() {
    let check = "test -e a.txt && echo . >> $HUMAN/n && test $(($(wc -l < $HUMAN/n) % 3)) != 0";
    let repo = Repo::new(&format!("# Demo\n\n- [ ] a\n  - verify: `{check}`\n"));
    let script = "turns: [{steps: [{run: echo a >> a.txt}, {tick: '{criterion}'}, {progress: a}, {commit: a}]}]";
    let ran = repo.run(script, &["--sandbox=off", "--no-stop-check"]);
    let story = story(&repo, &ran);
    assert_eq!(story.matches("pass check").count(), 3, "{story}");
    assert!(story.contains("exit 4: stuck"), "{story}");
    assert!(story.contains("a, unproven, 0 attempts failed"), "{story}");
}

/// Where a check runs in the tree, an ignored file may make it green; the room shows it.
#[test]
fn the_place_of_the_proof_is_the_humans_choice() {
    let task = "# Demo\n\n- [ ] a\n  - verify: `test -e cache/a`\n";
    let script = "turns: [{steps: [{write: {path: cache/a, text: a}}, {write: {path: a.txt, text: a}}, {tick: '{criterion}'}, {progress: a}, {commit: a}]}]";
    for (place, code) in [("tree", 0), ("end", 4), ("room", 4)] {
        let repo = Repo::with(task, &[(".gitignore", "cache/\n")]);
        let ran = repo.run(script, &["--proof", place, "--stuck-threshold", "1"]);
        assert_eq!(ran.code, Some(code), "{place}: {}", story(&repo, &ran));
    }
}

#[test]
fn a_run_that_proved_in_the_tree_says_so_and_how_to_prove_it_in_a_room() {
    let task = "---\nproof: tree\n---\n# Demo\n\n- [ ] a\n  - verify: `test -e a.txt`\n";
    let script = "turns: [{steps: [{write: {path: a.txt, text: a}}, {tick: '{criterion}'}, \
                  {progress: a}, {commit: a}]}]";
    let repo = Repo::new(task);
    let told = |script: &str, args: &[&str]| {
        let ran = finish(repo.run_command(script, args));
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        let end = ran.stdout.split("Done: ").nth(1).expect("an end").replace("\n  ", " ");
        let end = end.replace(
            &format!(" --agent {}", shlex::try_quote(&repo.agent(script)).expect("a word")),
            "",
        );
        end.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        told(script, &[]),
        [
            "1 passed in the working tree only, as `proof: tree` asks; no tests were put back.",
            "Next: to prove them in a proof room, too: ralph-copilot run demo --proof room",
            "Next: review the commits: git log --oneline",
        ]
    );
    let proven = ["every criterion is proven.", "Next: review the commits: git log --oneline"];
    assert_eq!(told("turns: []", &["--proof", "room"]), proven);
}

const SETUP: &str = "\
---
allow: [\"sh build.sh\"]
setup: [\"sh install.sh\"]
---
# Demo

- [ ] squares
  - verify: `grep -qx two deps/list && test -e deps/home`
";
/// `requirements.txt` decides what is installed.
const INSTALL: [(&str, &str); 3] = [
    ("install.sh", "mkdir -p deps && cp requirements.txt deps/list && touch deps/home\n"),
    ("requirements.txt", "one\n"),
    (".gitignore", "deps/\n"),
];

#[test]
fn setup_runs_in_the_room_and_again_when_a_manifest_changes() {
    let (repo, story) = squares_of(SETUP, &INSTALL, &[("requirements.txt", "one\ntwo\n")]);
    assert!(story.starts_with("iteration 1: pass check\nexit 0: proven\n"), "{story}");
    assert!(!repo.path("deps").exists(), "the working tree stays as it is");
    // Its own script counts as it was.
    let cheat = ("install.sh", "mkdir -p deps; echo two > deps/list; touch deps/home\n");
    let notes = ("notes.txt", "nothing\n");
    let (_, story) = squares_of(SETUP, &INSTALL, &[cheat, notes, ("requirements.txt", "three\n")]);
    assert!(!story.contains("pass"), "{story}");
}

#[test]
fn setup_that_fails_ends_the_run_before_an_agent_starts_and_a_repetition_fails_the_attempt() {
    let files = [("install.sh", "echo no such registry; exit 3\n")];
    let repo = Repo::with(SETUP, &files);
    let ran = repo.run(BUILDS, &["--max-iterations", "1"]);
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
    for part in ["`sh install.sh` in `setup:` fails (exit 3)", "no such registry"] {
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
    let picky = (
        "install.sh",
        "grep -q broken requirements.txt && exit 4; mkdir -p deps && cp requirements.txt deps/list\n",
    );
    let (_, story) = squares_of(
        SETUP,
        &[picky, INSTALL[1], INSTALL[2]],
        &[("requirements.txt", "two\nbroken\n")],
    );
    assert!(story.starts_with("iteration 1: fail\n  fails: check_failed\n"), "{story}");
}

#[test]
fn held_work_is_judged_again_when_the_human_allows_what_held_it() {
    let (repo, story_of_first) = squares(&SEVEN);
    assert!(story_of_first.starts_with("iteration 1: held\n"), "{story_of_first}");
    // Nothing changed: it stays held, without an agent.
    let idle = "turns: [{steps: [{say: Nothing to do.}]}]";
    let ran = repo.run(idle, &["--sandbox=off"]);
    assert_eq!(ran.code, Some(4), "{}", story(&repo, &ran));
    assert!(story(&repo, &ran).contains("- [ ] squares"), "{}", story(&repo, &ran));
    let task = repo.task().replace("---\n#", "may_change: tests/**\n---\n#");
    repo.write("tasks/demo/TASK.md", task);
    repo.commit("the tests may change");
    let ran = repo.run(idle, &["--sandbox=off"]);
    assert_eq!(ran.code, Some(0), "{}", story(&repo, &ran));
    assert_eq!(repo.read("sq.sh"), "echo seven\n");
    assert!(repo.task().contains("- [x] squares"));
    let log = repo.git(&["log", "--format=%s%n%b", "-5"]);
    assert!(log.contains("work that was held"), "{log}");
    assert!(log.contains("Ralph-Criterion: squares\nRalph-Proof: check"), "{log}");
    assert!(!ran.stdout.contains("prompt_sent"), "no agent worked");
}

/// An ignored file that an agent left in one run is not the human's in the next.
#[test]
fn what_an_agent_plants_in_one_run_is_not_there_in_the_next() {
    let plants = "mkdir -p cache; echo 'echo $(($1 * $1))' > cache/real.sh; echo x >> notes.txt\n\
                  git add notes.txt; git commit -qm 'ralph(demo): notes'\n";
    let repo = Repo::with(
        SQUARES,
        &[
            FILES[0],
            ("sq.sh", "sh cache/real.sh $1\n"),
            (".gitignore", "cache/\n"),
            ("build.sh", plants),
        ],
    );
    let ran = repo.run(BUILDS, &["--max-iterations", "1"]);
    assert_ne!(ran.code, Some(0), "{}", story(&repo, &ran));
    assert!(repo.path("cache/real.sh").exists());
    repo.write("build.sh", writes("squares", &[("notes.txt", "more\n")]));
    repo.commit("another build");
    let ran = repo.run(BUILDS, &["--max-iterations", "1"]);
    assert_ne!(ran.code, Some(0), "{}", story(&repo, &ran));
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_gits_files_holds_nothing_up() {
    for name in [".gitignore", ".gitattributes"] {
        let build =
            format!("echo x > n; git add n; git commit -qm 'ralph(demo): n'; mkfifo {name}\n");
        let repo = Repo::with(SQUARES, &[FILES[0], FILES[1], ("build.sh", &build)]);
        let ran = repo.run(BUILDS, &["--max-iterations", "1", "--sandbox=off"]);
        assert_eq!(ran.code, Some(3), "{name}: {}", ran.stderr);
    }
}

/// Git no longer ignores it, and the agent's commit takes it along.
#[test]
fn an_ignored_file_of_the_human_stays_when_work_is_held() {
    let cheat = [("sq.sh", "echo seven\n"), ("tests/run.sh", "test \"$(sh sq.sh 7)\" = seven\n")];
    let build = format!("rm .gitignore; git add -A\n{}", writes("squares", &cheat));
    let repo = Repo::with(
        SQUARES,
        &[FILES[0], FILES[1], (".gitignore", "mine.txt\n"), ("build.sh", &build)],
    );
    repo.write("mine.txt", "mine\n");
    let (_, story) = once(&repo, BUILDS);
    assert!(story.starts_with("iteration 1: held\n"), "{story}");
    assert_eq!(repo.read("mine.txt"), "mine\n");
}

/// In the sandbox a port leads to nothing in another way than outside.
#[test]
fn a_service_that_does_not_run_is_named_before_the_work() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let task =
        format!("---\nservices: [{port}]\n---\n# Demo\n\n- [ ] a\n  - verify: `test -e a.txt`\n");
    let told = || {
        let repo = Repo::new(&task);
        let script = "turns: [{steps: [{say: No.}]}]";
        repo.run(script, &["--sandbox=off", "--max-iterations", "1"]).stdout
    };
    let said = format!("nothing listens on port {port}, which `services:` names");
    let up = told();
    assert!(!up.contains(&said), "{up}");
    drop(listener);
    let down = told();
    assert!(down.contains(&said), "{down}");
}

/// A check that is green now and then does not say that the room lacks something.
#[test]
fn a_flaky_check_at_the_start_is_not_blamed_on_the_room() {
    let check =
        "n=$(cat $HUMAN/n || echo 0); echo $(($n + 1)) > $HUMAN/n; test $n = 1 || test $n = 2";
    let repo = Repo::new(&format!("# Demo\n\n- [ ] a\n  - verify: `{check}`\n"));
    let script = "turns: [{steps: [{say: No.}]}]";
    let ran = repo.run(script, &["--sandbox=off", "--max-iterations", "1", "--no-stop-check"]);
    assert_ne!(ran.code, Some(7), "{}", ran.stderr);
}

/// `npm init` writes a script that only fails: no test is there to be put back.
#[test]
fn the_script_of_npm_init_is_no_test_yet() {
    let task = SQUARES.replace("sh tests/run.sh", "npm test");
    let package = |script: &str| format!("{{\"scripts\": {{\"test\": {script:?}}}}}\n");
    let at_first = package("echo \"Error: no test specified\" && exit 1");
    let files = [("package.json", &*at_first), ("sq.js", "module.exports = n => 0;\n")];
    let test = "const same = require('node:assert').strictEqual;\n\n\
        require('node:test')('squares', () => {\n  same(require('./sq.js')(7), 49);\n});\n";
    let work = [
        ("sq.js", "module.exports = n => n * n;\n"),
        ("sq.test.js", test),
        ("package.json", &*package("node --test")),
    ];
    let (_, story) = squares_of(&task, &files, &work);
    assert!(story.starts_with("iteration 1: pass check\n"), "{story}");
    let (_, story) = squares_of(&task, &files, &[work[0], ("package.json", &package("exit 0"))]);
    assert!(story.starts_with("iteration 1: held\n"), "{story}");
}
