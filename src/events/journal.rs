//! Reading a journal back, event by event.
//!
//! Invariant: only whole lines count. A last line without a newline is torn or still being
//! written, and is read again by the next call. A line in the middle that is missing or cannot
//! be parsed is an error with its number. Only an event of a kind from a newer version is
//! skipped, and reported as unknown.
//!
//! Invariant: gives every event once, in order, and ends: after the run's end, or when
//! the run is gone without one.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::model::{
    CheckResult, CriterionKey, Event, EventKind, Evidence, Repair, RunId, Turn, Verdict,
};

/// The name of the journal in a run's folder.
pub const JOURNAL_FILE: &str = "events.jsonl";

/// A journal cannot be read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum JournalError {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("{path}:{line}: not an event: {source}")]
    Broken { path: PathBuf, line: u64, source: serde_json::Error },
    #[error("{path}:{line}: found event {found} where event {expected} was expected")]
    OutOfOrder { path: PathBuf, line: u64, expected: u64, found: u64 },
}

/// One whole line.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "the large one is the rule")]
pub enum JournalLine {
    /// An event.
    Event(Event),
    /// An event of a kind that this version does not know.
    Unknown {
        /// 1-based line.
        line: u64,
        /// The kind's name.
        kind: String,
    },
}

/// A journal opened for reading, which may still grow.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: BufReader<File>,
    line: u64,
    /// The number of the last event that was read.
    seq: u64,
    buffer: Vec<u8>,
    torn: usize,
}

impl Journal {
    /// Opens a journal at its beginning.
    ///
    /// # Errors
    /// [`JournalError::Read`] if it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let file = File::open(path)
            .map_err(|source| JournalError::Read { path: path.to_path_buf(), source })?;
        Ok(Self {
            path: path.to_path_buf(),
            file: BufReader::new(file),
            line: 0,
            seq: 0,
            buffer: Vec::new(),
            torn: 0,
        })
    }

    /// Reads the next whole line. Returns `None` at the end; a later call reads what was appended
    /// since.
    ///
    /// # Errors
    /// If the file cannot be read, or the line is broken or out of order.
    pub fn read_line(&mut self) -> Result<Option<JournalLine>, JournalError> {
        self.read_line_but(|_, _| false)
    }

    /// Reads the next whole line that `skips` does not take, by its kind and its text. Skipped lines
    /// are not parsed, which takes most of the time that a long journal takes.
    ///
    /// # Errors
    /// As [`Journal::read_line`], but for what is wrong in skipped lines.
    pub fn read_line_but(
        &mut self,
        mut skips: impl FnMut(&str, &[u8]) -> bool,
    ) -> Result<Option<JournalLine>, JournalError> {
        loop {
            let skipped = |text: &[u8], expected: u64| {
                head(text).is_some_and(|head| head.seq == expected && skips(head.kind, text))
            };
            if let Some(line) = self.next_line(skipped)? {
                return Ok(line);
            }
        }
    }

    /// `None` for a line that is skipped.
    fn next_line(
        &mut self,
        skipped: impl FnOnce(&[u8], u64) -> bool,
    ) -> Result<Option<Option<JournalLine>>, JournalError> {
        self.buffer.clear();
        let read = self.file.read_until(b'\n', &mut self.buffer).and_then(|length| {
            if self.buffer.ends_with(b"\n") {
                return Ok(true);
            }
            // Not a whole line yet: the next call starts at its beginning again.
            self.torn = length;
            self.file.seek(SeekFrom::Current(-(length as i64)))?;
            Ok(false)
        });
        match read {
            Ok(true) => {}
            Ok(false) => return Ok(Some(None)),
            Err(source) => return Err(JournalError::Read { path: self.path.clone(), source }),
        }
        self.torn = 0;
        self.line += 1;
        let line = self.line;
        let expected = self.seq.saturating_add(1);
        self.seq = expected;
        if skipped(&self.buffer, expected) {
            return Ok(None);
        }
        let (found, parsed) = parse(&self.buffer, line).map_err(|source| JournalError::Broken {
            path: self.path.clone(),
            line,
            source,
        })?;
        // A gap is reported once.
        self.seq = found;
        if found == expected {
            Ok(Some(Some(parsed)))
        } else {
            Err(JournalError::OutOfOrder { path: self.path.clone(), line, expected, found })
        }
    }

    /// Bytes after the last whole line, as of the last call.
    pub fn torn(&self) -> usize {
        self.torn
    }
}

