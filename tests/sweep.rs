//! The sweep of a run's processes, in a test program of its own: it takes every orphan
//! that came to this program, so it must not run beside other tests with children.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::Duration;

use ralph_copilot::sys::process::{RUN_VARIABLE, Supervised, Sweep, sweep};
use tokio::io::AsyncReadExt;

const LIMIT: Duration = Duration::from_secs(20);

#[tokio::test]
async fn ends_what_a_dead_runner_left_and_orphans_without_a_name_and_nothing_else() {
    // As a runner that was killed leaves it: somebody else's child, by name alone.
    let mut left = Command::new("setsid")
        .args(["sh", "-c", "echo ready; trap '' TERM; sleep 60"])
        .env(RUN_VARIABLE, "dead-run")
        .stdout(Stdio::piped())
        .spawn()
        .expect("spawn");
    let mut stdout = BufReader::new(left.stdout.take().expect("stdout"));
    stdout.read_line(&mut String::new()).expect("ready");
    let mut other = Command::new("cat")
        .env(RUN_VARIABLE, "dead-run-2")
        .stdin(Stdio::piped())
        .spawn()
        .expect("spawn");

    let swept = sweep("dead-run", LIMIT).await;
    assert!(swept.ended.contains(&left.id()));
    assert_eq!(swept.left, Vec::<u32>::new());
    stdout.read_to_end(&mut Vec::new()).expect("closed: nobody holds it");
    // It led a group of its own and was not started by `Supervised`: the sweep reaped it.
    left.wait().expect_err("reaped");
    assert_eq!(other.try_wait().expect("other"), None, "another run's process was ended");

    // A daemon: no name, a session of its own, its parent gone.
    let mut command = tokio::process::Command::new("sh");
    command
        .args(["-c", "env -i setsid sh -c 'sleep 60 & echo $!; exec >&-; wait' & cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = Supervised::spawn(command, "this-run").expect("spawn");
    let mut line = Vec::new();
    let stdout = child.stdout.as_mut().expect("stdout");
    while !line.ends_with(b"\n") {
        line.push(stdout.read_u8().await.expect("byte"));
    }
    let daemon: u32 = String::from_utf8_lossy(&line).trim().parse().expect("pid");
    drop(child.stdin.take());
    child.wait().await.expect("wait");
    let report = child.stop(ralph_copilot::sys::process::Ladder::GENTLE).await;
    assert_eq!(report.swept, Vec::<u32>::new(), "without name, session and parent nothing tells");
    let swept = sweep("this-run", LIMIT).await;
    assert!(swept.ended.contains(&daemon), "{swept:?}");
    assert_eq!(sweep("this-run", LIMIT).await, Sweep::default());

    other.kill().expect("kill");
    other.wait().expect("reap");
}
