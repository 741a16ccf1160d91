//! What the journal of a run that died still tells, damaged or not.
//!
//! Invariant: what can be read is read; the first damage is told, and nothing that stood in
//! a damaged line is made up. What follows from it does not live here.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use super::{Error, Journal, Line, RunView};
use crate::model::Event;

/// Bytes at the end of a journal among which its last event is looked for.
const LAST: u64 = 1 << 20;

/// A journal, told as far as it can be read.
#[derive(Clone, Debug, Default)]
pub struct Recount {
    /// What the events come to.
    pub view: RunView,
    /// The highest number of an iteration that any event names.
    pub iteration: u32,
    /// There are events of kinds that this version does not know.
    pub unknown: bool,
    /// The first line that could not be read.
    pub damage: Option<String>,
}

/// Reads a journal and hands every event on. Lines that cannot be understood are passed by
/// and told of.
///
/// # Errors
/// [`Error::Read`] if the file cannot be read.
pub fn recount(path: &Path, mut each: impl FnMut(&Event)) -> Result<Recount, Error> {
    let mut journal = Journal::open(path)?;
    let mut told = Recount::default();
    loop {
        match journal.read_line() {
            Ok(Some(Line::Event(event))) => {
                told.iteration = told.iteration.max(event.kind.iteration().unwrap_or(0));
                told.view.apply(&event);
                each(&event);
            }
            Ok(Some(Line::Unknown { .. })) => told.unknown = true,
            Ok(None) => return Ok(told),
            Err(error @ Error::Read { .. }) => return Err(error),
            Err(error @ (Error::Broken { .. } | Error::OutOfOrder { .. })) => {
                told.damage.get_or_insert(error.to_string());
            }
        }
    }
}

/// The first event; none if it is not there or cannot be understood.
///
/// # Errors
/// [`Error::Read`] if the file cannot be read.
pub fn first(path: &Path) -> Result<Option<Event>, Error> {
    match Journal::open(path)?.read_line() {
        Ok(Some(Line::Event(event))) => Ok(Some(event)),
        Ok(Some(Line::Unknown { .. }) | None)
        | Err(Error::Broken { .. } | Error::OutOfOrder { .. }) => Ok(None),
        Err(error @ Error::Read { .. }) => Err(error),
    }
}

/// The last event, read from the end of the file; none if it is torn, very long or cannot
/// be understood.
///
/// # Errors
/// [`Error::Read`] if the file cannot be read.
pub fn last(path: &Path) -> Result<Option<Event>, Error> {
    let read = || {
        let mut file = File::open(path)?;
        let length = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(length.saturating_sub(LAST)))?;
        let mut bytes = Vec::new();
        file.take(LAST).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
    let Some(whole) = bytes.strip_suffix(b"\n") else { return Ok(None) };
    let line = whole.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    Ok(serde_json::from_slice(line).ok())
}
