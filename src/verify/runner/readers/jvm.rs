//! Maven and Gradle.

use super::line::{LineReader, add, after};
use crate::verify::runner::report::TestTally;

/// `[INFO] Tests run: 4, Failures: 0, Errors: 0, Skipped: 1` for each module, and `BUILD SUCCESS`.
pub(super) struct Maven;

impl LineReader for Maven {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        let text = ["[INFO] ", "[WARNING] ", "[ERROR] "]
            .iter()
            .find_map(|mark| line.strip_prefix(mark))
            .unwrap_or(line)
            .trim();
        if text == "Scanning for projects..." {
            tally.banner = true;
            tally.started += 1;
        } else if text == "BUILD SUCCESS" || text == "BUILD FAILURE" {
            tally.ended += 1;
        } else if text.starts_with("Tests run: ") && !text.contains("Time elapsed") {
            let of = |key| after(text, key).unwrap_or(0);
            let failed = of("Failures:") + of("Errors:");
            add(tally, of("Tests run:"), failed, of("Skipped:"));
        }
    }
}

/// Gradle names its tasks and prints no numbers: `> Task :test`, `BUILD SUCCESSFUL in 2s`.
pub(super) struct Gradle;

impl LineReader for Gradle {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        if let Some(task) = line.strip_prefix("> Task :").or_else(|| line.strip_prefix(':')) {
            tally.banner |= line.starts_with('>');
            let mut words = task.split_whitespace();
            let name = words.next().unwrap_or("").rsplit(':').next().unwrap_or("");
            let tests = name == "test" || name.ends_with("Test") || name.ends_with("UnitTest");
            if tests && !name.starts_with("compile") {
                match words.next() {
                    Some("NO-SOURCE" | "SKIPPED") => tally.skipped += 1,
                    Some(_) | None => tally.ran_through = true,
                }
            }
        } else if line.starts_with("BUILD SUCCESSFUL") || line.starts_with("BUILD FAILED") {
            tally.ended += 1;
        }
    }
}
