//! Where the real `recipe-runner-rs` is.

use std::io::Write as _;
use std::path::PathBuf;

/// The real runner, on the PATH or named by `RALPH_TEST_RECIPE_RUNNER`; without it, says so.
pub(crate) fn runner() -> Option<PathBuf> {
    let named = std::env::var_os("RALPH_TEST_RECIPE_RUNNER").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("recipe-runner-rs"));
    let runner = named.into_iter().chain(on_path).find(|path| path.is_file());
    if runner.is_none() {
        let reason = "passed over: recipe-runner-rs is not on the PATH, and \
                      RALPH_TEST_RECIPE_RUNNER names no file";
        // The test harness shows this with --nocapture, and captures it otherwise.
        drop(writeln!(std::io::stderr(), "{reason}"));
    }
    runner
}
