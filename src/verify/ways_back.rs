//! Ignored files of a proof room that lead back to the working tree it was copied from: editable
//! installs, absolute links, and scripts of a virtual environment that a check starts, or a script
//! that it runs.
//!
//! Invariant: only files that certainly lead there count. A file that merely contains the path,
//! such as a build's log, does not.

use std::fs::{self, DirEntry};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::classify::{SourceTree, Table, judges};

/// As many are named to a human.
const MOST: usize = 3;

/// Longest first line of a script, in bytes.
const LINE: u64 = 512;

/// The code of checks, as text: their commands, recipes, and the scripts that they start or look
/// at.
pub(super) fn texts(tree: &dyn SourceTree, table: &Table, commands: &[&str]) -> Vec<String> {
    let found = judges(tree, table, commands);
    let files = found.files.iter().chain(&found.subjects);
    let scripts = files.filter_map(|path| String::from_utf8(tree.read(path)?).ok());
    found.lines.iter().cloned().chain(scripts).collect()
}

/// The files below `entries` of the room's tree that lead to the tree `own`. Scripts count if one
/// of the texts names them.
pub(super) fn ways_back(
    work: &Path,
    entries: &[PathBuf],
    own: &Path,
    texts: &[String],
) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in entries {
        let at = work.join(entry);
        if fs::symlink_metadata(&at).is_ok_and(|meta| meta.is_dir()) {
            look(&at, &mut |file| {
                let path = file.path();
                let Ok(relative) = path.strip_prefix(work) else { return };
                if leads_to(own, file, relative, texts) {
                    found.push(relative.to_owned());
                }
            });
        }
    }
    found.sort();
    found.truncate(MOST);
    found
}

/// Looks at every file below a folder.
fn look(folder: &Path, visit: &mut dyn FnMut(&DirEntry)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            look(&entry.path(), visit);
        } else {
            visit(&entry);
        }
    }
}

fn leads_to(own: &Path, file: &DirEntry, relative: &Path, texts: &[String]) -> bool {
    if file.file_type().is_ok_and(|kind| kind.is_symlink()) {
        return fs::read_link(file.path()).is_ok_and(|to| to.starts_with(own));
    }
    let name = file.file_name();
    let name = name.to_string_lossy();
    // A `.pth` file, and the files that setuptools writes with it or in its place.
    if name.ends_with(".pth") || name.ends_with(".egg-link") || name.starts_with("__editable__") {
        return fs::read(file.path()).is_ok_and(|bytes| names(&bytes, own));
    }
    let is_named = relative.to_str().is_some_and(|path| texts.iter().any(|it| it.contains(path)));
    // A script that activates a virtual environment puts its programs first in PATH.
    let text = || match name.starts_with("activate") {
        true => fs::read(file.path()).ok(),
        false => first_line(&file.path()),
    };
    is_named && text().is_some_and(|text| names(&text, own))
}

/// The first line of a script.
fn first_line(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    fs::File::open(path).ok()?.take(LINE).read_to_end(&mut head).ok()?;
    let line = head.split(|byte| *byte == b'\n').next()?;
    line.starts_with(b"#!").then(|| line.to_owned())
}

/// Does a text hold a path, or one below it?
pub(super) fn names(text: &[u8], path: &Path) -> bool {
    let path = path.as_os_str().as_bytes();
    let is_end = |byte: Option<&u8>| {
        byte.is_none_or(|byte| !byte.is_ascii_alphanumeric() && !b"-_.".contains(byte))
    };
    text.windows(path.len())
        .enumerate()
        .any(|(at, window)| window == path && is_end(text.get(at + path.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of these files, and a link to `to`, lead to `/home/me/app`.
    fn found(files: &[(&str, &str)], to: &str, text: &str) -> Vec<String> {
        let dir = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }
        let folder = dir.path().join("node_modules");
        fs::create_dir_all(&folder).expect("made");
        std::os::unix::fs::symlink(to, folder.join("link")).expect("linked");
        let entries = [".venv".into(), "node_modules".into()];
        let found = ways_back(dir.path(), &entries, Path::new("/home/me/app"), &[text.to_owned()]);
        found.iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn what_leads_to_the_working_tree_is_found() {
        let files = [
            (".venv/lib/app.pth", "/home/me/app/src\n"),
            (".venv/lib/__editable___app_finder.py", "M = {'app': '/home/me/app/src/app'}\n"),
            (".venv/bin/app", "#!/home/me/app/.venv/bin/python\n"),
            (".venv/bin/activate", "# first\nVIRTUAL_ENV=/home/me/app/.venv\n"),
        ];
        assert_eq!(
            found(&files, "/home/me/app/packages/a", "test -n \"$(.venv/bin/app)\""),
            [".venv/bin/app", ".venv/lib/__editable___app_finder.py", ".venv/lib/app.pth"]
        );
        let link = found(&[], "/home/me/app/packages/a", "");
        assert_eq!(link, ["node_modules/link"]);
    }

    #[test]
    fn what_holds_the_path_or_leads_elsewhere_is_not() {
        let files = [
            (".venv/lib/other.pth", "/home/me/app2/src\n/home/me/app.old\n"),
            (".venv/lib/distutils-precedence.pth", "import os\n"),
            (".venv/build.log", "/home/me/app/src\n"),
            (".venv/bin/pip", "#!/home/me/app/.venv/bin/python\n"),
        ];
        assert_eq!(found(&files, "../packages/a", "make test"), Vec::<String>::new());
    }
}
