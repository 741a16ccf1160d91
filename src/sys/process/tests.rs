//! Real processes, no waiting for time to pass: each test is led by what a child prints
//! or by the end of a stream, and limits are reached only where a child ignores a step.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use rustix::process::{getsid, test_kill_process};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use super::sweep::OrphanedRun;
use super::*;
use rustix::process::Pid;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::process::Command;
use tokio::time::timeout;

/// Limits that no test waits for: each is there to make a mistake a failure, not a hang.
const PATIENT: Ladder = Ladder {
    close: Duration::from_secs(20),
    term: Duration::from_secs(20),
    kill: Duration::from_secs(20),
};

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

fn start(script: &str) -> Supervised {
    Supervised::spawn(shell(script), "run-under-test").expect("spawn")
}

async fn first_line(child: &mut Supervised) -> String {
    let mut line = String::new();
    let stdout = child.stdout.as_mut().expect("stdout");
    BufReader::new(stdout).read_line(&mut line).await.expect("line");
    line.trim().to_owned()
}

fn gone(pid: u32) -> bool {
    test_kill_process(Pid::from_raw(pid.cast_signed()).expect("pid")).is_err()
}

#[tokio::test]
async fn a_child_that_heeds_its_input_ends_when_that_is_closed() {
    let child = start("cat; exit 3");
    let pid = child.pid();
    let report = child.stop(PATIENT).await;
    assert_eq!(
        report,
        ExitReport {
            step: ExitStep::Closed,
            status: Some(ExitStatus::from_raw(3 << 8)),
            swept: vec![],
            left: vec![]
        }
    );
    assert!(gone(pid));
}

#[tokio::test]
async fn a_child_that_ended_by_itself_is_reported_so() {
    let mut child = start("exit 7");
    assert_eq!(child.wait().await.expect("wait").code(), Some(7));
    let report = child.stop(PATIENT).await;
    assert_eq!((report.step, report.status.and_then(|s| s.code())), (ExitStep::Before, Some(7)));
}

#[tokio::test]
async fn one_that_ignores_its_input_ends_by_term() {
    let mut child = start("echo ready; exec sleep 60");
    assert_eq!(first_line(&mut child).await, "ready");
    let report = child.stop(Ladder { close: Duration::from_millis(1), ..PATIENT }).await;
    assert_eq!(report.step, ExitStep::Terminated);
    assert_eq!(report.status.and_then(|status| status.signal()), Some(15));
}

#[tokio::test]
async fn one_that_ignores_term_too_is_killed_with_its_group() {
    let mut child = start("trap '' TERM; sleep 60 & echo $!; wait; wait; sleep 60");
    let sleeper: u32 = first_line(&mut child).await.parse().expect("pid");
    let short = Duration::from_millis(1);
    let report = child.stop(Ladder { close: short, term: short, ..PATIENT }).await;
    assert_eq!(report.step, ExitStep::Killed);
    assert_eq!(report.status.and_then(|status| status.signal()), Some(9));
    assert_eq!(report.left, Vec::<u32>::new());
    assert!(gone(sleeper));
}

#[tokio::test]
async fn at_once_skips_the_friendly_steps() {
    let mut child = start("trap 'echo asked' TERM; echo ready; cat; sleep 60");
    assert_eq!(first_line(&mut child).await, "ready");
    let report = child.stop(Ladder { kill: PATIENT.kill, ..Ladder::AT_ONCE }).await;
    assert_eq!(report.step, ExitStep::Killed);
}

#[tokio::test]
async fn a_full_pipe_that_nobody_reads_keeps_no_child_from_ending() {
    let child = start("head -c 1000000 /dev/zero; cat");
    let report = child.stop(PATIENT).await;
    assert_eq!((report.step, report.status.and_then(|s| s.code())), (ExitStep::Closed, Some(0)));
}

#[tokio::test]
async fn a_dropped_child_dies_with_its_group() {
    let mut child = start("sleep 60 & echo ready; wait");
    assert_eq!(first_line(&mut child).await, "ready");
    let mut stdout = child.stdout.take().expect("stdout");
    drop(child);
    let mut rest = Vec::new();
    // The stream ends when the last process that holds it is gone.
    timeout(PATIENT.kill, stdout.read_to_end(&mut rest)).await.expect("in time").expect("read");
}

#[tokio::test]
async fn a_child_has_a_session_of_its_own_and_carries_the_run() {
    let mut child = start("echo $RALPH_RUN_ID; cat");
    assert_eq!(first_line(&mut child).await, "run-under-test");
    let pid = Pid::from_raw(child.pid().cast_signed());
    assert_eq!(getsid(pid).ok(), pid);
    child.stop(PATIENT).await;
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let error = Supervised::spawn(Command::new("/no/such/program"), "run").expect_err("missing");
    assert!(error.to_string().starts_with("cannot start /no/such/program: "), "{error}");
}

#[cfg(target_os = "linux")]
mod linux {
    use super::*;

    /// The state letter of a process, none when it is gone.
    fn state(pid: u32) -> Option<char> {
        let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        line[line.rfind(')')? + 2..].chars().next()
    }

    #[tokio::test]
    async fn what_left_its_session_and_outlives_its_parent_is_found() {
        let mut child = start("setsid sleep 60 & echo $!");
        let sleeper: u32 = first_line(&mut child).await.parse().expect("pid");
        child.wait().await.expect("wait");
        assert!(!gone(sleeper));
        let report = child.stop(PATIENT).await;
        assert_eq!(report.swept, [sleeper]);
        assert_eq!(report.left, Vec::<u32>::new());
        assert!(gone(sleeper), "killed, and reaped by us");
    }

