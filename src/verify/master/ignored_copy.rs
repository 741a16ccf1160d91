//! Copies of ignored files that rooms are filled with.
//!
//! Invariant: a cold room gets no build output, except for files that show how a build was
//! configured.

use std::fs;
use std::path::{Path, PathBuf};

use super::copy::copy;
use crate::sys::remove_any;
use crate::verify::error::{VerifyError, io_error};

/// The operation, in an error.
const COPY: &str = "copy ignored files to";

/// Folders that a build makes anew.
const BUILT: [&str; 18] = [
    "target",
    "build",
    "dist",
    "out",
    "obj",
    "_build",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".gradle",
    ".next",
    ".nuxt",
    ".turbo",
    ".parcel-cache",
    ".stack-work",
    "coverage",
    ".nyc_output",
];

/// Files that show a configured build folder, without which the build is not made anew.
const CONFIGURED: [&str; 3] = ["CMakeCache.txt", "build.ninja", "meson-info"];

/// The first bytes of compiler output.
const COMPILED: [&[u8]; 5] =
    [b"\x7fELF", b"!<arch>\n", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"# ninjalog"];

/// The part of the copy that a room gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmth {
    /// Everything.
    Warm,
    /// No build output but its configuration.
    Cold,
}

/// A copy.
#[derive(Clone, Debug)]
pub struct IgnoredCopy {
    /// Where it is.
    files: PathBuf,
    /// Its entries: files, or whole folders.
    entries: Vec<PathBuf>,
}

impl IgnoredCopy {
    pub(super) fn new(files: PathBuf, entries: Vec<PathBuf>) -> Self {
        Self { files, entries }
    }

    /// Copies these paths of a tree to `files`, replacing existing ones.
    ///
    /// # Errors
    /// If something cannot be copied.
    pub fn take(tree: &Path, entries: Vec<PathBuf>, files: PathBuf) -> Result<Self, VerifyError> {
        remove_any(&files).map_err(io_error(COPY, &files))?;
        for entry in &entries {
            let to = files.join(entry);
            copy(&tree.join(entry), &to, &|_| true).map_err(io_error(COPY, &to))?;
        }
        Ok(Self { files, entries })
    }

    /// Copies one path back into a tree, if it is here and not there.
    ///
    /// # Errors
    /// If it cannot be copied.
    pub fn bring_back(&self, tree: &Path, path: &Path) -> Result<(), VerifyError> {
        let (from, to) = (self.files.join(path), tree.join(path));
        let is = |path: &Path| fs::symlink_metadata(path).is_ok();
        if is(&from) && !is(&to) {
            copy(&from, &to, &|_| true).map_err(io_error(COPY, &to))
        } else {
            Ok(())
        }
    }

    /// Copies everything into a room.
    ///
    /// # Errors
    /// If something cannot be copied.
    pub fn fill(&self, work: &Path, warmth: Warmth) -> Result<(), VerifyError> {
        let keep = |path: &Path| warmth == Warmth::Warm || !is_compiled(path);
        for entry in &self.entries {
            let from = self.files.join(entry);
            if warmth == Warmth::Cold && is_built(entry) && !is_configured(&from) {
                continue;
            }
            let keep: &dyn Fn(&Path) -> bool = if is_built(entry) { &keep } else { &|_| true };
            let to = work.join(entry);
            copy(&from, &to, keep).map_err(io_error(COPY, &to))?;
        }
        Ok(())
    }
}

/// Whether a build makes a path anew.
pub(in crate::verify) fn is_built(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| BUILT.contains(&name) || name.ends_with(".pyc"))
}

fn is_configured(folder: &Path) -> bool {
    CONFIGURED.iter().any(|name| folder.join(name).exists())
}

fn is_compiled(path: &Path) -> bool {
    let mut head = [0; 10];
    let read = fs::File::open(path).and_then(|mut file| std::io::Read::read(&mut file, &mut head));
    let head = &head[..read.unwrap_or(0)];
    COMPILED.iter().any(|magic| head.starts_with(magic))
}
