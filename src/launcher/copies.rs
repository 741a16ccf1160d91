//! Copies a project's Claude files to the folders of the Copilot CLI.
//!
//! Invariant: no file is overwritten except for our own unchanged copies, as a record of their
//! content shows, and no copy is left half-written; a link in the folders is neither followed nor
//! copied. Hooks have their own format and are staged by `hooks`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, Permissions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// The copied files: the folder below `.claude/` and below `.github/`, and whether the CLI looks
/// for them in one folder only.
const FOLDERS: [(&str, Tree); 3] =
    [("agents", Tree::Flat), ("commands", Tree::Kept), ("recipes", Tree::Kept)];

/// File name endings of agents, commands, and recipes.
const ENDINGS: [&str; 4] = ["md", "yaml", "yml", "json"];
/// The record of the copies: the digest of each content, by its path.
pub const COPIES_FILE: &str = ".ralph/staged.json";
/// Deeper folders are left out.
const DEEPEST: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tree {
    Flat,
    Kept,
}

/// The results of staging; paths are relative to the project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyReport {
    /// Files that were written.
    pub created: Vec<PathBuf>,
    /// Copies of an earlier launch that were renewed.
    pub updated: Vec<PathBuf>,
    /// Existing files with other content, which are not ours.
    pub kept: Vec<PathBuf>,
    /// Files of `.claude/` that were left out: another one has the same name.
    pub left_out: Vec<PathBuf>,
}

/// Why staging failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} {} (`--no-stage` launches without staging)", path.display())]
pub struct CopyError {
    operation: &'static str,
    path: PathBuf,
    source: std::io::Error,
}

/// Copies agents, commands and recipes of `.claude/` to `.github/`, where they are not yet, and
/// renews the copies of earlier launches.
///
/// # Errors
/// If a folder cannot be read or a file cannot be written.
pub fn copy_project_files(project: &Path) -> Result<CopyReport, CopyError> {
    let mut staged = CopyReport::default();
    let mut notes = read_notes(project);
    let before = notes.clone();
    for (name, tree) in FOLDERS {
        let from = Path::new(".claude").join(name);
        let to = Path::new(".github").join(name);
        let mut files = Vec::new();
        collect(&project.join(&from), Path::new(""), &mut files, DEEPEST)?;
        // Of equal names the first one counts, in the order of their paths.
        let mut targets: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
        files.sort();
        for file in files {
            let short = match tree {
                Tree::Flat => PathBuf::from(file.file_name().unwrap_or_default()),
                Tree::Kept => file.clone(),
            };
            match targets.entry(to.join(short)) {
                Entry::Vacant(free) => {
                    free.insert(from.join(file));
                }
                Entry::Occupied(_) => staged.left_out.push(from.join(file)),
            }
        }
        for (target, source) in targets {
            copy(project, &source, target, &mut staged, &mut notes)?;
        }
    }
    if notes != before {
        write_notes(project, &notes)?;
    }
    Ok(staged)
}

type Notes = BTreeMap<String, String>;

/// The recorded copies. If the record cannot be read, no copy is known to be ours.
fn read_notes(project: &Path) -> Notes {
    let text = fs::read(project.join(COPIES_FILE)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

fn write_notes(project: &Path, notes: &Notes) -> Result<(), CopyError> {
    let path = project.join(COPIES_FILE);
    let folder = path.parent().unwrap_or(project);
    is_inside(project, folder)?;
    fs::create_dir_all(folder).map_err(failed("make", folder))?;
    // Strings by strings: nothing that JSON could not hold.
    let text = serde_json::to_vec(notes).unwrap_or_default();
    new_file(folder, &text)
        .and_then(|file| Ok(file.persist(&path).map(drop)?))
        .map_err(failed("write", &path))
}

fn digest(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn copy(
    project: &Path,
    source: &Path,
    target: PathBuf,
    staged: &mut CopyReport,
    notes: &mut Notes,
) -> Result<(), CopyError> {
    let (from, to) = (project.join(source), project.join(&target));
    let content = fs::read(&from).map_err(failed("read", &from))?;
    let folder = to.parent().unwrap_or(project);
    is_inside(project, folder)?;
    fs::create_dir_all(folder).map_err(failed("make", folder))?;
    let name = target.to_string_lossy().into_owned();
    if to.symlink_metadata().is_err()
        && write(folder, &to, &content).map_err(failed("write", &to))?
    {
        notes.insert(name, digest(&content));
        staged.created.push(target);
        return Ok(());
    }
    let is_file = to.symlink_metadata().is_ok_and(|found| found.is_file());
    match fs::read(&to).ok() {
        Some(there) if there == content => {}
        Some(there) if is_file && notes.get(&name) == Some(&digest(&there)) => {
            new_file(folder, &content)
                .and_then(|file| Ok(file.persist(&to).map(drop)?))
                .map_err(failed("write", &to))?;
            notes.insert(name, digest(&content));
            staged.updated.push(target);
        }
        Some(_) | None => staged.kept.push(target),
    }
    Ok(())
}

/// Asked before anything is made: no folder may appear out there either.
fn is_inside(project: &Path, folder: &Path) -> Result<(), CopyError> {
    let there = folder.ancestors().find(|it| it.exists()).unwrap_or(project);
    let inside =
        there.canonicalize().and_then(|there| Ok(there.starts_with(project.canonicalize()?)));
    if inside.map_err(failed("resolve", there))? {
        return Ok(());
    }
    let why = std::io::Error::other("a link leads out of the project there");
    Err(failed("write below", folder)(why))
}

/// A file without a name yet, whole.
fn new_file(folder: &Path, content: &[u8]) -> std::io::Result<tempfile::NamedTempFile> {
    // As for any new file, minus the bits of the umask.
    let permissions = Permissions::from_mode(0o666);
    let mut file = tempfile::Builder::new().permissions(permissions).tempfile_in(folder)?;
    file.write_all(content)?;
    Ok(file)
}

/// Writes a file whole, and says whether it did: a launch beside this one may have been
/// quicker.
fn write(folder: &Path, to: &Path, content: &[u8]) -> std::io::Result<bool> {
    match new_file(folder, content)?.persist_noclobber(to) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error.error),
    }
}

/// The files below a folder, relative to it.
fn collect(
    root: &Path,
    below: &Path,
    files: &mut Vec<PathBuf>,
    deeper: usize,
) -> Result<(), CopyError> {
    let folder = root.join(below);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(());
        }
        Err(error) => return Err(failed("read", &folder)(error)),
    };
    for entry in entries {
        let entry = entry.map_err(failed("read", &folder))?;
        let path = below.join(entry.file_name());
        let kind = entry.file_type().map_err(failed("read", &folder))?;
        if kind.is_dir() && deeper > 0 {
            collect(root, &path, files, deeper - 1)?;
        } else if kind.is_file()
            && path.extension().is_some_and(|end| ENDINGS.iter().any(|known| end == *known))
        {
            files.push(path);
        }
    }
    Ok(())
}

