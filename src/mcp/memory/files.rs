//! The files of the memory, and files that are excluded from it.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use crate::guard::secret_name;
use crate::sys::contained::Contained;

/// Largest file that is looked at, in bytes.
const LARGEST_FILE: u64 = 1 << 20;

/// A folder or a file of the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryPlace {
    /// Where it is.
    pub path: PathBuf,
    /// The folder that it must not leave through a link; none where the user named the place.
    pub within: Option<PathBuf>,
}

impl MemoryPlace {
    /// A place in a repository, whose files may be anybody's.
    pub fn inside(path: PathBuf, root: &Path) -> Self {
        Self { path, within: Some(root.to_owned()) }
    }

    /// A place that the user named.
    pub fn trusted(path: PathBuf) -> Self {
        Self { path, within: None }
    }

    /// The place without links, if it exists and is where it may be.
    fn real(&self) -> Option<RealPlace> {
        let path = self.path.canonicalize().ok()?;
        let within = match &self.within {
            Some(within) => within.canonicalize().ok()?,
            None => path.parent()?.to_owned(),
        };
        let below = path.strip_prefix(&within).ok()?;
        // A folder that the user named is judged by its whole path, as links may lead anywhere.
        let judged = if self.within.is_some() { below } else { &path };
        (!is_secret(judged)).then_some(RealPlace { path, within })
    }
}

/// Is this a secret file by its name, or in a folder of git?
fn is_secret(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git")) || secret_name(path)
}

/// A place without links.
pub(super) struct RealPlace {
    path: PathBuf,
    /// The folder from which it is opened without following any.
    within: PathBuf,
}

/// The result of reading a file.
pub(super) enum Read {
    Text(String),
    Missing,
    /// It is outside, and this is why.
    Denied(&'static str),
}

/// The folders that exist, without links.
pub(super) fn folders(places: &[MemoryPlace]) -> Vec<RealPlace> {
    places.iter().filter_map(MemoryPlace::real).filter(|folder| folder.path.is_dir()).collect()
}

/// The reason why a name is not that of a memory file, if so.
pub(super) fn wrong_name(name: &str) -> Option<&'static str> {
    if name.contains('\0') {
        return Some("contains a NUL byte");
    }
    let path = Path::new(name);
    if !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Some("is outside the memory folder");
    }
    (!is_markdown(path)).then_some("is not a Markdown file")
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}

/// Reads a file of a folder without links.
pub(super) fn read(folder: &RealPlace, name: &str) -> Read {
    if let Some(why) = wrong_name(name) {
        return Read::Denied(why);
    }
    let path = folder.path.join(name);
    if path.symlink_metadata().is_err() {
        return Read::Missing;
    }
    match path.canonicalize() {
        Ok(real) if real.starts_with(&folder.path) && is_markdown(&real) => {
            let below = real.strip_prefix(&folder.within).unwrap_or(&real);
            if is_secret(below) {
                return Read::Denied("holds secrets, or belongs to git");
            }
            content(&folder.within, &real)
        }
        Ok(_) | Err(_) => Read::Denied("leads out of the memory folder"),
    }
}

/// Reads a file with preferences: Markdown, and in a repository without a link on the way.
pub(super) fn read_prefs(place: &MemoryPlace) -> Read {
    if place.path.symlink_metadata().is_err() {
        return Read::Missing;
    }
    let Some(real) = place.real() else {
        return Read::Denied("leads out of the repository, holds secrets, or belongs to git");
    };
    if !is_markdown(&place.path) || !is_markdown(&real.path) {
        return Read::Denied("is not a Markdown file");
    }
    match &place.within {
        Some(root) => match content(root, &place.path) {
            Read::Missing => Read::Denied("is not a regular file below the repository"),
            read => read,
        },
        None => content(&real.within, &real.path),
    }
}

/// The text of a regular file, up to the size limit. A link that took its place since it was judged
/// is not followed.
fn content(within: &Path, path: &Path) -> Read {
    let read = || {
        let below = path.strip_prefix(within).unwrap_or(path);
        let mut bytes = Vec::new();
        Contained::open(within)?.read(below)?.take(LARGEST_FILE).read_to_end(&mut bytes)?;
        Ok::<_, io::Error>(bytes)
    };
    match read() {
        Ok(bytes) => Read::Text(String::from_utf8_lossy(&bytes).into_owned()),
        Err(_) => Read::Missing,
    }
}

/// The Markdown files of a folder with their texts, by name.
pub(super) fn texts(folder: &RealPlace) -> Vec<(String, String)> {
    let entries = fs::read_dir(&folder.path).into_iter().flatten().filter_map(Result::ok);
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let texts = names.into_iter().filter_map(|name| match read(folder, &name) {
        Read::Text(text) => Some((name, text)),
        Read::Missing | Read::Denied(_) => None,
    });
    texts.collect()
}
