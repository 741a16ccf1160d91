//! The end of a run from outside: a signal, told to everything that waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::Error;

/// Shared by everything that must end when the run is ended.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    token: CancellationToken,
    signal: Arc<AtomicI32>,
}

impl Stop {
    /// Ends the run as this signal would.
    pub fn end(&self, signal: i32) {
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
    /// second one calls `at_once`.
    ///
    /// # Errors
    /// If the signals cannot be listened to.
    pub fn listen(&self, at_once: impl Fn(i32) + Send + 'static) -> Result<(), Error> {
        let failed = |source| Error::Process { operation: "listen for signals", source };
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
        let stop = self.clone();
        tokio::spawn(async move {
            loop {
                let number = tokio::select! {
                    _ = interrupt.recv() => SignalKind::interrupt(),
                    _ = terminate.recv() => SignalKind::terminate(),
                    _ = hangup.recv() => SignalKind::hangup(),
                }
                .as_raw_value();
                if stop.signal().is_some() {
                    at_once(number);
                }
                stop.end(number);
            }
        });
        Ok(())
    }
}
