//! Points at which a test kills the program, as a power cut or `kill -9` would.
//!
//! Invariant: every write of state has one before it and one after it, and an append one
//! in its middle. Nothing happens at any of them unless the variable [`CRASH_AT`] holds a
//! number, and in a release build not even then: there is no code for it. Which writes
//! there are does not live here.

/// In a debug build: the number of the point at which the program dies, from 1.
pub const CRASH_AT: &str = "RALPH_CRASH_AT";

/// A write of state begins here, or has just ended.
#[cfg(debug_assertions)]
pub fn point(name: &'static str) {
    if due() {
        die(name);
    }
}

/// In the middle of a write: what `half` writes is all that is left of it.
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

/// Without a destructor, a flush or a word to anybody but whoever listens.
#[cfg(debug_assertions)]
fn die(name: &'static str) {
    tracing::error!(point = name, "the program dies here, as it was asked to");
    let killed =
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    // A process that kills itself does not come back from it.
    tracing::error!(?killed, "it did not");
    std::process::abort();
}

/// A write of state begins here, or has just ended.
#[cfg(not(debug_assertions))]
pub fn point(_name: &'static str) {}

/// In the middle of a write: what `half` writes is all that is left of it.
#[cfg(not(debug_assertions))]
pub(super) fn torn(_name: &'static str, _half: impl FnOnce()) {}
