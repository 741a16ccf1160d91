//! Whether a run may begin.

use std::fs;
use std::path::{Path, PathBuf};

use super::test_repo::{FOLDER, TestRepo, git_in, layout};
use crate::model::ChangeKind;
use crate::verify::{
    Branch, Dirt, Fingerprint, GitRepo, Layout, RepoProblem, SigningKey, VerifyError,
};

fn problem(scene: &TestRepo) -> RepoProblem {
    scene.preflight(Branch::Current, Dirt::Refuse).expect_err("a problem")
}

#[test]
fn a_clean_tree_is_ready_from_any_folder() {
    let scene = TestRepo::new();
    let repo = GitRepo::discover(&scene.root.join("src")).expect("found above");
    assert_eq!(repo.root(), scene.root);
    let ready = repo.preflight(&layout(), Branch::Current, Dirt::Refuse).expect("ready");
    assert_eq!(ready.checkpoint.branch, "refs/heads/main");
    assert_eq!(ready.checkpoint.head.as_str(), scene.head());
    assert!(ready.human.is_empty());
    assert!(ready.prepared.is_empty());
}

#[test]
fn a_detached_head_needs_a_branch_to_be_named() {
    let scene = TestRepo::new();
    scene.git(&["checkout", "-q", "--detach"]);
    let found = problem(&scene);
    assert!(matches!(found, RepoProblem::Detached { .. }), "{found}");
    assert!(found.hint().contains("--branch"));

    let ready = scene.preflight(Branch::Named("ralph/demo"), Dirt::Refuse).expect("made");
    assert_eq!(ready.checkpoint.branch, "refs/heads/ralph/demo");
    assert_eq!(scene.git(&["symbolic-ref", "HEAD"]), "refs/heads/ralph/demo");
    assert_eq!(scene.porcelain(), "");
}

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
fn a_linked_worktree_is_a_repository_of_its_own() {
    let scene = TestRepo::new();
    scene.git(&["worktree", "add", "-q", "-b", "side", "../linked"]);
    let linked = GitRepo::discover(&scene.root.join("../linked/src")).expect("found");
    assert!(linked.root().ends_with("linked"));
    assert!(linked.git_dir().ends_with(".git/worktrees/linked"));
    linked.exclude(&[".ralph/runs/"]).expect("excluded");
    let ready = linked.preflight(&layout(), Branch::Current, Dirt::Refuse).expect("ready");
    assert_eq!(ready.checkpoint.branch, "refs/heads/side");
    assert!(scene.read(".git/info/exclude").ends_with(".ralph/runs/\n"));
}

