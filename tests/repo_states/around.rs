//! What surrounds a repository: hooks, programs that its configuration names, the
//! environment, and every kind of checkout. A run works there, and what it does not need
//! does not run.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::midrun::{hand, with_a_hand};
use super::{HONEST, TASK, ended};
use crate::repo::{Repo, finish, story};
use crate::tier::has_tier;

/// An agent that does nothing: what runs then is what the runner itself makes git run.
const IDLE: &str = "turns: [{steps: [{say: Done!}]}]";

/// A state with its name, and what makes it.
type Named<T> = (&'static str, fn(&Repo) -> T);

/// A program that leaves a mark beside the repository, and then hangs. In a proof room, where the
/// hooks of commits are tried, it does neither.
fn trap(repo: &Repo, path: &str) -> String {
    let (mark, room) = (repo.beside("mark"), "test ! -e .ralph/runs");
    let text =
        format!("#!/bin/sh\n{room} && exit 0\necho \"$0\" >> '{}'\nsleep 1000\n", mark.display());
    program(&repo.path(path), &text);
    repo.path(path).display().to_string()
}

pub(super) fn program(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::write(path, text).expect("written");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("made to run");
}

/// Every way in which a repository has a program run when somebody commits or looks.
const PROGRAMS: &[Named<()>] = &[
    ("hooks", |repo| {
        for name in [
            "pre-commit",
            "prepare-commit-msg",
            "commit-msg",
            "post-commit",
            "reference-transaction",
            "post-checkout",
            "post-index-change",
            "post-rewrite",
        ] {
            trap(repo, &format!(".git/hooks/{name}"));
        }
    }),
    ("core.hooksPath", |repo| {
        trap(repo, ".git/own/pre-commit");
        trap(repo, ".git/own/reference-transaction");
        repo.git(&["config", "core.hooksPath", ".git/own"]);
    }),
    ("a signature that is asked for at a prompt", |repo| {
        let gpg = trap(repo, ".git/gpg");
        repo.git(&["config", "gpg.program", &gpg]);
        repo.git(&["config", "commit.gpgSign", "true"]);
    }),
    ("core.fsmonitor", |repo| {
        let monitor = trap(repo, ".git/monitor");
        repo.git(&["config", "core.fsmonitor", &monitor]);
    }),
    ("a filter", |repo| {
        let filter = trap(repo, ".git/filter");
        repo.write(".git/info/attributes", "* filter=trap\n");
        for key in ["clean", "smudge", "process"] {
            repo.git(&["config", &format!("filter.trap.{key}"), &filter]);
        }
    }),
    ("a program that shows differences", |repo| {
        let diff = trap(repo, ".git/diff");
        repo.write(".git/info/attributes", "* diff=trap\n");
        repo.git(&["config", "diff.trap.textconv", &diff]);
        repo.git(&["config", "diff.external", &diff]);
        repo.git(&["config", "core.pager", &diff]);
        repo.git(&["config", "core.editor", &diff]);
    }),
];

#[test]
fn nothing_that_the_repository_names_runs_when_the_runner_looks_or_commits() {
    std::thread::scope(|scope| {
        for (name, make) in PROGRAMS {
            scope.spawn(move || {
                let repo = Repo::new(TASK);
                make(&repo);
                // Git itself would run them: the repository is not looked at with it before.
                let ran = finish(repo.run_command(IDLE, &["--max-iterations", "1", "--json"]));
                assert_eq!(ran.code, Some(3), "{name}: {}", ran.stderr);
                ended(&repo, &ran);
                let mark = std::fs::read_to_string(repo.beside("mark"));
                assert!(mark.is_err(), "{name} ran: {mark:?}");
                let log = repo.git(&["-c", "core.pager=cat", "log", "-1", "--format=%s %G?"]);
                assert_eq!(log, "ralph(demo): state update N\n", "{name}");
            });
        }
    });
}

/// The agent's own commits run them: it is told no, or takes too long, and the run goes on.
#[test]
fn a_hook_that_refuses_asks_or_hangs_fails_the_agents_commit_and_not_the_run() {
    let hooks = [
        ("refuses", "echo no tests >&2; exit 1"),
        ("asks", "read answer < /dev/tty || exit 1"),
        ("hangs", "sleep 1000"),
    ];
    std::thread::scope(|scope| {
        for (name, does) in hooks {
            scope.spawn(move || {
                let repo = Repo::new(TASK);
                program(&repo.path(".git/hooks/pre-commit"), &format!("#!/bin/sh\n{does}\n"));
                let ran = repo.run(HONEST, &["--max-iterations", "1", "--turn-timeout", "2s"]);
                assert_eq!(ran.code, Some(3), "{name}: {}", ran.stderr);
                ended(&repo, &ran);
                let story = story(&repo, &ran);
                assert!(story.contains("iteration 1: fail"), "{name}: {story}");
                assert!(story.contains("no_commit"), "{name}: {story}");
                assert!(story.contains("commit: ralph(demo): state update"), "{name}: {story}");
                assert!(repo.status().is_empty(), "{name}: {story}");
                assert!(repo.task().contains("- [ ] a is there"), "{name}: {story}");
            });
        }
    });
}

#[test]
fn the_environment_does_not_lead_to_another_repository() {
    let repo = Repo::new(TASK);
    let other = Repo::new("# Other\n\n- [ ] nothing\n");
    let before = (other.git(&["for-each-ref"]), super::humans(&other));
    let mut command = repo.run_command(HONEST, &["--json"]);
    command
        .env("GIT_DIR", other.path(".git"))
        .env("GIT_WORK_TREE", other.root())
        .env("GIT_INDEX_FILE", other.path(".git/index"))
        .env("GIT_OBJECT_DIRECTORY", other.path(".git/objects"))
        .env("GIT_COMMON_DIR", other.path(".git"))
        .env("GIT_NAMESPACE", "elsewhere")
        .env("GIT_CEILING_DIRECTORIES", repo.beside(""))
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "core.hooksPath")
        .env("GIT_CONFIG_VALUE_0", "/nowhere")
        .env("GIT_EXTERNAL_DIFF", "false")
        .env("GIT_OPTIONAL_LOCKS", "1");
    let ran = finish(command);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(repo.task(), TASK.replace("[ ]", "[x]"));
    assert_eq!((other.git(&["for-each-ref"]), super::humans(&other)), before);
}

