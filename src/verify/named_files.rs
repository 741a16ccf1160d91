//! Which files a verify command names, and which paths look like tests.
//!
//! Invariant: pure; what exists is asked of a closure. A command that cannot be split is
//! taken apart at spaces, so that odd quoting names more files, never fewer. What does NOT
//! live here: what protection means.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// The files of the repository that a verify command relies on: the scripts and tests that
/// it names, and the `tests/NAME.rs` behind `cargo test --test NAME`. A file that it only
/// looks into (`grep retry README.md`) is what the work is about, unless it is a test.
/// `exists` is asked with paths relative to the root and says whether a file is there.
pub fn named_by(command: &str, exists: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut uses = Uses::default();
    uses.sort_out(command);
    let only_looked_at = |path: &Path| {
        uses.looked_at.contains(path) && !uses.relied_on.contains(path) && !is_test(path)
    };
    let mut found: BTreeSet<PathBuf> = paths_in(command)
        .into_iter()
        .filter(|path| !only_looked_at(path) && exists(path))
        .collect();
    let words = words(command);
    for pair in words.windows(2) {
        if pair[0] == "--test" {
            found.extend(cargo_test(&pair[1], exists));
        }
    }
    for word in &words {
        if let Some(name) = word.strip_prefix("--test=") {
            found.extend(cargo_test(name, exists));
        }
    }
    if words.iter().any(|word| word == "-m")
        && let Some(module) = words.iter().skip_while(|word| *word != "-m").nth(1)
    {
        // `python -m tests.check` and `python -m unittest tests.test_retry`.
        let modules = std::iter::once(module).chain(words.iter());
        for module in modules.filter(|word| word.contains('.')) {
            let path = PathBuf::from(module.replace('.', "/")).with_extension("py");
            if exists(&path) {
                found.insert(path);
            }
        }
    }
    found.into_iter().collect()
}

/// Programs that look into the files that they are given, and say what is there.
const LOOKS: [&str; 27] = [
    "[",
    "[[",
    "cat",
    "cut",
    "egrep",
    "fgrep",
    "file",
    "grep",
    "head",
    "jq",
    "ls",
    "md5sum",
    "od",
    "rg",
    "sha256sum",
    "shellcheck",
    "sort",
    "stat",
    "strings",
    "tail",
    "test",
    "tr",
    "uniq",
    "wc",
    "xmllint",
    "xxd",
    "yq",
];
/// Shells, which with `-n` only look whether a script can be parsed.
const SHELLS: [&str; 5] = ["bash", "dash", "ksh", "sh", "zsh"];

/// The paths of a command line, by what its programs do with them.
#[derive(Default)]
struct Uses {
    looked_at: BTreeSet<PathBuf>,
    relied_on: BTreeSet<PathBuf>,
}

impl Uses {
    /// Sorts the paths; a command that cannot be split relies on all of them.
    fn sort_out(&mut self, command: &str) {
        let operator = |word: &String| {
            let between = ["!", "if", "then", "else", "elif", "while", "until", "do", "time", "{"];
            word.chars().all(|c| ";|&()`$\n".contains(c)) || between.contains(&word.as_str())
        };
        let mut directory = PathBuf::new();
        for simple in shlex::split(&spaced(command)).unwrap_or_default().split(operator) {
            match simple {
                [cd, to, ..] if cd == "cd" => {
                    directory = inside(&directory, to).unwrap_or(directory);
                }
                simple => self.sort_simple(simple, &directory),
            }
        }
    }

    fn sort_simple(&mut self, words: &[String], directory: &Path) {
        let assigns = |word: &&String| {
            word.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            })
        };
        let assignments = words.iter().take_while(assigns).count();
        for word in &words[..assignments] {
            self.relied_on.extend(paths_of(directory, word));
        }
        let Some((program, rest)) = words[assignments..].split_first() else { return };
        self.relied_on.extend(paths_of(directory, program));
        let program = program.as_str();
        let parses = SHELLS.contains(&program) && rest.first().is_some_and(|flag| flag == "-n");
        let looks = LOOKS.contains(&program) || parses;
        for (at, word) in rest.iter().enumerate() {
            // `grep -f PATTERNS`: what is looked for is relied on.
            let patterns = at > 0 && program.ends_with("grep") && rest[at - 1] == "-f";
            let uses = if looks && !patterns { &mut self.looked_at } else { &mut self.relied_on };
            uses.extend(paths_of(directory, word));
            if word.contains(char::is_whitespace) {
                self.sort_out(word);
            }
        }
    }
}