fn failed(operation: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> CopyError {
    let path = path.to_owned();
    move |source| CopyError { operation, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("mkdir");
        fs::write(path, text).expect("write");
    }

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn what_is_there_for_claude_is_copied_once_and_nothing_is_overwritten() {
        let project = tempfile::tempdir().expect("a folder");
        let root = project.path();
        for (path, text) in [
            (".claude/agents/core/architect.md", "architect"),
            (".claude/agents/reviewer.md", "reviewer"),
            (".claude/agents/z/reviewer.md", "another"),
            (".claude/agents/notes.py", "no agent"),
            (".claude/commands/amplihack/fix.md", "fix"),
            (".claude/recipes/build.yaml", "name: build"),
            (".claude/settings.json", "{}"),
            (".github/commands/amplihack/fix.md", "the user's own"),
        ] {
            write(root, path, text);
        }
        std::os::unix::fs::symlink("/etc/hostname", root.join(".claude/agents/link.md"))
            .expect("a link");
        let first = copy_project_files(root).expect("staged");
        assert_eq!(
            first,
            CopyReport {
                created: paths(&[
                    ".github/agents/architect.md",
                    ".github/agents/reviewer.md",
                    ".github/recipes/build.yaml",
                ]),
                updated: Vec::new(),
                kept: paths(&[".github/commands/amplihack/fix.md"]),
                left_out: paths(&[".claude/agents/z/reviewer.md"]),
            }
        );
        let read = |path: &str| fs::read_to_string(root.join(path)).expect("there");
        assert_eq!(read(".github/agents/reviewer.md"), "reviewer");
        assert_eq!(read(".github/commands/amplihack/fix.md"), "the user's own");
        assert!(!root.join(".github/agents/link.md").exists());
        let again = copy_project_files(root).expect("staged");
        assert_eq!(again, CopyReport { created: Vec::new(), ..first });
    }

    #[test]
    fn a_copy_follows_its_original_as_long_as_nobody_else_has_touched_it() {
        let project = tempfile::tempdir().expect("a folder");
        let root = project.path();
        let (source, copy) = (".claude/agents/a.md", ".github/agents/a.md");
        let read = || fs::read_to_string(root.join(copy)).expect("there");
        let updated = CopyReport { updated: paths(&[copy]), ..CopyReport::default() };
        let kept = CopyReport { kept: paths(&[copy]), ..CopyReport::default() };
        write(root, source, "one");
        assert_eq!(copy_project_files(root).expect("staged").created, paths(&[copy]));
        for text in ["two", "three"] {
            write(root, source, text);
            assert_eq!(copy_project_files(root).expect("staged"), updated);
            assert_eq!(read(), text);
        }
        assert_eq!(copy_project_files(root).expect("staged"), CopyReport::default());
        write(root, copy, "mine");
        assert_eq!(copy_project_files(root).expect("staged"), kept);
        assert_eq!(read(), "mine");
        // Of a note that is damaged nothing is believed, nor of one that is not there.
        write(root, copy, "three");
        write(root, source, "four");
        write(root, COPIES_FILE, "{");
        assert_eq!(copy_project_files(root).expect("staged"), kept);
        fs::remove_file(root.join(COPIES_FILE)).expect("removed");
        assert_eq!(copy_project_files(root).expect("staged"), kept);
        assert_eq!(read(), "three");
    }

    #[test]
    fn nothing_is_written_through_a_link_that_leads_out() {
        let (project, outside) = (tempfile::tempdir(), tempfile::tempdir());
        let (project, outside) = (project.expect("a folder"), outside.expect("a folder"));
        write(project.path(), ".claude/agents/reviewer.md", "reviewer");
        fs::create_dir(project.path().join(".github")).expect("mkdir");
        let link = project.path().join(".github/agents");
        std::os::unix::fs::symlink(outside.path(), link).expect("a link");
        copy_project_files(project.path()).expect_err("it leads out");
        assert_eq!(fs::read_dir(outside.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn a_project_without_any_of_it_stays_as_it_is() {
        let project = tempfile::tempdir().expect("a folder");
        assert_eq!(
            copy_project_files(project.path()).expect("nothing to do"),
            CopyReport::default()
        );
        write(project.path(), ".claude/agents", "a file, and no folder");
        assert_eq!(
            copy_project_files(project.path()).expect("nothing to do"),
            CopyReport::default()
        );
        assert!(!project.path().join(".github").exists());
    }
}
