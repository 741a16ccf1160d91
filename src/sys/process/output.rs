//! A child's output that ends with the child.
//!
//! Invariant: the reader learns of the child's end, even if a process that the child left behind
//! holds the pipe open.

use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use tokio::io::{AsyncRead, AsyncWriteExt, DuplexStream};
use tokio::time::sleep;

/// How often to check whether the child is alive.
const LOOK: Duration = Duration::from_millis(50);
/// Read-ahead in bytes: as much as a pipe holds.
const AHEAD: usize = 64 << 10;

/// Forwards `stdout` until it ends, or until `drain` after the child `pid` has ended.
pub(super) fn until_the_end(
    mut stdout: impl AsyncRead + Unpin + Send + 'static,
    pid: u32,
    drain: Duration,
) -> DuplexStream {
    let (mut inner, outer) = tokio::io::duplex(AHEAD);
    tokio::spawn(async move {
        tokio::select! {
            read = tokio::io::copy(&mut stdout, &mut inner) => {
                if let Err(error) = read {
                    tracing::debug!(%error, "the output of a child was not read to its end");
                }
            }
            () = ended(pid) => {
                // The pipe still holds its last output.
                let rest = tokio::io::copy(&mut stdout, &mut inner);
                let _late = tokio::time::timeout(drain, rest).await;
            }
        }
        // The reader sees the end; a failure means that it is gone.
        let _gone = inner.shutdown().await;
    });
    outer
}

/// How a child ended that is not reaped yet: `exited with code 1`. Its output may close before
/// it ends, as that of a sandbox does: waits for the end, no longer than `limit`.
pub async fn exit_of(pid: u32, limit: Duration) -> Option<String> {
    let _late = tokio::time::timeout(limit, ended(pid)).await;
    let pid = Pid::from_raw(pid.cast_signed())?;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = waitid(WaitId::Pid(pid), options).ok()??;
    // A sandbox passes a signal on as a shell does.
    let code = status.exit_status();
    let signal = status.terminating_signal().or(code.and_then(|code| code.checked_sub(128)));
    let signal = signal.filter(|signal| (1..=64).contains(signal));
    let how = match (signal, code) {
        (Some(9), _) => "was killed (signal 9), as the kernel does when memory runs out".to_owned(),
        (Some(signal), _) => format!("was ended by signal {signal}"),
        (None, Some(code)) => format!("exited with code {code}"),
        (None, None) => return None,
    };
    Some(
        code.filter(|_| signal.is_some())
            .map_or(how.clone(), |code| format!("{how}: exit code {code}")),
    )
}

/// Returns when the child has ended, without reaping it.
async fn ended(pid: u32) {
    let Some(pid) = Pid::from_raw(pid.cast_signed()) else { return };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(pid), options) {
            Ok(None) | Err(Errno::INTR) => sleep(LOOK).await,
            // Ended, or already reaped.
            Ok(Some(_)) | Err(_) => return,
        }
    }
}
