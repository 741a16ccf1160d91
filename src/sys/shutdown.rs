//! Shutdown of a run by a signal, shared with every task that waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::error::SysError;

/// A shutdown request, shared by everything that must end with the run.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    token: CancellationToken,
    signal: Arc<AtomicI32>,
}

impl Shutdown {
    /// Requests the shutdown as this signal would.
    pub fn request(&self, signal: i32) {
        // Only the first signal counts as the reason.
        let _first = self.signal.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
        self.token.cancel();
    }

    /// The signal that requested the shutdown, if any.
    pub fn signal(&self) -> Option<i32> {
        Some(self.signal.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
    }

    /// The token that a shutdown cancels.
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Listens for SIGINT, SIGTERM, and SIGHUP. The first one requests the shutdown, each further
    /// one calls `at_once`. A SIGHUP that was ignored when the program started, as with `nohup`,
    /// stays ignored: the run is meant to outlive its terminal.
    ///
    /// # Errors
    /// If the signals cannot be listened to.
    pub fn listen(&self, at_once: impl Fn(i32) + Send + 'static) -> Result<(), SysError> {
        let failed = |source| SysError::Process { operation: "listen for signals", source };
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let hangup = (!is_ignored(SignalKind::hangup())).then(|| signal(SignalKind::hangup()));
        let mut hangup = hangup.transpose().map_err(failed)?;
        let shutdown = self.clone();
        tokio::spawn(async move {
            loop {
                let number = tokio::select! {
                    _ = interrupt.recv() => SignalKind::interrupt(),
                    _ = terminate.recv() => SignalKind::terminate(),
                    () = next(hangup.as_mut()) => SignalKind::hangup(),
                }
                .as_raw_value();
                if shutdown.signal().is_some() {
                    at_once(number);
                }
                shutdown.request(number);
            }
        });
        Ok(())
    }
}

/// Makes a write beyond the limit of `ulimit -f` fail like one to a full disk, instead of ending
/// this process with SIGXFSZ. Children get the signal's original disposition.
///
/// # Errors
/// If the signal cannot be listened to.
pub fn outlive_full_files() -> Result<(), SysError> {
    let full = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
    if !is_ignored(full) {
        // The handler stays installed when this is dropped.
        drop(
            signal(full)
                .map_err(|source| SysError::Process { operation: "listen for signals", source })?,
        );
    }
    Ok(())
}

/// Waits for the next signal; for ever where none is listened to.
pub async fn next(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Returns whether this signal was ignored when the program started.
#[cfg(target_os = "linux")]
pub fn is_ignored(signal: SignalKind) -> bool {
    std::fs::read_to_string("/proc/self/status")
        .is_ok_and(|status| is_in_mask(&status, signal.as_raw_value()))
}

/// Returns `false`: elsewhere only unsafe code could find out.
#[cfg(not(target_os = "linux"))]
pub fn is_ignored(_signal: SignalKind) -> bool {
    false
}

/// Returns whether the mask on the status line `SigIgn` has this signal; bit 0 is signal 1.
#[cfg(target_os = "linux")]
fn is_in_mask(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    u32::try_from(signal - 1).is_ok_and(|bit| mask.checked_shr(bit).unwrap_or(0) & 1 == 1)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_mask_names_the_ignored_signals() {
        let status = "SigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\nSigCgt:\t0\n";
        let ignored: Vec<i32> = (1..=64).filter(|it| is_in_mask(status, *it)).collect();
        assert_eq!(ignored, [1, 13]);
        assert!(!is_in_mask("", 1) && !is_in_mask("SigIgn:\tx\n", 1));
    }
}
