//! `go test -v`: `=== RUN   TestA`, `--- PASS: TestA (0.00s)`, `PASS`, `ok package 0.003s`.

use super::line::LineReader;
use crate::verify::runner::report::TestTally;

#[derive(Default)]
pub(super) struct Go {
    /// Top-level tests of this package that began and did not end.
    open: u64,
    /// Tests of this package that ended.
    done: u64,
    /// Lines of this package.
    lines: u64,
    /// The test binary's own last line was seen.
    verdict: bool,
    /// Packages that ended well, ran no test, and printed nothing.
    hollow: u64,
    /// Tests were announced, so `-v` is on.
    verbose: bool,
}

/// With `-v`, the build prints the package that it compiles.
fn building(line: &str) -> bool {
    line.starts_with("go: ") || line.chars().all(|c| c.is_alphanumeric() || "._-/~".contains(c))
}

/// The name of a top-level test: `TestA (0.00s)`.
fn top(rest: &str) -> &str {
    rest.split_once(" (").map_or(rest, |(name, _)| name)
}

impl LineReader for Go {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        // Output without a line end stands before a mark.
        let at = |mark: &str| line.find(mark).map(|at| &line[at + mark.len()..]);
        if let Some(package) = line.strip_prefix("ok  \t") {
            self.package(package, tally);
        } else if line.starts_with("FAIL\t") {
            *self = Self { verbose: self.verbose, hollow: self.hollow, ..Self::default() };
            tally.ended += 1;
        } else if line.starts_with("?   \t") && line.ends_with("[no test files]") {
            tally.banner = true;
        } else if line == "PASS" || line == "FAIL" {
            self.verdict = true;
        } else if let Some(name) = at("=== RUN   ") {
            self.verbose = true;
            if !name.contains('/') {
                self.open += 1;
            }
        } else if line.starts_with("    ") {
            self.lines += 1;
        } else if let Some(rest) = at("--- PASS: ") {
            self.ended();
            tally.passed += 1;
            tally.passed_names.add(top(rest));
        } else if let Some(rest) = at("--- FAIL: ") {
            self.ended();
            tally.failed += 1;
            tally.failed_names.add(top(rest));
        } else if at("--- SKIP: ").is_some() {
            self.ended();
            tally.skipped += 1;
        } else if !building(line) {
            self.lines += 1;
        }
    }

    fn end(&mut self, tally: &mut TestTally) {
        if self.verbose {
            tally.broken += self.hollow;
        } else {
            tally.only_failures = true;
        }
    }
}

impl Go {
    fn ended(&mut self) {
        self.open = self.open.saturating_sub(1);
        self.done += 1;
    }

    fn package(&mut self, package: &str, tally: &mut TestTally) {
        tally.banner = true;
        tally.started += 1;
        let none = package.contains("[no tests to run]") || package.contains("[no test files]");
        if self.open > 0 || (self.done > 0 && !self.verdict) {
            tally.broken += 1;
        } else {
            tally.ended += 1;
            if self.done == 0 && self.lines == 0 && !none && !self.verdict {
                self.hollow += 1;
            }
        }
        *self = Self { verbose: self.verbose, hollow: self.hollow, ..Self::default() };
    }
}
