//! Conflicts of work that is under way with other work.

use std::fs;
use std::path::Path;

use super::test_repo::{FOLDER, TestRepo};
use crate::model::Oid;
use crate::verify::{Layout, clashes};

/// Twelve lines, of which one may be another.
fn lines(other: Option<usize>) -> String {
    (0..12).map(|at| if Some(at) == other { "other\n".into() } else { format!("{at}\n") }).collect()
}

/// A repository with two files of many lines, its first commit, and a commit that changes a line of
/// the one and the task's own files.
fn scene() -> (TestRepo, Oid, Oid) {
    let scene = TestRepo::new();
    scene.write("one.txt", &lines(None));
    scene.write("two.txt", &lines(None));
    scene.git(&["add", "-A"]);
    scene.git(&["commit", "-qm", "second"]);
    let base = Oid::new(scene.git(&["rev-parse", "HEAD"]).trim());
    scene.write("one.txt", &lines(Some(3)));
    scene.write("tasks/demo/progress.md", "theirs\n");
    scene.git(&["commit", "-qam", "theirs"]);
    let theirs = Oid::new(scene.git(&["rev-parse", "HEAD"]).trim());
    scene.git(&["reset", "-q", "--hard", base.as_str()]);
    (scene, base, theirs)
}

fn found(scene: &TestRepo, base: &Oid, commit: Option<&Oid>, theirs: &Oid) -> Option<String> {
    let layout = Layout::new("demo", Path::new(FOLDER));
    clashes(&scene.root, (base, commit), (base, theirs), &layout).expect("compared")
}

#[test]
fn only_a_change_in_the_same_place_conflicts_committed_or_not() {
    let (scene, base, theirs) = scene();
    assert_eq!(found(&scene, &base, None, &theirs), None, "nothing was done");
    scene.write("one.txt", &lines(Some(9)));
    scene.write("two.txt", "all of it\n");
    scene.write("tasks/demo/progress.md", "ours\n");
    assert_eq!(found(&scene, &base, None, &theirs), None, "other places");
    scene.write("one.txt", &lines(Some(4)));
    let said = Some("one.txt".to_owned());
    assert_eq!(found(&scene, &base, None, &theirs), said, "not committed");
    scene.git(&["commit", "-qam", "ours"]);
    assert_eq!(found(&scene, &base, None, &theirs), said, "committed");
    let ours = Oid::new(scene.git(&["rev-parse", "HEAD"]).trim());
    scene.git(&["reset", "-q", "--hard", base.as_str()]);
    assert_eq!(found(&scene, &base, Some(&ours), &theirs), said, "handed in");
    fs::remove_file(scene.root.join("one.txt")).expect("removed");
    assert_eq!(found(&scene, &base, None, &theirs), said, "removed");
}

#[test]
fn a_conflict_with_what_landed_before_the_work_is_not_its_own() {
    let (scene, base, theirs) = scene();
    scene.write("one.txt", &lines(Some(4)));
    scene.git(&["commit", "-qam", "landed"]);
    let tip = Oid::new(scene.git(&["rev-parse", "HEAD"]).trim());
    scene.write("two.txt", "all of it\n");
    let layout = Layout::new("demo", Path::new(FOLDER));
    let found = clashes(&scene.root, (&tip, None), (&base, &theirs), &layout).expect("compared");
    assert_eq!(found, None);
}

#[test]
fn the_comparison_writes_nothing_and_follows_no_link_of_an_agent() {
    let (scene, base, theirs) = scene();
    scene.write("one.txt", &lines(Some(4)));
    let objects = || scene.git(&["count-objects"]);
    let index = || fs::read(scene.root.join(".git/index")).expect("the index");
    let before = (objects(), index());
    assert!(found(&scene, &base, None, &theirs).is_some());
    assert_eq!((objects(), index()), before);
    let pipe = scene.root.join("one.txt");
    fs::remove_file(&pipe).expect("removed");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo").success());
    // Nobody writes to the pipe, and it does not wait for that.
    assert_eq!(found(&scene, &base, None, &theirs), None);
}
