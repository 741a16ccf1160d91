//! Verify commands as they are really run.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::test_repo::{TestRepo, one};
use crate::model::{CheckResult, CheckStatus};
use crate::verify::{
    Branch, CheckOptions, Checks, Dirt, Fingerprints, PlannedCheck, ShellChecks, run_checks,
};

fn shell() -> ShellChecks {
    ShellChecks::new(Arc::new(|text: &str| text.replace("hunter2", "***")), "test")
}

async fn run(command: &str) -> CheckResult {
    let dir = std::env::temp_dir();
    shell().run(command, &CheckOptions::in_dir(dir)).await
}

#[tokio::test]
async fn the_status_is_told() {
    for (command, status) in [
        ("true", CheckStatus::Passed),
        ("exit 3", CheckStatus::Failed(3)),
        ("kill -9 $$", CheckStatus::Signalled(9)),
        ("-dash-is-no-option", CheckStatus::Failed(127)),
        ("", CheckStatus::Passed),
    ] {
        assert_eq!(run(command).await.status, status, "{command}");
    }
    let gone = CheckOptions::in_dir("/nowhere/at/all");
    let result = shell().run("true", &gone).await;
    assert!(matches!(result.status, CheckStatus::NotRun(_)), "{result:?}");
}

#[tokio::test]
async fn exit_0_of_a_test_runner_is_green_only_with_its_summary() {
    let folder = tempfile::tempdir().expect("a folder");
    let runner = folder.path().join("pytest");
    let pytest = async |output: &str| {
        let script = format!("#!/bin/sh\ncat <<'END'\n{output}\nEND\n");
        std::fs::write(&runner, script).expect("written");
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&runner, executable).expect("executable");
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        let env = vec![("PATH".to_owned(), path)];
        let options = CheckOptions { env, ..CheckOptions::in_dir(folder.path()) };
        shell().run("pytest -q", &options).await
    };
    // The summary counts although the kept end of the output does not hold it.
    let long = "x\n".repeat(20_000);
    let green = pytest(&format!("2 passed, 1 skipped in 0.01s\n{long}")).await;
    assert!(green.passed(), "{:?}", green.status);
    let [count] = green.tests.as_slice() else { panic!("{:?}", green.tests) };
    assert_eq!((count.runner.as_str(), count.ran, count.skipped), ("pytest", 2, 1));

    let ended = pytest("..").await;
    assert_eq!(ended.status, CheckStatus::Incomplete("`pytest` printed no summary".into()));
    let skipped = pytest("3 skipped in 0.01s").await;
    assert_eq!(skipped.status, CheckStatus::NothingRan("`pytest` skipped all 3 tests".into()));
    assert!(!ended.passed() && !skipped.passed());
}

#[tokio::test]
async fn go_names_its_tests() {
    let result = run("go() { echo \"$GOFLAGS\"; }; go test ./...").await;
    assert!(result.output.trim_end().ends_with("-v"), "{}", result.output);
}

#[tokio::test]
async fn both_streams_come_in_order_and_redacted() {
    let result = run("echo one; echo two >&2; echo hunter2; cat; echo end").await;
    assert_eq!(result.output, "one\ntwo\n***\nend\n");
}

#[tokio::test]
async fn long_output_is_cut_to_its_end() {
    let result = run("i=0; while [ $i -lt 9000 ]; do echo \"line $i ü\"; i=$((i+1)); done").await;
    assert!(result.passed());
    assert!(result.output.starts_with("[the first part of "), "{}", &result.output[..80]);
    assert!(result.output.ends_with("line 8999 ü\n"));
    assert!(result.output.len() < 8 * 1024 + 100, "{}", result.output.len());
}

#[tokio::test]
async fn long_output_of_a_failure_keeps_the_line_that_says_why() {
    let noise = "i=0; while [ $i -lt 9000 ]; do echo \"line $i\"; i=$((i+1)); done";
    let result = run(&format!("echo first; echo 'error: no hunter2 here'; {noise}; exit 1")).await;
    let text = &result.output;
    let begin = "bytes is left out]\nerror: no *** here\nline 0\n";
    assert!(text.contains(begin), "{}", &text[..200]);
    assert!(text.contains(" bytes are left out]\n") && text.ends_with("line 8999\n"));
    assert!(text.len() < 10 * 1024 + 200, "{}", text.len());
}

