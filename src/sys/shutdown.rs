//! The end of a run from outside: a signal, told to everything that waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::SysError;

/// Shared by everything that must end when the run is ended.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    token: CancellationToken,
    signal: Arc<AtomicI32>,
}

impl Shutdown {
    /// Ends the run as this signal would.
    pub fn request(&self, signal: i32) {
        // The first signal is the reason; later ones only repeat it.
        let _first = self.signal.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
        self.token.cancel();
    }

    /// The signal that ended the run, if one did.
    pub fn signal(&self) -> Option<i32> {
        Some(self.signal.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
    }

    /// Cancelled when the run is ended.
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Listens for SIGINT, SIGTERM and SIGHUP. The first ends the run in good order; a
    /// second one calls `at_once`. A SIGHUP that was ignored when we were started, as by
    /// `nohup`, stays ignored: the run is meant to outlive its terminal.
    ///
    /// # Errors
    /// If the signals cannot be listened to.
    pub fn listen(&self, at_once: impl Fn(i32) + Send + 'static) -> Result<(), SysError> {
        let failed = |source| SysError::Process { operation: "listen for signals", source };
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let hangup = (!is_ignored(SignalKind::hangup())).then(|| signal(SignalKind::hangup()));
        let mut hangup = hangup.transpose().map_err(failed)?;
        let stop = self.clone();
        tokio::spawn(async move {
            loop {
                let number = tokio::select! {
                    _ = interrupt.recv() => SignalKind::interrupt(),
                    _ = terminate.recv() => SignalKind::terminate(),
                    () = next(hangup.as_mut()) => SignalKind::hangup(),
                }
                .as_raw_value();
                if stop.signal().is_some() {
                    at_once(number);
                }
                stop.request(number);
            }
        });
        Ok(())
    }
}

/// From now on a file that may not grow any more, as `ulimit -f` has it, is an error of whoever
/// writes it, as on a full disk, and not a signal that ends this process. Children have the
/// signal as it was: taken by nobody, or ignored where whoever started us had it so.
///
/// # Errors
/// If the signal cannot be listened to.
pub fn outlive_full_files() -> Result<(), SysError> {
    let full = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
    if !is_ignored(full) {
        // What takes it stays in force when this is dropped.
        drop(
            signal(full)
                .map_err(|source| SysError::Process { operation: "listen for signals", source })?,
        );
    }
    Ok(())
}

/// The next signal, which never comes where it is not listened to.
pub async fn next(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether whoever started us had this signal ignored.
#[cfg(target_os = "linux")]
pub fn is_ignored(signal: SignalKind) -> bool {
    std::fs::read_to_string("/proc/self/status")
        .is_ok_and(|status| stands_in_mask(&status, signal.as_raw_value()))
}

/// Elsewhere only code that is not safe could tell.
#[cfg(not(target_os = "linux"))]
pub fn is_ignored(_signal: SignalKind) -> bool {
    false
}

/// Reads the line `SigIgn` of a process's status: a mask whose lowest bit is signal 1.
#[cfg(target_os = "linux")]
fn stands_in_mask(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    u32::try_from(signal - 1).is_ok_and(|bit| mask.checked_shr(bit).unwrap_or(0) & 1 == 1)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_mask_tells_which_signals_are_ignored() {
        let status = "SigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\nSigCgt:\t0\n";
        let ignored: Vec<i32> = (1..=64).filter(|it| stands_in_mask(status, *it)).collect();
        assert_eq!(ignored, [1, 13]);
        assert!(!stands_in_mask("", 1) && !stands_in_mask("SigIgn:\tx\n", 1));
    }
}
