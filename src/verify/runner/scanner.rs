//! Reads the output of a check while it comes.

use super::lines::OutputLines;
use super::readers::{AnySummary, LineReader, reader};
use super::report::{TestReport, TestRunner, TestTally};

/// Reads output in chunks and ends in a [`TestReport`].
pub struct TestScanner {
    lines: OutputLines,
    readers: Vec<(TestRunner, Box<dyn LineReader>, TestTally)>,
    summary: AnySummary,
}

impl Default for TestScanner {
    fn default() -> Self {
        let readers = TestRunner::ALL.map(|runner| (runner, reader(runner), TestTally::default()));
        Self {
            lines: OutputLines::default(),
            readers: readers.into(),
            summary: AnySummary::default(),
        }
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
        let Self { lines, readers, summary } = self;
        lines.feed(bytes, &mut |line| read(readers, summary, line));
    }

    /// The report of all that was read.
    pub fn finish(mut self) -> TestReport {
        let Self { lines, readers, summary } = &mut self;
        lines.finish(&mut |line| read(readers, summary, line));
        let ended = self.readers.into_iter().map(|(runner, mut reader, mut tally)| {
            reader.end(&mut tally);
            (runner, tally)
        });
        TestReport::new(ended, self.summary)
    }
}

fn read(
    readers: &mut [(TestRunner, Box<dyn LineReader>, TestTally)],
    summary: &mut AnySummary,
    line: &str,
) {
    summary.line(line);
    for (_, reader, tally) in readers {
        reader.line(line, tally);
    }
}
