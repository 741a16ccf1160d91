//! Status, history and commits of single paths.

use std::fs;
use std::os::unix::fs::symlink;

use super::test_repo::{TestRepo, layout};
use crate::model::{ChangeKind, History, PathChange};
use crate::verify::{Fingerprints, Identity};

fn change(path: &str, kind: ChangeKind) -> PathChange {
    PathChange { path: path.into(), kind }
}

use ChangeKind::{Added, Deleted, Modified};

#[test]
fn a_change_that_git_was_told_not_to_see_is_seen() {
    let scene = TestRepo::new();
    scene.git(&["update-index", "--assume-unchanged", "src/lib.txt"]);
    scene.git(&["update-index", "--skip-worktree", "README.md"]);
    scene.git(&["update-index", "--skip-worktree", "tests/other.py"]);
    assert_eq!(scene.repo().status().expect("status").all(), []);
    scene.write("src/lib.txt", "hidden\n");
    scene.write("README.md", "hidden\n");
    // A sparse checkout leaves files out; that is no change.
    scene.remove("tests/other.py");
    assert_eq!(scene.porcelain(), "");
    assert_eq!(
        scene.repo().status().expect("status").all(),
        [change("README.md", Modified), change("src/lib.txt", Modified)]
    );
}

#[test]
fn history_that_grew_tells_its_commits() {
    let scene = TestRepo::new();
    let repo = scene.repo();
    let checkpoint = repo.checkpoint().expect("checkpoint");
    let same = repo.since(&checkpoint, &layout()).expect("history");
    assert_eq!((same.history, same.commits.len()), (History::Straight, 0));

    scene.write("src/new.txt", "x");
    scene.remove("README.md");
    scene.commit_all("ralph(demo): one - x");
    scene.git(&["commit", "-q", "--allow-empty", "-m", "ralph(demo):no space"]);
    scene.git(&["checkout", "-qb", "side", "HEAD~1"]);
    scene.write("side.txt", "x");
    scene.commit_all("side work");
    scene.git(&["checkout", "-q", "main"]);
    scene.git(&["merge", "-q", "--no-ff", "-m", "ralph(demo): merge", "side"]);

    let since = repo.since(&checkpoint, &layout()).expect("history");
    assert_eq!(since.history, History::Straight);
    let told: Vec<_> = since
        .commits
        .iter()
        .map(|commit| (commit.subject.as_str(), commit.ours, commit.merge, commit.paths.len()))
        .collect();
    assert_eq!(told.len(), 4);
    assert_eq!(told[0], ("ralph(demo): one - x", true, false, 2));
    assert!(told.contains(&("ralph(demo):no space", false, false, 0)));
    assert!(told.contains(&("side work", false, true, 1)));
    assert_eq!(told[3], ("ralph(demo): merge", true, true, 1));
    assert_eq!(
        repo.committed_since(&checkpoint.head).expect("difference"),
        [change("README.md", Deleted), change("side.txt", Added), change("src/new.txt", Added)]
    );
}

#[test]
fn a_commit_of_paths_takes_nothing_else_along() {
    let scene = TestRepo::new();
    scene.write("src/lib.txt", "staged by the human\n");
    scene.git(&["add", "src/lib.txt"]);
    scene.write("src/lib.txt", "and changed again\n");
    scene.write("loose.txt", "x");
    scene.write("tasks/demo/progress.md", "new\n");
    scene.remove("tasks/demo/cost.log");
    // Hooks and signatures must have no say.
    scene.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    scene.git(&["config", "commit.gpgSign", "true"]);
    {
        use std::os::unix::fs::PermissionsExt;
        let hook = scene.root.join(".git/hooks/pre-commit");
        fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).expect("executable");
    }
    let repo = scene.repo();
    let ada = repo.identity(&|_| None).expect("readable").expect("somebody");
    let files = layout().state_files();
    let id = repo
        .commit_paths("refs/heads/main", &files, "ralph(demo): state update", &ada)
        .expect("committed");
    assert_eq!(id.expect("a commit").as_str(), scene.head());
    assert_eq!(
        scene.git(&["show", "--format=%s", "--name-status", "HEAD"]),
        "ralph(demo): state update\n\nD\ttasks/demo/cost.log\nM\ttasks/demo/progress.md"
    );
    assert_eq!(scene.porcelain(), "MM src/lib.txt\n?? loose.txt");
    assert_eq!(scene.git(&["show", ":src/lib.txt"]), "staged by the human");
    assert_eq!(scene.git(&["fsck", "--strict", "--no-dangling"]), "");

    let nothing = repo
        .commit_paths("refs/heads/main", &files, "ralph(demo): state update", &ada)
        .expect("no error");
    assert_eq!(nothing, None);
}