    /// As git does, which takes its lock away when it is asked to end. A busy machine may give it no
    /// time for that; one that is not asked never does.
    #[tokio::test]
    async fn what_outlives_the_child_is_asked_before_it_is_killed() {
        let mut was_asked = false;
        for _ in 0..10 {
            let folder = tempfile::tempdir().expect("folder");
            let lock = folder.path().join("index.lock");
            let git = format!(
                "touch {0}; trap 'rm {0}; exit' TERM; echo $$; while :; do sleep 0.01; done",
                lock.display()
            );
            let mut child = start(&format!("setsid sh -c \"{}\" & cat", git.replace('$', "\\$")));
            let git: u32 = first_line(&mut child).await.parse().expect("pid");
            assert!(lock.exists());
            let report = child.stop(PATIENT).await;
            assert_eq!(report.step, ExitStep::Closed);
            assert!(report.swept.contains(&git), "{report:?}");
            assert!(gone(git));
            was_asked = !lock.exists();
            if was_asked {
                break;
            }
        }
        assert!(was_asked, "it was killed in the middle of its work");
    }

    #[tokio::test]
    async fn what_dropped_its_environment_is_found_by_its_group_or_its_session() {
        // With job control a job gets a group of its own, in the same session.
        for control in ["set +m", "set -m"] {
            let mut command = Command::new("bash");
            command.args(["-c", &format!("{control}; env -i sleep 60 & echo $!")]);
            command.stdin(Stdio::null()).stdout(Stdio::piped());
            let mut child = Supervised::spawn(command, "run-under-test").expect("spawn");
            let sleeper: u32 = first_line(&mut child).await.parse().expect("pid");
            child.wait().await.expect("wait");
            let report = child.stop(PATIENT).await;
            assert_eq!(report.swept, [sleeper], "{control}");
            assert!(gone(sleeper));
        }
    }

    #[tokio::test]
    async fn the_end_of_one_child_leaves_the_others_of_the_run_alone() {
        let mut other = start("setsid cat & echo ready; wait");
        assert_eq!(first_line(&mut other).await, "ready");
        let one = start("cat");
        assert_eq!(one.stop(PATIENT).await.swept, Vec::<u32>::new());
        assert!(!gone(other.pid()));
        other.stop(PATIENT).await;
    }

    #[tokio::test]
    async fn who_was_seen_below_a_runner_is_ended_after_its_death() {
        // Nothing but that it was seen tells the daemon: it dropped its environment, leads a
        // session of its own, and its parent is gone.
        let daemon = "env -i setsid sh -c 'trap \"\" TERM; echo $$; sleep 60; sleep 60' & cat";
        let mut runner = start(daemon);
        let daemon: u32 = first_line(&mut runner).await.parse().expect("pid");
        let mut seen = OrphanedRun::of("a run that nobody carries".to_owned(), runner.pid());
        assert_eq!(seen.end(Duration::ZERO, PATIENT.kill).await, Sweep::default());
        seen.look();
        drop(runner.stdin.take());
        runner.wait().await.expect("wait");
        assert!(!gone(daemon));
        let swept = seen.end(Duration::from_millis(1), PATIENT.kill).await;
        assert!(swept.ended.contains(&daemon), "{swept:?}");
        assert_eq!(swept.left, Vec::<u32>::new());
        assert!(gone(daemon));
    }

    #[tokio::test]
    async fn an_orphan_is_asked_before_it_is_killed() {
        let command = shell("trap 'echo asked; exit' TERM; echo ready; sleep 60 & wait");
        let mut child = Supervised::spawn(command, "run-with-orphans").expect("spawn");
        assert_eq!(first_line(&mut child).await, "ready");
        let mut stdout = child.stdout.take().expect("stdout");
        // No process has this number: there is no runner any more.
        let seen = OrphanedRun::of("run-with-orphans".to_owned(), u32::MAX >> 2);
        let swept = seen.end(PATIENT.term, PATIENT.kill).await;
        assert!(swept.ended.contains(&child.pid()), "{swept:?}");
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).await.expect("read");
        assert_eq!(rest, "asked\n");
        child.wait().await.expect("wait");
    }

    #[tokio::test]
    async fn a_stopped_child_is_continued_so_that_term_reaches_it() {
        let child = start("kill -STOP $$; sleep 60");
        while state(child.pid()) != Some('T') {
            tokio::task::yield_now().await;
        }
        let report = child.stop(Ladder { close: Duration::from_millis(1), ..PATIENT }).await;
        assert_eq!(report.step, ExitStep::Terminated);
    }

    #[test]
    fn a_child_dies_with_the_thread_that_started_it() {
        use std::io::Read;
        let (pid, stdout) = std::thread::spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("runtime");
            runtime.block_on(async {
                let mut child = start("echo ready; exec sleep 20");
                assert_eq!(first_line(&mut child).await, "ready");
                let stdout = child.stdout.take().expect("stdout").into_owned_fd().expect("fd");
                let pid = Pid::from_raw(child.pid().cast_signed()).expect("pid");
                // Nobody of ours kills it: what ends it is the end of this thread.
                std::mem::forget(child);
                (pid, stdout)
            })
        })
        .join()
        .expect("thread");
        rustix::io::ioctl_fionbio(&stdout, false).expect("blocking");
        std::fs::File::from(stdout).read_to_end(&mut Vec::new()).expect("read");
        let ended = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
        let (_, status) = ended.expect("wait").expect("status");
        assert_eq!(status.terminating_signal(), Some(9), "it slept to its own end");
    }
}