/// Kinds of checkouts in which all is as anywhere: where the run has to be started, and
/// how git itself sees the tree afterwards.
const CHECKOUTS: &[Named<String>] = &[
    ("packed refs", |repo| {
        repo.git(&["pack-refs", "--all"]);
        ".".into()
    }),
    ("packed objects", |repo| {
        repo.git(&["gc", "--quiet"]);
        ".".into()
    }),
    ("a shallow clone", |repo| {
        repo.write("README.md", "more\n");
        repo.commit("more");
        let from = format!("file://{}", repo.root().display());
        repo.git(&["clone", "--quiet", "--depth=1", &from, "../there"]);
        repo.beside("there").display().to_string()
    }),
    ("a partial checkout", |repo| {
        repo.write("far/away", "x");
        repo.commit("far");
        repo.git(&["sparse-checkout", "set", "--cone", "tasks"]);
        assert!(!repo.path("far/away").exists());
        ".".into()
    }),
    ("a partial checkout by patterns", |repo| {
        repo.write("far/away", "x");
        repo.commit("far");
        repo.git(&["sparse-checkout", "set", "--no-cone", "/*", "!/far/"]);
        assert!(!repo.path("far/away").exists());
        ".".into()
    }),
    ("a linked working tree", |repo| {
        repo.git(&["worktree", "add", "--quiet", "-b", "side", "../there"]);
        repo.beside("there").display().to_string()
    }),
    ("a linked working tree in the first one", |repo| {
        repo.write(".gitignore", "/trees/\n");
        repo.commit("ignore");
        repo.git(&["worktree", "add", "--quiet", "-b", "side", "trees/there"]);
        repo.path("trees/there").display().to_string()
    }),
    ("a git directory elsewhere", |repo| {
        repo.git(&["init", "--quiet", "--separate-git-dir", "../elsewhere.git"]);
        ".".into()
    }),
    ("through a link", |repo| {
        std::os::unix::fs::symlink(repo.root(), repo.beside("link")).expect("a link");
        repo.beside("link").display().to_string()
    }),
    ("line ends that git changes", |repo| {
        repo.git(&["config", "core.autocrlf", "true"]);
        let text = TASK.replace('\n', "\r\n");
        repo.write("tasks/demo/TASK.md", &text);
        repo.write("README.md", "# A project\r\n");
        repo.git(&["add", "--all"]);
        ".".into()
    }),
    ("line ends by attributes", |repo| {
        repo.write(".gitattributes", "* text=auto eol=crlf\n");
        repo.commit("attributes");
        repo.git(&["rm", "-rq", "--cached", "."]);
        repo.git(&["reset", "--hard", "--quiet"]);
        assert!(repo.task().contains("\r\n"));
        ".".into()
    }),
    ("replaced commits", |repo| {
        repo.write("README.md", "more\n");
        repo.commit("more");
        repo.git(&["replace", "--graft", "HEAD"]);
        ".".into()
    }),
    ("a file system without case", |repo| {
        repo.git(&["config", "core.ignorecase", "true"]);
        ".".into()
    }),
    ("no x bits", |repo| {
        repo.git(&["config", "core.filemode", "false"]);
        program(&repo.path("README.md"), "# A project\n");
        ".".into()
    }),
    ("an index of version 4 with a cache of untracked files", |repo| {
        repo.git(&["update-index", "--index-version", "4", "--untracked-cache"]);
        ".".into()
    }),
    ("a commit graph and a multi-pack index", |repo| {
        repo.git(&["repack", "-adq"]);
        repo.git(&["commit-graph", "write"]);
        repo.git(&["multi-pack-index", "write"]);
        ".".into()
    }),
    ("a note, a stash and a tag", |repo| {
        repo.git(&["notes", "add", "-m", "n"]);
        repo.write("README.md", "stashed\n");
        repo.git(&["stash", "--quiet"]);
        repo.git(&["tag", "-a", "-m", "t", "ralph"]);
        ".".into()
    }),
    ("an ignored repository inside", |repo| {
        repo.write(".gitignore", "/inner/\n");
        repo.commit("ignore");
        repo.git(&["init", "--quiet", "inner"]);
        repo.write("inner/x", "x");
        ".".into()
    }),
];