/// The beginning of a line that is written as ours are: the fields that every event has.
struct Head<'a> {
    seq: u64,
    time: &'a str,
    run: &'a str,
    kind: &'a str,
}

/// Reads it, if the line begins as ours do and ends as an object does.
fn head(text: &[u8]) -> Option<Head<'_>> {
    let rest = text.strip_prefix(br#"{"seq":"#)?.strip_suffix(b"}\n")?;
    let digits = rest.iter().position(|byte| *byte == b',')?;
    let seq = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
    // Time and run have no quotes in them.
    let mut quoted = rest[digits..].split(|byte| *byte == b'"').skip(1).step_by(2);
    let mut next = || std::str::from_utf8(quoted.next()?).ok();
    let ["time", time, "run", run, "event", kind] =
        [next()?, next()?, next()?, next()?, next()?, next()?]
    else {
        return None;
    };
    (!run.contains('\\')).then_some(Head { seq, time, run, kind })
}

/// Is this the line of a call that the guard allowed? Inside of a text, quotes are escaped, and
/// only texts follow the answer.
pub(super) fn allows(text: &[u8]) -> bool {
    const ANSWER: &[u8] = br#""answer":""#;
    let at = text.windows(ANSWER.len()).rposition(|part| part == ANSWER);
    at.is_some_and(|at| text[at + ANSWER.len()..].starts_with(b"allow\""))
}

/// The event's number and the event.
fn parse(text: &[u8], line: u64) -> Result<(u64, JournalLine), serde_json::Error> {
    let head = head(text);
    let event = match head.as_ref().map(|head| (head, head.time.parse())) {
        Some((Head { seq, run, kind, .. }, Ok(time))) => {
            kind_of(kind, text).map(|kind| Event { seq: *seq, time, run: RunId::new(*run), kind })
        }
        Some((_, Err(_))) | None => serde_json::from_slice(text),
    };
    match (event, head) {
        (Ok(event), _) => Ok((event.seq, JournalLine::Event(event))),
        (Err(_), Some(Head { seq, kind, .. }))
            if !EventKind::NAMES.contains(&kind)
                && serde_json::from_slice::<IgnoredAny>(text).is_ok() =>
        {
            Ok((seq, JournalLine::Unknown { line, kind: kind.to_owned() }))
        }
        (Err(error), _) => Err(error),
    }
}

/// The kind of this name with its fields. To find the name, serde copies all of a line first: the
/// kinds that most of a journal consists of are read without that.
fn kind_of(name: &str, text: &[u8]) -> Result<EventKind, serde_json::Error> {
    #[derive(Deserialize)]
    struct TurnEnded {
        iteration: u32,
        turn: Turn,
    }
    #[derive(Deserialize)]
    struct CheckFinished {
        iteration: u32,
        check: CheckResult,
    }
    #[derive(Deserialize)]
    struct VerdictReached {
        iteration: u32,
        criterion: CriterionKey,
        evidence: Box<Evidence>,
        verdict: Verdict,
        #[serde(default)]
        mended: Vec<Repair>,
    }
    Ok(match name {
        "turn_ended" => {
            let TurnEnded { iteration, turn } = serde_json::from_slice(text)?;
            EventKind::TurnEnded { iteration, turn }
        }
        "check_finished" => {
            let CheckFinished { iteration, check } = serde_json::from_slice(text)?;
            EventKind::CheckFinished { iteration, check }
        }
        "verdict_reached" => {
            let VerdictReached { iteration, criterion, evidence, verdict, mended: repairs } =
                serde_json::from_slice(text)?;
            EventKind::VerdictReached { iteration, criterion, evidence, verdict, repairs }
        }
        _ => serde_json::from_slice(text)?,
    })
}

/// The name of a run that begins now: sorted by name, runs are sorted by time.
pub fn run_id(now: DateTime<Utc>, pid: u32) -> RunId {
    RunId::new(format!("{}-{pid}", now.format("%Y%m%dT%H%M%S%.3fZ")))
}

