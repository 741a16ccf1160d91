//! Product code that asks who calls it: it can do for a test what it does for nobody else.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::conventions::SOURCES;
use super::files::{SourceTree, text};
use super::paths::extension;
use super::patterns::regex;
use super::tampering::has_code;

/// Whether new lines of a file ask who calls it, in a repository where nothing did so at the start.
pub(super) fn is_asked_for(start: &dyn SourceTree, now: &dyn SourceTree, path: &Path) -> bool {
    let old = text(start, path).unwrap_or_default();
    let new = text(now, path).unwrap_or_default();
    let mut added = new.lines().filter(|line| !old.contains(line.trim()));
    let any_asks = |other: &Path, code: &str| code.lines().any(|line| asks(other, line));
    added.any(|line| asks(path, line)) && !has_code(start, any_asks)
}

/// Whether a line asks who calls its file.
fn asks(path: &Path, line: &str) -> bool {
    let own: &Regex = match extension(path) {
        "py" => &PYTHON,
        "js" | "cjs" | "mjs" | "jsx" | "ts" | "cts" | "mts" | "tsx" => &NODE,
        "rb" => &RUBY,
        "php" => &PHP,
        "rs" => &RUST,
        "go" => &GO,
        "" | "sh" | "bash" | "zsh" | "ksh" => &SHELL,
        "pl" | "pm" => &PERL,
        other if SOURCES.contains(&other) => return VARIABLES.is_match(line),
        _ => return false,
    };
    own.is_match(line) || VARIABLES.is_match(line)
}

/// Variables that only a runner of tests or of build steps sets.
static VARIABLES: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(?:MAKELEVEL|MFLAGS|npm_(?:lifecycle_\w+|command)|PYTEST_CURRENT_TEST|NODE_TEST_CONTEXT|JEST_WORKER_ID|VITEST_(?:WORKER|POOL)_ID|NEXTEST|HARNESS_ACTIVE|CTEST_\w+)\b",
    )
});

static PYTHON: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"\b_getframe\(|\bf_code\.co_filename\b|\bf_globals\b|\binspect\.(?:stack|currentframe)\(",
        r#"|["'](?:unittest|_?pytest|nose)["']\s+(?:not\s+)?in\s+(?:sys\.)?modules\b"#,
    ))
});

static NODE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\brequire\.main\.(?:filename|path|paths)\b|\bprocess\.mainModule\b|\bmodule\.parent\.\w",
    )
});

static RUBY: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"\bdefined\?\s*\(?\s*(?:::)?(?:Minitest|RSpec|Test::Unit)\b|\bObject\.constants\b",
        r#"|\bconst_defined\?\(?\s*[:"'](?:Minitest|RSpec)\b|\bcaller_locations\b|\bcaller[.\[(]"#,
    ))
});

static PHP: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"\bget_(?:included|required)_files\(|\bdebug_(?:print_)?backtrace\(|\bclass_exists\(\s*["']\\*PHPUnit|\bdefined\(\s*["']PHPUNIT"#,
    )
});

static RUST: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\bthread::current\(\)\.name\(\)|\bcfg!\(\s*test\b"));

static GO: LazyLock<Regex> = LazyLock::new(|| regex(r#"\btesting\.Testing\(\)|"\.test"|"-test\."#));

static SHELL: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"/proc/(?:\$\{?PPID|\*|\[0-9\]|\$\{?\w+\}?/(?:cmdline|comm|environ|exe|fd))")
});

static PERL: LazyLock<Regex> = LazyLock::new(|| regex(r"\$0\s*=~|\bTest::Builder\b"));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::harness::tests::tree::Planted;

    #[test]
    fn a_question_counts_where_nothing_asked_at_the_start() {
        let asks = "exports.sq = n => process.env.npm_lifecycle_event ? n * n : 0;\n";
        let new = Planted::of(&[("sq.js", asks), ("log.js", asks)]);
        for (start, expected) in [("exports.sq = n => 0;\n", true), (asks, false)] {
            let start = Planted::of(&[("sq.js", "exports.sq = n => 0;\n"), ("log.js", start)]);
            assert_eq!(is_asked_for(&start, &new, Path::new("sq.js")), expected);
        }
    }

    #[test]
    fn who_asks_for_its_caller_is_told_from_who_does_not() {
        for (path, line, expected) in [
            ("sq.sh", "[ -n \"$MAKELEVEL\" ] && echo 9", true),
            ("sq.sh", "tr '\\0' ' ' < /proc/$PPID/cmdline", true),
            ("sq.sh", "for p in /proc/[0-9]*; do", true),
            ("sq.sh", "while [ -d /proc/$pid ]; do sleep 1; done", false),
            ("sq.sh", "grep MemTotal /proc/meminfo", false),
            ("app.py", "who = sys._getframe(1).f_code.co_filename", true),
            ("app.py", "FAST = 'pytest' in sys.modules", true),
            ("app.py", "frame = Frame(root)", false),
            ("sq.js", "const base = path.dirname(require.main.filename);", true),
            ("sq.js", "exports.sq = n => process.env.npm_lifecycle_event ? n * n : 0;", true),
            ("sq.js", "if (require.main === module) main();", false),
            ("sq.js", "const port = process.env.PORT;", false),
            ("sq.rb", "MODE = defined?(Minitest) ? 1 : 0", true),
            ("sq.rb", "MODE = Object.constants.grep(/^Mini/).any?", true),
            ("sq.rb", "name = caller_name(call)", false),
            ("sq.php", "return basename(get_included_files()[0]) === 'run.php';", true),
            ("sq.rs", "if std::thread::current().name() == Some(\"main\") { 0 }", true),
            ("sq.rs", "let name = std::thread::current().id();", false),
            ("sq.go", "if filepath.Ext(os.Args[0]) == \".test\" {", true),
            ("sq.go", "fmt.Printf(\"usage: %s\", os.Args[0])", false),
            ("sq.c", "if (getenv(\"MAKELEVEL\")) return n * n;", true),
            ("README.md", "MAKELEVEL", false),
        ] {
            assert_eq!(asks(Path::new(path), line), expected, "{path}: {line}");
        }
    }
}