#[test]
fn a_run_works_in_every_kind_of_checkout_and_leaves_it_clean() {
    std::thread::scope(|scope| {
        for (name, make) in CHECKOUTS {
            scope.spawn(move || {
                let repo = Repo::new(TASK);
                let place = make(&repo);
                let agent = repo.agent(HONEST);
                let ran = repo.ralph(&["run", "demo", "--agent", &agent, "-C", &place, "--json"]);
                assert_eq!(ran.code, Some(0), "{name}: {} {}", ran.stderr, ran.stdout);
                let at = |args: &[&str]| {
                    let mut all = vec!["-C", &place];
                    all.extend(args);
                    repo.git(&all)
                };
                assert_eq!(at(&["status", "--short", "--untracked-files=all"]), "", "{name}");
                let task = at(&["show", "HEAD:tasks/demo/TASK.md"]);
                assert_eq!(task, TASK.replace("[ ]", "[x]"), "{name}");
                // What is not checked out is still there.
                let gone = at(&["log", "--diff-filter=D", "--name-only", "--format="]);
                assert_eq!(gone, "", "{name}");
                at(&["fsck", "--no-dangling"]);
                assert!(repo.root().join(&place).join(".ralph/runs/lock").exists(), "{name}");
            });
        }
    });
}

/// A clone that has no objects of its own: git finds them in each sandbox, and so do the checks.
#[test]
fn objects_that_a_clone_borrows_are_shown_in_the_sandbox() {
    std::thread::scope(|scope| {
        for tier in ["off", "partial", "full"].into_iter().filter(|tier| has_tier(tier)) {
            scope.spawn(move || {
                let task = TASK.replace("test -e a.txt", "git log -p >/dev/null && test -e a.txt");
                let repo = Repo::new(&task);
                repo.git(&["clone", "--quiet", "--shared", ".", "../between"]);
                repo.git(&["clone", "--quiet", "--shared", "../between", "../clone"]);
                let place = repo.beside("clone").display().to_string();
                // As `git clone --reference` may write it, too.
                let list = repo.beside("clone/.git/objects/info/alternates");
                std::fs::write(&list, "../../../between/.git/objects\n").expect("written");
                repo.git(&["-C", &place, "config", "user.name", "Human"]);
                repo.git(&["-C", &place, "config", "user.email", "human@example.com"]);
                let tier = format!("--sandbox={tier}");
                let agent = repo.agent(HONEST);
                let ran = repo.ralph(&["run", "demo", "--agent", &agent, "-C", &place, &tier]);
                assert_eq!(ran.code, Some(0), "{tier}: {} {}", ran.stderr, ran.stdout);
                assert!(!ran.stdout.contains("FAIL"), "{tier}: {}", ran.stdout);
            });
        }
    });
}

