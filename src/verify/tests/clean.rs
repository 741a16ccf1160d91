//! Clean worktrees: what is in them, and what they prove.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::test_repo::{TestRepo, git_in, key, layout};
use crate::verify::{
    Branch, CheckOptions, Dirt, Environment, Linked, PlannedCheck, Repo, ShellChecks,
    not_reproducible, run_checks, run_clean,
};

fn environment(scene: &TestRepo) -> Environment {
    scene.preflight(Branch::Current, Dirt::Protect).expect("ready").environment
}

fn linked(scene: &TestRepo, environment: &Environment, command: &str) -> Linked {
    let present = scene.repo().ignored().expect("listed");
    environment.linked(&scene.root, &layout(), &[command.to_owned()], &present)
}

#[test]
fn it_holds_head_and_nothing_else_and_leaves_nothing() {
    let scene = TestRepo::new();
    scene.write("a b/-odd\nname", "x");
    scene.git(&["tag", "v1"]);
    scene.commit_all("second");
    scene.write("src/lib.txt", "uncommitted\n");
    scene.write("loose", "x");
    scene.write("out.log", "x");
    let repo = scene.repo();
    let listing =
        || scene.git(&["for-each-ref"]) + &scene.porcelain() + &scene.git(&["worktree", "list"]);
    let before = listing();
    let tree = repo.clean_tree(&Linked::default()).expect("made");
    let at = tree.path().to_owned();
    assert!(!at.starts_with(&scene.root));
    assert_eq!(at.file_name(), scene.root.file_name());
    assert_eq!(git_in(&at, &["status", "--porcelain", "--ignored"]), (true, String::new()));
    assert_eq!(git_in(&at, &["rev-parse", "HEAD"]).1, scene.head());
    assert_eq!(git_in(&at, &["symbolic-ref", "HEAD"]).1, "refs/heads/main");
    assert_eq!(git_in(&at, &["describe", "--tags"]).1, scene.git(&["describe", "--tags"]));
    assert_eq!(git_in(&at, &["log", "--format=%s"]).1, "second\nfirst");
    assert_eq!(fs::read_to_string(at.join("src/lib.txt")).expect("read"), "code\n");
    assert!(at.join("a b/-odd\nname").exists());
    // Whatever is done there does not reach the repository.
    assert!(
        git_in(
            &at,
            &["-c", "user.name=x", "-c", "user.email=x", "commit", "--allow-empty", "-qm", "x"]
        )
        .0
    );
    assert!(git_in(&at, &["branch", "-D", "-f", "nothing"]).1.contains("not found"));
    assert_eq!(listing(), before);
    drop(tree);
    assert!(!at.exists());
    assert_eq!(listing(), before);
    assert!(!scene.exists(".git/worktrees"));
}

#[test]
fn a_shallow_clone_has_one_too() {
    let scene = TestRepo::new();
    scene.write("second", "x");
    scene.commit_all("second");
    let from = format!("file://{}", scene.root.display());
    scene.git(&["clone", "-q", "--depth", "1", &from, "../shallow"]);
    let shallow = crate::verify::GitRepo::discover(&scene.root.join("../shallow")).expect("found");
    let tree = shallow.clean_tree(&Linked::default()).expect("made");
    assert_eq!(git_in(tree.path(), &["log", "--format=%s"]), (true, "second".into()));
}

#[test]
fn ignored_entries_of_before_are_linked_and_changed_ones_are_not() {
    let scene = TestRepo::new();
    scene.write("target/debug/dep", "x");
    scene.write("build/old", "x");
    scene.write("conf.log", "x");
    scene.write("sub/kept.log", "x");
    let before = environment(&scene);
    scene.write("target/debug/new", "by a compiler");
    scene.write("build/new", "by the agent");
    scene.write("late.log", "by the agent");
    let found = linked(&scene, &before, "sh tests/check.sh");
    assert_eq!(found.links, [PathBuf::from("conf.log"), "sub/kept.log".into(), "target".into()]);
    assert_eq!(found.left_out, [PathBuf::from("build")]);
    // A command that looks into a changed folder does not get it.
    let found = linked(&scene, &before, "test -f target/debug/new");
    assert_eq!(found.left_out, [PathBuf::from("build"), "target".into()]);

    let tree = scene.repo().clean_tree(&linked(&scene, &before, "true")).expect("made");
    let there = |path: &str| tree.path().join(path).exists();
    assert!(there("target/debug/dep") && there("conf.log") && there("sub/kept.log"));
    assert!(!there("build") && !there("late.log"));
    assert!(tree.notes()[0].contains("build is ignored"), "{:?}", tree.notes());
    // A link in the place of an ignored folder is ignored too.
    assert_eq!(git_in(tree.path(), &["status", "--porcelain"]), (true, String::new()));
    drop(tree);
    assert!(scene.exists("target/debug/dep"), "a link was followed when it was removed");
}

#[test]
fn a_tool_s_folder_that_came_into_being_is_linked_and_other_new_ones_are_not() {
    let scene = TestRepo::new();
    let before = environment(&scene);
    scene.write("target/debug/dep", "by a compiler");
    scene.write("build/new", "by the agent");
    let found = linked(&scene, &before, "cargo test");
    assert_eq!(found, Linked { links: vec!["target".into()], left_out: vec![] });
    let found = linked(&scene, &before, "test -f target/debug/dep");
    assert_eq!(found, Linked::default(), "the command looks into it");
}

