//! Values that are too large or too secret for a command line, passed in files instead.
//!
//! Invariant: a pure function decides which values are spilled, before anything is written.
//! No two keys share a file, also on file systems that ignore case. The folder and its files
//! are readable by the user alone and deleted when [`Spilled`] is dropped.

use std::collections::BTreeSet;
use std::fs::{OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::context::{Context, ContextValue};
use super::error::RecipeError;

/// Size from which values are spilled, in bytes.
pub(super) const LIMIT: usize = 32_768;

/// Prefix of the folder's name.
const PREFIX: &str = "ralph-recipe-";

/// Longest file name made from a key, in bytes: below the limit of file systems, with room for
/// a number.
const LONGEST: usize = 200;

/// A value and the place where it is passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Placement<'a> {
    /// On the command line.
    Inline(&'a ContextValue),
    /// In a file of this name.
    File(&'a ContextValue, String),
}

/// Decides where each value is passed. `secret` tells whether a value must be hidden from
/// other users of the machine, who can read command lines.
pub(super) fn plan<'a>(
    context: &'a Context,
    secret: &dyn Fn(&ContextValue) -> bool,
) -> Vec<Placement<'a>> {
    let mut taken = BTreeSet::new();
    context
        .values()
        .iter()
        .map(|value| {
            if value.text.len() >= LIMIT || secret(value) {
                Placement::File(value, file_name(&value.key, &mut taken))
            } else {
                Placement::Inline(value)
            }
        })
        .collect()
}

/// A file name that no other key has, also where `A` and `a` name the same file.
fn file_name(key: &str, taken: &mut BTreeSet<String>) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
    let name: String =
        key.chars().map(|letter| if plain(letter) { letter } else { '_' }).take(LONGEST).collect();
    // `.` and `..` would name folders.
    let name = if name.bytes().all(|byte| byte == b'.') { name.replace('.', "_") } else { name };
    let mut unique = name.clone();
    let mut number = 2;
    while !taken.insert(unique.to_ascii_lowercase()) {
        unique = format!("{name}-{number}");
        number += 1;
    }
    unique
}

/// The value on the command line that refers to a file.
pub(super) fn uri(folder: &Path, name: &str) -> String {
    format!("file://{}", folder.join(name).display())
}

/// The path that a folder of spilled values would have, for dry runs.
pub(super) fn example(below: &Path) -> PathBuf {
    below.join(format!("{PREFIX}XXXXXX"))
}

/// Spilled values on disk, deleted when this is dropped.
#[derive(Debug)]
pub(super) struct Spilled {
    folder: tempfile::TempDir,
}

impl Spilled {
    /// Writes the values that are to be spilled. Without any, no folder is created.
    ///
    /// # Errors
    /// If a file cannot be written; files written before it are deleted.
    pub(super) fn write(
        places: &[Placement<'_>],
        below: &Path,
    ) -> Result<Option<Self>, RecipeError> {
        let failed = |operation, path: &Path| {
            let path = path.to_owned();
            move |source| RecipeError::Spill { operation, path, source }
        };
        let files = places.iter().filter_map(|place| match place {
            Placement::File(value, name) => Some((value, name)),
            Placement::Inline(_) => None,
        });
        let mut spilled: Option<Self> = None;
        for (value, name) in files {
            let spilled = match &spilled {
                Some(spilled) => spilled,
                None => {
                    let folder = tempfile::Builder::new()
                        .prefix(PREFIX)
                        .permissions(Permissions::from_mode(0o700))
                        .tempdir_in(below)
                        .map_err(failed("create a folder in", below))?;
                    spilled.insert(Self { folder })
                }
            };
            let path = spilled.folder().join(name);
            OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)
                .and_then(|mut file| file.write_all(value.text.as_bytes()))
                .map_err(failed("write", &path))?;
        }
        Ok(spilled)
    }

    /// The folder.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(values: &[(&str, &str)]) -> Context {
        let mut context = Context::default();
        for (key, text) in values {
            context.set(key, *text).expect("set");
        }
        context
    }

    fn spilled(context: &Context) -> Vec<String> {
        let names = plan(context, &|value| value.key == "token").into_iter();
        names
            .filter_map(|place| match place {
                Placement::File(_, name) => Some(name),
                Placement::Inline(_) => None,
            })
            .collect()
    }

    #[test]
    fn file_names_are_safe_and_unique() {
        let large = "x".repeat(LIMIT);
        let long = "k".repeat(300);
        let keys =
            ["a/b", "a_b", "A_B", "a b", "..", ".", "../../etc", "ok.json", "a_b-2", "ä", &long];
        let values: Vec<(&str, &str)> = keys.iter().map(|key| (*key, large.as_str())).collect();
        let names = spilled(&context(&values));
        let expected =
            ["a_b", "a_b-2", "A_B-3", "a_b-4", "__", "_", ".._.._etc", "ok.json", "a_b-2-2", "_-2"];
        assert_eq!(names[..10], expected);
        assert_eq!(names[10], "k".repeat(200));
    }
}
