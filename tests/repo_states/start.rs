//! States in which a run does not begin: exit 8, the reason, the way out, nothing touched.

use super::{HONEST, TASK, git_may_fail, humans, in_conflict};
use crate::repo::{Repo, finish};

/// A state, and what is said about it.
struct State {
    name: &'static str,
    make: fn(&Repo),
    /// A part of the reason.
    says: &'static str,
    /// A part of the way out.
    way: &'static str,
}

const STATES: &[State] = &[
    State {
        name: "no repository",
        make: |repo| std::fs::remove_dir_all(repo.path(".git")).expect("removed"),
        says: "is not inside a git repository",
        way: "git init",
    },
    State {
        name: "no commit",
        make: |repo| {
            repo.git(&["checkout", "--quiet", "--orphan", "new"]);
        },
        says: "the repository has no commit yet",
        way: "git add . && git commit",
    },
    State {
        name: "a detached HEAD",
        make: |repo| {
            repo.git(&["checkout", "--quiet", "--detach"]);
        },
        says: "HEAD is detached at ",
        way: "--branch NAME",
    },
    State {
        name: "a merge in progress",
        make: |repo| {
            in_conflict(repo);
            git_may_fail(repo, &["merge", "side"]);
        },
        says: "a merge is in progress",
        way: "git merge --abort",
    },
    State {
        name: "a rebase in progress",
        make: |repo| {
            in_conflict(repo);
            git_may_fail(repo, &["rebase", "side"]);
        },
        says: "a rebase is in progress",
        way: "git rebase --abort",
    },
    State {
        name: "an interactive rebase that stopped to edit",
        make: |repo| {
            in_conflict(repo);
            git_may_fail(
                repo,
                &["-c", "sequence.editor=sed -i.bak s/^pick/edit/", "rebase", "-i", "HEAD~1"],
            );
        },
        says: "a rebase is in progress",
        way: "git rebase --abort",
    },
    State {
        name: "a cherry-pick in progress",
        make: |repo| {
            in_conflict(repo);
            git_may_fail(repo, &["cherry-pick", "side"]);
        },
        says: "a cherry-pick is in progress",
        way: "git cherry-pick --abort",
    },
    State {
        name: "a revert in progress",
        make: |repo| {
            in_conflict(repo);
            repo.write("README.md", "ours again\n");
            repo.commit("again");
            git_may_fail(repo, &["revert", "--no-edit", "HEAD~1"]);
        },
        says: "a revert is in progress",
        way: "git revert --abort",
    },
    State {
        name: "a bisect in progress",
        make: |repo| {
            repo.git(&["bisect", "start"]);
        },
        says: "a bisect is in progress",
        way: "git bisect reset",
    },
    State {
        name: "a series of patches in progress",
        make: |repo| {
            in_conflict(repo);
            let patch = repo.git(&["format-patch", "--stdout", "main..side"]);
            std::fs::write(repo.beside("a.patch"), patch).expect("written");
            git_may_fail(repo, &["am", "../a.patch"]);
        },
        says: "a patch series is in progress",
        way: "git am --abort",
    },
    State {
        name: "a locked index",
        make: |repo| repo.write(".git/index.lock", ""),
        says: "index.lock exists: another git process is running, or one crashed",
        way: "if there is none: rm ",
    },
    State {
        name: "a locked HEAD",
        make: |repo| repo.write(".git/HEAD.lock", ""),
        says: "HEAD.lock exists: another git process is running, or one crashed",
        way: "if there is none: rm ",
    },
    State {
        name: "a locked branch",
        make: |repo| repo.write(".git/refs/heads/main.lock", ""),
        says: "refs/heads/main.lock exists: another git process is running, or one crashed",
        way: "if there is none: rm ",
    },
    State {
        name: "work that is not committed",
        make: |repo| {
            repo.write("README.md", "changed\n");
            repo.write("staged.txt", "staged\n");
            repo.git(&["add", "staged.txt"]);
            repo.write("staged.txt", "staged, and more\n");
            repo.write("untracked.txt", "new\n");
        },
        says: "the working tree is not clean:\n  changed README.md\n  added staged.txt\n  added untracked.txt",
        way: "git stash -u",
    },
    State {
        name: "an untracked repository inside",
        make: |repo| {
            repo.write("inner/x", "x");
            git_may_fail(repo, &["init", "--quiet", "inner"]);
        },
        says: "added inner",
        way: "--allow-dirty",
    },
    State {
        name: "a submodule with changes of its own",
        make: |repo| {
            submodule(repo);
            repo.write("lib/README.md", "changed\n");
        },
        says: "changed lib",
        way: "--allow-dirty",
    },
    State {
        name: "a submodule at another commit",
        make: |repo| {
            submodule(repo);
            git_may_fail(
                repo,
                &[
                    "-C",
                    "lib",
                    "-c",
                    "user.name=a",
                    "-c",
                    "user.email=b",
                    "commit",
                    "--allow-empty",
                    "-qm",
                    "x",
                ],
            );
        },
        says: "changed lib",
        way: "--allow-dirty",
    },
    State {
        name: "a split index",
        make: |repo| {
            repo.git(&["update-index", "--split-index"]);
        },
        says: "cannot be read: ",
        way: "git update-index --no-split-index",
    },
    State {
        name: "a sparse index",
        make: |repo| {
            repo.write("far/away/x", "x");
            repo.write("far/y", "x");
            repo.commit("far");
            repo.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "tasks"]);
        },
        says: "cannot be read: ",
        way: "git sparse-checkout reapply --no-sparse-index",
    },
    State {
        name: "a folder of git's that another repository shares by a link",
        make: |repo| {
            let (own, other) = (repo.path(".git/objects"), repo.beside("objects"));
            std::fs::rename(&own, &other).expect("moved");
            std::os::unix::fs::symlink(&other, &own).expect("linked");
        },
        says: "is shared with another repository by links",
        way: "git worktree add",
    },
    State {
        name: "a repository with SHA-256 ids",
        make: |repo| again(repo, "--object-format=sha256"),
        says: "cannot be read: ",
        way: "SHA-256",
    },
    State {
        name: "a repository with a table of refs",
        make: table_of_refs,
        says: "cannot be read: ",
        way: "reftable",
    },
    State {
        name: "a HEAD that is damaged",
        make: |repo| repo.write(".git/HEAD", "nonsense\n"),
        says: "cannot read HEAD in ",
        way: "git fsck",
    },
    State {
        name: "an extension that is not known",
        make: |repo| {
            repo.git(&["config", "core.repositoryFormatVersion", "1"]);
            repo.git(&["config", "extensions.fromTheFuture", "true"]);
        },
        says: "unsupported extension name extensions.fromthefuture",
        way: "work in a new clone",
    },
    State {
        name: "a repository that only the library can read",
        make: |repo| {
            repo.write(".git/config", repo.read(".git/config") + "[core]\n\tcompression = x\n")
        },
        says: "git itself cannot read it",
        way: "run git status",
    },
    State {
        name: "borrowed objects that are gone",
        make: |repo| {
            let gone = repo.beside("gone/.git/objects").display().to_string();
            repo.write(".git/objects/info/alternates", gone + "\n");
        },
        says: "the repository borrows objects from ",
        way: "git repack -a -d",
    },
    State {
        name: "objects that are borrowed from one who borrows, and are gone",
        make: |repo| {
            repo.git(&["clone", "--quiet", "--shared", ".", "../between"]);
            repo.git(&["clone", "--quiet", ".", "../copy"]);
            std::fs::remove_dir_all(repo.path(".git/objects")).expect("removed");
            let all = [repo.beside("copy/.git/objects"), repo.path(".git/objects")];
            std::fs::rename(&all[0], &all[1]).expect("renamed");
            let between = repo.beside("between/.git/objects").display().to_string();
            std::fs::create_dir_all(repo.path(".git/objects/info")).expect("made");
            repo.write(".git/objects/info/alternates", between + "\n");
            std::fs::write(repo.beside("between/.git/objects/info/alternates"), "/gone/objects\n")
                .expect("written");
        },
        says: "the repository borrows objects from /gone/objects, which is not there",
        way: "between/.git/objects/info/alternates",
    },
    State {
        name: "an index that is damaged",
        make: |repo| repo.write(".git/index", "nonsense"),
        says: "cannot be read: ",
        way: "git fsck",
    },
];

