//! git's index after a commit of the runner's own, as git itself reads it.

use std::path::PathBuf;
use std::process::Command;

use super::test_repo::TestRepo;
use crate::verify::Identity;

const PATHS: [&str; 2] = ["tasks/demo/state.json", "tasks/demo/activity.log"];

/// Commits state files as the runner does, and compares the index with HEAD in every way.
fn commit_and_compare(scene: &TestRepo, note: &str) {
    scene.write(PATHS[0], &format!("{{\"note\": {note:?}}}\n"));
    scene.write(PATHS[1], &format!("{note}\n"));
    let identity = Identity::of_the_runner();
    let paths = PATHS.map(PathBuf::from);
    let made = scene.repo().commit_paths("refs/heads/main", &paths, note, &identity);
    assert!(made.expect(note).is_some(), "{note}");
    assert_eq!(scene.git(&["diff-index", "--cached", "HEAD"]), "", "{note}");
    assert_eq!(scene.git(&["write-tree"]), scene.git(&["rev-parse", "HEAD^{tree}"]), "{note}");
    scene.git(&["fsck", "--strict", "--no-dangling"]);
}

fn shell(scene: &TestRepo, line: &str) {
    let done = Command::new("sh").args(["-ec", line]).current_dir(&scene.root).output();
    let done = done.expect("sh");
    assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn each_kind_of_index_is_as_the_commit() {
    for kind in [
        "true",
        "git update-index --index-version 4",
        "git config core.untrackedCache true; git status; git update-index --untracked-cache",
        "git config index.threads 2; git config index.recordEndOfIndexEntries true; git add -A",
        "echo x > new; git add -N new",
        "git update-index --assume-unchanged tests/other.py",
        "git update-index --assume-unchanged tasks/demo/state.json",
        "git rm -q --cached tasks/demo/state.json",
        "git update-index --skip-worktree tests/other.py; rm tests/other.py",
        "rm .git/index",
        "git config index.skipHash true; git update-index --force-write-index",
    ] {
        let scene = TestRepo::new();
        shell(&scene, kind);
        if kind.starts_with("rm") || kind.contains("-N") {
            // More than the state differs.
            continue_with_other_changes(&scene, kind);
            continue;
        }
        for round in 0..2 {
            commit_and_compare(&scene, &format!("{kind} {round}"));
        }
        assert!(!scene.git(&["status", "--porcelain", "-z"]).contains("tasks/"), "{kind}");
    }
}

/// Only the state's entries have to be as in the commit.
fn continue_with_other_changes(scene: &TestRepo, kind: &str) {
    let before = scene.git(&["status", "--porcelain", "-z"]);
    scene.write(PATHS[0], "{\"other\": 1}\n");
    let identity = Identity::of_the_runner();
    let paths = [PathBuf::from(PATHS[0])];
    let made = scene.repo().commit_paths("refs/heads/main", &paths, kind, &identity);
    assert!(made.expect(kind).is_some(), "{kind}");
    let staged = scene.git(&["rev-parse", &format!(":{}", PATHS[0])]);
    assert_eq!(staged, scene.git(&["rev-parse", &format!("HEAD:{}", PATHS[0])]), "{kind}");
    let after = scene.git(&["status", "--porcelain", "-z"]);
    assert!(before.is_empty() || !after.is_empty(), "{kind}: {before:?} {after:?}");
}

/// A file whose time is that of the index may have changed at once, with the same size and time.
#[test]
fn a_file_as_young_as_the_index_is_read_again() {
    let scene = TestRepo::new();
    shell(
        &scene,
        "git config core.trustctime false; echo code > a; touch -d '+1 hour' a; git add a; git commit -qm a",
    );
    commit_and_compare(&scene, "later");
    shell(&scene, "touch -r a ../time; echo edoc > a; touch -r ../time a");
    assert!(scene.git(&["status", "--porcelain"]).contains(" M a"));
    let changed = scene.repo().status().expect("a status").all();
    assert!(
        changed.iter().any(|change| change.path.as_path() == std::path::Path::new("a")),
        "{changed:?}"
    );
}
