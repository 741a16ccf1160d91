//! `node --test`: `# pass 2` in TAP, `ℹ pass 2` in the reporter for people.

use std::path::Path;

use super::line::{LineReader, marked, without_duration};
use crate::verify::runner::report::TestTally;

#[derive(Default)]
pub(super) struct Node {
    numbers: [Option<u64>; 3],
}

impl LineReader for Node {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        if let Some(rest) = marked(line, &["#", "ℹ"]) {
            let Some((key, number)) = rest.split_once(' ') else { return };
            let number = number.trim().parse().ok();
            match key {
                "tests" => self.numbers = [None; 3],
                "pass" => self.numbers[0] = number,
                "fail" => self.numbers[1] = number,
                // Other programs that print TAP have no such line.
                "cancelled" => self.numbers[2] = number,
                "skipped" | "todo" if self.numbers[2].is_some() => {
                    tally.skipped += number.unwrap_or(0);
                }
                "duration_ms" => {
                    if let [Some(passed), Some(failed), Some(cancelled)] = self.numbers {
                        tally.ended += 1;
                        tally.passed += passed;
                        tally.failed += failed + cancelled;
                    }
                }
                _ => {}
            }
            return;
        }
        let text = line.trim();
        if let Some(name) = text.strip_prefix("ok ").and_then(numbered) {
            add_passed(name, tally);
        } else if let Some(name) = text.strip_prefix("not ok ").and_then(numbered) {
            add_failed(name, tally);
        } else if let Some(name) = marked(line, &["✔"]).and_then(timed) {
            add_passed(name, tally);
        } else if let Some(name) = marked(line, &["✖"]).and_then(timed) {
            add_failed(name, tally);
        }
    }
}

/// A result's name. A heading such as `✖ failing tests:` has no time.
fn timed(text: &str) -> Option<&str> {
    let name = without_duration(text);
    (name.len() < text.len()).then_some(name)
}

fn add_passed(name: &str, tally: &mut TestTally) {
    if is_file(name) {
        tally.files += 1;
    } else if !name.contains(" # SKIP") {
        tally.passed_names.add(name);
    }
}

/// A file that cannot be loaded fails by its own name. Once it can be, only its tests have names.
fn add_failed(name: &str, tally: &mut TestTally) {
    if !is_file(name) {
        tally.failed_names.add(name);
    }
}

/// Whether a result is a file's: a path, not a sentence that ends with one.
fn is_file(name: &str) -> bool {
    if name.contains(' ') && !name.contains('/') {
        return false;
    }
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("js" | "cjs" | "mjs" | "jsx" | "ts" | "cts" | "mts" | "tsx"))
}

/// `2 - seven`
fn numbered(text: &str) -> Option<&str> {
    let (number, name) = text.split_once(" - ")?;
    number.parse::<u64>().ok().map(|_| name)
}
