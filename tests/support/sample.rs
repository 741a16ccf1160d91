//! How much of a long test runs: all of it with `tests/soak`, else a sample drawn from a seed.

use std::io::Write as _;

/// Set by `tests/soak`: the long tests run in full.
const FULL: &str = "RALPH_TEST_FULL";
/// Repeats a sample. `tests/run` draws and prints it.
const SEED: &str = "RALPH_TEST_SEED";

/// Returns whether the long tests run in full.
pub(crate) fn full() -> bool {
    std::env::var_os(FULL).is_some_and(|value| !value.is_empty())
}

/// Returns the seed of this run, and prints it for a failure's sake.
pub(crate) fn seed() -> u64 {
    let given = std::env::var(SEED).ok().map(|seed| seed.parse().expect("a number"));
    let seed = given.unwrap_or_else(|| {
        let since = std::time::UNIX_EPOCH.elapsed().expect("after 1970");
        u64::from(since.subsec_nanos()) ^ since.as_secs()
    });
    writeln!(std::io::stderr(), "{SEED}={seed} repeats this").expect("printed");
    seed
}
