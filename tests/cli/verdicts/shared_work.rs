//! A criterion that the work on another one met, and work that cannot be committed as it is.

use super::TASK;
use crate::repo::{Repo, story};
use crate::tier::has_tier;

const TWO: &str = "\
# Demo

- [ ] alpha works
  - verify: `grep -q alpha app.txt`
- [ ] beta works
  - verify: `grep -q beta app.txt`
";

#[test]
fn a_criterion_that_earlier_work_met_needs_no_commit() {
    for tick in ["", "\n  - commit: it was done before"] {
        let repo = Repo::with(TWO, &[("app.txt", "nothing\n")]);
        let script = format!(
            r#"
turns:
- match: alpha
  steps:
  - write: {{path: app.txt, text: "alpha and beta\n"}}
  - tick: "{{criterion}}"
  - progress: "{{criterion}}: both"
  - commit: both
- match: beta
  steps:
  - tick: "{{criterion}}"
  - progress: "{{criterion}}: it was done before"{tick}
"#
        );
        let ran = repo.run(&script, &["--sandbox=off"]);
        let story = story(&repo, &ran);
        assert!(story.contains("state: beta works, proven by check, 0 attempts failed"), "{story}");
        assert!(story.contains("exit 0: proven\n"), "{story}");
        let base = repo.git(&["rev-list", "--max-parents=0", "HEAD"]);
        let verified = repo.ralph(&["verify", "demo", "--base", base.trim(), "--sandbox=off"]);
        assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
    }
}

/// A check that turns green although nothing changed says nothing about the work.
#[test]
fn a_check_that_turns_green_by_itself_proves_no_tick() {
    let repo = Repo::new(TASK);
    let runs = repo.beside("runs");
    let runs = runs.display();
    repo.write(
        "tasks/demo/TASK.md",
        format!("# Demo\n\n- [ ] alpha works\n  - verify: `echo x >> {runs}; test $(wc -l < {runs}) -gt 2`\n"),
    );
    repo.commit("another task");
    let script = r#"
turns:
- steps:
  - tick: "{criterion}"
  - progress: "{criterion}: done"
  - commit: done
"#;
    let ran = repo.run(script, &["--max-iterations", "1", "--sandbox=off"]);
    let story = story(&repo, &ran);
    assert!(story.contains("fails: empty_commit"), "{story}");
    assert!(!story.contains("check_failed"), "{story}");
    assert!(story.contains("- [ ] alpha works"), "{story}");
}

#[test]
fn a_repository_inside_the_tree_is_named_with_the_way_to_undo_it() {
    let repo = Repo::with(
        TWO,
        &[
            ("app.txt", "nothing\n"),
            ("sub.sh", "git init -q sub && echo 1 > sub/file && git -C sub add file\n"),
        ],
    );
    let script = r#"
turns:
- times: 1
  steps:
  - run: sh sub.sh
  - tick: "{criterion}"
- match: alpha
  steps:
  - write: {path: app.txt, text: "alpha\n"}
  - tick: "{criterion}"
  - progress: "{criterion}: done"
  - commit: done
"#;
    let ran = repo.run(script, &["--max-iterations", "2"]);
    let told = story(&repo, &ran);
    if !has_tier("partial") {
        assert!(told.contains("iteration 1: fail"), "{told}");
        return;
    }
    let said =
        "A git repository of its own was made inside this one: sub. Its files cannot be committed";
    assert!(ran.stdout.contains(said), "{}", ran.stdout);
    assert!(told.contains("iteration 2: pass check"), "{told}");
    // The attempt holds its files, and the second one began without them.
    assert!(!repo.path("sub").exists(), "{told}");
    let kept = repo.git(&["ls-tree", "-r", "--name-only", "refs/ralph/demo/attempts/1", "sub"]);
    assert_eq!(kept.trim(), "sub/file");
    assert!(repo.path(".ralph/runs/repositories/sub.1/HEAD").is_file());
}

/// The library does not list it, and `git add` fails on it.
#[test]
fn a_repository_without_a_file_is_named_too_and_is_gone_in_the_next_attempt() {
    for folder in ["sub", "new/a/sub"] {
        let make = format!("mkdir -p {folder}; cd {folder}; git init -q\n");
        let repo = Repo::with(TWO, &[("app.txt", "nothing\n"), ("sub.sh", &make)]);
        let script = r#"
turns:
- times: 1
  steps:
  - run: sh sub.sh
  - write: {path: app.txt, text: "alpha\n"}
  - tick: "{criterion}"
  - commit: done
- match: alpha
  steps:
  - write: {path: app.txt, text: "alpha\n"}
  - tick: "{criterion}"
  - commit: done
"#;
        let ran = repo.run(script, &["--max-iterations", "2"]);
        let told = story(&repo, &ran);
        if !has_tier("partial") {
            assert!(told.contains("iteration 1: fail"), "{told}");
            continue;
        }
        let said = format!("A git repository of its own was made inside this one: {folder}.");
        assert!(ran.stdout.contains(&said), "{}", ran.stdout);
        assert!(told.contains("iteration 2: pass check"), "{told}");
        assert_eq!(repo.status(), "");
    }
}

const ORDERED: [&str; 2] = [
    "- [ ] hello is there\n  - verify: `sh hello.sh | grep -qx hello`\n",
    "- [ ] zero is tested\n  - verify: `sh tests/zero.sh`\n",
];

/// New tests of what was there all along pass without the work of other criteria, whatever the
/// order is in which those are done.
#[test]
fn a_new_test_need_not_need_the_work_on_another_criterion() {
    for order in [[0, 1], [1, 0]] {
        let task = order.map(|at| ORDERED[at]).concat();
        let repo = Repo::with(&format!("# Demo\n\n{task}"), &[("sq.sh", "echo $(($1 * $1))\n")]);
        let script = r#"
turns:
- match: hello is there
  steps:
  - write: {path: hello.sh, text: "echo hello\n"}
  - tick: "{criterion}"
  - progress: "{criterion}: hello"
  - commit: hello
- match: zero is tested
  steps:
  - write: {path: tests/zero.sh, text: "test \"$(sh sq.sh 0)\" = 0\n"}
  - tick: "{criterion}"
  - progress: "{criterion}: a test"
  - commit: zero
"#;
        let ran = repo.run(script, &["--sandbox=off"]);
        let story = story(&repo, &ran);
        assert_eq!(ran.code, Some(0), "{order:?}: {story}");
        assert!(story.contains("state: zero is tested, proven by check"), "{order:?}: {story}");
        let base = repo.git(&["rev-list", "--max-parents=0", "HEAD"]);
        let verified = repo.ralph(&["verify", "demo", "--base", base.trim(), "--sandbox=off"]);
        assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
    }
}

/// The product that the criterion's own attempts changed is what its tests must need, also if an
/// earlier attempt changed it.
#[test]
fn a_new_test_that_passes_without_the_work_of_an_earlier_attempt_is_held() {
    let repo =
        Repo::with(&format!("# Demo\n\n{}", ORDERED[1]), &[("sq.sh", "echo $(($1 * $1))\n")]);
    let script = r#"
turns:
- times: 1
  steps:
  - write: {path: zero.sh, text: "echo 1\n"}
  - commit: zero
- steps:
  - write: {path: tests/zero.sh, text: "sh zero.sh; test 0 = 0\n"}
  - tick: "{criterion}"
  - progress: "{criterion}: a test"
  - commit: zero
"#;
    let ran = repo.run(script, &["--sandbox=off", "--max-iterations", "2"]);
    let story = story(&repo, &ran);
    assert!(story.contains("iteration 2: held"), "{story}");
}