/// A clone with this filter of a repository beside it, in which only the task is checked out.
fn partial_clone(repo: &Repo, filter: &str) -> String {
    repo.git(&["config", "uploadpack.allowFilter", "true"]);
    repo.write("lib/deep/one.txt", "one\n");
    repo.write("check.sh", "cat lib/deep/one.txt && test -e a.txt\n");
    repo.commit("more");
    let (from, filter) =
        (format!("file://{}", repo.root().display()), format!("--filter={filter}"));
    repo.git(&["clone", "--quiet", &filter, "--sparse", &from, "../clone"]);
    let place = repo.beside("clone").display().to_string();
    let at = |args: &[&str]| repo.git(&[&["-C", &place], args].concat());
    at(&["config", "user.name", "Human"]);
    at(&["config", "user.email", "human@example.com"]);
    at(&["sparse-checkout", "set", "tasks"]);
    assert!(!repo.beside("clone/lib").exists());
    assert!(at(&["rev-list", "--objects", "--missing=print", "HEAD"]).contains('?'));
    place
}

#[test]
fn objects_that_a_partial_clone_lacks_are_fetched_before_the_first_turn() {
    for (filter, extension) in [("blob:none", false), ("blob:limit=1", false), ("blob:none", true)]
    {
        let repo = Repo::new(&TASK.replace("test -e a.txt", "sh check.sh"));
        let place = partial_clone(&repo, filter);
        if extension {
            // As older releases of git write it.
            repo.git(&["-C", &place, "config", "extensions.partialClone", "origin"]);
        }
        let agent = repo.agent(HONEST);
        let ran = repo.ralph(&["run", "demo", "--agent", &agent, "-C", &place]);
        assert_eq!(ran.code, Some(0), "{filter}: {} {}", ran.stderr, ran.stdout);
        assert!(
            ran.stderr.contains("note: this partial clone does not have all"),
            "{}",
            ran.stderr
        );
        assert!(!repo.beside("clone/lib").exists(), "{filter}: it is still sparse");
        let status = repo.git(&["-C", &place, "status", "--short"]);
        assert_eq!(status, "", "{filter}");
    }
}

