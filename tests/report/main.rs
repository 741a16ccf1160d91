//! What users see of a run, whole: each reporter's entire output for one recorded run,
//! and what the journal's fold makes of it.

#[path = "../support/sample_run.rs"]
mod sample_run;
#[path = "../support/terminal.rs"]
mod terminal;

mod files;
mod fold;
mod recorded;
mod redaction;
mod screen;
mod streams;
mod table;

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use ralph_copilot::model::{Event, Reporter};
use ralph_copilot::sys::clock::Clock;

/// A clock in UTC.
fn clock() -> Clock {
    Clock::anchored(sample_run::at(sample_run::BEGIN))
}

/// A stream that tests read.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("paper").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Paper {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("paper").clone()).expect("UTF-8")
    }
}

/// A stream whose reader is gone.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn feed(reporter: &mut dyn Reporter, events: &[Event]) {
    for event in events {
        reporter.on_event(event).expect("written");
    }
}
