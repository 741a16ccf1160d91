//! What checks leave behind in the human's tree before the first turn.

use crate::repo::Repo;
use crate::tier::has_tier;

const TASK: &str = "# Demo\n\n- [ ] squares\n  - verify: `sh tests/run.sh`\n";
/// Red before the work, so that it runs in the tree, too.
const TEST: &str = "echo made > made.txt
echo made > made.log
echo changed > kept.txt
test \"$(sh sq.sh 7)\" = 49
";
const IDLE: &str = "turns: [{steps: [{say: nothing}]}]";

#[test]
fn nothing_of_it_stays_in_full_and_elsewhere_what_is_not_ignored_is_named() {
    for tier in ["full", "partial", "off"].into_iter().filter(|tier| has_tier(tier)) {
        let files = [
            ("tests/run.sh", TEST),
            ("sq.sh", "echo 0\n"),
            ("kept.txt", "kept\n"),
            (".gitignore", "*.log\n"),
        ];
        let repo = Repo::with(TASK, &files);
        let tiers = format!("--sandbox={tier}");
        let ran = repo.run(IDLE, &[&tiers, "--max-iterations", "1"]);
        assert_eq!(ran.code, Some(3), "{tier}: {} {}", ran.stdout, ran.stderr);
        let there = ["made.txt", "made.log"].map(|name| repo.path(name).exists());
        let told = [
            "restored, because it changed while verify commands ran: kept.txt",
            "files in the working tree that git does not ignore: made.txt",
        ];
        let told = told.map(|text| ran.stdout.contains(text));
        let stays = tier != "full";
        assert_eq!((there, told), ([stays; 2], [stays; 2]), "{tier}: {}", ran.stdout);
        assert_eq!(repo.read("kept.txt"), "kept\n", "{tier}");
        assert!(!ran.stdout.contains("made.log"), "{tier}: {}", ran.stdout);
    }
}