#[test]
fn a_forged_time_does_not_hide_a_change() {
    let scene = TestRepo::new();
    scene.write("build/marker", "no\n");
    let before = environment(&scene);
    let at = scene.root.join("build/marker");
    let time = fs::metadata(&at).expect("there").modified().expect("time");
    scene.write("build/marker", "yes");
    let file = fs::File::options().write(true).open(&at).expect("opened");
    file.set_modified(time).expect("set");
    assert_eq!(linked(&scene, &before, "true").left_out, [PathBuf::from("build")]);
}

#[test]
fn the_runners_own_files_are_no_change() {
    let scene = TestRepo::new();
    scene.git(&["rm", "-rqf", "--cached", "tasks"]);
    scene.append(".gitignore", "tasks/\n");
    scene.git(&["add", ".gitignore"]);
    scene.git(&["commit", "-qm", "ignored"]);
    scene.write("tasks/demo/check.sh", "true\n");
    let before = environment(&scene);
    scene.append("tasks/demo/progress.md", "2026-01-17 did it\n");
    assert_eq!(linked(&scene, &before, "sh tasks/demo/check.sh").links, [PathBuf::from("tasks")]);
    scene.write("tasks/demo/check.sh", "false\n");
    assert_eq!(linked(&scene, &before, "true").left_out, [PathBuf::from("tasks")]);
}

#[test]
fn a_submodule_that_is_as_head_asks_is_linked() {
    let scene = TestRepo::new();
    let inner = TestRepo::new();
    let from = inner.root.to_str().expect("UTF-8");
    scene.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, "lib"]);
    scene.commit_all("submodule");
    let tree = scene.repo().clean_tree(&Linked::default()).expect("made");
    assert!(tree.path().join("lib/src/lib.txt").exists());
    assert!(tree.notes()[0].contains("submodule lib is linked"), "{:?}", tree.notes());
    inner.write("more", "x");
    inner.commit_all("more");
    assert!(git_in(&scene.root.join("lib"), &["pull", "-q"]).0);
    let tree = scene.repo().clean_tree(&Linked::default()).expect("made");
    assert!(!tree.path().join("lib/src/lib.txt").exists());
    assert!(tree.notes()[0].contains("not checked out as HEAD asks"), "{:?}", tree.notes());
}

#[test]
fn files_that_a_filter_makes_are_taken_from_the_tree() {
    let scene = TestRepo::new();
    scene.git(&["config", "filter.shout.clean", "tr A-Z a-z"]);
    scene.git(&["config", "filter.shout.smudge", "tr a-z A-Z"]);
    scene.write(".gitattributes", "*.big filter=shout\n");
    scene.write("file.big", "LOUD\n");
    scene.write("plain.txt", "quiet\n");
    scene.commit_all("filtered");
    assert_eq!(scene.git(&["show", "HEAD:file.big"]), "loud");
    let tree = scene.repo().clean_tree(&Linked::default()).expect("made");
    let read = |path: &str| fs::read_to_string(tree.path().join(path)).expect("read");
    assert_eq!((read("file.big").as_str(), read("plain.txt").as_str()), ("LOUD\n", "quiet\n"));
}

fn planned(command: &str) -> PlannedCheck {
    PlannedCheck { command: command.into(), criteria: vec![key("one")], whole_task: false }
}

/// Runs commands here and in a clean worktree, and gives those that only pass here.
async fn only_here(scene: &TestRepo, before: &Environment, commands: &[&str]) -> Vec<String> {
    let shell = ShellChecks::new(Arc::new(str::to_owned), "test");
    let repo = scene.repo();
    let plan: Vec<_> = commands.iter().map(|command| planned(command)).collect();
    let options = CheckOptions::in_dir(&scene.root);
    let status = repo.status().expect("status");
    let here = run_checks(&repo, &shell, &plan, &options, &status, &Default::default())
        .await
        .expect("ran here");
    let (clean, _notes) =
        run_clean(&repo, &shell, &plan, &options, &layout(), before).await.expect("ran there");
    not_reproducible(&here.results, &clean).map(|check| check.command.clone()).collect()
}

#[tokio::test]
async fn a_check_that_leans_on_what_is_not_in_head_is_found() {
    let scene = TestRepo::new();
    scene.write("build/before", "x");
    let before = environment(&scene);
    scene.honest_work();
    scene.write("proof.log", "ignored\n");
    scene.write("build/proof", "ignored, in a folder that was there\n");
    scene.write("target/proof", "ignored, in a compiler's folder\n");
    scene.write("loose", "uncommitted\n");
    scene.git(&["update-index", "--assume-unchanged", "README.md"]);
    scene.write("README.md", "hidden\n");
    let leaning = [
        "test -f proof.log",
        "test -f build/proof",
        "test -f target/proof",
        "grep -q uncommitted loose",
        "grep -q hidden README.md",
    ];
    let mut commands = vec!["sh tests/check.sh", "test -d .git", "false"];
    commands.extend(leaning);
    assert_eq!(only_here(&scene, &before, &commands).await, leaning);
}

#[test]
fn a_linked_worktree_has_one_too() {
    let scene = TestRepo::new();
    scene.git(&["worktree", "add", "-q", "-b", "side", "../linked"]);
    let linked = crate::verify::GitRepo::discover(&scene.root.join("../linked")).expect("found");
    let tree = linked.clean_tree(&Linked::default()).expect("made");
    assert_eq!(git_in(tree.path(), &["symbolic-ref", "HEAD"]).1, "refs/heads/side");
    assert!(Path::new(&tree.path().join("src/lib.txt")).exists());
}
