//! What becomes of the repository under a run that has begun: in a turn, between turns,
//! and while verify commands run.

use super::{HONEST, TASK, ended, git_may_fail, humans, in_conflict};
use crate::repo::{Ran, Repo, story};

/// The human's hand in the first turn: a process that nobody asked for. The agent itself
/// does nothing.
fn in_the_turn(hand: &str) -> String {
    let hand = serde_json::to_string(hand).expect("JSON");
    format!(
        "turns:\n- times: 1\n  steps: [{{spawn: {{command: {hand}}}}}, {{run: sh wait.sh}}]\n{}",
        HONEST.trim_start().trim_start_matches("turns:\n")
    )
}

/// A repository in which the agent may wait until the hand has done what it does.
pub(super) fn with_a_hand() -> Repo {
    let task = format!("---\nallow: [\"sh wait.sh\"]\n---\n{TASK}");
    // A hand of the agent's own may write nothing beside the repository.
    let wait = "until test -e ../done || test -e \"$TMPDIR/done\"; do sleep 0.01; done\n";
    Repo::with(&task, &[("wait.sh", wait), ("notes.txt", "notes\n")])
}

/// Lets the hand do something in the first turn of a run. It is a human's, outside of any sandbox.
pub(super) fn hand(repo: &Repo, does: &str, args: &[&str]) -> Ran {
    std::fs::write(repo.beside("hand.sh"), format!("{does}\ntouch ../done\n")).expect("written");
    repo.run(&in_the_turn("sh ../hand.sh"), &[args, &["--sandbox=off"]].concat())
}

/// A repository whose verify command is the human's hand, the first time it runs after the
/// work is there: between the turn and the runner's own commit.
fn with_a_hand_between(does: &str) -> Repo {
    let check = "  - verify: `test -e a.txt && sh \"$HUMAN/hand.sh\"`\n";
    let repo = Repo::new(&format!("# Demo\n\n- [ ] a is there\n{check}- [ ] b is there\n"));
    let once = format!(
        "cd \"$HUMANS_REPO\"\ntest -e a.txt || exit 0\ntest -e ../done && exit 0\ntouch ../done\n{does}\ntrue\n"
    );
    std::fs::write(repo.beside("hand.sh"), once).expect("written");
    repo
}

