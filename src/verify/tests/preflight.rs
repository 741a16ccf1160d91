//! Whether a run may begin.

use std::fs;
use std::path::Path;

use super::test_repo::{FOLDER, TestRepo, layout};
use crate::verify::{Branch, Dirt, GitRepo, Layout, RepoProblem, VerifyError};

#[test]
fn a_branch_with_the_same_content_is_taken_and_another_is_not() {
    let scene = TestRepo::new();
    scene.git(&["branch", "same"]);
    scene.git(&["checkout", "-qb", "other"]);
    scene.write("src/lib.txt", "else\n");
    scene.commit_all("else");
    scene.git(&["checkout", "-q", "--detach", "main"]);

    let problem = scene.preflight(Branch::Named("other"), Dirt::Refuse).expect_err("elsewhere");
    assert!(matches!(problem, RepoProblem::BranchElsewhere { .. }), "{problem}");
    assert!(!scene.try_git(&["symbolic-ref", "-q", "HEAD"]).0, "HEAD was moved");

    scene.preflight(Branch::Named("same"), Dirt::Refuse).expect("taken");
    assert_eq!(scene.git(&["symbolic-ref", "HEAD"]), "refs/heads/same");
    // Asked for again, it is simply there.
    scene.preflight(Branch::Named("same"), Dirt::Refuse).expect("still there");
}

