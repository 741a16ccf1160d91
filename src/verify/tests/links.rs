//! Links in the place of git's own files and folders.

use std::path::{Path, PathBuf};

use super::test_repo::TestRepo;
use crate::verify::{GitRepo, Identity};

/// libgit2 would write the files that they lead to.
#[test]
fn links_among_gits_own_files_are_refused_and_nothing_is_written() {
    for name in ["index", "logs/HEAD", "refs/heads/main", "refs/ralph/demo"] {
        let scene = TestRepo::new();
        let (link, outside) = (scene.root.join(".git").join(name), scene.dir.path().join("out"));
        drop(std::fs::remove_file(&link));
        std::fs::create_dir_all(link.parent().expect("a folder")).expect("made");
        std::os::unix::fs::symlink(&outside, &link).expect("linked");
        let refused = scene.repo().status().expect_err(name).to_string();
        assert!(refused.contains("is a link") || name == "refs/heads/main", "{name}: {refused}");
        assert!(!outside.exists(), "{name}");
    }
}

/// The same of folders, whatever the repository is a part of.
#[test]
fn links_among_gits_own_folders_are_refused_and_nothing_is_written() {
    let names = ["logs", "refs", "refs/heads", "logs/refs", "objects", "objects/00", ""];
    for kind in ["plain", "worktree", "submodule"] {
        for name in names {
            let (scene, repo) = of_kind(kind);
            repo.status().unwrap_or_else(|error| panic!("{kind}: {error}"));
            let link = repo.common_dir().join(name);
            replaced_by_link(&link, &scene.dir.path().join("out"));
            refuses(&repo, &format!("{kind}: {name}"));
        }
    }
    // A linked working tree has files of its own below the common folder.
    for name in ["logs", "", ".."] {
        let (scene, repo) = of_kind("worktree");
        let link = repo.git_dir().join(name);
        let link = if name == ".." { repo.common_dir().join("worktrees") } else { link };
        replaced_by_link(&link, &scene.dir.path().join("out"));
        refuses(&repo, &format!("worktree: {name}"));
    }
}

/// A repository in which the runner works, and the folder that it lies in.
fn of_kind(kind: &str) -> (TestRepo, GitRepo) {
    let scene = TestRepo::new();
    let beside = scene.dir.path().join("beside");
    let beside = beside.to_str().expect("UTF-8");
    let at = match kind {
        "worktree" => {
            scene.git(&["worktree", "add", "-q", "-b", "other", beside]);
            scene.dir.path().join("beside")
        }
        "submodule" => {
            scene.git(&["clone", "-q", ".", beside]);
            let add = ["-c", "protocol.file.allow=always", "submodule", "add", "-q", beside, "sub"];
            scene.git(&add);
            scene.root.join("sub")
        }
        _ => scene.root.clone(),
    };
    (scene, GitRepo::discover(&at).expect("a repository"))
}

fn replaced_by_link(path: &Path, out: &Path) {
    let path: PathBuf = path.components().collect();
    std::fs::create_dir_all(&path).expect("a folder");
    std::fs::rename(&path, out).expect("moved");
    std::os::unix::fs::symlink(out, &path).expect("linked");
}

fn refuses(repo: &GitRepo, name: &str) {
    let refused = repo.status().expect_err(name).to_string();
    assert!(refused.contains("is a link"), "{name}: {refused}");
    let me = Identity::of_the_runner();
    let paths = [PathBuf::from("README.md")];
    std::fs::write(repo.root().join("README.md"), "changed\n").expect("written");
    let branch = repo.checkpoint().expect(name).branch;
    let refused = repo.commit_paths(&branch, &paths, "no", &me).expect_err(name).to_string();
    assert!(refused.contains("is a link"), "{name}: {refused}");
}