#[test]
fn a_branch_that_is_switched_in_a_turn_fails_the_iteration_and_the_next_one_works() {
    let repo = with_a_hand();
    let ran = hand(&repo, "git checkout -q -b elsewhere", &[]);
    ended(&repo, &ran);
    insta::assert_snapshot!(story(&repo, &ran), @"
    iteration 1: fail
      fails: wrong_branch
      fails: not_ticked
      fails: no_commit
      said: no_progress_entry
      mended: back_to_checkpoint
      mended: progress_line
    iteration 2: pass check
    exit 0: proven
    - [x] a is there
    state: a is there, proven by check, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    commit: ralph(demo): [a is there] - a
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    ");
    assert_eq!(repo.git(&["rev-list", "--count", "elsewhere"]), "1\n", "nothing of ours is on it");
}

/// Each operation in progress, begun in a turn.
#[test]
fn an_operation_that_is_begun_in_a_turn_fails_the_iteration_and_is_over_before_the_next() {
    let begin = [
        ("merge", "git merge side"),
        ("rebase", "git rebase side"),
        ("cherry-pick", "git cherry-pick side"),
        ("revert", "git revert --no-edit HEAD~1"),
        ("bisect", "git bisect start"),
        ("patch series", "git format-patch --stdout main..side > ../p; git am ../p"),
    ];
    std::thread::scope(|scope| {
        for (what, command) in begin {
            scope.spawn(move || {
                let repo = with_a_hand();
                in_conflict(&repo);
                repo.write("README.md", "ours again\n");
                repo.commit("again");
                let before = repo.git(&["rev-parse", "HEAD"]);
                let ran = hand(&repo, command, &[]);
                ended(&repo, &ran);
                let story = story(&repo, &ran);
                assert!(story.contains("iteration 1: fail\n"), "{what}: {story}");
                assert!(ran.stdout.contains("operation_in_progress"), "{what}: {story}");
                assert!(
                    story.contains("iteration 2: pass check\nexit 0: proven"),
                    "{what}: {story}"
                );
                assert!(story.contains("on refs/heads/main"), "{what}: {story}");
                assert!(!story.contains("left: "), "{what}: {story}");
                assert!(repo.git(&["status"]).contains("nothing to commit, working tree clean"));
                assert!(!repo.git(&["status"]).contains("progress"), "{what}");
                repo.git(&["merge-base", "--is-ancestor", before.trim(), "main"]);
                assert_eq!(repo.read("README.md"), "ours again\n", "{what}");
            });
        }
    });
}

/// A rebase that put the human's changes aside (`rebase.autoStash`) gives them back only
/// at its end: they must outlive the end that we give it.
#[test]
fn what_a_rebase_had_stashed_is_in_the_stash_after_it_was_ended() {
    let repo = with_a_hand();
    in_conflict(&repo);
    repo.write("notes.txt", "a thought\n");
    let ran = hand(&repo, "git rebase --autostash side", &["--allow-dirty"]);
    ended(&repo, &ran);
    assert!(ran.stdout.contains("operation_in_progress"), "{}", ran.stdout);
    assert_eq!(repo.git(&["show", "stash@{0}:notes.txt"]), "a thought\n");
}

/// What is met between two turns is the human's, and an agent would make it worse.
#[test]
fn what_the_human_begins_between_turns_ends_the_run_and_stays_as_it_is() {
    let cases = [
        (
            "git checkout -q -b elsewhere",
            "HEAD is on refs/heads/elsewhere, but the run works on refs/heads/main",
            "git switch main",
        ),
        ("git checkout -q --detach", "is on no branch", "git switch"),
        (
            "git checkout -q -b side HEAD~1; echo x > README.md; git commit -qam x
             git checkout -q main; echo y > README.md; git commit -qam y; git merge -q side",
            "a merge is in progress",
            "git merge --abort",
        ),
    ];
    std::thread::scope(|scope| {
        for (does, says, way) in cases {
            scope.spawn(move || {
                let repo = with_a_hand_between(&format!("{does}\nsh ../look.sh > ../seen"));
                let look = "cat .git/HEAD; git for-each-ref refs/heads; git diff -- . :!tasks; ls .git/*HEAD .git/*.lock";
                std::fs::write(repo.beside("look.sh"), look).expect("written");
                let ran = repo.run(HONEST, &["--no-baseline", "--sandbox=off"]);
                assert_eq!(ran.code, Some(8), "{does}: {}", ran.stderr);
                let outcome = ended(&repo, &ran);
                assert!(outcome.contains("\"obstacle\":\"repository\""), "{does}: {outcome}");
                assert!(outcome.contains(says) && ran.stderr.contains(says), "{does}: {}", ran.stderr);
                assert!(ran.stderr.contains(way), "{does}: {}", ran.stderr);
                // The proof is on disk, and no commit of ours is anywhere it should not be.
                let output = std::process::Command::new("sh").arg("../look.sh").current_dir(repo.root()).output();
                let now = String::from_utf8(output.expect("sh runs").stdout).expect("UTF-8");
                let seen = std::fs::read_to_string(repo.beside("seen")).expect("seen");
                assert_eq!(now, seen, "{does}");
            });
        }
    });
}

/// A git process that is at work for a moment is waited for.
#[test]
fn a_lock_that_is_released_in_time_is_no_obstacle() {
    let repo = Repo::new(TASK);
    repo.write(".git/index.lock", "");
    let mut command = repo.run_command(HONEST, &["--json"]);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = command.spawn().expect("it starts");
    // The tree's lock is taken right before the repository is looked at.
    crate::repo::until("the run's own lock", || {
        let text = std::fs::read_to_string(repo.path(".ralph/runs/lock")).ok()?;
        (!text.is_empty()).then_some(())
    });
    std::fs::remove_file(repo.path(".git/index.lock")).expect("removed");
    let ran = crate::repo::collect(child);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!ran.stdout.contains("removed stale git locks"), "{}", ran.stdout);
}