/// A submodule `lib`, committed.
pub(crate) fn submodule(repo: &Repo) {
    repo.git(&["clone", "--quiet", ".", "../lib"]);
    repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../lib", "lib"]);
    repo.commit("submodule");
}

/// What `git init --ref-format=reftable` leaves, with an empty table: a git that is older than
/// 2.45 cannot make one, and the runner reads the files whatever git is there.
fn table_of_refs(repo: &Repo) {
    repo.git(&["config", "core.repositoryFormatVersion", "1"]);
    repo.git(&["config", "extensions.refStorage", "reftable"]);
    std::fs::remove_dir_all(repo.path(".git/refs")).expect("removed");
    repo.write(".git/refs/heads", "this repository uses the reftable format\n");
    repo.write(".git/reftable/tables.list", "");
    repo.write(".git/HEAD", "ref: refs/heads/.invalid\n");
}

/// The same files in a repository of another kind.
fn again(repo: &Repo, kind: &str) {
    std::fs::remove_dir_all(repo.path(".git")).expect("removed");
    repo.git(&["init", "--quiet", "--initial-branch=main", kind]);
    repo.git(&["config", "user.name", "Human"]);
    repo.git(&["config", "user.email", "human@example.com"]);
    repo.commit("start");
}

#[test]
fn each_is_refused_with_the_reason_and_the_way_out_and_nothing_is_touched() {
    std::thread::scope(|scope| {
        let tests: Vec<_> = STATES.iter().map(|state| scope.spawn(|| refused(state))).collect();
        let wrong: Vec<String> =
            tests.into_iter().flat_map(|it| it.join().expect("no panic")).collect();
        assert_eq!(wrong, Vec::<String>::new());
    });
}

