//! A file that the user names; `-` is standard input.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use super::failure::Failure;
use crate::model::ExitCode;

/// Longest file, in bytes.
const LONGEST: u64 = 4 << 20;

/// The text of a file, or of standard input for `-`.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if path.as_os_str() == "-" {
        std::io::stdin().lock().take(LONGEST).read_to_string(&mut text)
    } else {
        fs::File::open(path).and_then(|file| file.take(LONGEST).read_to_string(&mut text))
    };
    let failed =
        |error| Failure::new(ExitCode::Invalid, format!("cannot read {}: {error}", path.display()));
    read.map_err(failed).map(|_| text)
}
