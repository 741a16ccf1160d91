//! The end of a run whose task has a check of its own, and what its last lines call proven.

use crate::repo::{Repo, finish};

/// A task whose own check only the human can turn green.
const TASK: &str = "\
---
verify: test -e release.txt
---
# Demo

- [ ] a is there
  - verify: `test -e a.txt`
- [ ] notes exist
";

const HONEST: &str = "\
turns:
- match: a is there
  steps: [{write: {path: a.txt, text: a}}, {tick: '{criterion}'}, {progress: a}, {commit: a}]
- match: notes exist
  steps: [{write: {path: notes.txt, text: n}}, {tick: '{criterion}'}, {progress: n}, {commit: n}]
";

/// During the run it is baseline. At the end, in a later run, and on a branch, it counts.
#[test]
fn a_check_of_the_whole_task_that_stays_red_ends_with_4_everywhere() {
    let repo = Repo::new(TASK);
    repo.git(&["switch", "--quiet", "--create", "work"]);
    let reason = "`test -e release.txt` fails at the end (exit 1). It is a check of the whole \
                  task, and also failed before the work: add a criterion for it, fix it yourself, \
                  or remove it from `verify`.";
    for script in [HONEST, "turns: []"] {
        let ran = finish(repo.run_command(script, &[]));
        assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
        let told = ran.stdout.replace("\n  ", " ");
        assert!(told.contains(&format!("Stuck: {reason}")), "{told}");
        assert!(told.contains("2 criteria: 1 proven, 1 committed without a check."), "{told}");
        assert!(!told.contains("Done"), "{told}");
        let status = repo.ralph(&["status", "demo"]).stdout;
        assert!(status.contains(&format!("demo: Stuck: {reason}\n")), "{status}");
        assert!(repo.read("tasks/demo/progress.md").contains(&format!(" RED {reason}\n")));
        assert_eq!(repo.status(), "");
    }
    let ran = repo.run("turns: []", &[]);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    let event = "\"event\":\"task_check_failed\",\"command\":\"test -e release.txt\"";
    assert!(ran.stdout.contains(event), "{}", ran.stdout);
    let verify = || repo.ralph(&["verify", "demo", "--base", "main"]);
    let ran = verify();
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    let what = "leaves no criterion open, but `test -e release.txt`, a check of the whole task, \
                fails as at the base";
    assert!(ran.stdout.contains(what), "{}", ran.stdout);
    repo.write("release.txt", "1\n");
    repo.commit("The release notes");
    let ran = finish(repo.run_command("turns: []", &[]));
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let ran = verify();
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let end = "Every tick of the branch holds: 1 proven, 1 committed without a check.\n";
    assert!(ran.stdout.ends_with(end), "{}", ran.stdout);
}

#[test]
fn a_check_of_the_whole_task_that_is_red_while_a_criterion_is_open_is_baseline() {
    let repo = Repo::new(TASK);
    repo.git(&["switch", "--quiet", "--create", "work"]);
    let ran = repo.run(HONEST, &["--max-iterations", "1"]);
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    assert!(!ran.stdout.contains("task_check_failed"), "{}", ran.stdout);
    assert_eq!(repo.ralph(&["verify", "demo", "--base", "main"]).code, Some(0));
}

/// A commit alone is not called proof, in any place.
#[test]
fn what_only_a_commit_speaks_for_is_called_committed() {
    let repo = Repo::new(&TASK.replace("release.txt", "README.md"));
    let ran = finish(repo.run_command(HONEST, &[]));
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    for told in [
        "PASS \"notes exist\" (committed, not proven, 1 commit, ",
        "notes exist  committed         1\n",
        "\n2 criteria: 1 proven, 1 committed without a check.\n",
        "\nDone: 1 proven, 1 committed without a check.\n",
    ] {
        assert!(ran.stdout.contains(told), "{told}: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains("is proven"), "{}", ran.stdout);
    let progress = repo.read("tasks/demo/progress.md");
    assert!(
        progress.contains("PASS \"notes exist\" (committed, not proven, 1 commit"),
        "{progress}"
    );
    let status = repo.ralph(&["status", "demo"]).stdout;
    for told in [
        "  [x] a is there  proven by its check\n",
        "  [x] notes exist  committed without a check\n",
        "demo: Done: 1 proven, 1 committed without a check\n",
    ] {
        assert!(status.contains(told), "{told}: {status}");
    }
}