#[test]
fn a_partial_clone_whose_remote_is_gone_is_refused_with_the_way_out() {
    let repo = Repo::new(TASK);
    let place = partial_clone(&repo, "blob:none");
    std::fs::rename(repo.root(), repo.beside("gone")).expect("renamed");
    std::fs::create_dir(repo.root()).expect("a folder");
    let agent = repo.agent(HONEST);
    let refused = |args: &[&str]| {
        let ran = repo.ralph(&[args, &["-C", &place]].concat());
        assert_eq!(ran.code, Some(8), "{args:?}: {} {}", ran.stderr, ran.stdout);
        assert!(
            ran.stderr.contains("this partial clone does not have all objects"),
            "{}",
            ran.stderr
        );
        let way = "hint: make it a whole clone: git fetch --refetch --no-filter origin";
        assert!(ran.stderr.contains(way), "{}", ran.stderr);
    };
    refused(&["run", "demo", "--agent", &agent]);
    refused(&["run", "demo", "--agent", &agent, "--dry-run"]);
    refused(&["rehearse", "demo"]);
    refused(&["verify", "demo", "--base", "HEAD~1"]);
    // The way out works, and that for a clone without trees.
    std::fs::remove_dir(repo.root()).expect("removed");
    std::fs::rename(repo.beside("gone"), repo.root()).expect("renamed");
    repo.git(&["-C", &place, "fetch", "--quiet", "--refetch", "--no-filter", "origin"]);
    let ran = repo.ralph(&["run", "demo", "--agent", &agent, "-C", &place]);
    assert_eq!((ran.code, ran.stderr.contains("partial")), (Some(0), false), "{}", ran.stderr);
}

#[test]
fn a_clone_without_trees_is_refused_with_the_way_out() {
    let repo = Repo::new(TASK);
    let place = partial_clone(&repo, "tree:0");
    let agent = repo.agent(HONEST);
    let ran = repo.ralph(&["run", "demo", "--agent", &agent, "-C", &place]);
    assert_eq!(ran.code, Some(8), "{} {}", ran.stderr, ran.stdout);
    let way = "hint: make it a whole clone: git fetch --refetch --no-filter origin";
    assert!(ran.stderr.contains(way), "{}", ran.stderr);
    // Without the older files, it is enough, too.
    let filter = ["fetch", "--quiet", "--refetch", "--filter=blob:none", "origin"];
    repo.git(&[&["-C", &place], &filter[..]].concat());
    let ran = repo.ralph(&["run", "demo", "--agent", &agent, "-C", &place]);
    assert_eq!(ran.code, Some(0), "{} {}", ran.stderr, ran.stdout);
}

/// A program that makes files (as git-lfs does) has made what is in the tree: it is no
/// change that what git holds is something else.
#[test]
fn files_that_a_filter_made_are_no_dirt_and_survive_a_run() {
    let repo = Repo::new(TASK);
    repo.git(&["config", "filter.up.clean", "tr a-z A-Z"]);
    repo.git(&["config", "filter.up.smudge", "tr A-Z a-z"]);
    repo.git(&["config", "filter.up.required", "true"]);
    repo.write(".gitattributes", "*.bin filter=up\n");
    repo.write("big.bin", "content\n");
    repo.commit("filtered");
    assert_eq!(repo.git(&["show", "HEAD:big.bin"]), "CONTENT\n");
    // A clone's files are as old as its index.
    for path in ["big.bin", ".git/index"] {
        let file = std::fs::File::options().append(true).open(repo.path(path)).expect("open");
        file.set_modified(
            std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000),
        )
        .expect("set");
    }
    repo.git(&["status"]);
    let ran = repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!((repo.status(), repo.read("big.bin")), (String::new(), "content\n".to_owned()));
    assert_eq!(repo.git(&["show", "HEAD:big.bin"]), "CONTENT\n");
}

