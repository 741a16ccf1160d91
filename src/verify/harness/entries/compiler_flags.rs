//! Options for a compiler that the work may need: libraries, folders of headers, macros.
//!
//! Invariant: an option that passes changes no header and no word that a test of the start has.

use std::path::{Path, PathBuf};

use super::super::paths::{folder, inside};
use super::super::programs::lists;
use super::super::standard::{HEADERS, SYSTEM_HEADERS};
use super::manifests::Manifests;

/// Do these options only add what new code needs?
pub(super) fn only_serve(around: &Manifests<'_>, words: &[&String]) -> bool {
    let serves = |word: &&String| {
        let defined = word.strip_prefix("-D").is_some_and(|it| is_unknown_to_tests(around, it));
        let found = word.strip_prefix("-I").is_some_and(|it| hides_no_header(around, it));
        let plain = ["-l", "-std=", "-O", "-g"].iter().any(|option| word.starts_with(option))
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "-=+_.".contains(c));
        plain || ["-pthread", "-fPIC", "-pedantic"].contains(&word.as_str()) || defined || found
    };
    words.iter().all(serves)
}

/// Is this a macro, such as `WIDE=1`, that the compiler's own headers do not look at and no test of
/// the start names?
fn is_unknown_to_tests(around: &Manifests<'_>, macro_text: &str) -> bool {
    let (name, value) = macro_text.split_once('=').unwrap_or((macro_text, "1"));
    let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if name == "NDEBUG"
        || !name.starts_with(|c: char| c.is_ascii_uppercase())
        || !name.chars().all(plain)
        || !value.chars().all(|c| c.is_ascii_alphanumeric() || "._-\"'\\$()".contains(c))
    {
        return false;
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let tests = around.start.paths().keys().filter(|path| around.table.role(path).is_some());
    !tests
        .filter_map(|path| around.start.read(path))
        .any(|text| String::from_utf8_lossy(&text).split(|c| !is_word(c)).any(|word| word == name))
}

/// Is this a folder of the workspace without a header of the system or of the tests?
fn hides_no_header(around: &Manifests<'_>, named: &str) -> bool {
    let Some(at) = inside(folder(around.path), named) else { return false };
    let below = around.now.paths().keys().filter_map(|path| path.strip_prefix(&at).ok());
    let standard = |name: &Path| {
        let name = name.to_string_lossy();
        HEADERS.contains(&&*name) || lists(SYSTEM_HEADERS, &name)
    };
    let of_tests = |name: &Path| {
        let named = |path: &&PathBuf| path.ends_with(name) && !path.starts_with(&at);
        around.start.paths().keys().filter(named).any(|path| around.table.role(path).is_some())
    };
    below.into_iter().all(|name| !standard(name) && !of_tests(name))
}
