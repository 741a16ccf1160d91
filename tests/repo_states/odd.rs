//! Names that are no words, links, and a tree with many files.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use super::{HONEST, TASK, ended};
use crate::repo::{Repo, story};

/// Names that a file may have.
fn names() -> Vec<OsString> {
    let long = "l".repeat(255);
    let plain = [
        "with space",
        "with\nnewline",
        "with\ttab",
        "-dash",
        "--force",
        "'single'",
        "\"double\"",
        "back\\slash",
        "$(touch injected)",
        "`touch injected`",
        ";touch injected",
        "*",
        "?",
        "[a]",
        "~",
        "#",
        "!",
        ":(exclude)x",
        "größe",
        "タイムアウト",
        "\u{1b}[31mred",
        "\u{202e}gpj",
        "a.lock",
        "HEAD",
        "trailing ",
        ".hidden",
        &long,
    ];
    let mut names: Vec<OsString> = plain.into_iter().map(OsString::from).collect();
    // Not every file system takes a name that is no UTF-8.
    if cfg!(target_os = "linux") {
        names.push(OsString::from_vec(b"no-\xff-utf8".to_vec()));
        names.push(OsString::from_vec(b"\xc3\x28".to_vec()));
    }
    names
}

/// Makes a file with each of the names.
fn make(repo: &Repo, folder: &str) -> Vec<PathBuf> {
    let folder = repo.path(folder);
    std::fs::create_dir_all(&folder).expect("made");
    let paths: Vec<PathBuf> = names().into_iter().map(|name| folder.join(name)).collect();
    for path in &paths {
        std::fs::write(path, path.as_os_str().as_bytes()).expect("written");
    }
    paths
}

fn all_there(paths: &[PathBuf]) {
    for path in paths {
        let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        assert_eq!(OsStr::from_bytes(&bytes), path.as_os_str());
    }
}

#[test]
fn odd_names_that_are_tracked_survive_a_run_and_a_way_back() {
    let repo = Repo::new(TASK);
    repo.write("wait.sh", "until test -e \"$TMPDIR/done\"; do sleep 0.01; done\n");
    let paths = make(&repo, "odd");
    repo.commit("odd");
    // The agent removes all of them, on a branch of its own.
    let script = format!(
        "turns:\n- times: 1\n  steps: [{{spawn: {{command: \"git checkout -q -b x; git rm -rqf odd; git commit -qm x; touch $TMPDIR/done\"}}}}, {{run: sh wait.sh}}]\n{}",
        HONEST.trim_start().trim_start_matches("turns:\n")
    );
    let ran = repo.run(&script, &["--allow", "sh wait.sh"]);
    assert_eq!(ran.code, Some(0), "{} {}", ran.stderr, story(&repo, &ran));
    ended(&repo, &ran);
    all_there(&paths);
    assert_eq!(repo.status(), "");
    assert!(!repo.path("injected").exists());
}

#[test]
fn odd_names_of_the_human_are_listed_protected_and_left() {
    let repo = Repo::new(TASK);
    let paths = make(&repo, "mine");
    let refused = repo.run(HONEST, &[]);
    assert_eq!(refused.code, Some(8));
    assert!(refused.stderr.contains("and 19 more"), "{}", refused.stderr);
    assert!(!refused.stderr.contains('\u{1b}'), "no terminal is steered: {}", refused.stderr);
    let honest = HONEST.replace(
        "{commit: a}",
        "{run: \"git add a.txt tasks && git commit -qm 'ralph(demo): a'\"}",
    );
    let ran = repo.run(&honest, &["--allow-dirty"]);
    assert_eq!(ran.code, Some(0), "{} {}", ran.stderr, story(&repo, &ran));
    ended(&repo, &ran);
    all_there(&paths);
    assert_eq!(repo.git(&["ls-files", "mine"]), "");
}

#[test]
fn odd_names_that_the_agent_leaves_are_found_told_and_kept() {
    let repo = Repo::new(TASK);
    let build = names().into_iter().filter_map(|name| name.into_string().ok());
    let build: Vec<String> = build
        .map(|name| {
            format!("echo x > {}", shlex::try_quote(&format!("new/{name}")).expect("no NUL"))
        })
        .collect();
    repo.write("build.sh", format!("mkdir new\n{}\n", build.join("\n")));
    repo.write("tasks/demo/TASK.md", format!("---\nallow: [\"sh build.sh\"]\n---\n{TASK}"));
    repo.commit("build");
    let ran = repo.run("turns: [{steps: [{run: sh build.sh}]}]", &["--max-iterations", "1"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    ended(&repo, &ran);
    assert!(ran.stdout.contains("\"uncommitted\""), "{}", ran.stdout);
    assert_eq!(repo.status(), "", "the tree is clean again");
    let kept = repo.git(&["ls-tree", "-z", "--name-only", "refs/ralph/demo/attempts/1", "new/"]);
    assert_eq!(kept.split_terminator('\0').count(), build.len());
}

/// A task's folder is known by its real path, however it is named.
#[test]
fn a_task_behind_a_link_is_the_task_itself() {
    let repo = Repo::new(TASK);
    std::os::unix::fs::symlink("demo", repo.path("tasks/alias")).expect("a link");
    repo.commit("alias");
    let agent = repo.agent(HONEST);
    let ran = repo.ralph(&["run", "alias", "--agent", &agent, "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        repo.subjects().iter().all(|it| it == "alias" || it.starts_with("ralph(demo): ")),
        "{:?}",
        repo.subjects()
    );
    assert_eq!(repo.status(), "");
}

/// Twenty thousand files: what a run costs there is measured by `cargo bench --bench
/// collect`; here it has to come to the same.
#[test]
fn a_tree_with_many_files() {
    let repo = Repo::new(TASK);
    for folder in 0..100 {
        for file in 0..200 {
            repo.write(&format!("many/{folder}/{file}"), format!("{folder} {file}\n"));
        }
    }
    repo.commit("many");
    repo.write("many/7/7", "changed\n");
    assert_eq!(repo.run(HONEST, &[]).code, Some(8));
    repo.git(&["checkout", "--quiet", "."]);
    let ran = repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(repo.status(), "");
    assert_eq!(repo.git(&["ls-files", "many"]).lines().count(), 20_000);
}