/// Checks see each other's files, and what only the tree has is found there.
#[test]
fn what_only_the_tree_has_is_found_in_full() {
    if !has_tier("full") {
        return;
    }
    let task = "# Demo\n\n- [ ] a\n  - verify: `sh tests/make.sh`\n- [ ] b\n  - verify: `grep -q made made.log`\n";
    let outside =
        std::path::PathBuf::from("/tmp").join(format!("ralph-preflight-{}", std::process::id()));
    let make = format!("echo made > made.log; test -e {}\n", outside.display());
    let repo = Repo::with(task, &[("tests/make.sh", &make), (".gitignore", "*.log\n")]);
    std::fs::write(&outside, "").expect("written");
    let ran = repo.run(IDLE, &["--sandbox=full", "--max-iterations", "1"]);
    std::fs::remove_file(&outside).expect("removed");
    assert_eq!(ran.code, Some(7), "{} {}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("passes in the working tree"), "{}", ran.stderr);
    // Whoever comes back in the morning sees it, too.
    for command in ["status", "log"] {
        let told = repo.ralph(&[command, "demo"]);
        assert!(told.stdout.contains("passes in the working tree"), "{command}: {}", told.stdout);
    }
    assert!(!repo.path("made.log").exists());
}

/// What is proven in a room at the end alone is compared before the run, too.
#[test]
fn what_only_the_tree_has_is_found_where_rooms_prove_at_the_end() {
    if !has_tier("full") {
        return;
    }
    let outside =
        std::path::PathBuf::from("/tmp").join(format!("ralph-at-end-{}", std::process::id()));
    let task = format!(
        "---\nproof: end\n---\n# Demo\n\n- [ ] a\n  - verify: `test -e {}`\n",
        outside.display()
    );
    let repo = Repo::with(&task, &[]);
    std::fs::write(&outside, "").expect("written");
    let ran = repo.run(IDLE, &["--sandbox=full", "--max-iterations", "1"]);
    std::fs::remove_file(&outside).expect("removed");
    assert_eq!(ran.code, Some(7), "{} {}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("passes in the working tree"), "{}", ran.stderr);
}

/// No attempt is spent on what no work can turn green.
#[test]
fn what_tree_and_room_both_lack_is_told_before_the_work() {
    let task = |check: &str| {
        format!("---\nverify: sh tests/all.sh\n---\n# Demo\n\n- [ ] a\n  - verify: `{check}`\n")
    };
    let files = [
        ("tests/run.sh", "echo \"No module named 'retry'\"\nexit 1\n"),
        ("tests/all.sh", "exit 1\n"),
        (".gitignore", ".venv/\n"),
    ];
    let args = ["--sandbox=off", "--max-iterations", "1"];
    let ran = Repo::with(&task(".venv/bin/python -m pytest"), &files).run(IDLE, &args);
    assert_eq!(ran.code, Some(7), "{} {}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("`.venv/bin/python` was not found"), "{}", ran.stderr);
    // The work may have to make it.
    let ran = Repo::with(&task("sh tests/run.sh"), &files).run(IDLE, &args);
    assert_eq!(ran.code, Some(3), "{} {}", ran.stdout, ran.stderr);
}

/// A file that only a machine has, or a module: what was proven with it stays proven.
#[test]
fn a_proven_criterion_whose_check_lacks_something_here_is_not_opened_again() {
    let check = "grep -q key .env && python3 tests/app.py";
    let task = format!("# Demo\n\n- [ ] app\n  - verify: `{check}`\n- [ ] b\n");
    let test = "import sys\nsys.path.insert(0, 'deps')\nimport quern\nopen('app.txt')\n";
    let files = [("tests/app.py", test), (".gitignore", ".env\ndeps/\n")];
    for (lost, missing) in [(".env", "`.env` is missing"), ("deps", "`quern` is missing")] {
        let repo = Repo::with(&task, &files);
        repo.git(&["switch", "--quiet", "--create", "work"]);
        repo.write(".env", "key=1\n");
        repo.write("deps/quern.py", "");
        let script = "turns: [{match: app, steps: [{write: {path: app.txt, text: a}}, \
                      {tick: '{criterion}'}, {progress: a}, {commit: a}]}]";
        let ran = repo.run(script, &["--max-iterations", "1"]);
        assert_eq!(ran.code, Some(3), "{} {}", ran.stdout, ran.stderr);
        // A clone has neither.
        let to = repo.beside(&format!("clone-{lost}")).display().to_string();
        repo.git(&["clone", "--quiet", "--branch", "work", ".", &to]);
        let path = std::path::Path::new(&to);
        let mut command = repo.command(&["verify", "demo", "--base", "origin/main"]);
        command.current_dir(path);
        std::fs::create_dir(path.join("deps")).expect("made");
        if lost == "deps" {
            std::fs::write(path.join(".env"), "key=1\n").expect("written");
        }
        let ran = crate::repo::finish(command);
        assert_eq!(ran.code, Some(7), "{} {}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains("setup:"), "{}", ran.stderr);
        // Nor has this machine, from now on.
        let moved = std::fs::rename(repo.path(lost), repo.beside("lost"));
        moved.expect("moved away");
        let ran = repo.run(IDLE, &["--max-iterations", "1"]);
        assert_eq!(ran.code, Some(7), "{} {}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(missing) && ran.stderr.contains("setup:"), "{}", ran.stderr);
        assert!(repo.task().contains("[x] app"), "{}", repo.task());
        assert_eq!(repo.state()["criteria"][0]["proof"], "check");
        // A file of the repository is no fault of the machine.
        std::fs::rename(repo.beside("lost"), repo.path(lost)).expect("moved back");
        repo.git(&["rm", "--quiet", "app.txt"]);
        repo.commit("away with it");
        let ran = repo.run(IDLE, &["--max-iterations", "1"]);
        assert_eq!(ran.code, Some(3), "{} {}", ran.stdout, ran.stderr);
    }
}