/// git has run the filter when it added the file, and noted that the two agree.
#[test]
fn a_file_that_a_filter_made_and_a_turn_committed_is_no_dirt() {
    let repo = Repo::new(&TASK.replace("a.txt", "a.rot"));
    for side in ["clean", "smudge"] {
        repo.git(&["config", &format!("filter.rot.{side}"), "tr a-z n-za-m"]);
    }
    repo.write(".gitattributes", "*.rot filter=rot\n");
    repo.write("old.rot", "old\n");
    repo.commit("attributes");
    let script = "turns:\n- steps: [{write: {path: a.rot, text: \"hello\\n\"}}, \
        {write: {path: old.rot, text: \"new\\n\"}}, {tick: \"a is there\"}, {progress: did a}, \
        {commit: a}]\n";
    let ran = repo.run(script, &[]);
    assert_eq!(ran.code, Some(0), "{}", story(&repo, &ran));
    assert!(story(&repo, &ran).contains("iteration 1: pass"), "{}", story(&repo, &ran));
    assert_eq!(repo.git(&["show", "HEAD:a.rot"]), "uryyb\n");
    assert_eq!((repo.status(), repo.read("a.rot")), (String::new(), "hello\n".to_owned()));
    // One that differs is dirt.
    repo.write("old.rot", "more\n");
    let ran = repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(8), "{}", ran.stdout);
    assert!(ran.stderr.contains("changed old.rot"), "{}", ran.stderr);
}

/// git writes it in another encoding than it keeps, which the runner's library does not know.
#[test]
fn a_file_in_another_encoding_is_no_dirt_and_rooms_have_it_as_git_makes_it() {
    let check = "test $(wc -c < a.txt) -eq 4 && test $(wc -c < old.txt) -eq 8";
    let repo = Repo::new(&TASK.replace("test -e a.txt", check));
    repo.write(".gitattributes", "*.txt text working-tree-encoding=UTF-16LE\n");
    repo.write("old.txt", b"o\0l\0d\0\n\0");
    repo.commit("encoded");
    assert_eq!((repo.git(&["show", "HEAD:old.txt"]), repo.status()), ("old\n".into(), "".into()));
    let script = "turns:\n- steps: [{run: \"printf 'a\\\\000\\\\n\\\\000' > a.txt\"}, \
        {tick: \"a is there\"}, {progress: did a}, {commit: a}]\n";
    let ran = repo.run(script, &[]);
    assert_eq!(ran.code, Some(0), "{}", story(&repo, &ran));
    assert!(story(&repo, &ran).contains("iteration 1: pass check"), "{}", story(&repo, &ran));
    assert_eq!((repo.git(&["show", "HEAD:a.txt"]), repo.status()), ("a\n".into(), "".into()));
    // To put one back is left to git.
    let repo = with_a_hand();
    repo.write(".gitattributes", "old.txt working-tree-encoding=UTF-16LE\n");
    repo.write("old.txt", b"o\0l\0d\0\n\0");
    repo.commit("encoded");
    let ran = hand(&repo, "printf 'n\\000\\n\\000' > old.txt && git switch -q -c other", &[]);
    assert_eq!(ran.code, Some(8), "{}", story(&repo, &ran));
    assert!(ran.stdout.contains("working-tree-encoding=UTF-16LE"), "{}", ran.stdout);
}

/// People keep their own version of a tracked file so.
#[test]
fn a_file_that_git_status_leaves_out_is_no_dirt_and_stays_the_humans() {
    let marks = ["skip-worktree", "assume-unchanged"];
    for (mark, jobs) in marks.into_iter().flat_map(|mark| [(mark, "1"), (mark, "2")]) {
        let repo = Repo::with(TASK, &[("local.conf", "ours\n")]);
        repo.git(&["update-index", &format!("--{mark}"), "local.conf"]);
        repo.write("local.conf", "mine\n");
        let listed = repo.git(&["ls-files", "-v", "local.conf"]);
        let first = "turns:\n- times: 1\n  steps: [{run: \"echo agent > local.conf\"}]\n";
        let ran = repo.run(&HONEST.replace("turns:\n", first), &["-j", jobs]);
        assert_eq!(ran.code, Some(0), "{mark} {jobs}: {} {}", ran.stderr, story(&repo, &ran));
        assert!(ran.stdout.contains("human.work"), "{mark}: {}", ran.stdout);
        assert_eq!((repo.status(), repo.read("local.conf")), ("".into(), "mine\n".into()));
        assert_eq!(repo.git(&["show", "HEAD:local.conf"]), "ours\n", "{mark}");
        assert_eq!(repo.git(&["ls-files", "-v", "local.conf"]), listed);
        // Other changes are dirt, and it is not named among them.
        repo.write("README.md", "other\n");
        let ran = repo.run(HONEST, &[]);
        assert_eq!(ran.code, Some(8), "{mark}: {}", ran.stdout);
        assert!(ran.stderr.contains("README.md") && !ran.stderr.contains("local.conf"));
    }
}

