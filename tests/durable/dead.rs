//! What stands in the tree after a run was killed: its own, and what a human did since.

#[cfg(target_os = "linux")]
use std::process::Command;

use super::{Dead, HONEST, TWO, iterations};
use crate::repo::Repo;

/// As an editor leaves it that is killed between emptying a file and writing it.
#[test]
fn a_task_that_a_killed_run_left_half_written_is_put_back() {
    for half in ["", "# Two\n\n- [ ] a is th", "\u{0}\u{0}\u{0}"] {
        let dead = Dead::new();
        dead.repo.write("tasks/demo/TASK.md", half);
        let ran = dead.repo.run(HONEST, &[]);
        assert_eq!(ran.code, Some(0), "{half:?}: {} {}", ran.stdout, ran.stderr);
        assert_eq!(dead.repo.task(), TWO.replace("[ ]", "[x]"), "{half:?}");
        assert_eq!(dead.repo.status(), "", "{half:?}");
    }
}

/// The agent took TASK.md away and the runner was killed before it could put it back.
#[test]
fn a_task_that_went_with_a_killed_run_is_put_back_and_that_is_told() {
    type Gone = fn(&Repo);
    let ways: [Gone; 3] = [
        |repo| std::fs::remove_file(repo.path("tasks/demo/TASK.md")).expect("removed"),
        |repo| std::fs::remove_dir_all(repo.path("tasks")).expect("removed"),
        |repo| {
            std::fs::remove_file(repo.path("tasks/demo/TASK.md")).expect("removed");
            std::os::unix::fs::symlink("../../README.md", repo.path("tasks/demo/TASK.md"))
                .expect("a link");
        },
    ];
    for (number, gone) in ways.into_iter().enumerate() {
        let dead = Dead::new();
        gone(&dead.repo);
        let ran = dead.repo.run(HONEST, &[]);
        assert_eq!(ran.code, Some(0), "{number}: {} {}", ran.stdout, ran.stderr);
        let said = "the last run died in iteration 2: its leftovers are saved under refs/ralph/demo/attempts/1";
        assert!(ran.stdout.contains(said), "{number}: {}", ran.stdout);
        assert_eq!(dead.repo.task(), TWO.replace("[ ]", "[x]"), "{number}");
        assert_eq!(dead.repo.status(), "", "{number}");
    }
}

/// Where a human worked since, nothing is put back, and what is gone is named.
#[test]
fn a_task_that_is_gone_after_a_death_and_a_humans_work_is_named_with_the_way_back() {
    let dead = Dead::new();
    dead.repo.write("human.txt", "by hand");
    dead.repo.git(&["rm", "--quiet", "tasks/demo/TASK.md"]);
    dead.repo.commit("by hand");
    dead.repo.write(".git/HEAD.lock", "");
    let ran = dead.repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(7), "{} {}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("tasks/demo/TASK.md is gone"), "{}", ran.stderr);
    // What was done before it failed is told.
    assert!(ran.stderr.contains("notice: removed stale git locks"), "{}", ran.stderr);
    assert!(ran.stderr.contains("died in iteration 2"), "{}", ran.stderr);
    let way = ran.stderr.split_once("git restore ").expect("the way back").1;
    let way: Vec<&str> = way.split([',', '\n']).next().expect("arguments").split(' ').collect();
    dead.repo.git(&[&["restore"], &way[..]].concat());
    let ran = dead.repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{} {}", ran.stdout, ran.stderr);
    // Of a task that nobody asks for nothing is said.
    let dead = Dead::new();
    dead.repo.git(&["rm", "--quiet", "-r", "tasks/demo", "a.txt", "b.txt"]);
    dead.repo.write("tasks/other/TASK.md", TWO);
    dead.repo.commit("another task");
    let ran = dead.repo.ralph(&["run", "demo"]);
    assert!(ran.code == Some(7) && !ran.stderr.contains("no task"), "{}", ran.stderr);
    let agent = dead.repo.agent(HONEST);
    let ran = dead.repo.ralph(&["run", "other", "--agent", &agent]);
    assert_eq!(ran.code, Some(0), "{} {}", ran.stdout, ran.stderr);
}

/// There is a ref that nobody would know of: it is named although nothing begins.
#[test]
fn what_was_put_in_order_is_told_although_no_run_begins() {
    let dead = Dead::new();
    let ran = dead.repo.ralph(&["run", "demo", "--agent", "/no/such/agent"]);
    assert_eq!(ran.code, Some(5), "{}", ran.stderr);
    let said = "notice: the last run died in iteration 2: its leftovers are saved under refs/ralph/demo/attempts/1";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    // Of a run that begins they are events.
    let dead = Dead::new();
    let ran = dead.repo.run(HONEST, &[]);
    assert!(ran.stdout.contains(&said["notice: ".len()..]), "{}", ran.stdout);
    assert!(!ran.stderr.contains("notice: "), "{}", ran.stderr);
}

