//! The files through which a step of a workflow tells GitHub Actions.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use super::environment::variable;
use super::failure::Failure;

/// Adds to a file that GitHub Actions names.
pub(super) fn to_file(name: &str, text: &str) -> Result<(), Failure> {
    let Some(path) = variable(name).filter(|path| !path.is_empty()) else { return Ok(()) };
    let path = PathBuf::from(path);
    let opened = OpenOptions::new().append(true).create(true).open(&path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::cannot_write(&path, &error))
}