/// Made anew from what is checked out, it would lack what was pushed from it.
#[test]
fn a_branch_that_only_a_remote_has_goes_on_from_there() {
    let scene = TestRepo::new();
    let fetched = |remote: &str, name: &str, commit: &str| {
        scene.git(&["update-ref", &format!("refs/remotes/{remote}/{name}"), commit]);
    };
    scene.git(&["remote", "add", "origin", "../nowhere"]);
    scene.git(&["remote", "add", "fork", "../elsewhere"]);
    scene.git(&["checkout", "-qb", "night"]);
    scene.git(&["commit", "-q", "--allow-empty", "-m", "the same content"]);
    let same = scene.head();
    scene.write("src/lib.txt", "last night's\n");
    scene.commit_all("last night's");
    let more = scene.head();
    scene.git(&["checkout", "-q", "main"]);
    fetched("origin", "ralph/more", &more);
    fetched("fork", "ralph/alone", &more);
    fetched("origin", "ralph/same", &same);
    fetched("fork", "ralph/same", &more);

    for (name, remote) in [("ralph/more", "origin"), ("ralph/alone", "fork")] {
        let found = scene.preflight(Branch::Named(name), Dirt::Refuse).expect_err("elsewhere");
        assert!(matches!(found, RepoProblem::BranchAtRemote { .. }), "{found}");
        assert!(found.hint().contains(&format!("git switch --track {remote}/{name}")), "{found}");
        assert!(!scene.try_git(&["rev-parse", "-q", "--verify", &format!("refs/heads/{name}")]).0);
    }
    assert_eq!(scene.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");

    let ready = scene.preflight(Branch::Named("ralph/same"), Dirt::Refuse).expect("taken");
    assert_eq!(ready.checkpoint.branch, "refs/heads/ralph/same");
    assert_eq!((ready.checkpoint.head.as_str(), scene.porcelain().as_str()), (&*same, ""));
}

#[test]
fn a_branch_that_git_would_not_take_is_refused() {
    let scene = TestRepo::new();
    for name in ["a..b", "-x", "a b", ""] {
        let problem = scene.preflight(Branch::Named(name), Dirt::Refuse).expect_err(name);
        assert!(matches!(problem, RepoProblem::BranchName { .. }), "{name:?}: {problem}");
    }
}

#[test]
fn a_branch_that_another_worktree_holds_is_refused() {
    let scene = TestRepo::new();
    scene.git(&["branch", "taken"]);
    scene.git(&["worktree", "add", "-q", "../linked", "taken"]);
    let found = scene.preflight(Branch::Named("taken"), Dirt::Refuse).expect_err("in use");
    assert!(matches!(found, RepoProblem::BranchInUse { .. }), "{found}");

    let linked = GitRepo::discover(&scene.root.join("../linked")).expect("a linked worktree");
    let found = linked
        .preflight(&layout(), Branch::Named("main"), Dirt::Refuse)
        .expect_err("in use by the main worktree");
    assert!(matches!(found, RepoProblem::BranchInUse { .. }), "{found}");
}

#[test]
fn a_task_elsewhere_is_refused() {
    let scene = TestRepo::new();
    for folder in ["../elsewhere", "/tmp", "absent"] {
        let found = scene
            .repo()
            .preflight(&Layout::new("demo", folder), Branch::Current, Dirt::Refuse)
            .expect_err(folder);
        assert!(matches!(found, RepoProblem::TaskOutside { .. }), "{folder}: {found}");
    }
}

#[test]
fn an_ignored_task_folder_is_no_dirt() {
    let scene = TestRepo::new();
    scene.git(&["rm", "-rqf", "--cached", FOLDER]);
    scene.append(".gitignore", "tasks/\n");
    scene.git(&["add", ".gitignore"]);
    scene.git(&["commit", "-qm", "ignored"]);
    let ready = scene.preflight(Branch::Current, Dirt::Refuse).expect("ready");
    assert!(ready.prepared.is_empty());
    let identity = crate::verify::Identity::of_the_runner();
    let nothing = scene
        .repo()
        .commit_paths(
            "refs/heads/main",
            &layout().state_files(),
            "ralph(demo): state update",
            &identity,
        )
        .expect("no error");
    assert_eq!(nothing, None);
}

/// The list is one for all worktrees: while a run watches it nothing is added, whoever asks.
#[test]
fn the_exclude_file_stays_as_it_is_while_a_run_watches_it() {
    let scene = TestRepo::new();
    scene.git(&["worktree", "add", "-q", "-b", "side", "../linked"]);
    let linked = GitRepo::discover(&scene.root.join("../linked")).expect("found");
    let watch = scene.repo().watch_excludes(&[".ralph/runs/"]).expect("watched");
    let before = scene.read(".git/info/exclude");
    assert!(linked.lock_excludes().expect("asked").is_none());
    let refused = linked.exclude(&["x/"]).expect_err("watched");
    assert!(matches!(refused, VerifyError::ExcludesWatched { .. }), "{refused}");
    linked.exclude(&[".ralph/runs/"]).expect("it is there already");
    let second = linked.watch_excludes(&[".ralph/runs/"]).expect("two runs may watch it");
    drop(watch);
    linked.exclude(&["x/"]).expect_err("the second run still watches");
    assert_eq!(scene.read(".git/info/exclude"), before);
    drop(second);
    let mut lock = linked.lock_excludes().expect("asked").expect("free");
    lock.add(&["x/"]).expect("added");
    drop(lock);
    linked.exclude(&["y/"]).expect("free");
    assert_eq!(scene.read(".git/info/exclude"), format!("{before}x/\ny/\n"));
}

#[test]
fn the_exclude_file_keeps_what_it_has_and_grows_once() {
    let scene = TestRepo::new();
    fs::write(scene.root.join(".git/info/exclude"), "mine\n.ralph/audit/").expect("written");
    let repo = scene.repo();
    repo.exclude(&[".ralph/runs/", ".ralph/audit/"]).expect("excluded");
    repo.exclude(&[".ralph/runs/", ".ralph/audit/"]).expect("excluded");
    assert_eq!(scene.read(".git/info/exclude"), "mine\n.ralph/audit/\n.ralph/runs/\n");
    scene.write(".ralph/runs/1/events.jsonl", "{}\n");
    assert_eq!(repo.status().expect("status").all(), []);
    // A clone made without templates has no such folder.
    fs::remove_dir_all(scene.root.join(".git/info")).expect("removed");
    repo.exclude(&["x/"]).expect("excluded");
    assert_eq!(scene.read(".git/info/exclude"), "x/\n");
}

#[test]
fn hooks_and_settings_are_listed_for_the_human() {
    let scene = TestRepo::new();
    scene.write(".github/hooks/guard.json", "{}");
    scene.write(".git/hooks/pre-commit", "x");
    scene.write(".git/hooks/pre-push.sample", "x");
    scene.commit_all("hooks");
    let ready = scene.preflight(Branch::Current, Dirt::Refuse).expect("ready");
    let listed: Vec<_> = ready.hooks_and_settings().collect();
    assert_eq!(listed, [Path::new(".git/hooks/pre-commit"), Path::new(".github/hooks/guard.json")]);
}

#[test]
fn what_configures_a_submodule_is_compared_wherever_it_lies() {
    let scene = TestRepo::new();
    let inner = TestRepo::new();
    let from = inner.root.to_str().expect("UTF-8");
    scene.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, "lib"]);
    scene.commit_all("submodule");
    let settings = || scene.repo().settings().expect("read");
    let before = settings();
    let modules = scene.root.join(".git/modules/lib");
    for part in ["config", "hooks/post-checkout", "config.worktree"] {
        let path = modules.join(part);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        let text = fs::read_to_string(&path).unwrap_or_default();
        fs::write(&path, format!("{text}# more\n")).expect("written");
        let changes = before.differences(&settings());
        assert!(changes.iter().any(|it| it.path == Path::new("lib/.git").join(part)), "{part}");
    }
    // A folder in the place of what leads to the one in `.git`.
    fs::rename(scene.root.join("lib/.git"), scene.root.join("lib/moved")).expect("moved");
    fs::rename(&modules, scene.root.join("lib/.git")).expect("moved");
    let changes = before.differences(&settings());
    assert!(changes.iter().any(|it| it.path == Path::new("lib/.git")), "{changes:?}");
}
