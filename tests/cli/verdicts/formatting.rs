//! Commits of white space, line endings, and modes: no work unless a check was red before.

use crate::repo::{Repo, story};

const FILES: [(&str, &str); 3] =
    [("app.py", "def one():\n    return 1\n"), ("run.sh", "echo run\n"), ("empty.txt", "")];

fn task(check: &str) -> String {
    format!("---\nallow: [\"sh build.sh\"]\n---\n# Demo\n\n- [ ] it is tidy\n{check}")
}

/// A repository whose `build.sh` does this, and commits it.
fn repo(check: &str, build: &str) -> Repo {
    let build = format!("{build}\ngit add -A\ngit commit -qm 'ralph(demo): tidy'\n");
    let mut files = FILES.to_vec();
    files.push(("build.sh", &build));
    Repo::with(&task(check), &files)
}

const BUILD: &str = "\
turns:
- steps: [{run: sh build.sh}, {tick: '{criterion}'}, {progress: tidied}, {commit: tick}]
";

const FORMATTING: [&str; 7] = [
    "echo >> app.py",
    "printf 'def one():\\n\\treturn 1   \\n' > app.py",
    "printf 'def one():\\r\\n    return 1\\r\\n' > app.py",
    "printf 'def one():\\n    return 1' > app.py",
    "chmod +x run.sh",
    "printf '\\n  \\n' > blank.txt",
    "echo junk > junk.txt; git add -A; git commit -qm 'ralph(demo): junk'; rm junk.txt",
];

#[test]
fn formatting_alone_is_no_work_without_a_check_and_verify_agrees() {
    for build in FORMATTING {
        let repo = repo("", build);
        repo.git(&["switch", "--quiet", "--create", "work"]);
        let ran = repo.run(BUILD, &["--stuck-threshold", "2"]);
        let told = story(&repo, &ran);
        assert_eq!(ran.code, Some(4), "{build}: {told}");
        assert!(told.contains("iteration 1: fail\n  fails: empty_commit"), "{build}: {told}");
        assert!(ran.stdout.contains("no work without a check that was red"), "{build}: {told}");
        // The second attempt does not rest on the first one's commit, if that stayed.
        assert!(!told.contains("pass"), "{build}: {told}");
    }
    // An agent that writes the runner's records itself.
    let repo = repo("", FORMATTING[0]);
    repo.git(&["switch", "--quiet", "--create", "work"]);
    repo.write("app.py", "def one():\n    return 1\n\n");
    repo.commit("ralph(demo): tidy");
    repo.write("tasks/demo/TASK.md", repo.task().replace("[ ]", "[x]"));
    let claim = r#"{"version": 1, "iteration": 1, "attempt_refs": 0, "criteria":
        [{"text": "it is tidy", "proof": "commit", "iteration": 1}]}"#;
    repo.write("tasks/demo/state.json", claim);
    repo.commit("ralph(demo): state update");
    let ran = repo.ralph(&["verify", "demo", "--base", "main"]);
    assert_eq!(ran.code, Some(10), "{}{}", ran.stdout, ran.stderr);
    let why = "changes more than the task's state files, white space, line endings, or file modes";
    assert!(ran.stdout.contains(why), "{}", ran.stdout);
    let ran = repo.run("turns: []", &[]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("ticked but not proven: `it is tidy`"), "{}", ran.stdout);
}

#[test]
fn other_small_commits_are_work() {
    for build in [
        "sed -i.bak 's/1/2/' app.py && rm app.py.bak",
        "mkdir -p pkg && : > pkg/__init__.py",
        "rm empty.txt",
        "git mv run.sh start.sh",
        "rm run.sh && ln -s app.py run.sh",
        "printf '\\000' > app.bin",
    ] {
        let repo = repo("", build);
        let ran = repo.run(BUILD, &[]);
        let told = story(&repo, &ran);
        assert!(told.contains("iteration 1: pass commit\n"), "{build}: {told}");
    }
}

/// Where a check turned from red to green, the check decides.
#[test]
fn formatting_that_a_check_asks_for_is_proven() {
    for (check, build) in [
        ("test -x run.sh", "chmod +x run.sh"),
        ("! grep -q '^    ' app.py", "printf 'def one():\\n\\treturn 1\\n' > app.py"),
    ] {
        let check = format!("  - verify: `{check}`\n");
        let repo = repo(&check, build);
        repo.git(&["switch", "--quiet", "--create", "work"]);
        // The first attempt forgets the tick; the second one has nothing left to commit.
        let script = "\
turns:
- times: 1
  steps: [{run: sh build.sh}, {progress: tidied}]
- steps: [{tick: '{criterion}'}, {progress: ticked}]
";
        let ran = repo.run(script, &[]);
        let told = story(&repo, &ran);
        assert!(
            told.contains("iteration 2: pass check\n") && ran.code == Some(0),
            "{check}: {told}"
        );
        let ran = repo.ralph(&["verify", "demo", "--base", "main"]);
        assert_eq!(ran.code, Some(0), "{check}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.ends_with("Every tick of the branch is proven.\n"), "{}", ran.stdout);
    }
    // One that was green before says nothing.
    let repo = repo("  - verify: `test -e run.sh`\n", "chmod +x run.sh");
    let ran = repo.run(BUILD, &["--stuck-threshold", "1"]);
    assert_eq!(ran.code, Some(4), "{}", story(&repo, &ran));
}
