//! What `tests/run` downloads: programs and packages written by others.

use std::io::Write as _;
use std::path::PathBuf;

/// The file or folder that this variable names. Without one, prints why the test is skipped; where
/// real parts are required, the test fails.
#[track_caller]
pub(crate) fn download(variable: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.exists());
    let required = std::env::var_os("RALPH_TEST_REAL").is_some_and(|value| value == "required");
    assert!(
        named.is_some() || !required,
        "RALPH_TEST_REAL=required, but {variable} names nothing that is there"
    );
    if named.is_none() {
        // The test harness shows this with --nocapture, and captures it otherwise.
        let reason =
            format!("skipped: {variable} names nothing that is there; tests/run downloads it\n");
        drop(std::io::stderr().write_all(reason.as_bytes()));
    }
    named
}
