//! The files that a line only looks at, if it runs nothing: `grep -q lint package.json`,
//! `test -f test/zero.test.js && test ! -e tests`.
//!
//! Such a check asks for the content of these files. To put them back would take the work away that
//! it asks for, whatever the files are for other checks.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::compared::scan;
use super::paths::{inside, normal};
use crate::shell::ShellCommand;
use crate::shell::unwrapped;
use crate::shell::{lists, name_of};

/// Programs that only read. Linters and compilers have configuration, which is no work.
const READERS: &str = "
    [ [[ basename cat cut dirname echo egrep exit expr false fgrep file find grep head jq ls printf
    readlink rg sha256sum sort stat tail test tr true uniq wc yq
";

/// The paths of a line that only looks at them.
#[derive(Debug)]
pub(in crate::verify) struct LookedAt {
    paths: Vec<PathBuf>,
    globs: GlobSet,
}

impl LookedAt {
    /// Reads a line. `None` if it runs anything that may depend on other files, writes, or compares
    /// with a file.
    pub(in crate::verify) fn of(line: &str) -> Option<Self> {
        let (mut paths, mut globs) = (Vec::new(), GlobSetBuilder::new());
        let mut folder = PathBuf::new();
        for command in scan(line) {
            let words = unwrapped(&command.words);
            if let [cd, to] = words
                && cd == "cd"
            {
                folder = normal(&folder.join(to))?;
                continue;
            }
            if !only_reads(&command, words) {
                return None;
            }
            for word in words.iter().skip(1).chain(&command.stdin) {
                if let Some(path) = inside(&folder, word) {
                    let text = path.to_string_lossy();
                    if let Ok(glob) = GlobBuilder::new(&text).literal_separator(true).build() {
                        globs.add(glob);
                    }
                    paths.push(path);
                }
            }
        }
        Some(Self { paths, globs: globs.build().ok()? })
    }

    /// Is it a file that the line names, or one in a folder that it names?
    pub(in crate::verify) fn covers(&self, path: &Path) -> bool {
        self.paths.iter().any(|it| path.starts_with(it)) || self.globs.is_match(path)
    }
}

fn only_reads(command: &ShellCommand, words: &[String]) -> bool {
    let Some((first, rest)) = words.split_first() else { return true };
    let name = name_of(first);
    let short = |word: &String, letter| {
        word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
    };
    // Patterns and programs in a file, and what `find` runs.
    let reads_code = match name {
        "grep" | "egrep" | "fgrep" | "rg" | "jq" | "yq" => {
            rest.iter().any(|word| short(word, 'f') || word.starts_with("--f"))
        }
        "find" => rest.iter().any(|word| word.starts_with("-exec") || word.starts_with("-ok")),
        _ => false,
    };
    lists(READERS, name) && !reads_code && command.outputs.iter().all(|it| it.starts_with("/dev/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_line_only_reads_is_covered() {
        for (line, path) in [
            ("grep -q '\"lint\"' package.json", "package.json"),
            ("grep -q foo test.sh && ! grep -q bar test.sh", "test.sh"),
            ("test -f test/zero.test.js", "test/zero.test.js"),
            ("test -f test/a.py && test ! -e tests", "tests/old/a.py"),
            ("jq -e '.scripts.lint' package.json >/dev/null", "package.json"),
            ("cd web && grep -q lint package.json", "web/package.json"),
            ("grep -lq zero tests/*.py", "tests/test_a.py"),
            ("cat tests/a.sh | grep -q foo", "tests/a.sh"),
            ("[ \"$(grep -c it test/a.js)\" -ge 2 ]", "test/a.js"),
        ] {
            assert!(LookedAt::of(line).is_some_and(|it| it.covers(Path::new(path))), "{line}");
        }
    }

    #[test]
    fn a_line_that_runs_or_compares_has_none() {
        for line in [
            "npm test",
            "grep -q foo test.sh && sh test.sh",
            "sh test.sh | grep -q ok",
            "diff out.txt expected.txt",
            "grep -qf patterns.txt out.txt",
            "eslint .",
            "node --test 2>&1 | grep -q negative",
            "find . -name '*.sh' -exec sh {} ';'",
            "test \"$(./app)\" = 4",
            "grep foo a.txt > b.txt",
        ] {
            assert!(LookedAt::of(line).is_none(), "{line}");
        }
        let it = LookedAt::of("grep -q a b.txt").expect("it only reads");
        assert!(!it.covers(Path::new("b.txt.bak")) && !it.covers(Path::new("test.sh")));
    }
}
