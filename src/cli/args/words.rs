//! The words of the command line, before the parser sees them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use crate::model::Sandbox;

/// Takes `-C DIR` from before the command, as git and make do. The parser would take a flag
/// there for a flag of `run`, and those conflict with the other commands.
pub(crate) fn leading_directory(
    words: impl IntoIterator<Item = OsString>,
) -> (Option<PathBuf>, Vec<OsString>) {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let named = words.get(1).is_some_and(|word| word == "-C" || word == "--directory");
    if named && words.len() > 2 {
        let directory = words.remove(2);
        words.remove(1);
        return (Some(directory.into()), words);
    }
    let joined = words.get(1).and_then(|word| {
        let word = word.as_bytes();
        let long = word.strip_prefix(b"--directory=");
        long.or_else(|| word.strip_prefix(b"-C").filter(|joined| !joined.is_empty()))
    });
    let joined = joined.map(|path| PathBuf::from(OsStr::from_bytes(path)));
    if joined.is_some() {
        words.remove(1);
    }
    (joined, words)
}

/// Attaches the value of `--sandbox` and `--gateway`, which also stand alone, if it is the next
/// word: `--sandbox full` is `--sandbox=full`. Any other word is left to the parser.
pub(crate) fn attached(words: Vec<OsString>) -> Vec<OsString> {
    let is_value = |option: &OsStr, word: &OsStr| match (option.to_str(), word.to_str()) {
        (Some("--sandbox"), Some(word)) => Sandbox::WORDS.contains(&word),
        (Some("--gateway"), Some(word)) => {
            word.parse::<u16>().is_ok() || ["true", "false"].contains(&word)
        }
        _ => false,
    };
    let mut all: Vec<OsString> = Vec::with_capacity(words.len());
    let mut of_others = false;
    for word in words {
        match all.last_mut() {
            Some(option) if !of_others && is_value(option, &word) => {
                option.push("=");
                option.push(word);
            }
            _ => {
                of_others |= word == "--";
                all.push(word);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(words: &[&str]) -> (Option<PathBuf>, Vec<OsString>) {
        leading_directory(words.iter().map(OsString::from))
    }

    #[test]
    fn the_directory_may_stand_before_the_command() {
        for words in [
            &["r", "-C", "d", "check", "t"][..],
            &["r", "--directory", "d", "check", "t"],
            &["r", "--directory=d", "check", "t"],
            &["r", "-Cd", "check", "t"],
        ] {
            let (directory, rest) = split(words);
            assert_eq!(directory, Some(PathBuf::from("d")), "{words:?}");
            assert_eq!(rest, ["r", "check", "t"], "{words:?}");
        }
        assert_eq!(split(&["r", "check", "-C", "d"]).0, None);
        assert_eq!(split(&["r", "-C"]).1, ["r", "-C"]);
    }
}
