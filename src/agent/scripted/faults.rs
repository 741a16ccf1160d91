//! Misbehavior: floods, processes left behind, sudden death.
//!
//! A script asks for each by name; nothing happens by itself.

use std::os::unix::process::CommandExt as _;
use std::process::Stdio;

use rustix::process::{Signal, getpid, kill_process};
use tokio::process::Command;

use super::prompt_context::PromptContext;
use super::script::{Deaf, Flood, Spawn};
use super::shapes;
use crate::agent::acp::serve::{Wire, update_line};

/// Bytes sent in one piece.
const PIECE: usize = 64 * 1024;

/// Sends many messages, or one endless line. The message is built once and repeated, so that a
/// measurement shows the reader's cost.
pub(super) async fn flood(wire: &Wire, session: &str, flood: Flood) {
    if flood.lines {
        let line = update_line(session, &shapes::said(&"x".repeat(flood.bytes)));
        let whole = u64::try_from(PIECE / line.len()).unwrap_or(0).max(1);
        let mut left = flood.count;
        while left > 0 {
            let now = left.min(whole);
            wire.bytes(line.repeat(usize::try_from(now).unwrap_or(1))).await;
            left -= now;
        }
    } else {
        for _ in 0..flood.count {
            wire.bytes(vec![b'x'; flood.bytes]).await;
        }
    }
}

/// Starts a process without waiting for it.
pub(super) fn spawn(spawn: &Spawn, scene: &PromptContext) -> std::io::Result<()> {
    let command = scene.fill_command(&spawn.command);
    let mut child = if spawn.setsid {
        let mut child = Command::new("setsid");
        child.args(["sh", "-c", &command]);
        child
    } else {
        let mut child = Command::new("sh");
        child.args(["-c", &command]);
        child
    };
    if !spawn.hold_stdout {
        child.stdout(Stdio::null());
    }
    child.stdin(Stdio::null()).current_dir(&scene.cwd).spawn().map(drop)
}

/// Closes stdout and waits for the end of stdin by replacing this process with a shell, because
/// the standard library keeps its own stdout open. Returns only if the system refuses.
pub(super) fn close_stdout(ignore: &[Deaf]) {
    let deaf = if ignore.contains(&Deaf::Term) { "trap '' TERM; " } else { "" };
    let wait = if ignore.contains(&Deaf::Eof) { "sleep 86400" } else { "cat >/dev/null" };
    let _ = std::process::Command::new("sh")
        .arg("-c")
        .arg(format!("{deaf}exec >&-; exec {wait}"))
        .exec();
}

/// Kills this process, as the kernel does when memory runs out. Returns only if the system
/// refuses.
pub(super) fn kill_myself() {
    let _ = kill_process(getpid(), Signal::KILL);
}