#[test]
fn a_secret_that_is_swept_into_a_commit_is_taken_back_and_stays_on_this_machine() {
    let repo = with_a_hand();
    let script = r#"
turns:
- times: 1
  steps:
  - spawn: {command: "echo TOKEN=hunter2 > .env; touch $TMPDIR/done"}
  - run: sh wait.sh
  - write: {path: a.txt, text: a}
  - tick: "{criterion}"
  - progress: did a
  - commit: a
- steps: [{write: {path: a.txt, text: a}}, {tick: "{criterion}"}, {progress: did a}, {commit: a}]
"#;
    let ran = repo.run(script, &[]);
    ended(&repo, &ran);
    insta::assert_snapshot!(story(&repo, &ran), @r#"
    iteration 1: fail
      fails: secret_committed
      mended: back_to_checkpoint
      mended: restore_task {"keep_tick":false}
    iteration 2: pass check
    exit 0: proven
    - [x] a is there
    state: a is there, proven by check, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    commit: ralph(demo): [a is there] - a
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    "#);
    assert_eq!(repo.git(&["log", "--format=%s", "--", ".env"]), "", "no branch has it");
    assert_eq!(repo.git(&["show", "refs/ralph/demo/attempts/1:.env"]), "TOKEN=hunter2\n");
}

/// A human who saves a file while the checks run has saved it.
#[test]
fn what_is_saved_while_verify_commands_run_is_not_lost() {
    let repo = with_a_hand_between("echo '# mine' >> README.md");
    let ran = repo.run(HONEST, &["--no-baseline", "--sandbox=off", "--max-iterations", "1"]);
    ended(&repo, &ran);
    let kept = repo.git(&["show", "refs/ralph/demo/attempts/1:README.md"]);
    assert_eq!(kept, "# A project\n# mine\n");
    assert!(ran.stdout.contains("refs/ralph/demo/attempts/1"), "{}", ran.stdout);
}

#[test]
fn a_submodule_in_which_the_agent_worked() {
    let task = format!("---\nallow: [\"sh build.sh\"]\n---\n{TASK}");
    let build = "set -e
touch lib/work; git -C lib add work
git -C lib -c user.name=a -c user.email=b commit -qm work
${1:-true}
touch a.txt
sed -i.bak 's/\\[ \\] a/[x] a/' tasks/demo/TASK.md && rm tasks/demo/TASK.md.bak
git add a.txt tasks $2; git commit -qm 'ralph(demo): a'
";
    for (line, passes) in [("sh build.sh true lib", true), ("sh build.sh true a.txt", false)] {
        let task = task.replace("sh build.sh", line);
        let repo = Repo::with(&task, &[("build.sh", build)]);
        super::start::submodule(&repo);
        let ran =
            repo.run(&format!("turns: [{{steps: [{{run: {line}}}]}}]"), &["--max-iterations", "1"]);
        ended(&repo, &ran);
        let story = story(&repo, &ran);
        assert_eq!(story.contains("iteration 1: pass check"), passes, "{line}: {story}");
        assert_eq!(story.contains("fails: uncommitted"), !passes, "{line}: {story}");
        let inner = repo.git(&["-C", "lib", "log", "-1", "--format=%s"]);
        assert_eq!(inner, "work\n", "its commit is there: {line}");
    }
}

#[test]
fn a_refused_run_in_the_middle_of_the_humans_merge_leaves_it_to_be_finished() {
    let repo = Repo::new(TASK);
    in_conflict(&repo);
    git_may_fail(&repo, &["merge", "side"]);
    repo.write("README.md", "both\n");
    repo.git(&["add", "README.md"]);
    let before = humans(&repo);
    assert_eq!(repo.run(HONEST, &["--allow-dirty"]).code, Some(8));
    assert_eq!(humans(&repo), before);
    repo.git(&["commit", "--quiet", "--no-edit"]);
    let ran = repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// The CLI is launched in another worktree, where the project has files to stage: hiding them
/// from git would change the list of ignored files that all worktrees share.
#[test]
fn a_launch_in_another_worktree_does_not_end_the_run() {
    let repo = with_a_hand();
    repo.write(".claude/agents/mine.md", "# mine\n");
    repo.commit("an agent");
    repo.git(&["worktree", "add", "--quiet", "-b", "side", "../there"]);
    let launch = format!(
        "cd ../there && env -u RALPH_COPILOT_SOCKET COPILOT_CLI_PATH=\"$(command -v true)\" \
         '{}' copilot --no-guard -- --version 2>../said",
        env!("CARGO_BIN_EXE_ralph-copilot")
    );
    let ran = hand(&repo, &launch, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let said = std::fs::read_to_string(repo.beside("said")).expect("read");
    assert!(said.contains("another worktree") && said.contains("nothing was staged"), "{said}");
    assert!(!repo.beside("there/.github").exists());
}
