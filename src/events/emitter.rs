//! The one owner of sequence and time.
//!
//! Invariant: an event is in the journal before a reporter sees it and before `record` returns;
//! numbers have no gap; nothing follows the end of the run. Every text of an
//! event is redacted here, so that the journal and all reporters show the same words.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::redacted;
use super::tamper_log::{TamperLog, Writers};
use crate::model::{
    Event, EventKind, ReadBack, Record, RecordError, Redact, ReportError, Reporter, RunId,
};
use crate::sys::append::AppendFile;
use crate::sys::clock::Clock;
use crate::sys::{FileMode, SysError};

/// Writes events to the journal and feeds them to the reporters.
pub struct Emitter {
    inner: Mutex<Inner>,
}

struct Inner {
    run: RunId,
    clock: Clock,
    redact: Arc<dyn Redact>,
    /// The number of the last event.
    last: u64,
    /// The run has ended.
    ended: bool,
    journal: AppendFile,
    /// The lines written to the journal.
    written: TamperLog,
    reporters: Vec<Box<dyn Reporter>>,
}

impl Emitter {
    /// Creates the journal of a new run. Its folder must exist; the file must not.
    ///
    /// # Errors
    /// If the journal is there already or cannot be made.
    pub fn create(
        journal: &Path,
        run: RunId,
        clock: Clock,
        redact: Arc<dyn Redact>,
        reporters: Vec<Box<dyn Reporter>>,
    ) -> Result<Self, RecordError> {
        let journal = AppendFile::create(journal, FileMode::Owner)
            .map_err(|error| refused(journal, error))?;
        let file = journal.metadata().map_err(|error| refused(journal.path(), error))?;
        let written = TamperLog::new(&file, Writers::One);
        let inner =
            Inner { run, clock, redact, last: 0, ended: false, journal, written, reporters };
        Ok(Self { inner: Mutex::new(inner) })
    }

