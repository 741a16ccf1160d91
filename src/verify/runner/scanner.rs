//! Reads the output of a check while it comes.

use super::lines::OutputLines;
use super::readers::{LineReader, reader};
use super::report::{TestReport, TestRunner, TestTally};

/// Reads output in chunks and ends in a [`TestReport`].
pub struct TestScanner {
    lines: OutputLines,
    readers: Vec<(TestRunner, Box<dyn LineReader>, TestTally)>,
}

impl Default for TestScanner {
    fn default() -> Self {
        let readers = TestRunner::ALL.map(|runner| (runner, reader(runner), TestTally::default()));
        Self { lines: OutputLines::default(), readers: readers.into() }
    }
}

impl std::fmt::Debug for TestScanner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestScanner").finish_non_exhaustive()
    }
}

impl TestScanner {
    /// Reads on; a chunk may end anywhere.
    pub fn feed(&mut self, bytes: &[u8]) {
        let Self { lines, readers } = self;
        lines.feed(bytes, &mut |line| read(readers, line));
    }

    /// The report of all that was read.
    pub fn finish(mut self) -> TestReport {
        let Self { lines, readers } = &mut self;
        lines.finish(&mut |line| read(readers, line));
        TestReport::new(self.readers.into_iter().map(|(runner, mut reader, mut tally)| {
            reader.end(&mut tally);
            (runner, tally)
        }))
    }
}

fn read(readers: &mut [(TestRunner, Box<dyn LineReader>, TestTally)], line: &str) {
    for (_, reader, tally) in readers {
        reader.line(line, tally);
    }
}
