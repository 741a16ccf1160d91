//! The working tree against HEAD: what git says, however a change is hidden.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::test_repo::TestRepo;
use crate::verify::{GitRepo, Identity};

/// Longer than the clock of files stands still: only then does a file's time decide.
const SETTLED: Duration = Duration::from_millis(50);

const CHANGES: [&str; 34] = [
    "true",
    "echo more >> src/lib.txt",
    // The same size and time.
    "cp -p src/lib.txt ../kept; echo edoc > src/lib.txt; touch -r ../kept src/lib.txt",
    "cp src/lib.txt new; echo edoc > new; mv new src/lib.txt",
    "touch src/lib.txt",
    "ln -f tests/other.py src/lib.txt",
    "rm src/lib.txt",
    "rm src/lib.txt; mkdir src/lib.txt; echo x > src/lib.txt/in",
    "rm src/lib.txt; ln -s ../tests/other.py src/lib.txt",
    "mv src ../moved; ln -s ../moved src",
    "rm -rf src; echo x > src",
    "rm -rf src",
    "chmod +x src/lib.txt",
    "mkfifo src/pipe; mkfifo a.gitignore",
    "echo x > src/new; mkdir -p a/b; echo x > a/b/c",
    "mkdir -p a/b/c",
    "echo '*' > src/.gitignore; echo x > src/hidden",
    "mkdir -p a; mkfifo a/.gitignore src/.gitignore; echo x > a/b",
    "echo 'tests/new*' >> .gitignore; echo x > tests/new; echo x > tests/old",
    "echo '/a/' >> .git/info/exclude; mkdir a; echo x > a/b; echo x > c",
    "echo x > a; git add a",
    "echo x > a; git add a; echo y >> a",
    "echo x > a; git add a; rm a",
    "echo x > a; git add -N a",
    "git rm -q src/lib.txt",
    "git rm -q --cached src/lib.txt",
    "git mv src source",
    "echo more >> src/lib.txt; git add src; git commit -qm more; echo yet >> src/lib.txt",
    "git init -q inner; echo x > inner/a",
    "mkdir odd; echo x > 'odd/!a'; echo x > '!b'; echo x > '#c'; echo x > 'd e'; echo x > '*'",
    "mkdir '[a]'; echo x > '[a]/b'; echo x > 'a\\b'",
    "echo x > src.txt; mkdir src-b; echo x > src-b/lib.txt",
    "rm .git/index",
    "git update-index --chmod=+x src/lib.txt",
];

/// Paths that differ, as git tells them.
fn told_by_git(scene: &TestRepo) -> BTreeSet<String> {
    let told = scene.git(&["status", "--porcelain", "-z", "-uall", "--no-renames"]);
    let paths = told.split('\0').filter_map(|line| line.get(3..));
    paths.map(|path| path.trim_end_matches('/').to_owned()).collect()
}

fn told_by_us(repo: &GitRepo) -> BTreeSet<String> {
    let all = repo.status().expect("status").all();
    all.iter().map(|change| change.path.to_str().expect("text").to_owned()).collect()
}

/// Applies changes to a new repository, with a pause before them or not, and looks at it before
/// each.
fn changed(changes: &[&str], pause: Duration) -> (TestRepo, GitRepo) {
    let scene = TestRepo::new();
    scene.write("a.log", "ignored");
    std::thread::sleep(pause);
    // The index is newer than the files.
    scene.git(&["update-index", "-q", "--really-refresh", "--force-write-index"]);
    let watched = scene.repo();
    for change in changes {
        watched.status().expect("status");
        let mut sh = Command::new("sh");
        // What the first change took away fails the second one.
        sh.args(["-c", change]).current_dir(&scene.root).output().expect("sh runs");
    }
    (scene, watched)
}

#[test]
fn is_what_git_says_after_any_change() {
    let mut wrong = Vec::new();
    for (at, change) in CHANGES.iter().enumerate() {
        // git itself waits for a pipe in the place of a file that it reads.
        let second = CHANGES[(at * 7 + 5) % CHANGES.len()];
        let second = if change.contains("mkfifo") { "true" } else { second };
        for (changes, pause) in
            [(&[*change][..], Duration::ZERO), (&[*change], SETTLED), (&[*change, second], SETTLED)]
        {
            let (scene, watched) = changed(changes, pause);
            let (again, ours) = (told_by_us(&watched), told_by_us(&scene.repo()));
            let theirs = told_by_git(&scene);
            if ours != theirs || again != theirs {
                wrong.push(format!("{changes:?}: {ours:?}, {again:?}, git says {theirs:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The runner's own commits leave the index as it was otherwise, and know it without reading it.
#[test]
fn is_what_git_says_between_commits_of_the_runner() {
    let state = "tasks/demo/state.json";
    let commit = |scene: &TestRepo, repo: &GitRepo, note: &str| {
        scene.write(state, &format!("{{\"note\": {note:?}}}\n"));
        let paths = [PathBuf::from(state)];
        let made = repo.commit_paths("refs/heads/main", &paths, note, &Identity::of_the_runner());
        made.is_ok_and(|made| made.is_some())
    };
    let mut wrong = Vec::new();
    for change in CHANGES {
        let (scene, repo) = changed(&[], SETTLED);
        assert!(commit(&scene, &repo, "before"), "{change}");
        Command::new("sh").args(["-c", change]).current_dir(&scene.root).output().expect("sh");
        let (ours, theirs) = (told_by_us(&repo), told_by_git(&scene));
        let committed = commit(&scene, &repo, "after");
        let after = (told_by_us(&repo), told_by_git(&scene));
        // A new index holds the state.
        let changes_nothing = after.1 == theirs || change == "rm .git/index";
        if !committed || ours != theirs || after.0 != after.1 || !changes_nothing {
            wrong.push(format!("{change}: {ours:?}, git says {theirs:?}; after it {after:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_ignored_is_what_git_says() {
    for change in [
        "true",
        "mkdir build; echo x > build/a; mkdir -p a/target; echo x > a/target/b; echo x > a/c",
        "mkdir a; echo x > a/b.log; echo x > a/c.log",
        "mkdir a; echo x > a/b.log; echo x > a/c",
        "echo x > build; echo x > src/target",
        "ln -s src a.log; ln -s nowhere b.log",
        "mkdir build; echo x > build/a; git add -f build/a; echo x > build/b",
        "mkdir -p build/a; git init -q target; echo x > target/a",
        "echo '!/a.log' >> .gitignore; mkdir target; echo '!b' > target/.gitignore; echo x > target/b",
    ] {
        let (scene, repo) = changed(&[change], SETTLED);
        let told = scene.git(&["status", "--porcelain", "-z", "--ignored=matching", "-uall"]);
        let theirs: BTreeSet<&str> = told
            .split('\0')
            .filter_map(|it| it.strip_prefix("!! ").map(|it| it.trim_end_matches('/')))
            .collect();
        for (who, repo) in [("kept", &repo), ("new", &scene.repo())] {
            let ours = repo.ignored().expect("ignored");
            let ours: BTreeSet<&str> = ours.iter().map(|it| it.to_str().expect("text")).collect();
            assert_eq!(ours, theirs, "{who}: {change}");
        }
    }
}
