//! Criteria that are ticked before the run: a tick is a claim, whoever set it. The exit code, the
//! table, `status`, and `--dry-run` agree on what is proven.

use crate::repo::{Ran, Repo, finish, story};

const NO_AGENT: &str = "turns: []\n";

/// A task with all boxes ticked: the text and the check of each, if it has one.
fn ticked(criteria: &[(&str, Option<&str>)]) -> Repo {
    let lines = criteria.iter().map(|(text, check)| {
        let check = check.map_or_else(String::new, |check| format!("  - verify: `{check}`\n"));
        format!("- [x] {text}\n{check}")
    });
    Repo::new(&format!("# Demo\n\n{}", lines.collect::<String>()))
}

/// A run as a user sees it, without `--json`.
fn run(repo: &Repo, args: &[&str]) -> Ran {
    finish(repo.run_command(NO_AGENT, args))
}

/// What `status` says of each criterion.
fn status(repo: &Repo) -> String {
    let ran = repo.ralph(&["status", "demo"]);
    ran.stdout
        .lines()
        .filter(|line| line.contains('['))
        .map(|line| format!("{}\n", line.trim()))
        .collect()
}

#[test]
fn without_checks_nothing_is_proven() {
    let repo = ticked(&[("notes exist", None), ("it is fast", None)]);
    for args in [&["--dry-run"][..], &[]] {
        let ran = run(&repo, args);
        assert_eq!(ran.code, Some(4), "{args:?}: {}{}", ran.stdout, ran.stderr);
        let reason = "ticked but not proven: `notes exist`, `it is fast`.";
        assert!(ran.stdout.contains(reason), "{args:?}: {}", ran.stdout);
        assert!(!ran.stdout.contains("every criterion is proven"), "{args:?}: {}", ran.stdout);
    }
    let table = run(&repo, &[]).stdout;
    assert!(table.contains("2 criteria: 2 ticked but not proven."), "{table}");
    assert_eq!(status(&repo).matches("ticked but not proven").count(), 2, "{}", status(&repo));
    let dry = run(&repo, &["--dry-run", "--json"]);
    assert_eq!(dry.json()["unproven"], serde_json::json!(["notes exist", "it is fast"]));
    // Another run does not turn the same ticks into proof.
    assert_eq!(run(&repo, &[]).code, Some(4));
    assert_eq!(repo.subjects(), [""; 0]);
}

#[test]
fn checks_that_pass_at_the_end_prove_what_is_ticked() {
    let repo = ticked(&[("it has a README", Some("test -e README.md"))]);
    let dry = run(&repo, &["--dry-run"]);
    assert_eq!(dry.code, Some(0), "{}{}", dry.stdout, dry.stderr);
    assert!(dry.stdout.contains("the run would only check the ticked ones"), "{}", dry.stdout);
    for args in [&[][..], &["--require-checks"]] {
        let ran = run(&repo, args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("1 criterion: 1 proven."), "{args:?}: {}", ran.stdout);
    }
    assert_eq!(status(&repo), "3  [x] it has a README  proven by its check\n");
    assert_eq!(repo.subjects(), ["ralph(demo): state update"]);
    assert_eq!(repo.status(), "");
}

#[test]
fn a_check_that_fails_at_the_end_proves_nothing() {
    let repo = ticked(&[("b is there", Some("test -e b.txt"))]);
    let ran = repo.run(NO_AGENT, &[]);
    assert_eq!(story(&repo, &ran), "exit 4: stuck\n- [x] b is there\non refs/heads/main");
    let shown = run(&repo, &[]).stdout;
    assert!(shown.contains("`test -e b.txt` fails at the end (exit 1)."), "{shown}");
    assert!(shown.contains("ticked but not proven: `b is there`."), "{shown}");
    assert_eq!(status(&repo), "3  [x] b is there  ticked but not proven\n");
}

#[test]
fn each_tick_is_judged_by_its_own_checks() {
    let repo = ticked(&[
        ("it has a README", Some("test -e README.md")),
        ("b is there", Some("test -e b.txt")),
        ("notes exist", None),
    ]);
    let ran = run(&repo, &[]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    let counted = "3 criteria: 1 proven, 2 ticked but not proven.";
    assert!(ran.stdout.contains(counted), "{}", ran.stdout);
    let shown = status(&repo);
    let said: Vec<_> = shown.lines().filter_map(|line| line.split("  ").last()).collect();
    // What waits for a human comes first.
    assert_eq!(said, ["ticked but not proven", "ticked but not proven", "proven by its check"]);
    assert_eq!(repo.status(), "");
}

#[test]
fn required_checks_are_required_of_what_is_ticked() {
    let repo = ticked(&[("notes exist", None), ("it has a README", Some("test -e README.md"))]);
    for args in [&["--require-checks"][..], &["--require-checks", "--dry-run"]] {
        let ran = run(&repo, args);
        assert_eq!(ran.code, Some(7), "{args:?}: {}{}", ran.stdout, ran.stderr);
        let reason = "\n  tasks/demo/TASK.md:3: `notes exist` has no verify command\nhint: ";
        assert!(ran.stderr.contains(reason), "{args:?}: {}", ran.stderr);
    }
    assert_eq!(repo.subjects(), [""; 0]);
}

/// The check that proved it is gone: only the commit is left, unless a new check was red.
#[test]
fn a_proof_does_not_outlive_its_check() {
    let task = "# Demo\n\n- [ ] a is there\n  - verify: `test -e a.txt`\n";
    let script = "turns: [{steps: [{write: {path: a.txt, text: a}}, {tick: '{criterion}'}, \
                  {progress: a}, {commit: a}]}]";
    for (new, said, standing) in [
        ("", "`a is there` has no check any more", "committed without a check"),
        (
            "  - verify: `grep -q a a.txt`\n",
            "`a is there` has new checks, which pass already",
            "committed; its check was not red before the work",
        ),
    ] {
        let repo = Repo::new(task);
        repo.git(&["branch", "base"]);
        assert_eq!(repo.run(script, &[]).code, Some(0));
        assert_eq!(status(&repo), "3  [x] a is there  proven by its check\n");
        let changed = repo.task().replace("  - verify: `test -e a.txt`\n", new);
        repo.write("tasks/demo/TASK.md", changed);
        repo.commit("Another check");
        let ran = run(&repo, &[]);
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains(said), "{}", ran.stdout);
        for _ in 0..2 {
            assert_eq!(status(&repo), format!("3  [x] a is there  {standing}\n"));
            assert_eq!(run(&repo, &[]).code, Some(0));
        }
        assert_eq!(repo.status(), "");
        let verify = ["verify", "demo", "--base", "base", "--allow-accepted"];
        assert_eq!(repo.ralph(&verify[..4]).code, Some(4));
        assert_eq!(repo.ralph(&verify).code, Some(0));
    }
    // One that fails is work to do.
    let repo = Repo::new(task);
    assert_eq!(repo.run(script, &[]).code, Some(0));
    repo.write("tasks/demo/TASK.md", repo.task().replace("test -e a.txt", "grep -q b a.txt"));
    repo.commit("A stronger check");
    let ran = repo.run(
        "turns: [{steps: [{write: {path: a.txt, text: b}}, {tick: '{criterion}'}, \
                        {progress: b}, {commit: b}]}]",
        &[],
    );
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("criterion_reopened"), "{}", ran.stdout);
    assert_eq!(status(&repo), "3  [x] a is there  proven by its check\n");
}
