//! Which files a verify command names, and which paths look like tests.
//!
//! Invariant: pure; what exists is asked of a closure. A command that cannot be split is
//! taken apart at spaces, so that odd quoting names more files, never fewer. What does NOT
//! live here: what protection means.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// The files of the repository that a verify command names: scripts, test files, and the
/// `tests/NAME.rs` behind `cargo test --test NAME`. `exists` is asked with paths relative
/// to the root and says whether a file is there.
pub fn named_by(command: &str, exists: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut found: BTreeSet<PathBuf> =
        paths_in(command).into_iter().filter(|path| exists(path)).collect();
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
        // `--file=x`, `VAR=x`, `tests/test_a.py::test_b`, `check.sh:12`.
        let after_equals = word.split_once('=').map(|(_, value)| value);
        for candidate in std::iter::once(word.as_str()).chain(after_equals) {
            let before_colon = candidate.split(':').next().unwrap_or(candidate);
            let without_anchor = before_colon.split('#').next().unwrap_or(before_colon);
            for text in [candidate, before_colon, without_anchor] {
                let text = text.trim_start_matches(['<', '>', '&', '(', '{', '@']);
                let text = text.trim_end_matches([')', '}', ';', ',']);
                found.extend(inside(&directory, text));
                found.extend(inside(Path::new(""), text));
            }
        }
    }
    found.into_iter().collect()
}

/// The words of a command line, of inner ones too (`bash -c "sh check.sh"`).
fn words(command: &str) -> Vec<String> {
    fn split(text: &str) -> Vec<String> {
        shlex::split(text).unwrap_or_else(|| text.split_whitespace().map(str::to_owned).collect())
    }
    // Operators are words of their own, with or without spaces around them.
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
    let mut all = Vec::new();
    for word in split(&spaced) {
        if word.contains(char::is_whitespace) {
            all.extend(split(&word));
        }
        all.push(word);
    }
    all
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
