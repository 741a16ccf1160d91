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
    assert!(!repo.path("made.log").exists());
}