    /// Makes the reporters write their buffered lines, just before the state commit. The journal
    /// is on the disk before that.
    ///
    /// # Errors
    /// If a reporter failed and the notice of it cannot be journalled.
    pub fn flush(&self) -> Result<(), RecordError> {
        let mut inner = self.lock();
        inner.sync()?;
        let failed = inner.each(Reporter::flush);
        failed.into_iter().try_for_each(|notice| inner.record(notice))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A reporter that panicked has left the journal whole: it was written before.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record for Emitter {
    fn record(&self, kind: EventKind) -> Result<(), RecordError> {
        self.lock().record(kind)
    }

    fn changed(&self, read_back: ReadBack) -> Vec<PathBuf> {
        let mut inner = self.lock();
        let path = inner.journal.path().to_path_buf();
        if inner.written.is_changed(&path, read_back) { vec![path] } else { Vec::new() }
    }
}

impl Inner {
    fn record(&mut self, kind: EventKind) -> Result<(), RecordError> {
        if self.ended {
            // A worker's last words.
            return Ok(());
        }
        let last = matches!(kind, EventKind::RunEnded { .. });
        // The checkpoint must be known before anything moves away from it.
        let durable = last || matches!(kind, EventKind::IterationStarted { .. });
        let kind = redacted::event(self.redact.as_ref(), kind);
        let event =
            Event { seq: self.last + 1, time: self.clock.now(), run: self.run.clone(), kind };
        let path = self.journal.path().to_path_buf();
        let mut line = serde_json::to_vec(&event)
            .map_err(|error| RecordError { path: path.clone(), source: error.into() })?;
        line.push(b'\n');
        let before = self.journal.metadata().map_err(|error| refused(&path, error))?;
        self.journal.append(&line).map_err(|error| refused(&path, error))?;
        let after = self.journal.metadata().map_err(|error| refused(&path, error))?;
        self.written.wrote(&line, &before, &after);
        if durable {
            self.sync()?;
        }
        (self.last, self.ended) = (event.seq, last);
        let failed = self.each(|reporter| reporter.on_event(&event));
        if last {
            return Ok(());
        }
        // A notice can make another reporter fail; each failure takes one away, so this ends.
        failed.into_iter().try_for_each(|notice| self.record(notice))
    }

    fn sync(&self) -> Result<(), RecordError> {
        self.journal.sync().map_err(|error| refused(self.journal.path(), error))
    }

    /// Calls every reporter, switches off those that fail, and gives the notices of it.
    fn each(
        &mut self,
        mut call: impl FnMut(&mut (dyn Reporter + 'static)) -> Result<(), ReportError>,
    ) -> Vec<EventKind> {
        let mut notices = Vec::new();
        self.reporters.retain_mut(|reporter| match call(reporter.as_mut()) {
            Ok(()) => true,
            Err(error) => {
                let name = reporter.name();
                tracing::warn!(reporter = name, %error, "reporter switched off");
                let message = format!("the reporter {name} is switched off: {error}");
                notices.push(EventKind::Notice { message });
                false
            }
        });
        notices
    }
}

/// Converts an error of the file into one of the record.
pub(super) fn refused(journal: &Path, error: SysError) -> RecordError {
    match error {
        SysError::File { path, source, .. } => RecordError { path, source },
        other @ (SysError::Locked { .. } | SysError::Spawn { .. } | SysError::Process { .. }) => {
            RecordError { path: journal.to_path_buf(), source: std::io::Error::other(other) }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// Collects events, and fails on request.
    struct Collector {
        name: &'static str,
        seen: Arc<Mutex<Vec<String>>>,
        fails_on: Option<&'static str>,
    }

    impl Reporter for Collector {
        fn name(&self) -> &'static str {
            self.name
        }

        fn on_event(&mut self, event: &Event) -> Result<(), ReportError> {
            let told = match &event.kind {
                EventKind::Notice { message } => message.clone(),
                other => other.name().to_owned(),
            };
            if self.fails_on == Some(told.as_str()) {
                return Err(self.broken());
            }
            self.seen.lock().expect("seen").push(format!("{} {told}", event.seq));
            Ok(())
        }

        fn flush(&mut self) -> Result<(), ReportError> {
            if self.fails_on == Some("flush") { Err(self.broken()) } else { Ok(()) }
        }
    }

    impl Collector {
        fn broken(&self) -> ReportError {
            let source = io::Error::from(io::ErrorKind::BrokenPipe);
            ReportError { target: "standard output".to_owned(), source }
        }
    }

    fn notice(message: &str) -> EventKind {
        EventKind::Notice { message: message.to_owned() }
    }

    struct Bench {
        folder: tempfile::TempDir,
        seen: Vec<Arc<Mutex<Vec<String>>>>,
        emitter: Emitter,
    }

    fn bench(fails: &[(&'static str, Option<&'static str>)]) -> Bench {
        let folder = tempfile::tempdir().expect("folder");
        let mut seen = Vec::new();
        let mut reporters: Vec<Box<dyn Reporter>> = Vec::new();
        for (name, fails_on) in fails {
            let told = Arc::default();
            seen.push(Arc::clone(&told));
            reporters.push(Box::new(Collector { name, seen: told, fails_on: *fails_on }));
        }
        let clock = Clock::anchored("2026-11-21T14:03:00Z".parse().expect("time"));
        let path = folder.path().join("events.jsonl");
        let redact = Arc::new(str::to_owned);
        let emitter =
            Emitter::create(&path, RunId::new("r1"), clock, redact, reporters).expect("emitter");
        Bench { folder, seen, emitter }
    }

    impl Bench {
        fn journal(&self) -> String {
            std::fs::read_to_string(self.folder.path().join("events.jsonl")).expect("journal")
        }

        fn seen(&self, reporter: usize) -> Vec<String> {
            self.seen[reporter].lock().expect("seen").clone()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_gets_its_number_and_time_and_stands_in_the_journal() {
        let bench = bench(&[("one", None)]);
        bench.emitter.record(notice("a")).expect("record");
        tokio::time::advance(std::time::Duration::from_secs(2)).await;
        bench.emitter.record(notice("b")).expect("record");
        insta::assert_snapshot!(bench.journal(), @r#"
        {"seq":1,"time":"2026-11-21T14:03:00Z","run":"r1","event":"notice","message":"a"}
        {"seq":2,"time":"2026-11-21T14:03:02Z","run":"r1","event":"notice","message":"b"}
        "#);
        assert_eq!(bench.seen(0), ["1 a", "2 b"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_reporter_that_fails_is_told_of_once_and_switched_off() {
        let bench = bench(&[("json", Some("b")), ("plain", None)]);
        for message in ["a", "b", "c"] {
            bench.emitter.record(notice(message)).expect("record");
        }
        assert_eq!(bench.seen(0), ["1 a"]);
        let said = "3 the reporter json is switched off: cannot write standard output: broken pipe";
        assert_eq!(bench.seen(1), ["1 a", "2 b", said, "4 c"]);
        assert_eq!(bench.journal().lines().count(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_fails_to_flush_is_switched_off_too() {
        let bench = bench(&[("progress.md", Some("flush")), ("plain", None)]);
        bench.emitter.flush().expect("flush");
        bench.emitter.flush().expect("flush");
        bench.emitter.record(notice("after")).expect("record");
        assert_eq!(bench.seen(0), Vec::<String>::new());
        assert_eq!(bench.seen(1).len(), 2);
        assert!(bench.seen(1)[0].contains("the reporter progress.md is switched off"));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_follows_the_end_of_the_run() {
        let bench = bench(&[("json", Some("run_ended"))]);
        bench
            .emitter
            .record(EventKind::RunEnded {
                outcome: crate::model::Outcome::Proven,
                exit_code: 0,
                summary: crate::model::RunSummary::default(),
            })
            .expect("record");
        bench.emitter.record(notice("late")).expect("ignored");
        assert_eq!(bench.journal().lines().count(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn numbers_have_no_gap_when_many_record_at_once() {
        let bench = bench(&[("one", None)]);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        bench.emitter.record(notice("x")).expect("record");
                    }
                });
            }
        });
        let numbers: Vec<u64> = bench
            .journal()
            .lines()
            .map(|line| serde_json::from_str::<Event>(line).expect("event").seq)
            .collect();
        assert_eq!(numbers, (1..=400).collect::<Vec<u64>>());
    }

    #[tokio::test(start_paused = true)]
    async fn a_journal_that_cannot_be_made_or_is_there_already_is_an_error() {
        let bench = bench(&[]);
        let path = bench.folder.path().join("events.jsonl");
        for refused in [path.clone(), bench.folder.path().join("no/events.jsonl")] {
            let error = Emitter::create(
                &refused,
                RunId::new("r2"),
                Clock::system(),
                Arc::new(str::to_owned),
                Vec::new(),
            )
            .err()
            .expect("refused");
            assert_eq!(error.path, refused);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_cannot_be_journalled_reaches_no_reporter() {
        use crate::sys::append::Tail;
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let reporter = Collector { name: "one", seen: Arc::clone(&seen), fails_on: None };
        let journal = AppendFile::open(Path::new("/dev/full"), FileMode::Owner, Tail::Open)
            .expect("a device that is always full");
        let written = TamperLog::new(&journal.metadata().expect("a device"), Writers::One);
        let emitter = Emitter {
            inner: Mutex::new(Inner {
                run: RunId::new("r1"),
                clock: Clock::system(),
                redact: Arc::new(str::to_owned),
                last: 0,
                ended: false,
                journal,
                written,
                reporters: vec![Box::new(reporter)],
            }),
        };
        let error = emitter.record(notice("a")).expect_err("full");
        assert!(error.to_string().starts_with("cannot write /dev/full: "), "{error}");
        assert_eq!(*seen.lock().expect("seen"), Vec::<String>::new());
    }
}