#[test]
fn dirt_is_listed_with_odd_names_and_bounded() {
    let scene = TestRepo::new();
    scene.write("README.md", "changed\n");
    scene.remove("src/lib.txt");
    scene.write("a new\nname", "x");
    scene.write("-dash", "x");
    scene.git(&["add", "--", "-dash"]);
    let RepoProblem::Dirty { changes } = problem(&scene) else { panic!("not dirty") };
    let seen: Vec<_> = changes.iter().map(|c| (c.path.to_str().expect("UTF-8"), c.kind)).collect();
    assert_eq!(
        seen,
        [
            ("-dash", ChangeKind::Added),
            ("README.md", ChangeKind::Modified),
            ("a new\nname", ChangeKind::Added),
            ("src/lib.txt", ChangeKind::Deleted),
        ]
    );
    for n in 0..40 {
        scene.write(&format!("many/{n}"), "x");
    }
    let text = problem(&scene).to_string();
    assert!(text.contains(r#"added "a new\nname""#), "{text}");
    assert!(text.ends_with("and 34 more"), "{text}");
}

#[test]
fn dirt_in_the_task_folder_is_the_human_preparing_the_task() {
    let scene = TestRepo::new();
    scene.append("tasks/demo/TASK.md", "- [ ] three\n");
    scene.write("tasks/demo/check.sh", "true\n");
    let ready = scene.preflight(Branch::Current, Dirt::Refuse).expect("ready");
    assert_eq!(ready.prepared, [Path::new("tasks/demo/TASK.md"), Path::new("tasks/demo/check.sh")]);
    let committed = scene
        .repo()
        .commit_paths(
            "refs/heads/main",
            &ready.prepared,
            &layout().state_message(),
            &crate::verify::Identity::of_the_runner(),
        )
        .expect("committed");
    assert!(committed.is_some());
    assert_eq!(scene.porcelain(), "");
    assert_eq!(
        scene.git(&["log", "-1", "--format=%s|%an"]),
        "ralph(demo): state update|ralph-copilot"
    );
}

#[test]
fn with_allow_dirty_the_dirt_is_remembered() {
    let scene = TestRepo::new();
    scene.write("README.md", "mine\n");
    scene.write("notes.txt", "mine\n");
    scene.remove("tests/other.py");
    let ready = scene.preflight(Branch::Current, Dirt::Protect).expect("ready");
    let paths: Vec<_> = ready.human.paths().collect();
    assert_eq!(
        paths,
        [Path::new("README.md"), Path::new("notes.txt"), Path::new("tests/other.py")]
    );
    assert_eq!(ready.human.get(Path::new("tests/other.py")), Some(&Fingerprint::Absent));
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
fn git_says_whether_it_signs_and_with_which_key() {
    let scene = TestRepo::new();
    let signs = || scene.repo().signs(&|_| None).expect("readable");
    scene.git(&["config", "commit.gpgSign", "false"]);
    scene.git(&["config", "tag.gpgSign", "false"]);
    assert_eq!(signs(), None);
    scene.git(&["config", "commit.gpgSign", "yes"]);
    assert_eq!(signs(), Some(SigningKey::Gpg));
    scene.git(&["config", "gpg.format", "ssh"]);
    assert_eq!(signs(), Some(SigningKey::Ssh(None)));
    scene.git(&["config", "user.signingKey", "key::ssh-ed25519 AAAA"]);
    assert_eq!(signs(), Some(SigningKey::Ssh(None)));
    scene.git(&["config", "user.signingKey", "/keys/id.pub"]);
    assert_eq!(signs(), Some(SigningKey::Ssh(Some("/keys/id.pub".into()))));
}

#[test]
fn nobody_is_an_identity_only_if_git_says_so() {
    let scene = TestRepo::new();
    let known = |variables: &[(&str, &str)]| {
        let variable = |name: &str| {
            variables.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned())
        };
        let known = scene.repo().identity(&variable).expect("readable");
        known.map(|known| format!("{}, {}", known.author, known.committer))
    };
    let ada = "Ada <ada@example.org>";
    assert_eq!(known(&[]), Some(format!("{ada}, {ada}")));
    assert_eq!(known(&[("EMAIL", "m@x")]), Some(format!("{ada}, {ada}")));
    // The variables are stronger, each for itself.
    let bot = [("GIT_AUTHOR_NAME", "Bot"), ("GIT_COMMITTER_EMAIL", "bot@x")];
    assert_eq!(known(&bot), Some("Bot <ada@example.org>, Ada <bot@x>".to_owned()));
    assert_eq!(known(&[("GIT_AUTHOR_NAME", "")]), None, "git refuses to commit");
    scene.git(&["config", "committer.name", "Machine"]);
    assert_eq!(known(&[]), Some(format!("{ada}, Machine <ada@example.org>")));
    scene.git(&["config", "user.email", ""]);
    assert_eq!(known(&[]), None);
    assert_eq!(known(&[("GIT_AUTHOR_EMAIL", "a@x")]), None, "nobody commits");
    scene.git(&["config", "--unset", "user.email"]);
    assert_eq!(known(&[]), None);
    assert_eq!(known(&[("EMAIL", "m@x")]), Some("Ada <m@x>, Machine <m@x>".to_owned()));
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

#[test]
fn submodules_are_listed_and_their_dirt_is_seen() {
    let scene = TestRepo::new();
    let inner = TestRepo::new();
    let from = inner.root.to_str().expect("UTF-8");
    scene.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, "lib"]);
    scene.commit_all("submodule");
    let ready = scene.preflight(Branch::Current, Dirt::Refuse).expect("ready");
    assert_eq!(ready.submodules, [PathBuf::from("lib")]);
    assert_eq!(ready.hooks_and_settings().count(), 0);
    assert!(ready.settings.paths().any(|path| path == Path::new("lib/.git")));
    scene.write("lib/src/lib.txt", "dirt\n");
    let RepoProblem::Dirty { changes } = problem(&scene) else { panic!("not dirty") };
    assert_eq!(changes[0].path, Path::new("lib"));
    assert!(git_in(&scene.root.join("lib"), &["checkout", "-q", "."]).0);
    scene.preflight(Branch::Current, Dirt::Refuse).expect("clean again");
}