/// What is wrong with the answer to a state.
fn refused(state: &State) -> Vec<String> {
    let repo = Repo::new(TASK);
    (state.make)(&repo);
    let before = humans(&repo);
    let mut wrong = Vec::new();
    let plain = finish(repo.run_command(HONEST, &[]));
    let mut expect = |right: bool, what: String| {
        if !right {
            wrong.push(format!("{}: {what}", state.name));
        }
    };
    let said = &plain.stderr;
    expect(plain.code == Some(8), format!("{:?} {said}", plain.code));
    expect(plain.stdout.is_empty(), plain.stdout.clone());
    expect(said.starts_with("error: ") && said.contains(state.says), format!("reason: {said}"));
    let hint = said.split_once("\nhint: ").map_or("", |(_, hint)| hint);
    expect(!hint.is_empty() && hint.contains(state.way), format!("way out: {said}"));
    expect(said.lines().count() <= 24, format!("more than a screen: {said}"));

    let json = repo.run(HONEST, &[]);
    expect(json.code == Some(8) && json.stderr == plain.stderr, format!("--json: {}", json.stderr));
    let value: serde_json::Value = serde_json::from_str(&json.stdout).unwrap_or_default();
    expect(
        value["event"] == "refused" && value["exit_code"] == 8,
        format!("--json: {}", json.stdout),
    );
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let told = format!("error: {}\nhint: {}\n", text(&value["reason"]), text(&value["hints"][0]));
    expect(told == plain.stderr, format!("--json says {told}"));

    let dry = repo.ralph(&["run", "demo", "--dry-run"]);
    expect(dry.code == Some(8) && dry.stderr == plain.stderr, format!("--dry-run: {}", dry.stderr));

    let after = humans(&repo);
    for (name, bytes) in &before {
        if after.get(name) != Some(bytes) {
            let now = after.get(name).map(|it| String::from_utf8_lossy(it).into_owned());
            expect(false, format!("touched {name}: {} -> {now:?}", String::from_utf8_lossy(bytes)));
        }
    }
    for name in after.keys().filter(|name| !before.contains_key(*name)) {
        expect(false, format!("made {name}"));
    }
    wrong
}