/// Every path, relative to the root, that a word of the command may mean.
pub(super) fn paths_in(command: &str) -> Vec<PathBuf> {
    let mut directory = PathBuf::new();
    let mut found = BTreeSet::new();
    let words = words(command);
    for (at, word) in words.iter().enumerate() {
        if at > 0 && words[at - 1] == "cd" {
            if let Some(path) = inside(&directory, word) {
                directory = path;
            }
            continue;
        }
        found.extend(paths_of(&directory, word));
    }
    found.into_iter().collect()
}

/// Every path that one word may mean: `--file=x`, `VAR=x`, `tests/test_a.py::test_b`,
/// `check.sh:12`.
fn paths_of(directory: &Path, word: &str) -> Vec<PathBuf> {
    let after_equals = word.split_once('=').map(|(_, value)| value);
    let mut found = Vec::new();
    for candidate in std::iter::once(word).chain(after_equals) {
        let before_colon = candidate.split(':').next().unwrap_or(candidate);
        let without_anchor = before_colon.split('#').next().unwrap_or(before_colon);
        for text in [candidate, before_colon, without_anchor] {
            let text = text.trim_start_matches(['<', '>', '&', '(', '{', '@']);
            let text = text.trim_end_matches([')', '}', ';', ',']);
            found.extend(inside(directory, text));
            found.extend(inside(Path::new(""), text));
        }
    }
    found
}

/// The words of a command line, of inner ones too (`bash -c "sh check.sh"`).
fn words(command: &str) -> Vec<String> {
    fn split(text: &str) -> Vec<String> {
        shlex::split(text).unwrap_or_else(|| text.split_whitespace().map(str::to_owned).collect())
    }
    let mut all = Vec::new();
    for word in split(&spaced(command)) {
        if word.contains(char::is_whitespace) {
            all.extend(split(&word));
        }
        all.push(word);
    }
    all
}

/// The command with its operators as words of their own.
fn spaced(command: &str) -> String {
    let mut spaced = String::with_capacity(command.len());
    for c in command.chars() {
        match c {
            ';' | '|' | '&' | '(' | ')' | '<' | '>' | '`' | '\n' => {
                spaced.push(' ');
                spaced.push(c);
                spaced.push(' ');
            }
            _ => spaced.push(c),
        }
    }
    spaced
}

/// A word as a path relative to the root, if it stays inside.
fn inside(directory: &Path, word: &str) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for part in directory.join(word).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !path.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!path.as_os_str().is_empty()).then_some(path)
}

fn cargo_test(name: &str, exists: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    [format!("tests/{name}.rs"), format!("tests/{name}/main.rs")]
        .into_iter()
        .map(PathBuf::from)
        .filter(|path| exists(path))
        .collect()
}

/// Whether a path looks like a test, in the habits of the common languages.
pub fn is_test(path: &Path) -> bool {
    let lower = path.to_string_lossy().to_lowercase();
    let in_folder = path.parent().is_some_and(|folder| {
        folder.components().any(|part| {
            let part = part.as_os_str().to_string_lossy().to_lowercase();
            matches!(
                part.as_str(),
                "test"
                    | "tests"
                    | "__tests__"
                    | "spec"
                    | "specs"
                    | "testing"
                    | "e2e"
                    | "testdata"
                    | "__snapshots__"
                    | "snapshots"
                    | "cypress"
            )
        })
    });
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let stem = name.split('.').next().unwrap_or(name);
    in_folder
        || name == "conftest.py"
        || stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || stem == "test"
        || stem == "tests"
        || stem.ends_with("_spec")
        || name.contains(".test.")
        || name.contains(".spec.")
        || name.ends_with(".snap")
        || name.ends_with(".bats")
        || java_test(path)
}

