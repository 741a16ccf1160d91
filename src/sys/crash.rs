//! Crash points, at which tests kill the program as a power cut or `kill -9` would.
//!
//! Invariant: every write of state has one before and one after it, and an append one in its
//! middle. They do nothing unless the variable [`CRASH_AT`] holds a number, and release builds
//! contain no code for them.

/// In a debug build: the number of the point at which the program dies, counted from 1.
pub const CRASH_AT: &str = "RALPH_CRASH_AT";

/// Marks the moment before or after a write of state.
#[cfg(debug_assertions)]
pub fn point(name: &'static str) {
    if due() {
        die(name);
    }
}

/// Marks the middle of a write: `half` does the part of it that survives.
#[cfg(debug_assertions)]
pub(super) fn torn(name: &'static str, half: impl FnOnce()) {
    if due() {
        half();
        die(name);
    }
}

#[cfg(debug_assertions)]
fn due() -> bool {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static AT: LazyLock<Option<u64>> = LazyLock::new(|| std::env::var(CRASH_AT).ok()?.parse().ok());
    static PASSED: AtomicU64 = AtomicU64::new(0);
    AT.is_some_and(|at| PASSED.fetch_add(1, Ordering::Relaxed) + 1 == at)
}

/// Kills this process: no destructor runs and nothing is flushed.
#[cfg(debug_assertions)]
fn die(name: &'static str) {
    tracing::error!(point = name, "killed at a crash point");
    let killed =
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    // Only reached if the signal could not be sent.
    tracing::error!(?killed, "cannot kill this process");
    std::process::abort();
}

/// Marks the moment before or after a write of state.
#[cfg(not(debug_assertions))]
pub fn point(_name: &'static str) {}

/// Marks the middle of a write: `half` does the part of it that survives.
#[cfg(not(debug_assertions))]
pub(super) fn torn(_name: &'static str, _half: impl FnOnce()) {}
