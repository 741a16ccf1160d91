//! Product code that changes the process around its judge: handlers of failures, arguments of the
//! runner, and what a runtime reads from the environment.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::files::{SourceTree, text};
use super::paths::extension;
use super::patterns::regex;

/// The change of a file to the process that judges, since the start.
pub(super) fn tampers(
    start: &dyn SourceTree,
    now: &dyn SourceTree,
    path: &Path,
    is_sourced: &dyn Fn() -> bool,
) -> Option<&'static str> {
    let (old, new) = (text(start, path).unwrap_or_default(), text(now, path)?);
    let old: Vec<&str> = old.lines().map(str::trim).collect();
    let mut added = new.lines().map(str::trim).filter(|line| !old.contains(line));
    added.any(|line| changes(path, line, is_sourced)).then_some("change of the judge's process")
}

/// Whether a line changes the state of the process that judges. `is_sourced` says that a shell
/// reads the file into its own process.
fn changes(path: &Path, line: &str, is_sourced: &dyn Fn() -> bool) -> bool {
    let own: &Regex = match extension(path) {
        "py" => &PYTHON,
        "js" | "cjs" | "mjs" | "jsx" | "ts" | "cts" | "mts" | "tsx" => &NODE,
        "go" => &GO,
        "php" => &PHP,
        "rb" => &RUBY,
        "java" | "kt" => &JAVA,
        "pl" | "pm" => &PERL,
        "" | "sh" | "bash" | "zsh" | "ksh" => {
            return SHELL.is_match(line) && is_sourced();
        }
        _ => return false,
    };
    own.is_match(line) || VARIABLES.is_match(line)
}

/// Variables with which a runtime or a runner takes options from its parent.
static VARIABLES: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r#"["'](?:PYTHON(?:OPTIMIZE|PATH|STARTUP|BREAKPOINT|WARNINGS)|PYTEST_(?:ADDOPTS|PLUGINS)|NODE_OPTIONS"#,
        r#"|RUBY(?:OPT|LIB)|PERL5(?:OPT|LIB)|GOFLAGS|MAKEFLAGS|BASH_ENV|LD_PRELOAD)["'].*[=,]|\.NODE_OPTIONS\s*="#,
    ))
});

static PYTHON: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"\bthreading\.excepthook\s*=[^=]|\bsys\.(?:excepthook|unraisablehook|settrace|setprofile)\s*(?:=[^=]|\()",
        r"|\bsys\.argv(?:\.(?:append|clear|extend|insert|pop|remove)\(|(?:\[[^\]]*\])?\s*\+?=[^=])",
        r"|\bsys\.meta_path\b|\bsys\.path_hooks\b|\bset_exception_handler\(",
    ))
});

/// A handler that lets the process go on.
static NODE: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r#"\bprocess\.(?:on|once|addListener|prependListener)\(\s*["'`](?:unhandledRejection|uncaughtException)["'`]\s*,\s*"#,
        r"(?:\(?[\w\s,]*\)?\s*=>|function\s*\w*\([\w\s,]*\))\s*(?:\{\s*(?:return\b[^;}]*;?)?\s*\}|null|undefined|0|void)",
        r"|\bprocess\.(?:argv|execArgv)(?:\.(?:pop|push|shift|splice|unshift)\(|(?:\[[^\]]*\]|\.length)?\s*\+?=[^=>])",
        r"|\bprocess\.exitCode\s*=\s*0\b|\bprocess\.exit\s*=[^=]",
    ))
});

static GO: LazyLock<Regex> = LazyLock::new(|| {
    regex(r#"\bos\.Args(?:\[[^\]]*\])?\s*=[^=]|\bflag\.(?:Set|Lookup)\(\s*"test\."#)
});

static PHP: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r#"\$GLOBALS\[[^\]]*\]\s*=[^=>]|\bini_set\(\s*["'](?:assert|zend)\.|\bassert_options\(|\berror_reporting\(\s*0|\brestore_e(?:rror|xception)_handler\("#,
        r"|\bset_e(?:rror|xception)_handler\(\s*(?:static\s+)?(?:fn|function)\b[^{=]*(?:\{\s*(?:return\s+true;?\s*)?\}|=>\s*(?:true|null))",
    ))
});

static JAVA: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\bset(?:Default|Class|Package)AssertionStatus\("));

static RUBY: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\bARGV\.(?:clear|push|unshift|replace|concat)\b|\bARGV\s*<<"));

static PERL: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\$SIG\{['\x22]?__(?:DIE|WARN)__['\x22]?\}\s*=|\b(?:push|unshift)\s*\(?\s*@ARGV\b|\$_\[\d+\]\s*=[^=~]",
    )
});

/// In a shell that stops at failures, or has a status to give.
static SHELL: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?:^|[;&{]\s*)(?:set\s+\+[a-z]*e|set\s+\+o\s+(?:errexit|pipefail)|shopt\s+-s\s+expand_aliases|alias\s|hash\s+-p\s|(?:export\s+)?PATH=|readonly\s+(?:-\w+\s+)*[a-z]|trap\b.*\bexit\s+0|trap\b.*\bexit['\x22]?\s)",
    )
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_the_judges_process_is_told_from_what_asks_it() {
        for (path, line, expected) in [
            ("app.py", "threading.excepthook = lambda a: None", true),
            ("app.py", "sys.argv.append(\"Basic.test_zero\")", true),
            ("app.py", "sys.argv = ['x']", true),
            ("app.py", "os.environ.setdefault(\"PYTHONOPTIMIZE\", \"1\")", true),
            ("app.py", "os.environ[\"PYTHONOPTIMIZE\"] = \"1\"", true),
            ("app.py", "if sys.argv[1] == 'list':", false),
            ("app.py", "main(sys.argv[1:])", false),
            ("app.js", "process.on('unhandledRejection', () => {});", true),
            (
                "app.js",
                "process.on('uncaughtException', e => { log(e); process.exit(1); });",
                false,
            ),
            ("app.js", "const [, , name] = process.argv;", false),
            ("app.js", "process.argv.push('--only=doc');", true),
            ("app.go", "func init() { os.Args = append(os.Args, \"-test.run=X\") }", true),
            ("app.go", "if len(os.Args) == 2 {", false),
            ("sq.php", "ini_set(\"assert.exception\", \"0\");", true),
            ("sq.php", "set_error_handler(function () { return true; });", true),
            ("sq.php", "ini_set('memory_limit', '1G');", false),
            ("sq.rb", "ARGV.clear", true),
            ("sq.rb", "name = ARGV.first", false),
            ("sq.pl", "local $SIG{__DIE__} = sub {};", true),
            ("sq.php", "$GLOBALS['n'] = 1;", true),
            ("sq.php", "return $GLOBALS['n'] == 1;", false),
            ("sq.pl", "$_[0] = 0;", true),
            ("sq.pl", "return $_[0] == 0;", false),
            ("sq.sh", "hash -p /bin/true diff", true),
            ("sq.sh", "PATH=$PWD/tools:$PATH", true),
            ("sq.sh", "set +e", true),
            ("sq.sh", "trap \"exit 0\" EXIT", true),
            ("sq.sh", "readonly fails=0", true),
            ("sq.sh", "readonly VERSION=1", false),
            ("sq.sh", "trap 'rm -rf \"$tmp\"' EXIT", false),
        ] {
            assert_eq!(changes(Path::new(path), line, &|| true), expected, "{path}: {line}");
        }
        assert!(!changes(Path::new("sq.sh"), "set +e", &|| false));
    }
}
