//! `RSpec`, Minitest, and test-unit.

use super::line::{LineReader, add, before};
use crate::verify::runner::report::TestTally;

/// `3 examples, 0 failures, 1 pending`
#[derive(Default)]
pub(super) struct Rspec {
    /// Marks of examples, as long as nothing else is printed.
    marks: u64,
    /// Something else was printed among them.
    mixed: bool,
    /// The examples are over.
    over: bool,
}

impl LineReader for Rspec {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        if line.starts_with(|c: char| c.is_ascii_digit())
            && line.contains(" failure")
            && let Some(examples) = before(line, "examples").or_else(|| before(line, "example"))
        {
            let of = |word| before(line, word).unwrap_or(0);
            let failed = of("failures").max(of("failure"));
            tally.ended += 1;
            // An example that ends the process has no mark.
            tally.broken += u64::from(!self.mixed && self.marks > 0 && self.marks != examples);
            let failed = failed + of("errors").max(of("error"));
            add(tally, examples, failed, of("pending"));
            *self = Self::default();
        } else if line == "Pending:" || line.starts_with("Pending: (") || line == "Failures:" {
            self.over = true;
        } else if !self.over && !line.is_empty() {
            let marks = line.chars().all(|c| ".F*".contains(c));
            let known = ["Finished in ", "Run options:", "Randomized with seed "];
            if marks {
                self.marks += line.len() as u64;
            } else if !known.iter().any(|known| line.starts_with(known)) {
                self.mixed = true;
            }
        }
    }
}

/// `3 runs, 2 assertions, 0 failures, 0 errors, 1 skips`; test-unit says `tests`.
pub(super) struct Minitest;

impl LineReader for Minitest {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        if line == "# Running:" || line == "# Running tests:" {
            tally.banner = true;
            tally.started += 1;
            return;
        }
        if line.contains(" assertions, ") && line.contains(" failures, ") {
            let Some(runs) = before(line, "runs").or_else(|| before(line, "tests")) else {
                return;
            };
            let of = |word| before(line, word).unwrap_or(0);
            let failed = of("failures") + of("errors");
            let skipped = of("skips") + of("pendings") + of("omissions");
            tally.ended += 1;
            add(tally, runs, failed, skipped);
        } else if let Some((name, result)) = line.split_once(" = ") {
            // Verbose: `AppTest#test_one = 0.00 s = .`
            if name.contains('#') && result.ends_with(" s = .") {
                tally.passed_names.add(name);
            } else if name.contains('#') && (result.ends_with("= F") || result.ends_with("= E")) {
                tally.failed_names.add(name);
            }
        }
    }
}
