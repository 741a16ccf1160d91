//! Lessons: what a run learns, and what the next prompt says.

use crate::repo::Repo;

const TWO: &str = "# Demo\n\n- [ ] the parser reads dates\n  - verify: `test -e a.txt`\n\
                   - [ ] the parser reads times\n  - verify: `test -e b.txt`\n";

/// Fails once, then does it.
const SECOND_TRY: &str = r#"
memory: seen.txt
turns:
- match: dates
  times: 1
  steps:
  - write: {path: wrong.txt, text: x}
  - tick: "{criterion}"
  - progress: did it
  - commit: "{criterion}"
- match: dates
  steps:
  - write: {path: a.txt, text: a}
  - tick: "{criterion}"
  - progress: did it
  - commit: "{criterion}"
- match: times
  steps:
  - write: {path: b.txt, text: b}
  - tick: "{criterion}"
  - progress: did it
  - commit: "{criterion}"
"#;

#[test]
fn a_pass_after_a_failure_is_a_lesson_for_later_prompts() {
    let repo = Repo::new(TWO);
    let ran = repo.run(SECOND_TRY, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let lessons = repo.read(".ralph/memory/lessons.md");
    let lines: Vec<&str> = lessons.lines().filter(|line| line.starts_with("- ")).collect();
    assert_eq!(lines.len(), 1, "{lessons}");
    for part in ["the parser reads dates", "`test -e a.txt` (exit 1)", "a.txt"] {
        assert!(lines[0].contains(part), "{part} in {lessons}");
    }
    // Ignored, so never committed.
    assert_eq!(repo.status(), "");
    assert_eq!(repo.git(&["log", "--format=%H", "--", ".ralph"]), "");
    let task = repo.task().replace("- [x] the parser reads times", "- [ ] the parser reads times");
    repo.write("tasks/demo/TASK.md", task);
    repo.commit("again");
    let shown = repo.ralph(&["run", "demo", "--dry-run", "--agent", &repo.agent(SECOND_TRY)]);
    assert!(shown.stdout.contains("## Lessons") && shown.stdout.contains(&lines[0][2..40]));
    let without = repo.ralph(&[
        "run",
        "demo",
        "--dry-run",
        "--no-lessons",
        "--agent",
        &repo.agent(SECOND_TRY),
    ]);
    assert!(!without.stdout.contains("## Lessons"), "{}", without.stdout);
}

#[test]
fn a_pass_after_a_failure_in_an_earlier_run_is_a_lesson_once() {
    let repo = Repo::new(TWO);
    // The first run ends after the attempt that fails.
    let first = repo.run(SECOND_TRY, &["--max-iterations", "1"]);
    assert_eq!(first.code, Some(3), "{}", first.stderr);
    assert!(!repo.path(".ralph/memory/lessons.md").exists());
    let second = repo.run(SECOND_TRY, &[]);
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    let lessons = repo.read(".ralph/memory/lessons.md");
    let lines: Vec<&str> = lessons.lines().filter(|line| line.starts_with("- ")).collect();
    assert_eq!(lines.len(), 1, "{lessons}");
    for part in ["the parser reads dates", "`test -e a.txt` (exit 1)", "a.txt"] {
        assert!(lines[0].contains(part), "{part} in {lessons}");
    }
    // A pass that follows a pass is no lesson, in this or another words.
    repo.git(&["rm", "-q", "a.txt"]);
    let task = repo.task().replace("- [x] the parser reads dates", "- [ ] the parser reads dates");
    repo.write("tasks/demo/TASK.md", task);
    repo.commit("again");
    let third = repo.run(SECOND_TRY, &[]);
    assert_eq!(third.code, Some(0), "{}", third.stderr);
    assert_eq!(repo.read(".ralph/memory/lessons.md"), lessons);
}

#[test]
fn no_lessons_keeps_none() {
    let repo = Repo::new(TWO);
    let ran = repo.run(SECOND_TRY, &["--no-lessons"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!repo.path(".ralph/memory").exists());
}

#[test]
fn a_file_of_lessons_that_git_tracks_is_left_alone() {
    let file = ".ralph/memory/lessons.md";
    let repo = Repo::with(TWO, &[(file, "# Lessons\n\n- old\n")]);
    let ran = repo.run(SECOND_TRY, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(repo.read(file), "# Lessons\n\n- old\n");
    assert_eq!(repo.status(), "");
    let help = format!("git rm --cached {file}");
    assert_eq!(ran.stdout.matches(&help).count(), 1, "{}", ran.stdout);
}
