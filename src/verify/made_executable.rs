//! A check that begins with `chmod +x FILE &&`, where FILE decides the check and is read-only in the
//! room: the runner makes it executable instead.
//!
//! Invariant: only files that the sandbox holds read-only get another mode, and they get the old
//! one back. Not in this file: anything else that a check does before it begins.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::checks::CheckOptions;

/// The files that a check makes executable first.
pub(super) struct MadeExecutable<'a> {
    /// The check without that.
    pub(super) rest: &'a str,
    before: Vec<(PathBuf, Permissions)>,
}

impl<'a> MadeExecutable<'a> {
    /// Makes them executable. `None` if the check itself can do all that it begins with.
    pub(super) fn by(command: &'a str, options: &CheckOptions) -> Option<Self> {
        let (files, rest) = split(command)?;
        if !files.iter().all(|file| options.fixed.iter().any(|fixed| fixed == file)) {
            return None;
        }
        let mut before = Vec::new();
        for file in files {
            let file = options.dir.join(file);
            let permissions = plain(&file)?;
            let mode = permissions.mode() | 0o111;
            before.push((file.clone(), permissions));
            fs::set_permissions(file, Permissions::from_mode(mode)).ok()?;
        }
        Some(Self { rest, before })
    }

    /// Gives the files their modes back. A file that is not there any more is left to the look at
    /// the room.
    pub(super) fn undo(self) {
        for (file, permissions) in self.before {
            if plain(&file).is_some() {
                drop(fs::set_permissions(file, permissions));
            }
        }
    }
}

/// The permissions of a file that is no link.
fn plain(file: &Path) -> Option<Permissions> {
    let meta = fs::symlink_metadata(file).ok()?;
    meta.is_file().then(|| meta.permissions())
}

/// The files that a command makes executable first, and the rest of it.
fn split(command: &str) -> Option<(Vec<&Path>, &str)> {
    static FIRST: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^\s*chmod\s+(?:[augo]*\+r?x|0?7[0-7][0-7])((?:\s+[\w./-]+)+)\s*(?:&&|;|\n)\s*")
            .expect("the pattern is valid")
    });
    let found = FIRST.captures(command)?;
    let files = found.get(1)?.as_str().split_whitespace();
    let files = files.map(|file| Path::new(file.strip_prefix("./").unwrap_or(file))).collect();
    Some((files, &command[found.get(0)?.end()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_split_behind_the_files_that_it_makes_executable() {
        for (command, files, rest) in [
            ("chmod +x check.sh && ./check.sh", &["check.sh"][..], "./check.sh"),
            ("chmod 755 ./a.sh b/c.sh; ./a.sh", &["a.sh", "b/c.sh"], "./a.sh"),
            ("chmod u+x t.sh &&\n ./t.sh -v", &["t.sh"], "./t.sh -v"),
        ] {
            let files = files.iter().map(Path::new).collect();
            assert_eq!(split(command), Some((files, rest)), "{command}");
        }
        for command in [
            "chmod -x check.sh && ./check.sh",
            "chmod +x check.sh || ./check.sh",
            "chmod +x $F && ./check.sh",
            "chmod 600 key && ./check.sh",
            "chmod +x check.sh",
            "make && chmod +x check.sh && ./check.sh",
        ] {
            assert_eq!(split(command), None, "{command}");
        }
    }
}
