//! Reads the journal of a run, damaged or not.
//!
//! Invariant: every readable line is used, the first damage is reported, and nothing is guessed
//! about a damaged line. Resuming the run does not live here.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::ops::ControlFlow;
use std::path::Path;

use super::journal::allows;
use super::{Journal, JournalError, JournalLine, RunView};
use crate::model::Event;

/// Bytes at the end of a journal that are searched for its last event.
const LAST: u64 = 1 << 20;

/// The readable part of a journal.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// The state of the run.
    pub view: RunView,
    /// The highest number of an iteration that any event names.
    pub iteration: u32,
    /// There are events of kinds that this version does not know.
    pub unknown: bool,
    /// The first line that could not be read.
    pub damage: Option<String>,
}

/// Passes every readable line of a journal to `each`, until that breaks off. Lines that cannot be
/// parsed are skipped; returns the first of them.
///
/// # Errors
/// [`JournalError::Read`] if the file cannot be read.
pub fn read(
    path: &Path,
    each: impl FnMut(JournalLine) -> ControlFlow<()>,
) -> Result<Option<String>, JournalError> {
    read_but(path, |_| false, each)
}

/// The same without the kinds of events that `skips` names; of decisions, without those that allow
/// a call.
///
/// # Errors
/// As [`read`].
pub fn read_but(
    path: &Path,
    skips: impl Fn(&str) -> bool,
    mut each: impl FnMut(JournalLine) -> ControlFlow<()>,
) -> Result<Option<String>, JournalError> {
    let mut journal = Journal::open(path)?;
    let mut damage = None;
    loop {
        match journal.read_line_but(|kind, text| match kind {
            "tool_decided" => skips(kind) && allows(text),
            other => skips(other),
        }) {
            Ok(Some(line)) => {
                if each(line).is_break() {
                    return Ok(damage);
                }
            }
            Ok(None) => return Ok(damage),
            Err(error @ JournalError::Read { .. }) => return Err(error),
            Err(error @ (JournalError::Broken { .. } | JournalError::OutOfOrder { .. })) => {
                damage.get_or_insert(error.to_string());
            }
        }
    }
}

/// Folds a journal, and passes every event to `each`. Lines that cannot be parsed are skipped and
/// reported as damage.
///
/// # Errors
/// [`JournalError::Read`] if the file cannot be read.
pub fn replay(path: &Path, mut each: impl FnMut(&Event)) -> Result<Replay, JournalError> {
    let mut told = Replay::default();
    told.damage = read(path, |line| {
        match line {
            JournalLine::Event(event) => {
                told.iteration = told.iteration.max(event.kind.iteration().unwrap_or(0));
                told.view.apply(&event);
                each(&event);
            }
            JournalLine::Unknown { .. } => told.unknown = true,
        }
        ControlFlow::Continue(())
    })?;
    Ok(told)
}

/// Returns what the first event that has it tells, among the readable lines of a journal.
///
/// # Errors
/// [`JournalError::Read`] if the file cannot be read.
pub fn find<T>(
    path: &Path,
    wanted: impl Fn(&Event) -> Option<T>,
) -> Result<Option<T>, JournalError> {
    let mut found = None;
    read(path, |line| {
        if let JournalLine::Event(event) = line {
            found = wanted(&event);
        }
        if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(found)
}

/// Returns the first event; `None` if it is missing or cannot be parsed.
///
/// # Errors
/// [`JournalError::Read`] if the file cannot be read.
pub fn first(path: &Path) -> Result<Option<Event>, JournalError> {
    match Journal::open(path)?.read_line() {
        Ok(Some(JournalLine::Event(event))) => Ok(Some(event)),
        Ok(Some(JournalLine::Unknown { .. }) | None)
        | Err(JournalError::Broken { .. } | JournalError::OutOfOrder { .. }) => Ok(None),
        Err(error @ JournalError::Read { .. }) => Err(error),
    }
}

/// Returns the last event, read from the end of the file; `None` if it is torn, very long, or
/// cannot be parsed.
///
/// # Errors
/// [`JournalError::Read`] if the file cannot be read.
pub fn last(path: &Path) -> Result<Option<Event>, JournalError> {
    let read = || {
        let mut file = File::open(path)?;
        let length = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(length.saturating_sub(LAST)))?;
        let mut bytes = Vec::new();
        file.take(LAST).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|source| JournalError::Read { path: path.to_path_buf(), source })?;
    let Some(whole) = bytes.strip_suffix(b"\n") else { return Ok(None) };
    let line = whole.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    Ok(serde_json::from_slice(line).ok())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn journal(lines: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("events.jsonl");
        std::fs::write(&path, lines.join("\n") + "\n").expect("journal");
        (folder, path)
    }

    fn event(seq: u64, rest: &str) -> String {
        format!(r#"{{"seq":{seq},"time":"2026-11-21T14:03:00Z","run":"r",{rest}}}"#)
    }

    #[test]
    fn what_stands_after_damage_is_read_and_the_first_damage_is_told() {
        let notice = |seq| event(seq, r#""event":"notice","message":"m""#);
        let ended =
            event(6, r#""event":"iteration_ended","iteration":7,"millis":1,"premium_requests":0"#);
        let newer = event(5, r#""event":"wave_started""#);
        // Two events are on one line since the newline between them is gone.
        let merged = format!("{}x{}", notice(2), notice(3));
        let (_folder, path) = journal(&[&notice(1), &merged, &notice(4), &newer, &ended]);
        let mut seen = Vec::new();
        let told = replay(&path, |event| seen.push(event.seq)).expect("read");
        let damage = told.damage.expect("damage");
        assert!(damage.starts_with(&format!("{}:2: not an event", path.display())), "{damage}");
        assert_eq!((told.iteration, told.unknown), (7, true));
        // The fourth is in the place of the third: it counts as damage.
        assert_eq!(seen, [1, 6]);
        assert_eq!(first(&path).expect("read").map(|event| event.seq), Some(1));
        assert_eq!(last(&path).expect("read").map(|event| event.seq), Some(6));
    }

    #[test]
    fn the_largest_of_numbers_is_damage_like_any_other() {
        let notice = |seq| event(seq, r#""event":"notice","message":"m""#);
        let (_folder, path) = journal(&[&notice(1), &notice(u64::MAX), &notice(3), &notice(4)]);
        let mut seen = Vec::new();
        let told = replay(&path, |event| seen.push(event.seq)).expect("read");
        assert!(told.damage.is_some());
        assert_eq!(seen, [1, 4]);
    }

    #[test]
    fn a_torn_or_empty_journal_has_no_last_event_and_one_that_is_not_there_is_an_error() {
        let (_folder, path) = journal(&["{"]);
        assert_eq!((first(&path).expect("read"), last(&path).expect("read")), (None, None));
        std::fs::write(&path, event(1, r#""event":"notice","message":"m""#)).expect("torn");
        assert_eq!(last(&path).expect("read"), None);
        std::fs::write(&path, "").expect("empty");
        assert_eq!((first(&path).expect("read"), last(&path).expect("read")), (None, None));
        let gone = path.with_file_name("gone");
        for error in [first(&gone).err(), last(&gone).err(), replay(&gone, |_| {}).err()] {
            assert!(matches!(error, Some(JournalError::Read { .. })), "{error:?}");
        }
    }
}
