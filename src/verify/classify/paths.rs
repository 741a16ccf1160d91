//! Paths relative to the root.

use std::path::{Component, Path, PathBuf};

use crate::shell::lists;

/// A word as a path relative to the root, if it stays inside.
pub(super) fn inside(directory: &Path, word: &str) -> Option<PathBuf> {
    let path = normal(&directory.join(word))?;
    (!path.as_os_str().is_empty()).then_some(path)
}

/// A folder without `.` and `..`; the root is the empty path.
pub(super) fn normal(path: &Path) -> Option<PathBuf> {
    let mut result = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => result.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !result.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(result)
}

/// The last part of a path.
pub(super) fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or("")
}

/// The folder of a path; the root is the empty path.
pub(super) fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// The extension of a path, or nothing.
pub(super) fn extension(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or("")
}

/// Words in names of files that check something.
const CHECKING: &str = "
    accept accepts assert assertion assertions asserts check checker checks compare e2e expect
    harness judge lint mock runtests selftest smoke spec test testing tests testutil validate
    verify verifier
";

/// Whether a path, or a folder of it, has such a name.
pub(super) fn sounds_in(path: &Path) -> bool {
    path.iter().any(|part| part.to_str().is_some_and(sounds_like_a_check))
}

/// Whether a name says that the file checks something: `check_api.py`, `run-tests.sh`.
pub(super) fn sounds_like_a_check(name: &str) -> bool {
    let mut word = String::new();
    let mut words = Vec::new();
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && word.ends_with(char::is_lowercase)) {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.push(c);
        }
    }
    words.push(word);
    const PARTS: [&str; 6] = ["lib", "libs", "util", "utils", "helper", "helpers"];
    words.iter().any(|word| {
        let word = word.to_lowercase();
        let bare = PARTS.iter().find_map(|part| word.strip_suffix(part));
        lists(CHECKING, bare.unwrap_or(&word)) || lists(CHECKING, &word)
    })
}