/// Returns the journal of the newest run below `.ralph/runs`, or `None` if there is no run.
///
/// # Errors
/// [`JournalError::Read`] if the folder is there and cannot be read.
pub fn newest(runs: &Path) -> Result<Option<PathBuf>, JournalError> {
    Ok(journals(runs)?.into_iter().next())
}

/// Returns the journals of the runs below `.ralph/runs`, the newest first.
///
/// # Errors
/// [`JournalError::Read`] if the folder is there and cannot be read.
pub fn journals(runs: &Path) -> Result<Vec<PathBuf>, JournalError> {
    let entries = match fs::read_dir(runs) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(JournalError::Read { path: runs.to_path_buf(), source }),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry =
            entry.map_err(|source| JournalError::Read { path: runs.to_path_buf(), source })?;
        let journal = entry.path().join(JOURNAL_FILE);
        if journal.is_file() {
            found.push(journal);
        }
    }
    found.sort();
    found.reverse();
    Ok(found)
}

/// The interval between two looks at the journal.
const LOOK: Duration = Duration::from_millis(200);

/// Hands every line of the journal to `on_line`, from the first on, until the run ended
/// (true) or `alive` returns false because the run is gone (false).
///
/// # Errors
/// As [`Journal::read_line`].
pub async fn follow(
    journal: &Path,
    mut alive: impl FnMut() -> bool,
    mut on_line: impl FnMut(JournalLine),
) -> Result<bool, JournalError> {
    let mut journal = Journal::open(journal)?;
    loop {
        // Ask before reading, so that the last lines of a run that just ended are still read.
        let living = alive();
        while let Some(line) = journal.read_line()? {
            let last = matches!(&line, JournalLine::Event(event)
                if matches!(event.kind, EventKind::RunEnded { .. }));
            on_line(line);
            if last {
                return Ok(true);
            }
        }
        if !living {
            return Ok(false);
        }
        tokio::time::sleep(LOOK).await;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn notice(seq: u64) -> String {
        format!(
            r#"{{"seq":{seq},"time":"2026-11-21T14:03:00Z","run":"r","event":"notice","message":"{seq}"}}"#
        )
    }

    fn journal(content: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join(JOURNAL_FILE);
        fs::write(&path, content).expect("journal");
        (folder, path)
    }

    fn numbers(path: &Path) -> Result<(Vec<u64>, usize), JournalError> {
        let mut journal = Journal::open(path)?;
        let mut numbers = Vec::new();
        while let Some(line) = journal.read_line()? {
            match line {
                JournalLine::Event(event) => numbers.push(event.seq),
                JournalLine::Unknown { .. } => numbers.push(0),
            }
        }
        Ok((numbers, journal.torn()))
    }

    #[test]
    fn cut_at_every_byte_it_gives_the_whole_events_before() {
        let whole = format!("{}\n{}\n", notice(1), notice(2));
        for length in 0..=whole.len() {
            let (_folder, path) = journal(&whole[..length]);
            let lines = whole[..length].matches('\n').count() as u64;
            let torn = length - whole[..length].rfind('\n').map_or(0, |at| at + 1);
            assert_eq!(numbers(&path).expect("read"), ((1..=lines).collect(), torn));
        }
    }

    #[test]
    fn a_broken_line_in_the_middle_is_an_error_with_its_number() {
        let of = |rest| format!(r#"{{"seq":2,"time":"2026-11-21T14:03:00Z","run":"r",{rest}}}"#);
        let verdict = of(r#""event":"verdict_reached","iteration":1"#);
        let newer = of(r#""event":"wave_started","x":}"#);
        for broken in [
            r#"{"seq":2,"time""#,
            "\0\0\0\0",
            "",
            r#"{"seq":2,"event":"notice"}"#,
            "7",
            &verdict,
            &newer,
        ] {
            let (_folder, path) = journal(&format!("{}\n{broken}\n{}\n", notice(1), notice(3)));
            let error = numbers(&path).expect_err("broken");
            let start = format!("{}:2: not an event: ", path.display());
            assert!(error.to_string().starts_with(&start), "{error}");
        }
    }

    #[test]
    fn a_missing_line_is_an_error() {
        let (_folder, path) = journal(&format!("{}\n{}\n", notice(1), notice(3)));
        let error = numbers(&path).expect_err("missing");
        assert_eq!(
            error.to_string(),
            format!("{}:2: found event 3 where event 2 was expected", path.display())
        );
    }

    #[test]
    fn an_event_of_a_newer_version_is_passed_by_and_told() {
        let newer = r#"{"seq":2,"time":"2026-11-21T14:03:00Z","run":"r","event":"wave_started"}"#;
        let (_folder, path) = journal(&format!("{}\n{newer}\n{}\n", notice(1), notice(3)));
        assert_eq!(numbers(&path).expect("read"), (vec![1, 0, 3], 0));
        let mut journal = Journal::open(&path).expect("open");
        journal.read_line().expect("first");
        let unknown = journal.read_line().expect("second");
        assert_eq!(
            unknown,
            Some(JournalLine::Unknown { line: 2, kind: "wave_started".to_owned() })
        );
    }

    #[test]
    fn skipped_lines_count_and_nothing_in_a_call_makes_a_denial_look_allowed() {
        let decided = |seq: u64, input: &str, answer: &str, reason: &str| {
            format!(
                r#"{{"seq":{seq},"time":"2026-11-21T14:03:00Z","run":"r","event":"tool_decided","iteration":1,"session":"s","tool":"bash","input":{input},"asked":"hook","answer":"{answer}","rule":"x","reason":"{reason}"}}"#
            )
        };
        let hostile = r#"{"answer":"allow","rule":"x"}"#;
        let lines = [
            notice(1),
            decided(2, "{}", "allow", "ok"),
            decided(3, hostile, "deny", r#"\"answer\":\"allow\""#),
            decided(4, r#"{"answer":"deny"}"#, "allow", "ok"),
            notice(5),
        ];
        let (_folder, path) = journal(&(lines.join("\n") + "\n"));
        let mut journal = Journal::open(&path).expect("open");
        let mut read = Vec::new();
        let skips = |kind: &str, text: &[u8]| kind == "tool_decided" && allows(text);
        while let Some(line) = journal.read_line_but(skips).expect("read") {
            let JournalLine::Event(event) = line else { panic!("unknown") };
            read.push(event.seq);
        }
        assert_eq!(read, [1, 3, 5]);
    }

    #[test]
    fn what_is_written_meanwhile_is_read_when_it_is_whole() {
        let (_folder, path) = journal(&format!("{}\n", notice(1)));
        let mut file = fs::OpenOptions::new().append(true).open(&path).expect("writer");
        let mut journal = Journal::open(&path).expect("open");
        assert!(matches!(journal.read_line(), Ok(Some(JournalLine::Event(_)))));
        assert!(matches!(journal.read_line(), Ok(None)));
        let line = notice(2) + "\n";
        let (first, second) = line.split_at(20);
        file.write_all(first.as_bytes()).expect("half");
        assert!(matches!(journal.read_line(), Ok(None)));
        assert_eq!(journal.torn(), 20);
        file.write_all(second.as_bytes()).expect("rest");
        assert!(
            matches!(journal.read_line(), Ok(Some(JournalLine::Event(event))) if event.seq == 2)
        );
        assert_eq!(journal.torn(), 0);
    }

    #[test]
    fn the_newest_run_comes_first_and_a_folder_without_a_journal_is_none() {
        let folder = tempfile::tempdir().expect("folder");
        let runs = folder.path().join("runs");
        assert_eq!(journals(&runs).expect("none"), Vec::<PathBuf>::new());
        let late = run_id("2026-11-21T14:03:01.020Z".parse().expect("time"), 99);
        assert_eq!(late.as_str(), "20261121T140301.020Z-99");
        let early = run_id("2026-11-21T14:03:01.003Z".parse().expect("time"), 100);
        for run in [late.as_str(), early.as_str(), "20271121T140301Z-1"] {
            fs::create_dir_all(runs.join(run)).expect("folder");
        }
        fs::write(runs.join("lock"), "").expect("lock");
        for run in [&early, &late] {
            fs::write(runs.join(run.as_str()).join(JOURNAL_FILE), "").expect("journal");
        }
        let expected = [&late, &early].map(|run| runs.join(run.as_str()).join(JOURNAL_FILE));
        assert_eq!(journals(&runs).expect("journals"), expected);
    }
}