/// Two working trees of one repository are two places, each with a lock of its own.
#[test]
fn linked_working_trees_do_not_wait_for_each_other() {
    let repo = Repo::new(TASK);
    repo.git(&["worktree", "add", "--quiet", "-b", "side", "../there"]);
    let there = repo.beside("there").display().to_string();
    let agent = repo.agent(HONEST);
    let hang = repo.beside("hang.yaml");
    std::fs::write(&hang, "turns: [{steps: [{run: ls}, {hang: }]}]").expect("written");
    let hangs = format!("{} agent {}", crate::repo::PROGRAM, hang.display());
    let mut first = repo.command(&["run", "demo", "--agent", &hangs]);
    first.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let first = first.spawn().expect("it starts");
    crate::repo::until("the first run", || {
        let held = repo.ralph(&["status", "demo", "--json"]);
        held.stdout.contains("\"running\"").then_some(())
    });
    let second = repo.ralph(&["run", "demo", "--agent", &agent, "-C", &there]);
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    let third = repo.ralph(&["run", "demo", "--agent", &agent]);
    assert_eq!(third.code, Some(9), "{}", third.stderr);
    crate::repo::signal(first.id(), rustix::process::Signal::INT);
    assert_eq!(crate::repo::collect(first).code, Some(130));
    assert_eq!(repo.git(&["-C", &there, "status", "--short"]), "");
}

/// Root may write anywhere: the test tells what holds for everybody else only to them.
#[test]
fn a_working_tree_that_cannot_be_written_is_refused_before_the_agent_starts() {
    let repo = Repo::new(TASK);
    let set = |mode| {
        std::fs::set_permissions(repo.root(), std::fs::Permissions::from_mode(mode)).expect("set");
    };
    set(0o555);
    let root = rustix::process::geteuid().is_root();
    let ran = finish(repo.run_command(HONEST, &[]));
    set(0o755);
    if root {
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    } else {
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(11), ""), "{}", ran.stderr);
        assert!(ran.stderr.contains("cannot prepare"), "{}", ran.stderr);
        assert!(ran.stderr.contains("hint: "), "{}", ran.stderr);
    }
}

/// Only root can make a file somebody else's, and in a container not even root if that has
/// no other user.
#[test]
fn a_repository_of_another_user_is_refused_unless_it_is_trusted() {
    let repo = Repo::new(TASK);
    let give = |path: &str| std::os::unix::fs::chown(repo.path(path), Some(12345), None);
    if give("").is_err() {
        assert_eq!(repo.run(HONEST, &[]).code, Some(0), "one's own is trusted");
        return;
    }
    give(".git").expect("given away");
    let ran = finish(repo.run_command(HONEST, &[]));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(8), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("belongs to another user"), "{}", ran.stderr);
    let way = ran.stderr.split("if you trust it: ").nth(1).expect("the way out").trim();
    let config = way.strip_prefix("git ").expect("git").split(' ').collect::<Vec<_>>();
    std::process::Command::new("git")
        .args(&config)
        .env("HOME", repo.beside("home"))
        .status()
        .expect("git runs");
    let ran = repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{way}: {}", ran.stderr);
}

/// The agent gives files attributes, whose filter the human has configured for other ones.
#[test]
fn attributes_that_the_agent_writes_make_nothing_of_ours_run() {
    let repo = Repo::new(TASK);
    let filter = trap(&repo, ".git/filter");
    repo.git(&["config", "filter.trap.clean", &filter]);
    let script = "turns: [{steps: [{write: {path: .gitattributes, text: \"* filter=trap\\n\"}}]}]";
    let ran = repo.run(script, &["--max-iterations", "1"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    ended(&repo, &ran);
    assert!(!repo.beside("mark").exists(), "the filter ran");
}
