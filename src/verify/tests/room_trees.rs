//! Files in the place of folders, and submodules that are not here.

use std::fs;
use std::path::{Path, PathBuf};

use super::room::{head, rooms, run_on};
use super::test_repo::{TestRepo, git_in};
use crate::verify::classify::{EntryKind, SourceTree as _, TreeEdit};
use crate::verify::not_fetched::NotFetched;
use crate::verify::repo::Dirt;

#[test]
fn a_file_takes_the_place_of_a_folder_and_a_folder_that_of_a_file() {
    let scene = TestRepo::new();
    let mut rooms = rooms(&scene, Dirt::Refuse);
    let kind = EntryKind::Regular { executable: false };
    let write = |path: &str| TreeEdit::Write { path: path.into(), kind, bytes: b"new\n".to_vec() };
    let see = "test -f tests && test ! -e run.sh && cat tests src/lib.txt/deep/file";
    let gone = TreeEdit::Remove { path: "run.sh/x".into() };
    let edits = [write("run.sh/x"), write("src/lib.txt/deep/file"), write("tests"), gone];
    assert_eq!(run_on(&mut rooms, &head(&scene), &edits, &[see]), ["green  new\nnew"]);
    // The last edit counts.
    let folder = [write("tests"), write("tests/check.sh")];
    let see = "ls tests; cat tests/check.sh";
    assert_eq!(run_on(&mut rooms, &head(&scene), &folder, &[see]), ["green  check.sh\nnew"]);
}

#[test]
fn a_tree_laid_over_another_replaces_folders_by_files() {
    let scene = TestRepo::new();
    let first = head(&scene);
    scene.remove("tests/check.sh");
    scene.remove("tests/other.py");
    scene.remove("README.md");
    fs::remove_dir(scene.root.join("tests")).expect("it is empty");
    scene.write("tests", "a file\n");
    scene.write("README.md/x", "a folder\n");
    scene.commit_all("swapped");
    let repo = scene.repo();
    let paths = ["tests", "tests/check.sh", "README.md", "README.md/x"].map(PathBuf::from);
    let laid = repo.laid_over(&first, &head(&scene), &paths).expect("laid over");
    let files = repo.files(&laid, &[]).expect("read");
    let found: Vec<_> = files.paths().keys().filter(|path| !path.starts_with("src")).collect();
    assert!(found.contains(&&PathBuf::from("tests")), "{found:?}");
    assert!(found.contains(&&PathBuf::from("README.md/x")), "{found:?}");
    assert!(!found.contains(&&PathBuf::from("tests/check.sh")), "{found:?}");
    let back = repo.laid_over(&laid, &first, &paths).expect("laid over");
    let files = repo.files(&back, &[]).expect("read");
    assert!(files.paths().contains_key(Path::new("tests/check.sh")));
    assert!(!files.paths().contains_key(Path::new("README.md/x")));
}

#[test]
fn a_file_whose_object_is_destroyed_is_not_an_empty_one() {
    let scene = TestRepo::new();
    let id = scene.git(&["rev-parse", "HEAD:tests/check.sh"]);
    let repo = scene.repo();
    let files = repo.files(&head(&scene), &[]).expect("read");
    assert!(files.read(Path::new("tests/check.sh")).is_some());
    assert_eq!(files.unreadable(), None);
    let object = scene.root.join(".git/objects").join(&id[..2]).join(&id[2..]);
    fs::remove_file(object).expect("removed");
    let files = repo.files(&head(&scene), &[]).expect("read");
    assert_eq!(files.read(Path::new("tests/check.sh")), None);
    assert_eq!(files.unreadable(), Some(Path::new("tests/check.sh")));
}

#[test]
fn a_commit_of_a_submodule_that_is_not_here_leaves_its_folder_empty() {
    let scene = TestRepo::new();
    let kit = scene.dir.path().join("kit");
    fs::create_dir(&kit).expect("made");
    for args in [
        &["init", "-q"][..],
        &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "kit", "--allow-empty"],
    ] {
        assert!(git_in(&kit, args).0, "{args:?}");
    }
    fs::write(kit.join("tool.sh"), "echo kit\n").expect("written");
    for args in [
        &["add", "-A"][..],
        &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "tool"],
    ] {
        assert!(git_in(&kit, args).0, "{args:?}");
    }
    let path = kit.to_str().expect("text");
    scene.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", path, "kit"]);
    scene.commit_all("with a kit");
    let mut rooms = rooms(&scene, Dirt::Refuse);
    assert_eq!(run_on(&mut rooms, &head(&scene), &[], &["sh kit/tool.sh"]), ["green  kit"]);
    let lacks = rooms.warm().expect("a room").not_fetched();
    assert_eq!(lacks, NotFetched::default());
    let nowhere = "160000,0123456789012345678901234567890123456789,kit";
    scene.git(&["update-index", "--cacheinfo", nowhere]);
    scene.git(&["commit", "-qm", "bumped to nowhere"]);
    let said = run_on(&mut rooms, &head(&scene), &[], &["ls kit"]);
    assert_eq!(said, ["green"]);
    let lacks = rooms.warm().expect("a room").not_fetched();
    assert_eq!(lacks.submodules, [PathBuf::from("kit")]);
}