/// What the human did after a run had died stays, and what the run had ticked and nobody
/// judged is no proof for that.
#[test]
fn work_of_the_human_after_a_death_stays_and_the_tick_that_nobody_judged_does_not() {
    type Human = fn(&Repo);
    let edits: [(&str, Human); 2] = [
        ("an edit of TASK.md", |repo| {
            repo.write("tasks/demo/TASK.md", repo.task() + "\nAnother thought.\n");
            in_an_hour(repo, "tasks/demo/TASK.md");
        }),
        ("a commit", |repo| {
            repo.write("human.txt", "by hand");
            repo.commit("by hand");
        }),
    ];
    for (name, edit) in edits {
        let dead = Dead::new();
        edit(&dead.repo);
        let before = dead.repo.task();
        let ran = dead.repo.run(HONEST, &[]);
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.stderr);
        let said = "`b is there` was ticked in an iteration that died before its verdict";
        assert!(ran.stdout.contains(said), "{name}: {}", ran.stdout);
        assert_eq!(dead.repo.task(), before, "{name}");
        assert_eq!(dead.repo.state()["criteria"][1]["iteration"], 3, "{name}");
        let kept = dead.repo.attempts().into_iter().find(|name| name.contains("/attempts/"));
        assert_eq!(kept, None, "{name}");
        assert_eq!(iterations(&dead.repo.root()), [1, 2, 3], "{name}");
    }
}

/// The tick of a dead iteration is no work, whoever committed something since.
#[test]
fn a_tick_that_nobody_judged_is_no_work_that_a_later_tick_could_rest_on() {
    const TICKS: &str = "turns: [{steps: [{tick: \"{criterion}\"}]}]";
    let dead = Dead::new();
    // Nothing but the tick is left of the agent's.
    dead.repo.git(&["reset", "--quiet", "--soft", "HEAD~1"]);
    dead.repo.git(&["rm", "--quiet", "--force", "b.txt"]);
    dead.repo
        .write("tasks/demo/TASK.md", dead.repo.task().replace("  - verify: `test -e b.txt`\n", ""));
    dead.repo.commit("by hand");
    let ran = dead.repo.run(TICKS, &["--max-iterations", "1"]);
    assert_eq!(ran.code, Some(3), "{} {}", ran.stdout, ran.stderr);
    assert!(dead.repo.task().contains("- [ ] b is there"), "{}", ran.stdout);
    assert_eq!(dead.repo.state()["criteria"][1]["attempts"], 1, "{}", ran.stdout);
}

/// A run that was at work without a word to its journal, as in a long command.
#[test]
fn what_was_changed_while_the_run_lived_is_its_own_however_long_it_said_nothing() {
    for (lived, code) in [(true, 0), (false, 8)] {
        let dead = Dead::new();
        dead.repo.write("late.txt", "late");
        in_an_hour(&dead.repo, "late.txt");
        if lived {
            in_an_hour(&dead.repo, &dead.journal.with_file_name("pulse").display().to_string());
        }
        let ran = dead.repo.run(HONEST, &[]);
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        assert_eq!(dead.repo.path("late.txt").exists(), !lived);
        if lived {
            let kept = dead.repo.git(&["show", "refs/ralph/demo/attempts/1:late.txt"]);
            assert_eq!(kept, "late");
        }
    }
}

fn in_an_hour(repo: &Repo, path: &str) {
    let file = std::fs::File::options().append(true).open(repo.path(path)).expect("a file");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(3600);
    file.set_modified(later).expect("a time");
}

/// As in a container that was given the `/proc` of another process namespace: the numbers that
/// stand there are no processes of ours, and nobody waits for their end.
#[cfg(target_os = "linux")]
#[expect(clippy::print_stdout, reason = "a test that cannot be made says so")]
#[test]
fn where_proc_counts_other_processes_a_run_ends_and_the_next_one_begins() {
    let can = Command::new("unshare").args(["-Urpf", "true"]).status();
    if !can.is_ok_and(|status| status.success()) {
        println!("no process namespaces here");
        return;
    }
    let repo = Repo::new(TWO);
    for _ in 0..2 {
        let by = ["env", "RALPH_COPILOT_LOG=warn", "unshare", "-Urpf"];
        let ran = repo.run_by(&by, HONEST);
        assert_eq!(ran.code, Some(0), "{} {}", ran.stdout, ran.stderr);
        assert!(!ran.stderr.contains("cannot be ended"), "{}", ran.stderr);
        assert!(!ran.stdout.contains("ended leftover processes"), "{}", ran.stdout);
    }
}
