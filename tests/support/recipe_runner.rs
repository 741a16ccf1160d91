//! The path of the real `recipe-runner-rs`.

use std::io::Write as _;
use std::path::PathBuf;

/// Finds the real runner on PATH or in `RALPH_TEST_RECIPE_RUNNER`; without one, prints that the
/// test is skipped.
pub(crate) fn runner() -> Option<PathBuf> {
    let named = std::env::var_os("RALPH_TEST_RECIPE_RUNNER").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("recipe-runner-rs"));
    let runner = named.into_iter().chain(on_path).find(|path| path.is_file());
    if runner.is_none() {
        let reason = "skipped: recipe-runner-rs is not on the PATH, and \
                      RALPH_TEST_RECIPE_RUNNER names no file";
        // The test harness shows this with --nocapture, and captures it otherwise.
        drop(writeln!(std::io::stderr(), "{reason}"));
    }
    runner
}