/// `RetryTest.java`, `RetryTests.cs`, `TestRetry.kt`, `RetryIT.java`.
fn java_test(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    matches!(extension, Some("java" | "kt" | "cs" | "scala" | "groovy" | "swift" | "php"))
        && stem.is_some_and(|stem| {
            stem.ends_with("Test")
                || stem.ends_with("Tests")
                || stem.ends_with("IT")
                || stem.ends_with("Spec")
                || stem.starts_with("Test")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [&str; 12] = [
        "tests/check.sh",
        "tests/test_x.py",
        "tests/retry.rs",
        "tests/big/main.rs",
        "check.sh",
        "scripts/a b.sh",
        "src/client.test.ts",
        "Makefile",
        "web/tests/run.js",
        "tools/verify.py",
        "cfg/jest.json",
        "-odd.sh",
    ];

    fn named(command: &str) -> Vec<String> {
        named_by(command, &|path| FILES.iter().any(|file| Path::new(file) == path))
            .into_iter()
            .map(|path| path.to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn files_are_found_where_commands_name_them() {
        let cases: [(&str, &[&str]); 22] = [
            ("bash tests/check.sh", &["tests/check.sh"]),
            ("./check.sh --all", &["check.sh"]),
            ("sh ./tests/../check.sh", &["check.sh"]),
            ("pytest tests/test_x.py::test_a -q", &["tests/test_x.py"]),
            ("cargo test --test retry", &["tests/retry.rs"]),
            ("cargo test --test=big -- --nocapture", &["tests/big/main.rs"]),
            ("cd web && node tests/run.js", &["web/tests/run.js"]),
            ("cd web; cd ..; sh check.sh", &["check.sh"]),
            ("sh 'scripts/a b.sh'", &["scripts/a b.sh"]),
            ("bash -c \"sh check.sh && echo ok\"", &["check.sh"]),
            ("true&&sh check.sh;true", &["check.sh"]),
            ("out=$(sh check.sh)", &["check.sh"]),
            (
                "npx jest --config=cfg/jest.json src/client.test.ts:12",
                &["cfg/jest.json", "src/client.test.ts"],
            ),
            ("sh <check.sh", &["check.sh"]),
            ("python -m tools.verify", &["tools/verify.py"]),
            ("python -m unittest tests.test_x", &["tests/test_x.py"]),
            ("sh -- -odd.sh", &["-odd.sh"]),
            ("test \"unclosed check.sh", &["check.sh"]),
            ("CHECK=check.sh make", &["check.sh"]),
            ("cargo test", &[]),
            ("sh ../check.sh", &[]),
            ("/tests/check.sh", &[]),
        ];
        for (command, expected) in cases {
            assert_eq!(named(command), expected, "{command}");
        }
    }

    #[test]
    fn what_a_check_only_looks_into_is_the_work_and_no_part_of_the_check() {
        let cases: [(&str, &[&str]); 13] = [
            ("grep -q all: Makefile", &[]),
            ("test -f Makefile && ! grep -q x check.sh", &[]),
            ("[ -s Makefile ] || exit 1", &[]),
            ("cd web && cat ../Makefile | wc -l", &[]),
            ("LC_ALL=C grep -c 'a b' Makefile", &[]),
            ("sh -c 'grep -q x Makefile'", &[]),
            ("sh -n check.sh", &[]),
            ("test \"$(grep -c x Makefile)\" -gt 3", &[]),
            // A test is part of the check even then.
            ("grep -q assert tests/test_x.py", &["tests/test_x.py"]),
            // What is relied on in one place is, whatever else is done with it.
            ("grep -q x check.sh && sh check.sh", &["check.sh"]),
            ("grep -f cfg/jest.json Makefile", &["cfg/jest.json"]),
            ("make -f Makefile", &["Makefile"]),
            ("cat Makefile | sh check.sh", &["check.sh"]),
        ];
        for (command, expected) in cases {
            assert_eq!(named(command), expected, "{command}");
        }
    }

    #[test]
    fn tests_are_known_by_their_paths() {
        for path in [
            "tests/a.rs",
            "src/tests.rs",
            "src/verify/tests/x.rs",
            "test_x.py",
            "pkg/x_test.go",
            "web/a.spec.ts",
            "web/a.test.jsx",
            "src/__tests__/a.js",
            "spec/models/user_spec.rb",
            "src/test/java/A.java",
            "src/RetryTest.java",
            "conftest.py",
            "x/__snapshots__/a.snap",
        ] {
            assert!(is_test(Path::new(path)), "{path}");
        }
        for path in [
            "src/main.rs",
            "src/contest.rs",
            "latest.txt",
            "docs/testing.md",
            "src/attestation.go",
            "README.md",
            "src/Contestant.java",
        ] {
            assert!(!is_test(Path::new(path)), "{path}");
        }
    }
}
