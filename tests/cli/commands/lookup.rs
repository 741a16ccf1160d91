//! How commands find a task, and what they say if there is none.

use crate::repo::{Repo, finish};
use crate::runs::THREE;

/// The TASK.md that `check TASK` shows when it is typed in a folder of the repository.
fn found(repo: &Repo, folder: &str, task: &str) -> String {
    let mut command = repo.command(&["check", task, "--json"]);
    std::fs::create_dir_all(repo.path(folder)).expect("made");
    command.current_dir(repo.path(folder));
    let object = finish(command).json();
    object["file"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn names_are_looked_up_from_the_current_folder_to_the_repository_s_root() {
    let repo = Repo::with(
        THREE,
        &[
            ("tasks/form/TASK.md", THREE),
            ("packages/web/tasks/form/TASK.md", THREE),
            ("packages/web/tasks/page/TASK.md", THREE),
            ("packages/.ralph/active/page/TASK.md", THREE),
        ],
    );
    for (folder, task, file) in [
        ("", "form", "tasks/form/TASK.md"),
        ("packages", "form", "tasks/form/TASK.md"),
        ("packages", "page", "packages/.ralph/active/page/TASK.md"),
        ("packages/web", "form", "packages/web/tasks/form/TASK.md"),
        ("packages/web/src/deep", "form", "packages/web/tasks/form/TASK.md"),
        ("packages/web/src", "page", "packages/web/tasks/page/TASK.md"),
        ("packages/web/src", "demo", "tasks/demo/TASK.md"),
        ("packages/web/src", "../tasks/page", "packages/web/tasks/page/TASK.md"),
    ] {
        assert_eq!(found(&repo, folder, task), file, "`{task}` in {folder:?}");
    }
}

#[test]
fn a_missing_task_lists_those_that_can_be_named_here() {
    let repo = Repo::with(
        THREE,
        &[("packages/web/tasks/page/TASK.md", THREE), ("docs/tasks/other/TASK.md", THREE)],
    );
    let mut command = repo.command(&["check", "pgae"]);
    command.current_dir(repo.path("packages/web"));
    let ran = finish(command);
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
    insta::assert_snapshot!(ran.stderr, @r"
    error: no task named `pgae`; available tasks: demo, page
    hint: did you mean the task `page`?
    ");
}

#[test]
fn a_task_s_folder_without_a_task_file_is_named() {
    let repo = Repo::with(THREE, &[("tasks/empty/notes.md", "later\n")]);
    for command in ["check", "run", "status"] {
        let ran = repo.ralph(&[command, "empty"]);
        assert_eq!(ran.code, Some(7), "{}", ran.stderr);
        let text = ran.stderr.replace(&repo.root().display().to_string(), "REPO");
        assert_eq!(
            text,
            "error: REPO/tasks/empty has no TASK.md\n\
             hint: add one with `ralph-copilot init empty`\n\
             hint: available tasks: demo\n"
        );
    }
    let ran = repo.ralph(&["init", "empty"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(repo.ralph(&["check", "empty"]).stderr.contains("still the template's"));
    std::fs::create_dir(repo.path("elsewhere")).expect("made");
    let ran = repo.ralph(&["check", "elsewhere"]);
    assert!(ran.stderr.contains("elsewhere has no TASK.md"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("init elsewhere"), "{}", ran.stderr);
}
