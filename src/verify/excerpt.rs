//! The shown part of a check's output: the line with the reason, and the lines around it and at the
//! end.
//!
//! Invariant: pure, over output that is redacted already; each cut is named.

use std::sync::LazyLock;

use regex::Regex;

/// Longest line that is quoted in a sentence, in characters.
const QUOTED: usize = 200;

/// Lines before the telling one that an excerpt keeps.
const BEFORE: usize = 1;

/// Looks of a line that says why a command failed, the surest first.
static LOOKS: LazyLock<[Regex; 3]> = LazyLock::new(|| {
    [
        // pytest's `E`, a panic of Rust or Go, Jest, `t.Error` of Go, assertions of any language
        r"^E {2,}\S|\bpanicked at\b|^panic: |^\s*expect\(|^\s+\S+_test\.go:\d+: |^\s*(?:\w+\.)*Assert\w*(?:Error|Exception)\b|\bAssertion .*failed",
        // `error: …`, `error[E0425]: …`, `a.c:3:5: error: …`, `a.ts(3,5): error TS2304: …`,
        // `TypeError: …`, `./a.go:3:5: …`, and a shell's own words
        r"(?i)^\s*(?:\S+?(?::\d+|\(\d+,\d+\)): )?(?:fatal )?error(?:\[\w+\]| TS\d+)?:|^\s*(?:Uncaught )?[\w.:]*(?:Error|Exception)(?: \[\w+\])?(?::|$)|^\S+\.go:\d+:\d+: |^fatal: |^\[ERROR\] |: (?:command )?not found$|No such file or directory|Permission denied",
        r"(?i)\b(?:errors?|fail(?:ed|ure|s)?|assert\w*|expected|cannot|not ok|undefined|exception|missing)\b",
    ]
    .map(compiled)
});

/// Lines that only summarize, report passes, or name a test: unittest prints the reason below.
static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?i)could not compile|aborting due to|test failed, to rerun|targets? failed|test result:|did ?n[o']t exit successfully|npm (?:error|err!)|\b(?:0|no) (?:errors?|fail\w*)\b|\brecipe .* failed|^\s*warning\b|^(?:error|fail): \w+ \([\w.]+\)|^ImportError: Failed to import test module: |\b(?:ok|passed)$|^=+ .* =+$",
    )
});

/// Colors and other sequences for a terminal.
static COLORS: LazyLock<Regex> = LazyLock::new(|| compiled(r"\x1b\[[0-9;]*[A-Za-z]"));

#[expect(clippy::expect_used, reason = "tests compile every pattern")]
fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a valid pattern")
}

/// The number of the first line that looks most like the reason for a failure.
pub(super) fn telling(lines: &[&str]) -> Option<usize> {
    let plain: Vec<_> = lines.iter().map(|line| COLORS.replace_all(line.trim_end(), "")).collect();
    let says =
        |look: &Regex| plain.iter().position(|line| look.is_match(line) && !SUMMARY.is_match(line));
    LOOKS.iter().find_map(says)
}

/// ` Its output says: …` with the telling line, or nothing where none is found.
pub fn said(output: &str) -> String {
    let Some(line) = quoted(output) else { return String::new() };
    let end = if line.ends_with(char::is_alphanumeric) { "." } else { "" };
    format!(" Its output says: {line}{end}")
}

/// The telling line, cut.
fn quoted(output: &str) -> Option<String> {
    let lines: Vec<&str> = output.lines().collect();
    let at = telling(&lines)?;
    let plain = |line: &str| {
        let line = COLORS.replace_all(line, "");
        line.strip_prefix("E ").unwrap_or(&line).trim().to_owned()
    };
    let mut quoted = plain(lines[at]);
    if quoted.ends_with(':')
        && let Some(next) = lines[at + 1..].iter().find(|line| !line.trim().is_empty())
    {
        quoted = format!("{quoted} {}", plain(next));
    }
    let short: String = quoted.chars().take(QUOTED).collect();
    let cut = if short.len() < quoted.len() { "…" } else { "" };
    Some(format!("{short}{cut}"))
}

/// The first lines of an output, without colors.
pub(super) fn beginning(output: &str) -> String {
    const LINES: usize = 10;
    let plain = COLORS.replace_all(output.trim(), "");
    let lines = plain.lines().map(|line| line.chars().take(QUOTED).collect::<String>());
    lines.take(LINES).collect::<Vec<_>>().join("\n")
}