#[tokio::test]
async fn secrets_and_gits_own_variables_are_kept_from_it() {
    // The variables are in this process's environment only if somebody put them there, so
    // a child that has them runs this very test binary.
    if std::env::var_os("VERIFY_TEST_ENV").is_some() {
        let dir = std::env::temp_dir();
        let mut options = CheckOptions::in_dir(dir);
        options.env = vec![("GIVEN".into(), "yes".into())];
        let result =
            shell().run("echo \"[$GITHUB_TOKEN$GIT_DIR$X_API_KEY]$KEPT$GIVEN\"", &options).await;
        assert_eq!(result.output, "[]keptyes\n");
        return;
    }
    let name = std::thread::current().name().expect("a test's thread has its name").to_owned();
    let output = tokio::process::Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", &name])
        .env("VERIFY_TEST_ENV", "1")
        .env("GITHUB_TOKEN", "secret")
        .env("GIT_DIR", "/nowhere")
        .env("X_API_KEY", "secret")
        .env("KEPT", "kept")
        .output()
        .await
        .expect("started");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// Whether a process is there; the test holds its id.
fn alive(pid: &str) -> bool {
    std::process::Command::new("kill")
        .args(["-0", pid])
        .output()
        .expect("kill starts")
        .status
        .success()
}

/// A process that is gone, or that only waits to be reaped by whoever adopted it. Ending
/// takes the system a moment.
fn ended(pid: &str) -> bool {
    (0..10_000).any(|_| {
        std::thread::yield_now();
        !alive(pid) || zombie(pid)
    })
}

#[tokio::test(start_paused = true)]
async fn a_command_that_ignores_term_is_killed() {
    let mut options = CheckOptions::in_dir(std::env::temp_dir());
    options.limit = Duration::from_secs(600);
    let command = "trap '' TERM; while :; do sleep 1000; done";
    let result = shell().run(command, &options).await;
    assert_eq!(result.status, CheckStatus::TimedOut(600));
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended_with_its_children() {
    let mut options = CheckOptions::in_dir(std::env::temp_dir());
    // On a busy machine the shell may need longer to say which children it has.
    for seconds in [1, 4, 16] {
        options.limit = Duration::from_secs(seconds);
        let result = shell().run("sleep 1000 & echo $!; echo $$; wait", &options).await;
        assert_eq!(result.status, CheckStatus::TimedOut(seconds));
        let pids: Vec<_> = result.output.lines().collect();
        if let [child, shell] = pids[..] {
            assert!(ended(child), "the child {child} is alive");
            assert!(ended(shell), "the shell {shell} is alive");
            return;
        }
    }
    panic!("the shell never spoke");
}

#[tokio::test]
async fn a_check_that_nobody_waits_for_is_ended() {
    let dir = tempfile::TempDir::new().expect("directory");
    let options = CheckOptions::in_dir(dir.path());
    let told = dir.path().join("pids");
    let waiting = tokio::spawn(async move {
        shell().run("sleep 1000 & echo \"$! $$\" > part; mv part pids; wait", &options).await
    });
    while !told.exists() {
        tokio::task::yield_now().await;
    }
    waiting.abort();
    assert!(waiting.await.expect_err("aborted").is_cancelled());
    let pids = std::fs::read_to_string(&told).expect("told");
    for pid in pids.split_whitespace() {
        assert!(ended(pid), "{pid} is alive");
    }
}

#[tokio::test]
async fn what_is_left_in_the_background_is_ended_and_not_waited_for() {
    let result = run("sleep 1000 & echo $!").await;
    assert!(result.passed());
    let pid = result.output.trim();
    assert!(ended(pid), "{pid} is alive");
}

fn zombie(pid: &str) -> bool {
    let output = std::process::Command::new("ps").args(["-o", "stat=", "-p", pid]).output();
    output.is_ok_and(|output| output.stdout.starts_with(b"Z"))
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_grandchild_that_left_the_group_does_not_hold_us_up() {
    let result = run("setsid sleep 5 & echo ok").await;
    assert!(result.passed());
    assert!(result.output.starts_with("ok"), "{}", result.output);
    assert!(result.millis < 4000, "waited {} ms for a grandchild", result.millis);
}

fn planned(command: &str) -> PlannedCheck {
    PlannedCheck { command: command.into(), criteria: vec![one()], whole_task: false }
}

#[tokio::test]
async fn what_checks_leave_is_told_and_tidied_up() {
    let scene = TestRepo::new();
    scene.write("README.md", "the human's\n");
    scene.write("notes.txt", "the human's\n");
    let repo = scene.repo();
    let human = scene.preflight(Branch::Current, Dirt::Protect).expect("ready").human;
    scene.write("agent.txt", "left\n");
    scene.append("tests/other.py", "dirty before\n");
    let before = repo.status().expect("status");
    let plan = [
        planned("echo x >> README.md; mkdir -p out; echo y > out/report; rm src/lib.txt"),
        planned("echo z >> tests/check.sh; echo z >> tests/other.py; echo w > x.log; false"),
    ];
    let options = CheckOptions::in_dir(&scene.root);
    let run = run_checks(&repo, &shell(), &plan, &options, &before, &human).await.expect("ran");
    let told: Vec<_> = run.results.iter().map(|r| (r.passed(), r.criteria.clone())).collect();
    assert_eq!(told, [(true, vec![one()]), (false, vec![one()])]);
    assert_eq!(run.artefacts, BTreeSet::from([PathBuf::from("out/report")]));
    assert_eq!(run.put_back, [PathBuf::from("src/lib.txt"), "tests/check.sh".into()]);
    assert_eq!(scene.read("src/lib.txt"), "code\n");
    assert_eq!(scene.read("tests/check.sh"), "grep -q work src/lib.txt\n");
    // The human's file, and what was dirty before, are left as the check left them.
    assert_eq!(scene.read("README.md"), "the human's\nx\n");
    assert!(scene.read("tests/other.py").ends_with("z\n"));
}

#[tokio::test]
async fn a_humans_file_is_not_put_back_even_where_it_was_clean() {
    let scene = TestRepo::new();
    let repo = scene.repo();
    let before = repo.status().expect("status");
    let human = Fingerprints::below(&scene.root, [PathBuf::from("README.md")]).expect("seen");
    let options = CheckOptions::in_dir(&scene.root);
    let plan = [planned("echo x >> README.md")];
    let run = run_checks(&repo, &shell(), &plan, &options, &before, &human).await.expect("ran");
    assert!(run.put_back.is_empty());
    assert_eq!(scene.read("README.md"), "hello\nx\n");
}
