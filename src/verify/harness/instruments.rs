//! Programs of a project that measure others of its files: counters, own lints, normalizers. A check
//! compares what they print, but what it asks about is the files that they look at.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::deciding::mentions;
use super::files::{SourceTree, text};
use super::paths::{extension, file_name, folder};
use super::patterns::regex;
use super::programs::lists;

/// Folders of programs that serve a project's developers.
const TOOL_FOLDERS: &str = "
    bench benches benchmarks build-aux ci dev devtools hack maint misc script scripts tool tools
";

/// Words in names of programs that measure.
const MEASURING: &str = "
    audit benchmark coverage doccov measure metrics normalise normalize sanitize todos
";

/// Whether a program of the start lies among the tools, or is named for a measurement, and looks at
/// other files than those that it is given.
pub(super) fn is_instrument(start: &dyn SourceTree, path: &Path) -> bool {
    let is_tool = path.iter().rev().skip(1).any(|part| part.to_str().is_some_and(is_tool_folder));
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let measures = || stem.split(['-', '_', '.']).any(|word| lists(MEASURING, word));
    (is_tool || measures()) && text(start, path).is_some_and(|code| looks(start, path, &code))
}

fn is_tool_folder(name: &str) -> bool {
    lists(TOOL_FOLDERS, name.trim_start_matches('.'))
}

/// Whether a program lists files, filters its input, or names a file or a folder of sources.
fn looks(start: &dyn SourceTree, path: &Path, code: &str) -> bool {
    static LISTS: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r"(?i)glob|readdir|\bwalk|iterdir|scandir|ls-files|\bfind\b|grep\s+-\w*r|\bDir\[",
            r"|\bparse\(open|\bast\.parse|\bsys\.stdin|\bSTDIN\b|process\.stdin|\*\.\w",
            r"|(?m)^\s*(?:sed|tr|awk|sort|cut|grep)\b[^\n|]*$",
        ))
    });
    let others = || start.paths().keys().filter(|other| *other != path);
    let names = |name: &str| name.len() > 2 && mentions(code, name);
    LISTS.is_match(code)
        || others().any(|other| {
            (!extension(other).is_empty() && names(file_name(other)))
                || (!is_tool_folder(file_name(folder(other))) && names(file_name(folder(other))))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::harness::tests::tree::Planted;

    #[test]
    fn what_measures_is_told_from_what_is_made() {
        let start = Planted::of(&[
            ("src/a.c", "int a;\n"),
            ("scripts/todos.sh", "grep -rc TODO src | wc -l\n"),
            ("tools/lint.py", "for path in Path('lib').rglob('*.py'):\n    pass\n"),
            ("tools/normalize.sh", "sed 's/ *$//'\n"),
            ("coverage.py", "print(len(ast.parse(open('a.py').read()).body))\n"),
            ("scripts/greet.sh", "echo \"hello $1\"\n"),
            ("report.py", "for path in glob('*.csv'):\n    print(path)\n"),
        ]);
        for (path, expected) in [
            ("scripts/todos.sh", true),
            ("tools/lint.py", true),
            ("tools/normalize.sh", true),
            ("coverage.py", true),
            ("scripts/greet.sh", false),
            ("report.py", false),
        ] {
            assert_eq!(is_instrument(&start, Path::new(path)), expected, "{path}");
        }
    }
}
