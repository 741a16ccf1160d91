//! A child's output that ends with the child.
//!
//! Invariant: whoever reads it learns of the child's end, although a process that the child
//! left behind may hold the other end of the pipe open for ever.

use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use tokio::io::{AsyncRead, AsyncWriteExt, DuplexStream};
use tokio::time::sleep;

/// How often it is looked whether the child is there.
const LOOK: Duration = Duration::from_millis(50);
/// What is read ahead, in bytes; as much as a pipe holds.
const AHEAD: usize = 64 << 10;

/// What `stdout` gives, until it ends or `drain` after the child `pid` has ended.
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
                // What it had written is still in the pipe.
                let rest = tokio::io::copy(&mut stdout, &mut inner);
                let _late = tokio::time::timeout(drain, rest).await;
            }
        }
        // Whoever reads sees the end with the last byte; nobody else has this end.
        let _gone = inner.shutdown().await;
    });
    outer
}

/// Returns when the child has ended. Its status stays for whoever waits for it.
async fn ended(pid: u32) {
    let Some(pid) = Pid::from_raw(pid.cast_signed()) else { return };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(pid), options) {
            Ok(None) | Err(Errno::INTR) => sleep(LOOK).await,
            // Ended, or its status has been taken already.
            Ok(Some(_)) | Err(_) => return,
        }
    }
}