#[test]
fn a_link_in_a_files_place_is_committed_as_a_link() {
    let scene = TestRepo::new();
    scene.remove("tasks/demo/progress.md");
    std::os::unix::fs::symlink("/etc/hosts", scene.root.join("tasks/demo/progress.md"))
        .expect("linked");
    let repo = scene.repo();
    repo.commit_paths("refs/heads/main", &layout().state_files(), "m", &Identity::of_the_runner())
        .expect("done");
    let shown = scene.git(&["ls-tree", "HEAD", "tasks/demo/progress.md"]);
    assert!(shown.starts_with("120000"), "{shown}");
    assert_eq!(scene.git(&["show", "HEAD:tasks/demo/progress.md"]), "/etc/hosts");
}

#[test]
fn settings_behind_links_are_seen() {
    let scene = TestRepo::new();
    scene.write("ci/hooks/a.json", "{}");
    scene.write("ci/hooks/deep/b.json", "{}");
    scene.write("ci/mcp.json", "{}");
    scene.write(".github/file", "x");
    // The last two: neither the whole tree nor folders that lead to each other are a problem.
    for (target, link) in [
        ("../ci/hooks", ".github/hooks"),
        ("ci/mcp.json", ".mcp.json"),
        (".", ".claude"),
        ("../../../.github/hooks", "ci/hooks/deep/again"),
    ] {
        symlink(target, scene.root.join(link)).expect("linked");
    }
    let repo = scene.repo();
    let before = repo.settings().expect("settings");
    scene.write("src/code.rs", "x");
    assert!(before.differences(&repo.settings().expect("settings")).is_empty());
    scene.write("ci/hooks/a.json", "changed");
    scene.write("ci/hooks/deep/new.json", "{}");
    scene.write("ci/mcp.json", "changed");
    let changes = before.differences(&repo.settings().expect("settings"));
    let changed: Vec<_> = changes.iter().map(|it| it.path.to_str().expect("text")).collect();
    assert_eq!(changed, ["ci/hooks/a.json", "ci/hooks/deep/new.json", "ci/mcp.json"]);
}

#[test]
fn settings_are_seen_tracked_or_not() {
    let scene = TestRepo::new();
    let repo = scene.repo();
    let before = repo.settings().expect("settings");
    let changed = || {
        let now = repo.settings().expect("settings");
        before
            .differences(&now)
            .into_iter()
            .map(|c| c.path.to_string_lossy().into_owned())
            .collect::<Vec<_>>()
    };
    assert!(changed().is_empty());
    // What editors, `git push -u` and `git lfs` do by themselves is no setting.
    scene.git(&["config", "branch.main.vscode-merge-base", "origin/main"]);
    scene.git(&["config", "lfs.repositoryformatversion", "0"]);
    scene.git(&["config", "lfs.https://example.com/a.git/info/lfs.access", "basic"]);
    scene.write(".git/hooks/pre-commit.sample", "x");
    scene.write(".claude/worktrees/a/file", "x");
    assert!(changed().is_empty());

    scene.append(".gitignore", ".claude/\n");
    scene.write(".claude/settings.local.json", "{}");
    scene.write(".github/hooks/deep/x.json", "{}");
    scene.write(".mcp.json", "{}");
    scene.write(".git/hooks/post-commit", "x");
    scene.write(".git/info/attributes", "* filter=x\n");
    scene.write(".git/info/grafts", "");
    scene.git(&["config", "core.hooksPath", "my-hooks"]);
    scene.write("my-hooks/pre-commit", "x");
    assert_eq!(
        changed(),
        [
            ".claude/settings.local.json",
            ".git/config",
            ".git/hooks/post-commit",
            ".git/info/attributes",
            ".git/info/grafts",
            ".github/hooks/deep/x.json",
            ".mcp.json",
            "my-hooks/pre-commit",
        ]
    );
}

/// Without its filter, a file would hold what git keeps of it, and the next commit would take that.
#[test]
fn a_file_that_a_filter_makes_is_not_put_back_without_it() {
    let scene = TestRepo::new();
    scene.write(".git/info/attributes", "*.rot filter=rot\n");
    for (name, value) in [("clean", "tr a-z n-za-m"), ("smudge", "tr n-za-m a-z")] {
        scene.git(&["config", &format!("filter.rot.{name}"), value]);
    }
    scene.write("a.rot", "hello\n");
    scene.commit_all("human: a secret");
    let checkpoint = scene.repo().checkpoint().expect("a checkpoint");
    scene.write("a.rot", "agent\n");
    scene.write("b.txt", "agent\n");
    let error = scene.repo().back_to(&checkpoint, &Fingerprints::default()).expect_err("refused");
    let told = error.to_string();
    assert_eq!(told, "cannot put a.rot back: git's filter `rot` makes it");
    let hint = error.hint().unwrap_or_default();
    assert!(hint.contains(&format!("git reset --hard {}", checkpoint.head.short())), "{hint}");
    assert_eq!((scene.read("a.rot"), scene.read("b.txt")), ("agent\n".into(), "agent\n".into()));
    scene.git(&["config", "--remove-section", "filter.rot"]);
    scene.repo().back_to(&checkpoint, &Fingerprints::default()).expect("back");
    assert_eq!(scene.read("a.rot"), "uryyb\n", "there is no program: it is a plain file");
}
