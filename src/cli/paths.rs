//! Paths as the user types them, and the system's folder for temporary files.

use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::failure::Failure;
use crate::config::{Settings, Source};
use crate::model::ExitCode;

/// The folder of `-C`, or the current one.
pub(super) fn directory(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let there = match named {
        Some(named) if named.is_absolute() => named.to_owned(),
        Some(named) => current()?.join(named),
        None => return current(),
    };
    if there.is_dir() {
        return Ok(there);
    }
    let named = named.unwrap_or(&there).display();
    Err(Failure::new(ExitCode::Usage, format!("{named} is not a folder"))
        .hint("-C takes an existing folder"))
}

fn current() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| {
        Failure::new(ExitCode::Usage, format!("cannot find the current folder: {error}"))
            .hint("if it was removed, change to an existing folder")
    })
}

/// The file of this program.
pub(super) fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| {
        Failure::new(ExitCode::Internal, error).hint("cannot find the program's own file")
    })
}

/// A path that the user typed, relative to the folder of `-C`.
pub(super) fn typed(named: Option<&Path>, path: &Path) -> Result<PathBuf, Failure> {
    match named {
        Some(_) => Ok(directory(named)?.join(path)),
        None => Ok(path.to_owned()),
    }
}

/// A path below `root` as it is typed in the folder `cwd`.
pub(super) fn shown_from(cwd: &Path, root: &Path, path: &Path) -> PathBuf {
    match cwd.strip_prefix(root) {
        Ok(inside) => {
            let common = inside.iter().zip(path).take_while(|(one, other)| one == other).count();
            let up = inside.iter().skip(common).map(|_| OsStr::new(".."));
            up.chain(path.iter().skip(common)).collect()
        }
        Err(_) => root.join(path),
    }
}

/// The system's folder for temporary files. An empty TMPDIR counts as unset: as a path
/// it would be the current folder.
pub(super) fn temporary() -> PathBuf {
    let named = std::env::temp_dir();
    if named.as_os_str().is_empty() { PathBuf::from("/tmp") } else { named }
}

/// Where the copies of ignored files lie that proof rooms are filled with; none without HOME.
pub(super) fn rooms() -> Option<PathBuf> {
    Some(cache()?.join("rooms"))
}

/// The copy for the repository with this root; none where HOME cannot keep it, as `/proc` cannot.
pub(super) fn master(root: &Path) -> Option<PathBuf> {
    std::fs::create_dir_all(rooms()?).ok()?;
    let name = Sha256::digest(root.as_os_str().as_encoded_bytes());
    let name: String = name.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Some(rooms()?.join(name))
}

/// Where the human finds what hold-out checks said; none without HOME.
pub(super) fn holdout() -> Option<PathBuf> {
    Some(cache()?.join("holdout"))
}

/// The folder of the hold-out checks, without links, if one is named. A relative path begins in
/// `cwd`, or beside the user's configuration that names it.
pub(super) fn holdout_folder(settings: &Settings, cwd: &Path) -> Option<PathBuf> {
    let named = settings.holdout.as_ref()?;
    let from = match &named.source {
        Source::User(file) => file.parent().unwrap_or(cwd),
        _ => cwd,
    };
    let home = named.value.strip_prefix("~").ok().zip(etcetera::home_dir().ok());
    Some(canonical(&home.map_or_else(|| from.join(&named.value), |(rest, home)| home.join(rest))))
}

/// Our folder for data that outlives a run; none without HOME.
pub(super) fn cache() -> Option<PathBuf> {
    use etcetera::BaseStrategy as _;
    let base = etcetera::choose_base_strategy().ok()?;
    Some(base.cache_dir().join("ralph-copilot"))
}

/// The path without links. Components that do not exist stay as they are.
pub(super) fn canonical(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut there = path;
    loop {
        if let Ok(real) = there.canonicalize() {
            return missing.iter().rev().fold(real, |path, name| path.join(name));
        }
        match (there.parent(), there.components().next_back()) {
            (Some(parent), Some(name)) => {
                missing.push(name.as_os_str().to_owned());
                there = parent;
            }
            _ => return path.to_owned(),
        }
    }
}

/// Longest file, in bytes.
const LONGEST: u64 = 4 << 20;

/// The text of a file that the user names, or of standard input for `-`.
pub(super) fn read_named(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if path.as_os_str() == "-" {
        std::io::stdin().lock().take(LONGEST).read_to_string(&mut text)
    } else {
        fs::File::open(path).and_then(|file| file.take(LONGEST).read_to_string(&mut text))
    };
    let failed =
        |error| Failure::new(ExitCode::Invalid, format!("cannot read {}: {error}", path.display()));
    read.map_err(failed).map(|_| text)
}