/// About `count` lines of an output: those from the telling one on, and the last ones.
pub(super) fn excerpt(output: &str, count: usize) -> Vec<String> {
    let lines: Vec<&str> = output.trim_end().lines().collect();
    if lines.len() <= count {
        return lines.iter().map(|&line| line.to_owned()).collect();
    }
    let all = lines.len();
    let (first, tail) = match telling(&lines).map(|at| at.saturating_sub(BEFORE)) {
        Some(from) if from >= all - count => (0..0, all - count),
        Some(from) => {
            let tail = all - count / 2;
            (from..tail.min(from + count - count / 2), tail)
        }
        None => (0..count / 4, all - (count - count / 4)),
    };
    let mut shown = Vec::with_capacity(count + 2);
    let mut at = 0;
    for piece in [first, tail..all] {
        if piece.is_empty() {
            continue;
        }
        if piece.start > at {
            shown.push(format!("[… {} lines left out …]", piece.start - at));
        }
        shown.extend(lines[piece.clone()].iter().map(|&line| line.to_owned()));
        at = piece.end;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines that the excerpt of an output quotes.
    fn line_of(output: &str) -> String {
        quoted(output).unwrap_or_default()
    }

    #[test]
    fn the_line_that_says_why_is_found_among_the_others() {
        for (output, why) in [
            (
                "   Compiling demo v0.1.0\nwarning: unused\nerror[E0425]: cannot find value `x`\n --> \
                 src/lib.rs:1:1\nerror: aborting due to 1 previous error\nerror: could not compile `demo`",
                "error[E0425]: cannot find value `x`",
            ),
            (
                "running 2 tests\ntest error_a ... ok\ntest b ... FAILED\n\n---- b stdout ----\nthread 'b' \
                 panicked at src/lib.rs:3:5:\nassertion `left == right` failed\n  left: 1\n right: \
                 2\n\ntest result: FAILED. 1 passed; 1 failed\nerror: test failed, to rerun pass `--lib`",
                "thread 'b' panicked at src/lib.rs:3:5: assertion `left == right` failed",
            ),
            (
                "=== FAILURES ===\n    def test_a():\n>       assert f() == 2\nE       assert 1 == 2\nE        \
                 + where 1 = f()\n=== short test summary info ===\nFAILED t.py::test_a - assert 1 == 2",
                "assert 1 == 2",
            ),
            (
                "Traceback (most recent call last):\n  File \"a.py\", line 1\nModuleNotFoundError: No module \
                 named 'demo'",
                "ModuleNotFoundError: No module named 'demo'",
            ),
            (
                "✖ adds (1ms)\nℹ tests 1\nℹ fail 1\n  AssertionError [ERR_ASSERTION]: 1 !== 2\n    at x",
                "AssertionError [ERR_ASSERTION]: 1 !== 2",
            ),
            (
                "E\n======\nERROR: test_sq (unittest.loader._FailedTest.test_sq)\n------\nImportError: \
                 Failed to import test module: test_sq\nTraceback (most recent call last):\n  File \
                 \"t.py\", line 2, in <module>\n    import sq\nModuleNotFoundError: No module named 'sq'\n\n\
                 Ran 1 test in 0.000s\n\nFAILED (errors=1)",
                "ModuleNotFoundError: No module named 'sq'",
            ),
            (
                "ERROR: test_a (t.T.test_a)\n------\nTraceback (most recent call last):\n  File \"t.py\"\n\
                 NameError: name 'f' is not defined\n\nFAILED (errors=1)",
                "NameError: name 'f' is not defined",
            ),
            ("--- FAIL: TestA (0.00s)\n    a_test.go:7: got 1\nFAIL", "a_test.go:7: got 1"),
            (
                "cc -c a.c\na.c:3:5: error: unknown type\nmake: *** [a.o] Error 1",
                "a.c:3:5: error: unknown type",
            ),
            (
                "> tsc\nsrc/a.ts(3,5): error TS2304: Cannot find name",
                "src/a.ts(3,5): error TS2304: Cannot find name",
            ),
            ("start\nsh: 1: jest: not found\nend", "sh: 1: jest: not found"),
            (
                "a\n\u{1b}[31mTypeError\u{1b}[0m: x is not a function\nb",
                "TypeError: x is not a function",
            ),
            ("building\n2 checks failed to match\ndone", "2 checks failed to match"),
            ("all is well\n12 passed, 0 failed", ""),
        ] {
            assert_eq!(line_of(output), why, "{output}");
        }
    }

    #[test]
    fn an_excerpt_has_the_telling_line_and_the_end_and_names_what_it_leaves_out() {
        let output = |why: Option<usize>| {
            let lines = (0..100).map(|at| match why {
                Some(why) if at == why => format!("error: {at}\n"),
                _ => format!("{at}\n"),
            });
            lines.collect::<String>()
        };
        let shown = |why| excerpt(&output(why), 8).join("|");
        assert_eq!(
            shown(Some(40)),
            "[… 39 lines left out …]|39|error: 40|41|42|[… 53 lines left out …]|96|97|98|99"
        );
        assert_eq!(shown(Some(0)), "error: 0|1|2|3|[… 92 lines left out …]|96|97|98|99");
        assert_eq!(shown(Some(98)), "[… 92 lines left out …]|92|93|94|95|96|97|error: 98|99");
        assert_eq!(
            shown(Some(92)),
            "[… 91 lines left out …]|91|error: 92|93|94|[… 1 lines left out …]|96|97|98|99"
        );
        assert_eq!(shown(None), "0|1|[… 92 lines left out …]|94|95|96|97|98|99");
        assert_eq!(excerpt("a\nb\n", 8), ["a", "b"]);
        for why in 0..100 {
            assert!(shown(Some(why)).contains(&format!("error: {why}")), "{why}");
        }
    }
}
